// SPDX-License-Identifier: BSD-3-Clause
//! Devices: the CPU and GPUs.

use std::ffi::{CStr, c_char, c_void};
use std::fmt;
use std::marker::PhantomData;
use std::mem;
use std::ptr;
use std::str::FromStr;

use crate::error::{Error, Result, ask, call};
use crate::failure::{self, Failed};
use crate::sys;
use crate::text::c_text;

/// The CPU or a GPU: a plain value. Only functions that need the device check that it exists.
///
/// It parses "cpu", "gpu" (the thread's current GPU), "gpu:1" or "cuda:1", and "gpu:free" (the GPU
/// with the most free memory), and prints as "cpu" or "gpu:1".
///
/// ```
/// use libcai::Device;
/// assert_eq!("CPU".parse(), Ok(Device::Cpu));
/// assert_eq!(Device::Cuda(1).to_string(), "gpu:1");
/// for gpu in Device::all()? {
///     println!("{gpu}: {} bytes free", gpu.memory()?.free);
/// }
/// # Ok::<(), libcai::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Device {
    /// The CPU, which is always present.
    #[default]
    Cpu,
    /// A GPU by its ordinal, from 0, used in its primary context.
    Cuda(i32),
}

/// An amount of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryAmount {
    /// Bytes that are free.
    pub free: u64,
    /// Bytes in all.
    pub total: u64,
}

/// The properties of a device.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeviceInfo {
    /// The driver's name for it.
    pub name: String,
    /// Identifies the device, whatever its ordinal; 0 for the CPU.
    pub uuid: [u8; 16],
    /// Domain, bus and slot; 0 for the CPU.
    pub pci: (i32, i32, i32),
    /// Bytes of its memory.
    pub total: u64,
    /// Whether it can use pinned host memory in place.
    pub maps_host: bool,
    /// Whether it has managed memory.
    pub managed_memory: bool,
    /// Whether the host may use managed memory while the device works.
    pub concurrent_managed: bool,
    /// Whether it has stream-ordered memory.
    pub pools: bool,
    /// Whether pools can be shared by a file descriptor.
    pub pools_by_descriptor: bool,
    /// Whether its memory is the host's.
    pub integrated: bool,
}

impl Device {
    /// The C struct.
    #[inline]
    pub fn to_raw(self) -> sys::cai_device {
        match self {
            Self::Cpu => sys::cai_device { type_: sys::CAI_DEVICE_CPU, id: 0 },
            Self::Cuda(id) => sys::cai_device { type_: sys::CAI_DEVICE_CUDA, id },
        }
    }

    /// From the C struct: any type except the CPU's is a GPU.
    #[inline]
    pub fn from_raw(raw: sys::cai_device) -> Self {
        match raw.type_ {
            sys::CAI_DEVICE_CPU => Self::Cpu,
            _ => Self::Cuda(raw.id),
        }
    }

    /// Counts the GPUs: 0 if there is no driver that libcai can use.
    ///
    /// # Errors
    /// [`Error::Cuda`]; [`Error::State`] in a forked child.
    pub fn count() -> Result<i32> {
        // SAFETY: the outputs can be written.
        ask(|count, error| unsafe { sys::cai_device_count(sys::CAI_DEVICE_CUDA, count, error) })
    }

    /// All GPUs, by ordinal.
    ///
    /// # Errors
    /// As [`Device::count`].
    pub fn all() -> Result<impl Iterator<Item = Self>> {
        Ok((0..Self::count()?).map(Self::Cuda))
    }

    /// The calling thread's GPU: that of its current context, or GPU 0 if none is current.
    ///
    /// # Errors
    /// [`Error::Driver`]; [`Error::Cuda`]; [`Error::Device`] if there is no GPU; [`Error::State`] in
    /// a forked child.
    pub fn current() -> Result<Self> {
        // SAFETY: the outputs can be written.
        ask(|out, error| unsafe { sys::cai_device_current(sys::CAI_DEVICE_CUDA, out, error) })
            .map(Self::from_raw)
    }

