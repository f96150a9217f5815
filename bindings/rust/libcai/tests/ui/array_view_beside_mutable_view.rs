// SPDX-License-Identifier: BSD-3-Clause
//! Beside a view to write there is no other.
fn main() {
    let mut array = libcai::Array::from_vec(vec![0f32; 4], &[4]).unwrap();
    let writes = array.view_mut::<f32>().unwrap();
    let reads = array.view::<f32>().unwrap();
    assert_eq!(reads.data(), writes.data());
}
