// SPDX-License-Identifier: BSD-3-Clause
//! A memory manager in Rust: memory is its upstream manager's, and bytes that are out are counted.
//!
//!     cargo run --example manager

use std::ffi::CStr;
use std::sync::atomic::{AtomicU64, Ordering};

use libcai::manager::{Block, Manager, MemoryManager, Optional};
use libcai::memory::{self, Request};
use libcai::{DType, Device, MemoryKind, Result};

struct Counting {
    upstream: Manager,
    out: AtomicU64,
    peak: AtomicU64,
}

// SAFETY: blocks are the upstream manager's.
unsafe impl MemoryManager for Counting {
    const NAME: &'static CStr = c"counting";
    const OPTIONAL: Optional<Self> = Optional::none().trim(Self::trim);

    /// libcai makes it with no upstream where it was chosen by name.
    fn create(device: Device, upstream: Option<Manager>) -> Result<Self> {
        let usual = if device == Device::Cpu { "host" } else { "default" };
        let upstream = match upstream {
            Some(upstream) => upstream,
            None => Manager::create(usual, device, None)?,
        };
        Ok(Self { upstream, out: AtomicU64::new(0), peak: AtomicU64::new(0) })
    }

    unsafe fn memalloc(
        &self,
        size: u64,
        align: u64,
        kind: MemoryKind,
        stream: u64,
    ) -> Result<Block> {
        // SAFETY: libcai's stream.
        let block = unsafe { self.upstream.alloc(size, align, kind, stream) }?;
        let out = self.out.fetch_add(block.size, Ordering::Relaxed) + block.size;
        self.peak.fetch_max(out, Ordering::Relaxed);
        Ok(block)
    }

    /// The upstream manager knows by the block's cookie what kind it gave.
    unsafe fn memfree(&self, block: &Block, stream: u64) -> Result<()> {
        // SAFETY: libcai's block, which came from there.
        unsafe { self.upstream.free(block, MemoryKind::Default, stream) }?;
        self.out.fetch_sub(block.size, Ordering::Relaxed);
        Ok(())
    }
}

impl Counting {
    fn trim(&self, keep: u64) -> Result<()> {
        self.upstream.trim(keep)
    }
}

impl Drop for Counting {
    fn drop(&mut self) {
        let (out, peak) = (self.out.get_mut(), self.peak.get_mut());
        println!("{}: {peak} bytes at most, {out} are out", self.upstream.name());
    }
}

fn main() -> Result<()> {
    let device = Device::all()?.next().unwrap_or(Device::Cpu);
    Manager::register::<Counting>()?; // now every language finds it: CAI_MEMORY_MANAGER=counting
    let counting = Manager::create("counting", device, None)?;
    counting.install()?;

    let zeros = Request::on(device).zeros(DType::of::<f64>(), &[1000, 1000])?;
    let mut copied = Request::on(device).empty(zeros.dtype(), zeros.shape())?;
    memory::copy(&zeros, &mut copied, None)?;
    println!("the last element on {device} is {}", memory::item::<f64>(&copied, &[-1, -1])?);
    drop((zeros, copied));

    Manager::uninstall(device)
} // the manager goes with its last holder

#[test]
fn runs() {
    main().unwrap();
}
