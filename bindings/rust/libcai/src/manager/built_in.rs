// SPDX-License-Identifier: BSD-3-Clause
//! The built-in managers, with their params.

use std::ffi::{c_char, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;
use std::{ffi::CString, slice};

use crate::device::Device;
use crate::error::{Error, Result};
use crate::failure::{self, Release};
use crate::manager::Manager;
use crate::sys;

/// Options of [`Manager::pool()`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PoolOptions {
    /// Its memory can be shared with other processes.
    pub exportable: bool,
    /// It is the device's current pool until the manager ends: all stream-ordered allocation uses
    /// it.
    pub install: bool,
    /// Bytes that the pool allocates at creation, and keeps.
    pub initial: u64,
    /// The most bytes that the pool may have; 0: the device's limit.
    pub maximum: u64,
    /// Freed bytes that the pool caches; [`u64::MAX`]: all.
    pub threshold: u64,
}

impl Manager {
    /// A manager with its own pool of stream-ordered memory.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for a device without pools, or that cannot share them; the rest as
    /// [`Manager::create()`].
    pub fn pool(device: Device, options: &PoolOptions) -> Result<Self> {
        let flag = |is, flag| if is { flag } else { 0 };
        let params = sys::cai_pool_params {
            struct_size: size_of::<sys::cai_pool_params>() as u32,
            flags: flag(options.exportable, sys::CAI_POOL_EXPORTABLE)
                | flag(options.install, sys::CAI_POOL_INSTALL),
            initial: options.initial,
            maximum: options.maximum,
            threshold: options.threshold,
            reserved: 0,
        };
        // SAFETY: the params are those of "pool".
        unsafe { Self::create_raw("pool", ptr::from_ref(&params).cast(), device, None) }
    }

    /// Wraps `upstream`, and counts allocations, see [`Manager::statistics()`].
    ///
    /// # Errors
    /// [`Error::Memory`].
    pub fn counting(upstream: &Self) -> Result<Self> {
        Self::create("statistics", upstream.device(), Some(upstream))
    }

    /// Wraps `upstream`, and lists what is allocated, see [`Manager::outstanding()`].
    ///
    /// # Errors
    /// [`Error::Memory`].
    pub fn tracking(upstream: &Self) -> Result<Self> {
        Self::create("tracking", upstream.device(), Some(upstream))
    }

    /// Wraps `upstream`, and fails allocations beyond `limit` allocated bytes.
    ///
    /// # Errors
    /// [`Error::Memory`].
    pub fn limiting(upstream: &Self, limit: u64) -> Result<Self> {
        let struct_size = size_of::<sys::cai_limit_params>() as u32;
        let params = sys::cai_limit_params { struct_size, reserved: 0, limit };
        // SAFETY: the params are those of "limiting".
        unsafe { upstream.within("limiting", &params) }
    }

    /// Wraps `upstream`, and appends a line of CSV for each call to a file. The first line names
    /// the columns.
    ///
    /// # Errors
    /// [`Error::Value`] for a file that cannot be written.
    pub fn logging(upstream: &Self, path: &Path) -> Result<Self> {
        let path = CString::new(path.as_os_str().as_bytes()).map_err(|_| {
            Error::say(sys::CAI_ERR_VALUE, format!("a NUL inside of a path: {}", path.display()))
        })?;
        let params = sys::cai_log_params { path: path.as_ptr(), ..no_log() };
        // SAFETY: the params are those of "logging".
        unsafe { upstream.within("logging", &params) }
    }

    /// Likewise, but passes the lines, each with its line end, to a function, which is dropped when
    /// the manager has ended. Its panics go to [`on_failure`](crate::on_failure).
    ///
    /// ```
    /// use libcai::{Device, Manager, memory::Request};
    /// use std::sync::mpsc;
    ///
    /// let (lines, log) = mpsc::channel();
    /// let logging = Manager::logging_to(&Manager::of(Device::Cpu)?, move |line: &str| {
    ///     lines.send(line.to_owned()).unwrap_or_default();
    /// })?;
    /// drop(Request::on(Device::Cpu).manager(&logging).bytes(77)?);
    /// assert!(log.try_iter().any(|line| line.contains(",77,")));
    /// # Ok::<(), libcai::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Memory`].
    pub fn logging_to<F>(upstream: &Self, write: F) -> Result<Self>
    where
        F: Fn(&str) + Send + Sync + 'static,
    {
        upstream.calling("logging", write, |destroy, context| sys::cai_log_params {
            write: Some(write_line::<F>),
            context,
            destroy,
            ..no_log()
        })
    }

    /// Wraps `upstream`, and calls `retry(size, attempt)` when memory is short; it frees something
    /// and returns whether to try again. `size` is in bytes, and `attempt` is 0 at the first
    /// failure of an allocation, then 1 and so on. The function is dropped when the manager has
    /// ended. If it panics, the panic goes to [`on_failure`](crate::on_failure), and counts as
    /// false.
    ///
    /// # Errors
    /// [`Error::Memory`].
    pub fn retrying<F>(upstream: &Self, retry: F) -> Result<Self>
    where
        F: Fn(u64, u64) -> bool + Send + Sync + 'static,
    {
        upstream.calling("retrying", retry, |destroy, context| sys::cai_retry_params {
            struct_size: size_of::<sys::cai_retry_params>() as u32,
            reserved: 0,
            retry: Some(ask_again::<F>),
            context,
            destroy,
        })
    }

    /// A manager that wraps this one.
    ///
    /// # Safety
    /// `params` are the params of the manager of this name.
    unsafe fn within<P>(&self, name: &str, params: &P) -> Result<Self> {
        // SAFETY: the caller guarantees it.
        unsafe { Self::create_raw(name, ptr::from_ref(params).cast(), self.device(), Some(self)) }
    }

    /// A manager that wraps this one and calls a function.
    fn calling<F: Send + 'static, P>(
        &self,
        name: &str,
        function: F,
        params: impl FnOnce(Release, *mut c_void) -> P,
    ) -> Result<Self> {
        let made = failure::give(function, |destroy, context| {
            let params = params(destroy, context);
            // SAFETY: the params are the manager's own, and their functions take the context.
            unsafe { self.within(name, &params) }
        });
        Ok(made?)
    }
}

/// Empty params of "logging".
fn no_log() -> sys::cai_log_params {
    sys::cai_log_params {
        struct_size: size_of::<sys::cai_log_params>() as u32,
        reserved: 0,
        path: ptr::null(),
        write: None,
        caller: None,
        context: ptr::null_mut(),
        destroy: None,
    }
}

unsafe extern "C" fn write_line<F: Fn(&str)>(
    context: *mut c_void,
    line: *const c_char,
    length: u64,
) {
    // SAFETY: the context is the function, and the line has that many bytes.
    let (write, line) = unsafe {
        (&*context.cast::<F>(), slice::from_raw_parts(line.cast::<u8>(), length as usize))
    };
    failure::run_unheard("a log", || write(&String::from_utf8_lossy(line)));
}

unsafe extern "C" fn ask_again<F: Fn(u64, u64) -> bool>(
    context: *mut c_void,
    size: u64,
    attempt: u64,
) -> i32 {
    // SAFETY: the context is the function.
    let retry = unsafe { &*context.cast::<F>() };
    let mut again = false;
    failure::run_unheard("a retry", || again = retry(size, attempt));
    again.into()
}
