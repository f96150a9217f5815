// SPDX-License-Identifier: BSD-3-Clause
//! Of one holder there is one view to write at a time.
fn main() {
    let mut array = libcai::Array::from_vec(vec![0f32; 4], &[4]).unwrap();
    let first = array.view_mut::<f32>().unwrap();
    let second = array.view_mut::<f32>().unwrap();
    assert_eq!(first.data(), second.data());
}
