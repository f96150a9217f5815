// SPDX-License-Identifier: BSD-3-Clause
// Work outlives the call that queues it.
use libcai::{Device, Stream};

fn main() {
    let stream = Stream::new(Device::Cpu).unwrap();
    let mut count = 0;
    stream
        .enqueue(|| {
            count += 1;
            Ok(())
        })
        .unwrap();
}