    /// The GPU with the most free memory; of several, the first.
    ///
    /// # Errors
    /// As [`Device::current`]; [`Error::Memory`].
    pub fn most_free() -> Result<Self> {
        // SAFETY: the outputs can be written.
        ask(|out, error| unsafe { sys::cai_device_most_free(sys::CAI_DEVICE_CUDA, out, error) })
            .map(Self::from_raw)
    }

    /// The GPU with a UUID, [`DeviceInfo::uuid`], whatever its ordinal in this process.
    ///
    /// # Errors
    /// [`Error::Device`] if there is none; [`Error::Driver`]; [`Error::Cuda`]; [`Error::State`] in a
    /// forked child.
    pub fn find(uuid: &[u8; 16]) -> Result<Self> {
        // SAFETY: the identity can be read, and the outputs can be written.
        ask(|out, error| unsafe { sys::cai_device_find(uuid.as_ptr(), out, error) })
            .map(Self::from_raw)
    }

    /// Its properties.
    ///
    /// # Errors
    /// [`Error::Device`] if there is no such device; [`Error::Driver`]; [`Error::Cuda`];
    /// [`Error::State`] in a forked child; [`Error::Value`] for a negative ordinal.
    pub fn describe(self) -> Result<DeviceInfo> {
        let mut raw = sys::cai_device_info {
            struct_size: mem::size_of::<sys::cai_device_info>() as u32,
            // SAFETY: numbers and characters, for which 0 is a value.
            ..unsafe { mem::zeroed() }
        };
        // SAFETY: the outputs can be written.
        call(|error| unsafe { sys::cai_device_describe(self.to_raw(), &mut raw, error) })?;
        let can = |flag| raw.flags & flag != 0;
        Ok(DeviceInfo {
            name: text(&raw.name),
            uuid: raw.uuid,
            pci: (raw.pci_domain, raw.pci_bus, raw.pci_slot),
            total: raw.total,
            maps_host: can(sys::CAI_DEVICE_MAPS_HOST),
            managed_memory: can(sys::CAI_DEVICE_MANAGED_MEMORY),
            concurrent_managed: can(sys::CAI_DEVICE_CONCURRENT_MANAGED),
            pools: can(sys::CAI_DEVICE_POOLS),
            pools_by_descriptor: can(sys::CAI_DEVICE_POOLS_BY_DESCRIPTOR),
            integrated: can(sys::CAI_DEVICE_INTEGRATED),
        })
    }

    /// A few lines for people: name, UUID, memory, capabilities.
    ///
    /// # Errors
    /// As [`Device::describe`].
    pub fn summary(self) -> Result<String> {
        let raw = self.to_raw();
        let mut length = 0;
        call(|error| {
            // SAFETY: a text of no bytes may be NULL; the outputs can be written.
            unsafe { sys::cai_device_summary(raw, ptr::null_mut(), 0, &mut length, error) }
        })?;
        let mut text: Vec<c_char> = vec![0; length as usize + 1]; // and the NUL
        call(|error| {
            let size = text.len() as u64;
            // SAFETY: that many bytes can be written.
            unsafe { sys::cai_device_summary(raw, text.as_mut_ptr(), size, &mut length, error) }
        })?;
        Ok(self::text(&text))
    }

    /// Its free and total memory; for the CPU, the machine's.
    ///
    /// # Errors
    /// As [`Device::describe`]; [`Error::Memory`].
    pub fn memory(self) -> Result<MemoryAmount> {
        let mut amount = MemoryAmount { free: 0, total: 0 };
        call(|error| {
            // SAFETY: the outputs can be written.
            unsafe {
                sys::cai_device_memory(self.to_raw(), &mut amount.free, &mut amount.total, error)
            }
        })?;
        Ok(amount)
    }

    /// Whether its kernels can be given access to another device's memory. A device can access its
    /// own memory; a GPU and the CPU cannot access each other's.
    ///
    /// # Errors
    /// As [`Device::describe`].
    pub fn can_access(self, peer: Self) -> Result<bool> {
        ask(|yes, error| {
            // SAFETY: the outputs can be written.
            unsafe { sys::cai_device_can_access(self.to_raw(), peer.to_raw(), yes, error) }
        })
        .map(|yes: i32| yes != 0)
    }

