// SPDX-License-Identifier: BSD-3-Clause
//! What is out on a device, and frees that wait.

use std::ffi::c_void;

use crate::device::Device;
use crate::error::{Result, call};
use crate::failure::{self, Failed};
use crate::sys;

/// What is out and what is pending on a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Usage {
    /// Bytes of [`Memory`](crate::Memory) that is out; pinned and managed memory of a GPU counts for
    /// the CPU, too.
    pub bytes: u64,
    /// How many of them are out.
    pub count: u64,
    /// Bytes of frees that are pending.
    pub pending_bytes: u64,
    /// How many frees are pending, and streams and events to be destroyed.
    pub pending_count: u64,
    /// How many [`DeferCleanup`] there are.
    pub deferred: u32,
}

/// Says what is out and what is pending on a device: `cai_memory_usage()`.
///
/// ```
/// use libcai::{Device, memory::{self, Request}};
///
/// let before = memory::usage(Device::Cpu)?.bytes;
/// let held = Request::on(Device::Cpu).bytes(100)?;
/// assert_eq!(memory::usage(Device::Cpu)?.bytes, before + 100);
/// # drop(held);
/// # Ok::<(), libcai::Error>(())
/// ```
///
/// # Errors
/// [`Error::Device`](crate::Error::Device) if there is no such device;
/// [`Error::Value`](crate::Error::Value) for a negative ordinal.
pub fn usage(device: Device) -> Result<Usage> {
    let mut raw = sys::cai_usage {
        struct_size: size_of::<sys::cai_usage>() as u32,
        // SAFETY: numbers, for which 0 is a value.
        ..unsafe { std::mem::zeroed() }
    };
    // SAFETY: the outputs can be written.
    call(|error| unsafe { sys::cai_memory_usage(device.to_raw(), &mut raw, error) })?;
    Ok(Usage {
        bytes: raw.bytes,
        count: raw.count,
        pending_bytes: raw.pending_bytes,
        pending_count: raw.pending_count,
        deferred: raw.deferred,
    })
}

/// Adds a free, for managers whose frees would wait for the device: `cai_pending_add()`.
///
/// `free` runs once, later or before the call returns, on any thread, with the GPU's primary context
/// current; it frees so many `bytes`. It is dropped after that. What it returns as an error or panics
/// with is the failure of that free, and keeps no others from being freed.
///
/// # Errors
/// [`Error::Memory`](crate::Error::Memory); [`Error::Device`](crate::Error::Device);
/// [`Error::Argument`](crate::Error::Argument) if a limit in the environment is no number;
/// [`Error::Driver`](crate::Error::Driver); [`Error::Cuda`](crate::Error::Cuda);
/// [`Error::State`](crate::Error::State) in a forked child. The closure comes back, and has not run.
///
/// ```
/// use libcai::{Device, memory};
/// use std::sync::{Arc, atomic::{AtomicBool, Ordering}};
///
/// let freed = Arc::new(AtomicBool::new(false));
/// let seen = freed.clone();
/// memory::add_pending(Device::Cuda(0), 0, move || Ok(seen.store(true, Ordering::Relaxed)))?;
/// memory::flush_pending(Device::Cuda(0))?;
/// assert!(freed.load(Ordering::Relaxed));
/// # Ok::<(), libcai::Error>(())
/// ```
pub fn add_pending<F>(device: Device, bytes: u64, free: F) -> Result<(), Failed<F>>
where
    F: FnOnce() -> Result<()> + Send + 'static,
{
    failure::give(free, |_, context| {
        // SAFETY: the context is a box of the closure, as run_free() takes it.
        call(|error| unsafe {
            let run: unsafe extern "C" fn(_, _) -> _ = run_free::<F>;
            sys::cai_pending_add(device.to_raw(), bytes, Some(run), context, error)
        })
    })
}

unsafe extern "C" fn run_free<F>(
    context: *mut c_void,
    error: *mut sys::cai_error,
) -> sys::cai_status
where
    F: FnOnce() -> Result<()>,
{
    // SAFETY: add_pending() gave a box of it, and C calls this once.
    unsafe {
        let free = Box::from_raw(context.cast::<F>());
        failure::as_status("a pending free", error, *free)
    }
}

/// Frees all that is pending on a device: `cai_pending_flush()`. Nothing while a [`DeferCleanup`] of
/// it is there.
///
/// # Errors
/// The first failure, the others being freed all the same; [`Error::Capture`](crate::Error::Capture)
/// while a capture is seen, and nothing is freed; [`Error::Device`](crate::Error::Device).
pub fn flush_pending(device: Device) -> Result<()> {
    // SAFETY: the error can be written.
    call(|error| unsafe { sys::cai_pending_flush(device.to_raw(), error) })
}

/// As long as it lives, nothing that is pending on a device is freed: `cai_pending_defer()`. They
/// nest, and any thread may end them. One that fails in its drop tells
/// [`on_failure`](crate::on_failure); one that is forgotten defers for ever.
///
/// ```
/// use libcai::{Device, memory::{self, DeferCleanup}};
///
/// let defer = DeferCleanup::new(Device::Cuda(0))?;
/// assert_eq!(memory::usage(Device::Cuda(0))?.deferred, 1);
/// defer.end()?;
/// # Ok::<(), libcai::Error>(())
/// ```
#[derive(Debug)]
#[must_use = "it ends when it is dropped"]
pub struct DeferCleanup {
    device: Device,
}

impl DeferCleanup {
    /// Begins it, and tells the device's manager, too.
    ///
    /// # Errors
    /// What the manager returned; [`Error::Device`](crate::Error::Device);
    /// [`Error::Memory`](crate::Error::Memory); the rest as [`Manager::of`](crate::Manager::of).
    pub fn new(device: Device) -> Result<Self> {
        defer(device, true)?;
        Ok(Self { device })
    }

    /// Ends it, whatever comes of it.
    ///
    /// # Errors
    /// What the device's manager returned.
    pub fn end(self) -> Result<()> {
        let device = self.device;
        std::mem::forget(self);
        defer(device, false)
    }
}

impl Drop for DeferCleanup {
    fn drop(&mut self) {
        if let Err(failure) = defer(self.device, false) {
            failure::report(&failure);
        }
    }
}

fn defer(device: Device, begin: bool) -> Result<()> {
    // SAFETY: the error can be written.
    call(|error| unsafe { sys::cai_pending_defer(device.to_raw(), begin.into(), error) })
}
