// SPDX-License-Identifier: BSD-3-Clause
//! What the compiler must refuse.

#[test]
fn the_compiler_refuses() {
    trybuild::TestCases::new().compile_fail("tests/ui/order_*.rs");
}
