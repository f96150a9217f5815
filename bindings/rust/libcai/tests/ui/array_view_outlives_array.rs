// SPDX-License-Identifier: BSD-3-Clause
//! A view ends with the holder that it was made of.
fn main() {
    let view = {
        let array = libcai::Array::from_vec(vec![0f32; 4], &[4]).unwrap();
        array.view::<f32>().unwrap()
    };
    assert_eq!(view.len(), 4);
}
