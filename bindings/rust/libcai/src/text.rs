// SPDX-License-Identifier: BSD-3-Clause
//! Texts for C.

use std::ffi::CString;

use crate::error::{Error, Result};
use crate::sys;

/// A text for C, which would ignore everything after a NUL.
pub(crate) fn c_text(text: &str) -> Result<CString> {
    CString::new(text).map_err(|_| {
        Error::say(sys::CAI_ERR_VALUE, format!("a NUL inside of a text: {}", text.escape_debug()))
    })
}
