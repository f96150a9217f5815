// SPDX-License-Identifier: BSD-3-Clause
//! A holder that is given away has no views left.
fn main() {
    let array = libcai::Array::from_vec(vec![0f32; 4], &[4]).unwrap();
    let view = array.view::<f32>().unwrap();
    std::thread::spawn(move || drop(array)).join().unwrap();
    assert_eq!(view.len(), 4);
}
