// SPDX-License-Identifier: BSD-3-Clause
// Queued work outlives the call, so it must not borrow.
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
