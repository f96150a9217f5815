// SPDX-License-Identifier: BSD-3-Clause
//! Who was lent a holder to read copies nothing into it.
use libcai::{Array, memory};

fn write(from: &Array, to: &Array) {
    memory::copy(from, to, None).unwrap();
}

fn main() {
    let array = || Array::from_vec(vec![0f32; 4], &[4]).unwrap();
    write(&array(), &array());
}
