// SPDX-License-Identifier: BSD-3-Clause
//! A default stream of whatever context is current is another one once that changes.
use libcai::{Array, Device, Legacy};

fn main() {
    let array = Array::from_vec(vec![0f32; 4], &[4]).unwrap();
    let reading = array.read_on(Legacy::new()).unwrap();
    Device::Cuda(1).set_current().unwrap();
    reading.try_end().unwrap();
}
