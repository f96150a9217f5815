// SPDX-License-Identifier: BSD-3-Clause
//! The allocated memory of a device, and pending frees.

use std::ffi::c_void;

use crate::device::Device;
use crate::error::{Result, call};
use crate::failure::{self, Failed};
use crate::sys;

/// The allocated and the pending memory of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Usage {
    /// Bytes of allocated [`Memory`](crate::Memory); pinned and managed memory of a GPU counts for
    /// the CPU, too.
    pub bytes: u64,
    /// The number of allocations.
    pub count: u64,
    /// Bytes of pending frees.
    pub pending_bytes: u64,
    /// The number of pending frees, and of streams and events to be destroyed.
    pub pending_count: u64,
    /// The number of open [`DeferCleanup`] guards.
    pub deferred: u32,
}

/// Returns the allocated and the pending memory of a device: `cai_memory_usage()`.
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

/// Adds a pending free, for managers whose frees would wait for the device: `cai_pending_add()`.
///
/// `free` runs once, later or before the call returns, on any thread, with the GPU's primary
/// context current; it frees so many `bytes`. It is dropped after that. Its error or panic is the
/// failure of that free, and does not stop the others.
///
/// # Errors
/// [`Error::Memory`](crate::Error::Memory); [`Error::Device`](crate::Error::Device);
/// [`Error::Argument`](crate::Error::Argument) if a limit in the environment is no number;
/// [`Error::Driver`](crate::Error::Driver); [`Error::Cuda`](crate::Error::Cuda);
/// [`Error::State`](crate::Error::State) in a forked child. The closure is returned, and has not
/// run.
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

/// Runs all pending frees of a device: `cai_pending_flush()`. None runs while a [`DeferCleanup`] of
/// the device is open. It waits for those that other threads are running, unless it is called by
/// one: no free may wait for the caller, or need a lock that the caller holds.
///
/// # Errors
/// The first failure (the other frees still run); [`Error::Capture`](crate::Error::Capture) while
/// libcai sees a capture, and then nothing is freed; [`Error::Device`](crate::Error::Device).
pub fn flush_pending(device: Device) -> Result<()> {
    // SAFETY: the error can be written.
    call(|error| unsafe { sys::cai_pending_flush(device.to_raw(), error) })
}

/// A guard that defers the pending frees of a device as long as it lives: `cai_pending_defer()`.
/// Guards nest, and any thread may end them. A failure in the drop goes to
/// [`on_failure`](crate::on_failure); a forgotten guard defers forever.
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
    /// Begins the deferral, and calls the device's manager, too.
    ///
    /// # Errors
    /// The manager's error; [`Error::Device`](crate::Error::Device);
    /// [`Error::Memory`](crate::Error::Memory); the rest as [`Manager::of`](crate::Manager::of).
    pub fn new(device: Device) -> Result<Self> {
        defer(device, true)?;
        Ok(Self { device })
    }

    /// Ends the deferral, even if it fails.
    ///
    /// # Errors
    /// The error of the device's manager.
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
