// SPDX-License-Identifier: BSD-3-Clause
//! An owner lives as long as it likes, and so borrows nothing.
fn main() {
    let mut values = vec![0f32; 4];
    let address = values.as_ptr() as u64;
    let array = libcai::ArrayBuilder::new(address, libcai::DType::of::<f32>(), &[4]);
    let _array = unsafe { array.own(&mut values) };
}
