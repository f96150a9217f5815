// SPDX-License-Identifier: BSD-3-Clause
//! Why a call failed.

use std::ffi::CStr;
use std::fmt;

use crate::sys;

/// An entry of the interface, by the dict's key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[allow(missing_docs)] // the names of the dict's entries
pub enum Entry {
    /// The dict as a whole.
    Interface,
    Version,
    Shape,
    Strides,
    Typestr,
    Descr,
    Data,
    Stream,
    Mask,
    /// Of NumPy's `__array_interface__` only.
    Offset,
}

impl Entry {
    pub(crate) fn from_raw(entry: i32) -> Option<Self> {
        Some(match entry {
            sys::CAI_ENTRY_INTERFACE => Self::Interface,
            sys::CAI_ENTRY_VERSION => Self::Version,
            sys::CAI_ENTRY_SHAPE => Self::Shape,
            sys::CAI_ENTRY_STRIDES => Self::Strides,
            sys::CAI_ENTRY_TYPESTR => Self::Typestr,
            sys::CAI_ENTRY_DESCR => Self::Descr,
            sys::CAI_ENTRY_DATA => Self::Data,
            sys::CAI_ENTRY_STREAM => Self::Stream,
            sys::CAI_ENTRY_MASK => Self::Mask,
            sys::CAI_ENTRY_OFFSET => Self::Offset,
            _ => return None,
        })
    }

    fn to_raw(self) -> i32 {
        match self {
            Self::Interface => sys::CAI_ENTRY_INTERFACE,
            Self::Version => sys::CAI_ENTRY_VERSION,
            Self::Shape => sys::CAI_ENTRY_SHAPE,
            Self::Strides => sys::CAI_ENTRY_STRIDES,
            Self::Typestr => sys::CAI_ENTRY_TYPESTR,
            Self::Descr => sys::CAI_ENTRY_DESCR,
            Self::Data => sys::CAI_ENTRY_DATA,
            Self::Stream => sys::CAI_ENTRY_STREAM,
            Self::Mask => sys::CAI_ENTRY_MASK,
            Self::Offset => sys::CAI_ENTRY_OFFSET,
        }
    }
}

impl fmt::Display for Entry {
    /// The dict's key: "shape"; "interface" for the dict as a whole.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // SAFETY: the function takes any number, and its strings are static.
        let name = unsafe { CStr::from_ptr(sys::cai_entry_name(self.to_raw())) };
        f.write_str(&name.to_string_lossy())
    }
}

/// The details of a failure of any kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Detail {
    pub(crate) message: String,
    pub(crate) entry: Option<Entry>,
    pub(crate) index: Option<u32>,
    pub(crate) native: i32,
}

impl Detail {
    /// One line that names the entry and shows the value.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The entry at fault.
    pub fn entry(&self) -> Option<Entry> {
        self.entry
    }

    /// The axis, field, item or array at fault, counted from 0.
    pub fn index(&self) -> Option<u32> {
        self.index
    }

    /// The driver's `CUresult`, or 0.
    pub fn native(&self) -> i32 {
        self.native
    }
}

impl fmt::Display for Detail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

macro_rules! errors {
    ($($(#[doc = $doc:literal])+ $name:ident = $status:ident),+ $(,)?) => {
        /// Why a call failed: one variant for each of the library's statuses.
        #[derive(Debug, Clone, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum Error {
            $(
                $(#[doc = $doc])+
                $name(Box<Detail>),
            )+
            /// A status that this version of the crate does not know.
            Unknown(i32, Box<Detail>),
        }

        impl Error {
            /// The library's status, `CAI_ERR_*`.
            pub fn status(&self) -> i32 {
                match self {
                    $(Self::$name(_) => sys::$status,)+
                    Self::Unknown(status, _) => *status,
                }
            }

            /// Its details.
            pub fn detail(&self) -> &Detail {
                match self {
                    $(Self::$name(detail))|+ | Self::Unknown(_, detail) => detail,
                }
            }

            pub(crate) fn new(status: i32, detail: Detail) -> Self {
                let detail = Box::new(detail);
                match status {
                    $(sys::$status => Self::$name(detail),)+
                    _ => Self::Unknown(status, detail),
                }
            }
        }
    };
}

errors! {
    /// An argument of the call itself is wrong.
    Argument = CAI_ERR_ARGUMENT,
    /// An entry of the interface, or a field of the array, has a value that the text forbids.
    Value = CAI_ERR_VALUE,
    /// An entry has the wrong form: a list for a tuple, a float for an int.
    Type = CAI_ERR_TYPE,
    /// Made for another ABI major, or marked with an unknown critical flag.
    Version = CAI_ERR_VERSION,
    /// Out of memory: of the host, or, if [`Detail::native`] is 2, of the device.
    Memory = CAI_ERR_MEMORY,
    /// The caller's storage is too small.
    Storage = CAI_ERR_STORAGE,
    /// The view asked for needs a copy.
    Layout = CAI_ERR_LAYOUT,
    /// Valid, but libcai does not support it.
    Unsupported = CAI_ERR_UNSUPPORTED,
    /// That form cannot express the array.
    Export = CAI_ERR_EXPORT,
    /// There is no CUDA driver or no device, or the driver is too old.
    Driver = CAI_ERR_DRIVER,
    /// A driver call failed; [`Detail::native`] is its `CUresult`.
    Cuda = CAI_ERR_CUDA,
    /// A stream is being captured into a graph: refused, and nothing has changed.
    Capture = CAI_ERR_CAPTURE,
    /// The driver does not know the memory, or it is on a device of another kind.
    Device = CAI_ERR_DEVICE,
    /// The array reaches outside its allocation.
    Bounds = CAI_ERR_BOUNDS,
    /// The arrays' streams allow no such order.
    Order = CAI_ERR_ORDER,
    /// The state allows no such call: freed, reset or left already.
    State = CAI_ERR_STATE,
}

impl std::error::Error for Error {}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(status, detail) => write!(f, "status {status}: {detail}"),
            known => known.detail().fmt(f),
        }
    }
}

