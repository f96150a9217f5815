// SPDX-License-Identifier: BSD-3-Clause
// A value that means the calling thread must stay on it.
use libcai::{Device, DeviceGuard, Legacy, PerThread, Reading, Stream, StreamGuard};

fn sent<T: Send>() {}

fn main() {
    sent::<Reading<'static, &'static Stream>>();
    sent::<Reading<'static, Legacy>>();
    sent::<Reading<'static, PerThread>>();
    sent::<DeviceGuard>();
    sent::<StreamGuard>();
    let guard = Device::Cpu.enter().unwrap();
    std::thread::spawn(move || drop(guard));
}
