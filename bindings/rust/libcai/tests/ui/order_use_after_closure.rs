// SPDX-License-Identifier: BSD-3-Clause
// The arrays of a closure must not leave it.
use libcai::{Array, ArrayRef, Options, Stream};

fn use_it(x: Array, stream: Stream) {
    let mut kept: Option<ArrayRef<'_>> = None;
    libcai::with(&stream, [&x], Options::read(), |arrays| kept = Some(arrays[0])).unwrap();
    println!("{kept:?}");
}

fn main() {}