/// The result of a function that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// The entry at fault, as [`Detail::entry`].
    pub fn entry(&self) -> Option<Entry> {
        self.detail().entry()
    }

    /// Makes an error, for managers, work on streams and other callbacks of C. `status` is one of
    /// `CAI_ERR_*`; the message is one line that names what is wrong and shows the value. C gets at
    /// most 239 bytes of it.
    ///
    /// ```
    /// use libcai::{Error, sys};
    ///
    /// let error = Error::say(sys::CAI_ERR_MEMORY, "the arena has 12 bytes left");
    /// assert!(matches!(error, Error::Memory(_)));
    /// ```
    pub fn say(status: i32, message: impl Into<String>) -> Self {
        let message = message.into();
        Self::new(status, Detail { message, entry: None, index: None, native: 0 })
    }

    /// Likewise for one entry, which the message names.
    pub(crate) fn of(status: i32, entry: Entry, message: impl Into<String>) -> Self {
        let message = message.into();
        Self::new(status, Detail { message, entry: Some(entry), index: None, native: 0 })
    }

    /// Sets the axis, field or item at fault.
    pub(crate) fn with_index(self, index: Option<usize>) -> Self {
        let detail = self.detail().clone();
        let index = index.and_then(|index| u32::try_from(index).ok());
        Self::new(self.status(), Detail { index, ..detail })
    }

    /// The error of a C struct.
    pub(crate) fn from_raw(raw: &sys::cai_error) -> Self {
        let bytes = raw.message.map(|c| c as u8);
        let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
        let detail = Detail {
            message: String::from_utf8_lossy(&bytes[..end]).into_owned(),
            entry: Entry::from_raw(raw.entry),
            index: u32::try_from(raw.index).ok(),
            native: raw.native,
        };
        Self::new(raw.status, detail)
    }

    /// Writes this error to the C struct; a long message is cut between two characters.
    pub(crate) fn to_raw(&self) -> sys::cai_error {
        let detail = self.detail();
        let mut raw = sys::cai_error {
            status: self.status(),
            native: detail.native,
            entry: detail.entry.map_or(sys::CAI_ENTRY_NONE, Entry::to_raw),
            index: detail.index.and_then(|index| i32::try_from(index).ok()).unwrap_or(-1),
            message: [0; 240],
        };
        let mut end = detail.message.len().min(raw.message.len() - 1);
        while !detail.message.is_char_boundary(end) {
            end -= 1;
        }
        for (to, &from) in raw.message.iter_mut().zip(&detail.message.as_bytes()[..end]) {
            *to = from as std::ffi::c_char;
        }
        raw
    }
}

/// Calls a C function, whose last argument is the error.
#[inline]
pub(crate) fn call(function: impl FnOnce(*mut sys::cai_error) -> sys::cai_status) -> Result<()> {
    let mut raw = std::mem::MaybeUninit::uninit();
    match function(raw.as_mut_ptr()) {
        sys::CAI_OK => Ok(()),
        // SAFETY: a function that fails writes all of the error.
        _ => Err(failure(unsafe { raw.assume_init_ref() })),
    }
}

#[cold]
fn failure(raw: &sys::cai_error) -> Error {
    Error::from_raw(raw)
}

/// Likewise with an output before the error.
#[inline]
pub(crate) fn ask<T>(
    function: impl FnOnce(*mut T, *mut sys::cai_error) -> sys::cai_status,
) -> Result<T> {
    let mut out = std::mem::MaybeUninit::uninit();
    call(|error| function(out.as_mut_ptr(), error))?;
    // SAFETY: a function that succeeds writes its output.
    Ok(unsafe { out.assume_init() })
}
