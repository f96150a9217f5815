// SPDX-License-Identifier: BSD-3-Clause
//! The caller that describes memory must guarantee that it exists.
fn main() {
    let array = libcai::ArrayBuilder::new(0x1000, libcai::DType::of::<f32>(), &[4]);
    let _array = array.own(());
}
