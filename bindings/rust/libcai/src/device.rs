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

/// The CPU or a GPU: a value. Whether there is such a device is asked by what needs it.
///
/// It reads "cpu", "gpu" (the thread's current one), "gpu:1" or "cuda:1", and "gpu:free" (the one
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
    /// The CPU, which is always there.
    #[default]
    Cpu,
    /// A GPU by its ordinal, from 0, worked on in its primary context.
    Cuda(i32),
}

/// How much memory there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryAmount {
    /// Bytes that are free.
    pub free: u64,
    /// Bytes in all.
    pub total: u64,
}

/// What is known of a device.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeviceInfo {
    /// As the driver calls it.
    pub name: String,
    /// Tells the device from all others, whatever its ordinal; 0 for the CPU.
    pub uuid: [u8; 16],
    /// Domain, bus and slot; 0 for the CPU.
    pub pci: (i32, i32, i32),
    /// Bytes of its memory.
    pub total: u64,
    /// Whether it can use pinned host memory where that is.
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
    /// As C takes it.
    #[inline]
    pub fn to_raw(self) -> sys::cai_device {
        match self {
            Self::Cpu => sys::cai_device { type_: sys::CAI_DEVICE_CPU, id: 0 },
            Self::Cuda(id) => sys::cai_device { type_: sys::CAI_DEVICE_CUDA, id },
        }
    }

    /// As C gives it: any type but the CPU's is taken for a GPU's.
    #[inline]
    pub fn from_raw(raw: sys::cai_device) -> Self {
        match raw.type_ {
            sys::CAI_DEVICE_CPU => Self::Cpu,
            _ => Self::Cuda(raw.id),
        }
    }

    /// Counts the GPUs: 0 if there is no driver, or none that libcai can use.
    ///
    /// # Errors
    /// [`Error::Cuda`]; [`Error::State`] in a forked child.
    pub fn count() -> Result<i32> {
        // SAFETY: the outputs can be written.
        ask(|count, error| unsafe { sys::cai_device_count(sys::CAI_DEVICE_CUDA, count, error) })
    }

    /// All GPUs, by their ordinals.
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

    /// The GPU with the most free memory; the first of several.
    ///
    /// # Errors
    /// As [`Device::current`]; [`Error::Memory`].
    pub fn most_free() -> Result<Self> {
        // SAFETY: the outputs can be written.
        ask(|out, error| unsafe { sys::cai_device_most_free(sys::CAI_DEVICE_CUDA, out, error) })
            .map(Self::from_raw)
    }

    /// The GPU with an identity, [`DeviceInfo::uuid`], under whatever ordinal this process knows it.
    ///
    /// # Errors
    /// [`Error::Device`] if there is none; [`Error::Driver`]; [`Error::Cuda`]; [`Error::State`] in a
    /// forked child.
    pub fn find(uuid: &[u8; 16]) -> Result<Self> {
        // SAFETY: the identity can be read, and the outputs can be written.
        ask(|out, error| unsafe { sys::cai_device_find(uuid.as_ptr(), out, error) })
            .map(Self::from_raw)
    }

    /// What is known of it.
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

    /// A few lines for people: name, identity, memory, what the device can do.
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
            // SAFETY: so many bytes can be written.
            unsafe { sys::cai_device_summary(raw, text.as_mut_ptr(), size, &mut length, error) }
        })?;
        Ok(self::text(&text))
    }

    /// How much memory it has; of the machine for the CPU.
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

    /// Whether its kernels can be allowed to use the memory of another one. A device can use its
    /// own; GPU and CPU cannot use each other's.
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

    /// Waits until the calling thread's current stream of the device, and then all else that is
    /// queued in the GPU's primary context, is complete.
    ///
    /// Do not call it while a stream that libcai has no handle of is captured in that context: the
    /// driver would end the capture.
    ///
    /// # Errors
    /// What earlier work of the current stream failed with; [`Error::Capture`] if a stream that
    /// libcai knows is being captured, and the capture goes on; [`Error::Cuda`]; the rest as
    /// [`Device::set_current`].
    pub fn synchronize(self) -> Result<()> {
        // SAFETY: the error can be written.
        call(|error| unsafe { sys::cai_device_synchronize(self.to_raw(), error) })
    }

    /// Synchronises, calls the callbacks of [`Device::on_reset`], frees what waits to be freed,
    /// resets the managers of the device, and drops the calling thread's current streams of it.
    ///
    /// # Errors
    /// As [`Device::synchronize`], and then nothing but synchronising has happened;
    /// [`Error::State`] inside of a callback.
    pub fn reset(self) -> Result<()> {
        // SAFETY: the error can be written.
        call(|error| unsafe { sys::cai_device_reset(self.to_raw(), 0, error) })
    }

    /// Likewise, and destroys the GPU's primary context, with all that anybody in the process has
    /// there. To use memory, streams and events of the device that somebody still holds is then
    /// [`Error::State`]; to let go of them is safe.
    ///
    /// # Safety
    /// Nobody uses memory of the context any more, by whatever means: pinned and managed memory,
    /// which the host uses, is gone as well. Nor any of its streams by their numbers, which is how
    /// guards use them: none is there, and none begins on a [`Stream`](crate::Stream) made before.
    ///
    /// # Errors
    /// As [`Device::reset`]; [`Error::Cuda`] for the reset itself.
    pub unsafe fn reset_context(self) -> Result<()> {
        call(|error| {
            // SAFETY: the caller's word; the error can be written.
            unsafe { sys::cai_device_reset(self.to_raw(), sys::CAI_RESET_CONTEXT, error) }
        })
    }

    /// Adds a callback of the resets of all devices, called after synchronising and before the
    /// reset, on the thread that resets. One that is there already is not added again. What it
    /// panics with goes to [`on_failure`](crate::on_failure).
    ///
    /// # Errors
    /// [`Error::Memory`].
    pub fn on_reset(callback: fn(Self)) -> Result<()> {
        // SAFETY: the context is a function, which stays.
        call(|error| unsafe {
            sys::cai_device_on_reset(Some(before_reset), callback as *mut c_void, error)
        })
    }

    /// Takes a callback away; nothing if it is not there. A reset that has begun may still call it.
    ///
    /// # Errors
    /// None that is known.
    pub fn off_reset(callback: fn(Self)) -> Result<()> {
        // SAFETY: the context is only compared.
        call(|error| unsafe {
            sys::cai_device_off_reset(Some(before_reset), callback as *mut c_void, error)
        })
    }

    /// Says how many bytes of freed memory the device's current pool keeps for later, at first 0.
    /// Nothing for the CPU.
    ///
    /// # Errors
    /// As [`Device::set_current`]; [`Error::Unsupported`] for a GPU without pools.
    pub fn set_cache(self, bytes: u64) -> Result<()> {
        // SAFETY: the error can be written.
        call(|error| unsafe { sys::cai_device_set_cache(self.to_raw(), bytes, error) })
    }

    /// Gives freed memory of the device's current pool back, down to `keep` bytes. Nothing for the
    /// CPU.
    ///
    /// # Errors
    /// As [`Device::set_cache`].
    pub fn trim_cache(self, keep: u64) -> Result<()> {
        // SAFETY: the error can be written.
        call(|error| unsafe { sys::cai_device_trim_cache(self.to_raw(), keep, error) })
    }

    /// Makes it the calling thread's, in the place of the one that is: a GPU's primary context
    /// becomes current. Nothing for the CPU. For a while: [`Device::enter`].
    ///
    /// # Errors
    /// [`Error::Device`] if there is no such device; [`Error::Driver`]; [`Error::Cuda`];
    /// [`Error::State`] in a forked child; [`Error::Value`] for a negative ordinal;
    /// [`Error::Memory`].
    pub fn set_current(self) -> Result<()> {
        // SAFETY: the error can be written.
        call(|error| unsafe { sys::cai_device_set_current(self.to_raw(), error) })
    }

    /// Makes it the calling thread's until the guard goes: pushes a GPU's primary context. Nothing
    /// for the CPU.
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
    /// [`Error::Value`] if the text says no device; [`Error::Device`] if there is no such GPU;
    /// [`Error::Driver`] and [`Error::Cuda`] for GPUs.
    fn from_str(text: &str) -> Result<Self> {
        let text = c_text(text)?;
        // SAFETY: the text ends in NUL; the outputs can be written.
        ask(|out, error| unsafe { sys::cai_device_parse(text.as_ptr(), out, error) })
            .map(Self::from_raw)
    }
}

/// A device that is the calling thread's until this goes. Guards go in the reverse order in which
/// they came, on the thread on which they came. One that cannot be left when it is dropped tells
/// [`on_failure`](crate::on_failure); one that is forgotten leaves its device current.
#[derive(Debug)]
#[must_use = "the device is left when the guard is dropped"]
pub struct DeviceGuard {
    raw: sys::cai_device_guard,
    thread_bound: PhantomData<*const ()>,
}

impl DeviceGuard {
    /// Leaves the device: what was current before is current again.
    ///
    /// # Errors
    /// [`Error::State`], and nothing has changed, if the context that was entered is not the current
    /// one; [`Error::Cuda`]. The guard comes back, to be left later.
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

/// A text of C's, up to its NUL.
fn text(raw: &[c_char]) -> String {
    // SAFETY: characters are bytes.
    let bytes = unsafe { &*(ptr::from_ref(raw) as *const [u8]) };
    CStr::from_bytes_until_nul(bytes)
        .map(|text| text.to_string_lossy().into_owned())
        .unwrap_or_default()
}
