// SPDX-License-Identifier: BSD-3-Clause
// An array must outlive its guard.
use libcai::{Array, Stream};

fn use_it(x: Array, stream: Stream) {
    let reading = x.read_on(&stream).unwrap();
    drop(x);
    drop(reading);
}

fn main() {}
