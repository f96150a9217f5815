// SPDX-License-Identifier: BSD-3-Clause
//! Failures that can be told to nobody, and panics, which must not reach C.

use std::any::Any;
use std::ffi::{CStr, c_void};
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{PoisonError, RwLock};
use std::{fmt, mem, ptr};

use crate::error::{Error, Result, call};
use crate::sys;

/// Takes a failure that nobody can be told of: of a guard that ended by being dropped, of an owner
/// that panicked, or of the library's own.
///
/// It runs on the thread where that happened, perhaps one of libcai's or of the driver's: it must
/// neither call the driver nor block. What it panics with is lost.
pub type FailureHook = fn(&Error);

static HOOK: RwLock<FailureHook> = RwLock::new(print);

/// Sets who hears of failures that nobody can be told of, in the whole process; `None`: the crate's
/// are printed on standard error, as at first, and nobody hears of the library's.
///
/// Any thread may call it. It returns the hook that was set before.
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

/// Tells the hook.
pub(crate) fn report(failure: &Error) {
    let hook = *HOOK.read().unwrap_or_else(PoisonError::into_inner);
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| hook(failure))) {
        forget(panic);
    }
}

fn print(failure: &Error) {
    // SAFETY: the function takes any number, and its strings are static.
    let status = unsafe { CStr::from_ptr(sys::cai_status_name(failure.status())) };
    // Nobody can be told that standard error is closed.
    let _ = writeln!(std::io::stderr(), "libcai: {}: {failure}", status.to_string_lossy());
}

extern "C" fn pass_on(_context: *mut c_void, failure: *const sys::cai_error) {
    // SAFETY: the library's failure lives during the call.
    report(&Error::from_raw(unsafe { &*failure }));
}

/// A call that failed, and what it was given, which is the caller's still.
///
/// It turns into its [`Error`] by `?`, and what was given is then dropped.
pub struct Failed<T> {
    /// Why the call failed.
    pub error: Error,
    /// What the call was given.
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

/// Runs `body`, which is not the crate's own code, where a panic must not go on; `who` it is.
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

/// Likewise where C waits for a status.
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
        // SAFETY: the caller's word.
        unsafe { error.write(raw) };
    }
    raw.status
}

/// Likewise where nobody waits.
pub(crate) fn run_unheard(who: &str, body: impl FnOnce()) {
    if let Err(failure) = caught(who, body) {
        report(&failure);
    }
}

/// Drops what was panicked with, which may panic, too.
fn forget(panic: Box<dyn Any + Send>) {
    if let Err(again) = catch_unwind(AssertUnwindSafe(|| drop(panic))) {
        mem::forget(again);
    }
}

/// How C ends a context.
pub(crate) type Release = Option<unsafe extern "C" fn(context: *mut c_void)>;

/// Gives `owner` to a function of C's, which keeps it as a context, and ends it once by the release
/// that comes with it, on any thread; or fails.
pub(crate) fn give<T: Send + 'static, R>(
    owner: T,
    take: impl FnOnce(Release, *mut c_void) -> Result<R>,
) -> Result<R, Failed<T>> {
    let context = Box::into_raw(Box::new(owner));
    take(Some(end::<T>), context.cast()).map_err(|error| {
        // SAFETY: what failed has not kept the context, which came from a box above.
        Failed { error, value: *unsafe { Box::from_raw(context) } }
    })
}

extern "C" fn end<T>(context: *mut c_void) {
    // SAFETY: give() made it of a box, and C calls this once.
    let owner = unsafe { Box::from_raw(context.cast::<T>()) };
    run_unheard("an owner", || drop(owner));
}