    /// Waits for the calling thread's current stream of the device, and then for all other work
    /// queued in the GPU's primary context.
    ///
    /// Do not call it while a stream that libcai has no handle for is captured in that context: the
    /// driver would invalidate the capture.
    ///
    /// # Errors
    /// The failure of earlier work of the current stream; [`Error::Capture`] if a stream that
    /// libcai knows is being captured, and the capture goes on; [`Error::Cuda`]; the rest as
    /// [`Device::set_current`].
    pub fn synchronize(self) -> Result<()> {
        // SAFETY: the error can be written.
        call(|error| unsafe { sys::cai_device_synchronize(self.to_raw(), error) })
    }

    /// Synchronises, calls the callbacks of [`Device::on_reset`], runs the pending frees, resets
    /// the managers of the device, and drops the calling thread's current streams of it.
    ///
    /// # Errors
    /// As [`Device::synchronize`], after which nothing but synchronising has happened;
    /// [`Error::State`] inside of a callback.
    pub fn reset(self) -> Result<()> {
        // SAFETY: the error can be written.
        call(|error| unsafe { sys::cai_device_reset(self.to_raw(), 0, error) })
    }

    /// Likewise, and destroys the GPU's primary context, with all that the process has in it. Using
    /// memory, streams and events of the device that are still referenced is then [`Error::State`];
    /// dropping them is safe.
    ///
    /// # Safety
    /// No code uses memory of the context any more, in any way: pinned and managed memory, which
    /// the host uses, is freed as well. No code uses its streams by number, as guards do: no guard
    /// exists, and none begins on a [`Stream`](crate::Stream) made before. No work of another GPU
    /// that uses the memory is pending: synchronise it before.
    ///
    /// # Errors
    /// As [`Device::reset`]; [`Error::Cuda`] for the reset itself.
    pub unsafe fn reset_context(self) -> Result<()> {
        call(|error| {
            // SAFETY: the caller guarantees the rest; the error can be written.
            unsafe { sys::cai_device_reset(self.to_raw(), sys::CAI_RESET_CONTEXT, error) }
        })
    }

    /// Adds a callback of the resets of all devices, called after synchronising and before the
    /// reset, on the thread that resets. One that is registered already is not added again. Its
    /// panics go to [`on_failure`](crate::on_failure).
    ///
    /// # Errors
    /// [`Error::Memory`].
    pub fn on_reset(callback: fn(Self)) -> Result<()> {
        // SAFETY: the context is a function, which stays.
        call(|error| unsafe {
            sys::cai_device_on_reset(Some(before_reset), callback as *mut c_void, error)
        })
    }

    /// Removes a callback; does nothing if it is not registered. A reset that has begun may still
    /// call it.
    ///
    /// # Errors
    /// No failure is known.
    pub fn off_reset(callback: fn(Self)) -> Result<()> {
        // SAFETY: the context is only compared.
        call(|error| unsafe {
            sys::cai_device_off_reset(Some(before_reset), callback as *mut c_void, error)
        })
    }

    /// Sets how many bytes of freed memory the device's current pool caches; the default is 0. Does
    /// nothing for the CPU.
    ///
    /// # Errors
    /// As [`Device::set_current`]; [`Error::Unsupported`] for a GPU without pools.
    pub fn set_cache(self, bytes: u64) -> Result<()> {
        // SAFETY: the error can be written.
        call(|error| unsafe { sys::cai_device_set_cache(self.to_raw(), bytes, error) })
    }

    /// Releases cached memory of the device's current pool, down to `keep` bytes. Does nothing for
    /// the CPU.
    ///
    /// # Errors
    /// As [`Device::set_cache`].
    pub fn trim_cache(self, keep: u64) -> Result<()> {
        // SAFETY: the error can be written.
        call(|error| unsafe { sys::cai_device_trim_cache(self.to_raw(), keep, error) })
    }

