// SPDX-License-Identifier: BSD-3-Clause
// A stream stays as long as the guard that it is lent to.
use libcai::{Array, Stream};

fn use_it(x: Array, stream: Stream) {
    let reading = x.read_on(&stream).unwrap();
    drop(stream);
    drop(reading);
}

fn main() {}
