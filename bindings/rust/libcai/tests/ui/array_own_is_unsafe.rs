// SPDX-License-Identifier: BSD-3-Clause
//! Whoever says what memory is there gives a word on it.
fn main() {
    let array = libcai::ArrayBuilder::new(0x1000, libcai::DType::of::<f32>(), &[4]);
    let _array = array.own(());
}