    /// Makes it the calling thread's current device: a GPU's primary context becomes current. Does
    /// nothing for the CPU. For a scope, use [`Device::enter`].
    ///
    /// # Errors
    /// [`Error::Device`] if there is no such device; [`Error::Driver`]; [`Error::Cuda`];
    /// [`Error::State`] in a forked child; [`Error::Value`] for a negative ordinal;
    /// [`Error::Memory`].
    pub fn set_current(self) -> Result<()> {
        // SAFETY: the error can be written.
        call(|error| unsafe { sys::cai_device_set_current(self.to_raw(), error) })
    }

    /// Makes it the calling thread's current device until the guard is dropped: pushes a GPU's
    /// primary context. Does nothing for the CPU.
    ///
    /// ```
    /// # use libcai::Device;
    /// for gpu in Device::all()? {
    ///     let _guard = gpu.enter()?;
    ///     assert_eq!(Device::current()?, gpu);
    /// }
    /// # Ok::<(), libcai::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Device::set_current`].
    pub fn enter(self) -> Result<DeviceGuard> {
        // SAFETY: the outputs can be written.
        ask(|guard, error| unsafe { sys::cai_device_enter(self.to_raw(), guard, error) })
            .map(|raw| DeviceGuard { raw, thread_bound: PhantomData })
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cpu => f.pad("cpu"),
            Self::Cuda(id) => f.pad(&format!("gpu:{id}")),
        }
    }
}

impl FromStr for Device {
    type Err = Error;

    /// # Errors
    /// [`Error::Value`] if the text names no device; [`Error::Device`] if there is no such GPU;
    /// [`Error::Driver`] and [`Error::Cuda`] for GPUs.
    fn from_str(text: &str) -> Result<Self> {
        let text = c_text(text)?;
        // SAFETY: the text ends in NUL; the outputs can be written.
        ask(|out, error| unsafe { sys::cai_device_parse(text.as_ptr(), out, error) })
            .map(Self::from_raw)
    }
}

/// A guard that makes a device current until it is dropped. Drop guards in the reverse order, on
/// the thread that made them. If leaving fails in the drop, the error goes to
/// [`on_failure`](crate::on_failure). A guard that is forgotten leaves its device current.
#[derive(Debug)]
#[must_use = "the device is left when the guard is dropped"]
pub struct DeviceGuard {
    raw: sys::cai_device_guard,
    thread_bound: PhantomData<*const ()>,
}

impl DeviceGuard {
    /// Leaves the device, and makes the previous one current again.
    ///
    /// # Errors
    /// [`Error::State`], with nothing changed, if the entered context is not the current one;
    /// [`Error::Cuda`]. The guard is returned, to be left later.
    pub fn try_leave(mut self) -> Result<(), Failed<Self>> {
        self.leave().map_err(|error| Failed { error, value: self })
    }

    fn leave(&mut self) -> Result<()> {
        match self.raw.thread {
            0 => Ok(()), // left already
            // SAFETY: cai_device_enter() has filled in the guard.
            _ => call(|error| unsafe { sys::cai_device_leave(&mut self.raw, error) }),
        }
    }
}

impl Drop for DeviceGuard {
    fn drop(&mut self) {
        if let Err(failure) = self.leave() {
            failure::report(&failure);
        }
    }
}

extern "C" fn before_reset(callback: *mut c_void, device: sys::cai_device) {
    // SAFETY: on_reset() made it of such a function.
    let callback = unsafe { mem::transmute::<*mut c_void, fn(Device)>(callback) };
    failure::run_unheard("a callback of a reset", || callback(Device::from_raw(device)));
}

/// A C text, up to its NUL.
fn text(raw: &[c_char]) -> String {
    // SAFETY: characters are bytes.
    let bytes = unsafe { &*(ptr::from_ref(raw) as *const [u8]) };
    CStr::from_bytes_until_nul(bytes)
        .map(|text| text.to_string_lossy().into_owned())
        .unwrap_or_default()
}
