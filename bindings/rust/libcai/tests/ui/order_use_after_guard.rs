// SPDX-License-Identifier: BSD-3-Clause
// A view must not outlive its guard.
use libcai::{Array, Stream};

fn use_it(x: Array, stream: Stream) {
    let reading = x.read_on(&stream).unwrap();
    let view = reading.view::<f32>().unwrap();
    reading.try_end().unwrap();
    println!("{:#x}", view.data());
}

fn main() {}
