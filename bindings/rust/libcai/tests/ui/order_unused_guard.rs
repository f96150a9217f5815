// SPDX-License-Identifier: BSD-3-Clause
// A guard that is dropped at once guards nothing.
#![deny(unused_must_use)]
use libcai::{Array, Stream};

fn use_it(x: Array, stream: Stream) {
    x.read_on(&stream).unwrap();
}

fn main() {}
