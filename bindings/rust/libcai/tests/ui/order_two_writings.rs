// SPDX-License-Identifier: BSD-3-Clause
// One reference has one writing guard at a time.
use libcai::{Array, Stream};

fn use_it(mut x: Array, stream: Stream) {
    let one = x.write_on(&stream).unwrap();
    let two = x.write_on(&stream).unwrap();
    drop((one, two));
}

fn main() {}
