// SPDX-License-Identifier: BSD-3-Clause
//! What was read ends with its storage.
use libcai::{Interface, Strictness};

fn main() {
    let array = {
        let described = Interface::default().read(Strictness::Lenient).unwrap();
        unsafe { described.borrow() }
    };
    assert_eq!(array.ndim(), 0);
}
