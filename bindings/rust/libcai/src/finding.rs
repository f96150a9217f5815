// SPDX-License-Identifier: BSD-3-Clause
//! Remarks on an interface.

use std::ffi::{CStr, c_char, c_void};
use std::ptr;

use crate::error::Entry;
use crate::numbered::numbered;
use crate::sys;

numbered! {
    /// How much a [`Finding`] matters.
    Severity: i32 {
        /// The dict is refused for it.
        Error = sys::CAI_SEVERITY_ERROR,
        /// Accepted, although the text forbids it.
        Warning = sys::CAI_SEVERITY_WARNING,
        /// Valid, but likely a mistake, or hard for consumers.
        Advice = sys::CAI_SEVERITY_ADVICE,
    }
}

/// One remark on an interface.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// How much it matters.
    pub severity: Severity,
    /// The entry; of a mask's own dict, always [`Entry::Mask`].
    pub entry: Option<Entry>,
    /// The axis, item or field, from 0; `None` for the whole.
    pub index: Option<u32>,
    /// The value, printed.
    pub value: String,
    /// The rule: which text, and what it says.
    pub clause: String,
    /// The remark, one line; names the entry and shows the value.
    pub text: String,
}

/// The callback, and its context, that adds to `findings`; none without `findings`.
pub(crate) fn collect(findings: Option<&mut Vec<Finding>>) -> (sys::cai_finding_fn, *mut c_void) {
    match findings {
        Some(findings) => (Some(add), ptr::from_mut(findings).cast()),
        None => (None, ptr::null_mut()),
    }
}

unsafe extern "C" fn add(findings: *mut c_void, finding: *const sys::cai_finding) {
    // SAFETY: the context is that of collect(), and C calls no two at once; the finding and its
    // strings live during the call.
    unsafe {
        let finding = &*finding;
        (*findings.cast::<Vec<Finding>>()).push(Finding {
            severity: Severity::from_raw(finding.severity),
            entry: Entry::from_raw(finding.entry),
            index: u32::try_from(finding.index).ok(),
            value: text(finding.value),
            clause: text(finding.clause),
            text: text(finding.text),
        });
    }
}

/// # Safety
/// `text` is NULL, or ends in NUL.
unsafe fn text(text: *const c_char) -> String {
    match text.is_null() {
        true => String::new(),
        // SAFETY: the caller guarantees it.
        false => unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned(),
    }
}
