// SPDX-License-Identifier: BSD-3-Clause
//! Another process, which shares memory of a GPU's until it is let go: a test that runs itself again.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdout, Command, Stdio};

use libcai::memory::{self, IpcHandle, Request};
use libcai::{DType, Device};

/// Elements that it shares, each of this value.
pub const COUNT: i64 = 1000;
pub const VALUE: u32 = 0xCA1;

/// Set in that process.
const SHARES: &str = "LIBCAI_TEST_SHARES";

pub struct Other {
    process: Child,
    _says: BufReader<ChildStdout>, // as long as it may say something
    pub handle: IpcHandle,
}

impl Other {
    /// Starts it, in the test `name`, which calls [`share_if_asked()`] first.
    pub fn start(name: &str) -> Self {
        let mut process = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", name, "--nocapture"])
            .env(SHARES, "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut says = BufReader::new(process.stdout.take().unwrap());
        let handle = says
            .by_ref()
            .lines()
            .find_map(|line| line.unwrap().strip_prefix("handle ").map(String::from))
            .expect("the other process shares memory");
        let bytes = handle.split(' ').map(|byte| byte.parse().unwrap()).collect::<Vec<u8>>();
        Self { process, _says: says, handle: IpcHandle::from_bytes(bytes.try_into().unwrap()) }
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        drop(self.process.stdin.take()); // lets it go
        self.process.wait().unwrap();
    }
}

/// Shares memory until this process is let go, if it was started for that.
pub fn share_if_asked() -> bool {
    if std::env::var_os(SHARES).is_none() {
        return false;
    }
    let gpu = Device::Cuda(0);
    let memory = Request::on(gpu).bytes(4 * COUNT as u64).unwrap();
    let mut array = memory.array(DType::of::<u32>(), &[COUNT]).unwrap();
    memory::fill(&mut array, VALUE, None).unwrap();
    gpu.synchronize().unwrap();
    let bytes = memory.share().unwrap().handle.to_bytes().map(|byte| byte.to_string());
    println!("\nhandle {}", bytes.join(" "));
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
    true
}
