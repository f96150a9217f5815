// SPDX-License-Identifier: BSD-3-Clause
//! Failures that nobody can be told of.

use std::any::Any;
use std::io::Write;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::error::Error;
use crate::sys;

/// Takes a failure that nobody can be told of.
pub(crate) fn report(failure: &Error) {
    // Nobody can be told either if standard error is closed.
    let _ = writeln!(std::io::stderr(), "libcai: {failure}");
}

/// A panic as a failure; `who` panicked.
pub(crate) fn caught(who: &str, payload: Box<dyn Any + Send>) -> Error {
    let what = match payload.downcast::<String>() {
        Ok(text) => *text,
        Err(payload) => match payload.downcast::<&str>() {
            Ok(text) => text.to_string(),
            Err(payload) => {
                mem::forget(payload); // to drop it might panic again
                return Error::say(sys::CAI_ERR_ARGUMENT, format!("{who} panicked"));
            }
        },
    };
    Error::say(sys::CAI_ERR_ARGUMENT, format!("{who} panicked: {what}"))
}

/// Runs `body` where C waits for an end that cannot fail: a panic is reported.
pub(crate) fn run_unheard(who: &str, body: impl FnOnce()) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(body)) {
        report(&caught(who, payload));
    }
}
