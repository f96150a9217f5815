// SPDX-License-Identifier: BSD-3-Clause
use alloc::format;
use alloc::string::String;
use core::error::Error;
use core::ffi::{CStr, c_char};
use core::fmt;

use crate::{CAI_ENTRY_NONE, CAI_ERR_UNSUPPORTED, cai_error, cai_status};

/// Why libcai cannot be loaded, in a text which names the library or the function that is missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadError {
    message: String,
}

impl LoadError {
    pub(super) fn new(reason: &CStr) -> Self {
        let message = format!("libcai cannot be loaded: {}", reason.to_string_lossy());
        Self { message }
    }

    /// Tells a caller in C, with as much of the text as there is room for.
    ///
    /// # Safety
    /// `error` is null or can be written.
    pub(crate) unsafe fn report(&self, error: *mut cai_error) -> cai_status {
        let status = CAI_ERR_UNSUPPORTED;
        if error.is_null() {
            return status;
        }
        let mut message = [0; 240];
        let mut length = self.message.len().min(message.len() - 1);
        while !self.message.is_char_boundary(length) {
            length -= 1;
        }
        for (to, from) in message.iter_mut().zip(&self.message.as_bytes()[..length]) {
            *to = *from as c_char;
        }
        let told = cai_error { status, native: 0, entry: CAI_ENTRY_NONE, index: -1, message };
        // SAFETY: the caller guarantees it.
        unsafe { error.write(told) };
        status
    }
}

impl fmt::Display for LoadError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl Error for LoadError {}
