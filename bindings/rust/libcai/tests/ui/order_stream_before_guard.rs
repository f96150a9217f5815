// SPDX-License-Identifier: BSD-3-Clause
// A stream must outlive the guard that borrows it.
use libcai::{Array, Stream};

fn use_it(x: Array, stream: Stream) {
    let reading = x.read_on(&stream).unwrap();
    drop(stream);
    drop(reading);
}

fn main() {}
