// SPDX-License-Identifier: BSD-3-Clause
//! Failures that no call can return, and panics, which must not reach C.

use std::any::Any;
use std::ffi::{CStr, c_void};
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{PoisonError, RwLock};
use std::{fmt, mem, ptr};

use crate::error::{Error, Result, call};
use crate::sys;

/// Receives a failure that no call can return: of a guard that was dropped, of an owner that
/// panicked, or of the library itself.
///
/// It runs on the thread where the failure happened, perhaps a thread of libcai or of the driver:
/// it must not call the driver or block. Its panics are lost.
pub type FailureHook = fn(&Error);

static HOOK: RwLock<FailureHook> = RwLock::new(print);

/// Sets the hook that receives failures that no call can return, in the whole process. `None`, the
/// default: the crate prints its failures to standard error, and the library drops its own.
///
/// Any thread may call it. It returns the previous hook.
///
/// ```
/// let before = libcai::on_failure(Some(|failure| eprintln!("unheard: {failure}")));
/// assert!(before.is_none());
/// libcai::on_failure(before);
/// ```
pub fn on_failure(hook: Option<FailureHook>) -> Option<FailureHook> {
    let next = hook.unwrap_or(print);
    let before = mem::replace(&mut *HOOK.write().unwrap_or_else(PoisonError::into_inner), next);
    let raw: sys::cai_failure_fn = hook.map(|_| pass_on as _);
    // SAFETY: the function stays for the life of the process, and needs no context.
    let told = call(|error| unsafe { sys::cai_on_failure(raw, ptr::null_mut(), error) });
    if let Err(failure) = told {
        report(&failure);
    }
    Some(before).filter(|&before| !ptr::fn_addr_eq(before, print as FailureHook))
}

/// Calls the hook.
pub(crate) fn report(failure: &Error) {
    let hook = *HOOK.read().unwrap_or_else(PoisonError::into_inner);
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| hook(failure))) {
        forget(panic);
    }
}

fn print(failure: &Error) {
    // SAFETY: the function takes any number, and its strings are static.
    let status = unsafe { CStr::from_ptr(sys::cai_status_name(failure.status())) };
    // A closed standard error cannot be reported.
    let _ = writeln!(std::io::stderr(), "libcai: {}: {failure}", status.to_string_lossy());
}

extern "C" fn pass_on(_context: *mut c_void, failure: *const sys::cai_error) {
    // SAFETY: the library's failure lives during the call.
    report(&Error::from_raw(unsafe { &*failure }));
}

/// The error of a call, with the value passed to it, which is still the caller's.
///
/// `?` turns it into its [`Error`], and drops the value.
pub struct Failed<T> {
    /// Why the call failed.
    pub error: Error,
    /// The value passed to the call.
    pub value: T,
}

impl<T> Failed<T> {
    /// The same failure of what had made that value of the one here.
    pub(crate) fn map<U>(self, make: impl FnOnce(T) -> U) -> Failed<U> {
        Failed { error: self.error, value: make(self.value) }
    }
}

impl<T> fmt::Debug for Failed<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Failed").field("error", &self.error).finish_non_exhaustive()
    }
}

impl<T> fmt::Display for Failed<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl<T> std::error::Error for Failed<T> {}

impl<T> From<Failed<T>> for Error {
    fn from(failed: Failed<T>) -> Self {
        failed.error
    }
}

/// Runs `body`, which is not the crate's own code, and stops its panics; `who` names it.
pub(crate) fn caught<R>(who: &str, body: impl FnOnce() -> R) -> Result<R> {
    catch_unwind(AssertUnwindSafe(body)).map_err(|panic| {
        let text = panic
            .downcast_ref::<&str>()
            .copied()
            .or_else(|| panic.downcast_ref::<String>().map(String::as_str));
        let failure = match text {
            Some(text) => Error::say(sys::CAI_ERR_ARGUMENT, format!("{who} panicked: {text}")),
            None => Error::say(sys::CAI_ERR_ARGUMENT, format!("{who} panicked")),
        };
        forget(panic);
        failure
    })
}

/// Likewise for code that returns a status to C.
///
/// # Safety
/// `error` is NULL or can be written.
pub(crate) unsafe fn as_status(
    who: &str,
    error: *mut sys::cai_error,
    body: impl FnOnce() -> Result<()>,
) -> sys::cai_status {
    let Err(failure) = caught(who, body).and_then(|result| result) else { return sys::CAI_OK };
    let mut raw = failure.to_raw();
    if raw.status == sys::CAI_OK {
        raw.status = sys::CAI_ERR_ARGUMENT; // an error of one's own that says so: it is one all the same
    }
    if !error.is_null() {
        // SAFETY: the caller guarantees it.
        unsafe { error.write(raw) };
    }
    raw.status
}

/// Likewise for code whose failure no call returns.
pub(crate) fn run_unheard(who: &str, body: impl FnOnce()) {
    if let Err(failure) = caught(who, body) {
        report(&failure);
    }
}

/// Drops the payload of a panic, which may panic, too.
fn forget(panic: Box<dyn Any + Send>) {
    if let Err(again) = catch_unwind(AssertUnwindSafe(|| drop(panic))) {
        mem::forget(again);
    }
}

/// How C ends a context.
pub(crate) type Release = Option<unsafe extern "C" fn(context: *mut c_void)>;

/// Passes `owner` to a C function, which keeps it as a context and ends it once by the given
/// release, on any thread; or fails.
pub(crate) fn give<T: Send + 'static, R>(
    owner: T,
    take: impl FnOnce(Release, *mut c_void) -> Result<R>,
) -> Result<R, Failed<T>> {
    let context = Box::into_raw(Box::new(owner));
    take(Some(end::<T>), context.cast()).map_err(|error| {
        // SAFETY: a call that fails has not kept the context, which came from a box above.
        Failed { error, value: *unsafe { Box::from_raw(context) } }
    })
}

extern "C" fn end<T>(context: *mut c_void) {
    // SAFETY: give() made it of a box, and C calls this once.
    let owner = unsafe { Box::from_raw(context.cast::<T>()) };
    run_unheard("an owner", || drop(owner));
}
