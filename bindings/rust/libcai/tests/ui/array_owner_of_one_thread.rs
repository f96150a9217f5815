// SPDX-License-Identifier: BSD-3-Clause
//! An owner is dropped on any thread.
fn main() {
    let owner = std::rc::Rc::new(vec![0f32; 4]);
    let array = libcai::ArrayBuilder::new(owner.as_ptr() as u64, libcai::DType::of::<f32>(), &[4]);
    let _array = unsafe { array.own(owner) };
}
