// SPDX-License-Identifier: BSD-3-Clause
// A guard has one mutable view at a time.
use libcai::{Array, Stream};

fn use_it(mut x: Array, stream: Stream) {
    let mut writing = x.write_on(&stream).unwrap();
    let one = writing.view_mut::<f32>().unwrap();
    let two = writing.view_mut::<f32>().unwrap();
    println!("{one:?} {two:?}");
}

fn main() {}
