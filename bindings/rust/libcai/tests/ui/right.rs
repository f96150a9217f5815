// SPDX-License-Identifier: BSD-3-Clause
//! What is right compiles.
use libcai::{Array, Stream};

pub fn use_it(x: Array, mut y: Array, stream: Stream) {
    let reading = x.read_on(&stream).unwrap();
    let mut writing = y.write_on(&stream).unwrap();
    println!("{:?} {:?}", reading.view::<f32>(), writing.view_mut::<f32>());
}

fn main() {}
