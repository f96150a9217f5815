// SPDX-License-Identifier: BSD-3-Clause
// One holder has one guard that writes.
use libcai::{Array, Stream};

fn use_it(mut x: Array, stream: Stream) {
    let one = x.write_on(&stream).unwrap();
    let two = x.write_on(&stream).unwrap();
    drop((one, two));
}

fn main() {}
