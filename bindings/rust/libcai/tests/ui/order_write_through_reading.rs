// SPDX-License-Identifier: BSD-3-Clause
// A reading guard allows no writes.
use libcai::{Array, Stream};

fn use_it(x: Array, stream: Stream) {
    let mut reading = x.read_on(&stream).unwrap();
    reading.view_mut::<f32>().unwrap();
}

fn main() {}
