// SPDX-License-Identifier: BSD-3-Clause
//! Who was lent a holder to read makes no view to write.
fn write(array: &libcai::Array) -> u64 {
    array.view_mut::<f32>().unwrap().data()
}

fn main() {
    write(&libcai::Array::from_vec(vec![0f32; 4], &[4]).unwrap());
}
