// SPDX-License-Identifier: BSD-3-Clause
//! Kinds of memory.

use std::ffi::CStr;
use std::fmt;
use std::ops::BitOr;
use std::str::FromStr;

use crate::device::Device;
use crate::error::{Error, Result, ask};
use crate::numbered::numbered;
use crate::sys;
use crate::text::c_text;

numbered! {
    /// The kind of memory: where it is, and which processors may use it. On the CPU, all kinds
    /// except [`CudaArray`](Self::CudaArray) are memory that the host may use.
    ///
    /// ```
    /// use libcai::{Device, memory::MemoryKind};
    ///
    /// let kind: MemoryKind = "pinned".parse()?;
    /// assert_eq!((kind, kind.to_string().as_str()), (MemoryKind::Pinned, "pinned"));
    /// assert!(kind.is_dereferenceable(Device::Cuda(0)));
    /// assert_eq!("unified".parse::<MemoryKind>()?, MemoryKind::Managed); // its other name
    /// assert!("heap".parse::<MemoryKind>().is_err());
    /// # Ok::<(), libcai::Error>(())
    /// ```
    MemoryKind: u32 {
        /// The device's own; on the CPU: the heap.
        Default = sys::CAI_KIND_DEFAULT,
        /// The device's own, allocated and freed in the order of the stream; used on others only
        /// after an event.
        Async = sys::CAI_KIND_ASYNC,
        /// The device's own, in rows that begin at multiples of 256 bytes.
        Pitched = sys::CAI_KIND_PITCHED,
        /// Managed, in such rows.
        PitchedManaged = sys::CAI_KIND_PITCHED_MANAGED,
        /// The host's, fast for a GPU to copy; on the CPU: pinned for the current GPU, or the heap
        /// if there is none.
        Pinned = sys::CAI_KIND_PINNED,
        /// Pinned, and kernels use it in place.
        Mapped = sys::CAI_KIND_MAPPED,
        /// Migrates; only its stream and the host may use it. On a default stream: as
        /// [`ManagedGlobal`](Self::ManagedGlobal).
        Managed = sys::CAI_KIND_MANAGED,
        /// Migrates; every stream may use it.
        ManagedGlobal = sys::CAI_KIND_MANAGED_GLOBAL,
        /// A `CUarray`, for textures only; it has no address.
        CudaArray = sys::CAI_KIND_CUDA_ARRAY,
        /// The heap, whatever the device.
        Host = sys::CAI_KIND_HOST,
    }
}

impl MemoryKind {
    /// Whether the host may use memory of this kind on a device: `cai_is_dereferenceable()`.
    pub fn is_dereferenceable(self, device: Device) -> bool {
        // SAFETY: the function takes any numbers.
        unsafe { sys::cai_is_dereferenceable(device.to_raw(), self.to_raw()) != 0 }
    }
}

impl FromStr for MemoryKind {
    type Err = Error;

    /// Parses the name of a kind, "default", "async", "pitched" and so on: `cai_kind_parse()`.
    ///
    /// # Errors
    /// [`Error::Value`].
    fn from_str(text: &str) -> Result<Self> {
        let c = c_text(text)?;
        // SAFETY: the text ends in a NUL.
        match ask(|out, error| unsafe { sys::cai_kind_parse(c.as_ptr(), out, error) })? {
            sys::CAI_KIND_NONE => Err(Error::say(
                sys::CAI_ERR_VALUE,
                format!("{text:?} is no kind of memory to have"),
            )),
            raw => Ok(Self::from_raw(raw)),
        }
    }
}

impl fmt::Display for MemoryKind {
    /// The kind's name.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // SAFETY: the function takes any number.
        let name = unsafe { sys::cai_kind_name(self.to_raw()) };
        if name.is_null() {
            return write!(f, "kind {}", self.to_raw());
        }
        // SAFETY: the library's names are static.
        f.pad(&unsafe { CStr::from_ptr(name) }.to_string_lossy())
    }
}

/// A set of flags of pinned host memory.
///
/// ```
/// use libcai::memory::HostFlags;
///
/// let flags = HostFlags::PORTABLE | HostFlags::WRITE_COMBINED;
/// assert!(flags.contains(HostFlags::PORTABLE));
/// assert!(!HostFlags::NONE.contains(HostFlags::PORTABLE));
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct HostFlags(u32);

impl HostFlags {
    /// No flag.
    pub const NONE: Self = Self(0);
    /// Pinned for all GPUs.
    pub const PORTABLE: Self = Self(sys::CAI_HOST_PORTABLE);
    /// Fast to write, and for the GPU to read; slow to read.
    pub const WRITE_COMBINED: Self = Self(sys::CAI_HOST_WRITE_COMBINED);

    /// Whether all of `flags` are in the set.
    pub fn contains(self, flags: Self) -> bool {
        self.0 & flags.0 == flags.0
    }

    /// The C flags, `CAI_HOST_*`.
    pub fn to_raw(self) -> u32 {
        self.0
    }

    /// A set of C flags.
    pub fn from_raw(raw: u32) -> Self {
        Self(raw)
    }
}

impl BitOr for HostFlags {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}
