// SPDX-License-Identifier: BSD-3-Clause
//! Events: points in the work of streams.

use std::mem;
use std::ptr::NonNull;

use crate::device::Device;
use crate::error::{Result, ask, call};
use crate::stream::Stream;
use crate::sys;

/// A reference to a point in the work of a stream. A clone adds a reference to the same event. It
/// is complete until it is recorded. To wait for it, call [`Stream::wait`].
///
/// ```
/// use libcai::{Device, Event, Stream};
/// let (stream, event) = (Stream::new(Device::Cpu)?, Event::new(Device::Cpu)?);
/// event.record(&stream)?;
/// event.synchronize()?;
/// assert!(!event.is_busy()?);
/// # Ok::<(), libcai::Error>(())
/// ```
#[derive(Debug)]
pub struct Event {
    raw: NonNull<sys::cai_event>,
}

// SAFETY: handles are counted, and every function of them may be called from any thread: cai.h,
// "Threads", and device.h.
unsafe impl Send for Event {}
// SAFETY: likewise.
unsafe impl Sync for Event {}

impl Event {
    /// Makes an event without timing.
    ///
    /// # Errors
    /// As [`Device::set_current`].
    pub fn new(device: Device) -> Result<Self> {
        Self::create(device, 0)
    }

    /// Makes an event with timing, for [`Event::milliseconds_since`].
    ///
    /// # Errors
    /// As [`Event::new`].
    pub fn timing(device: Device) -> Result<Self> {
        Self::create(device, sys::CAI_EVENT_TIMING)
    }

    fn create(device: Device, flags: u32) -> Result<Self> {
        // SAFETY: the outputs can be written.
        ask(|out, error| unsafe { sys::cai_event_create(device.to_raw(), flags, out, error) })
            .map(|raw| Self { raw: NonNull::new(raw).expect("an event that was made is not NULL") })
    }

    /// Takes over the caller's reference, as C functions return it.
    ///
    /// # Safety
    /// `raw` is an event of libcai's, with a reference that the caller owns.
    #[inline]
    pub unsafe fn from_raw(raw: NonNull<sys::cai_event>) -> Self {
        Self { raw }
    }

    /// Returns the reference to the caller, who must release it with `cai_event_release()`.
    #[inline]
    pub fn into_raw(self) -> NonNull<sys::cai_event> {
        mem::ManuallyDrop::new(self).raw
    }

    /// The event for C functions, borrowed from this object.
    #[inline]
    pub fn as_ptr(&self) -> *mut sys::cai_event {
        self.raw.as_ptr()
    }

    /// The `CUevent`; 0 for a CPU event.
    #[inline]
    pub fn value(&self) -> u64 {
        // SAFETY: the event is held.
        unsafe { sys::cai_event_value(self.as_ptr()) }
    }

    /// Records it behind the work queued so far on a stream of its device. Work that waits for an
    /// earlier record still waits for that.
    ///
    /// # Errors
    /// [`Error::Device`](crate::Error::Device) for a stream of another device, or of another
    /// context than the GPU's primary one; [`Error::Capture`](crate::Error::Capture) if the capture
    /// was invalidated; the failure of earlier work on a CPU stream;
    /// [`Error::State`](crate::Error::State) after a reset; [`Error::Cuda`](crate::Error::Cuda);
    /// [`Error::Memory`](crate::Error::Memory).
    pub fn record(&self, stream: &Stream) -> Result<()> {
        // SAFETY: both are held.
        call(|error| unsafe { sys::cai_event_record(self.as_ptr(), stream.as_ptr(), error) })
    }

    /// Whether work before it is pending.
    ///
    /// # Errors
    /// [`Error::Capture`](crate::Error::Capture) if it was recorded in a capture;
    /// [`Error::State`](crate::Error::State) after a reset; [`Error::Cuda`](crate::Error::Cuda).
    pub fn is_busy(&self) -> Result<bool> {
        // SAFETY: the event is held; the outputs can be written.
        ask(|busy, error| unsafe { sys::cai_event_query(self.as_ptr(), busy, error) })
            .map(|busy: i32| busy != 0)
    }

    /// Waits for the work before it.
    ///
    /// # Errors
    /// As [`Event::is_busy`]; [`Error::State`](crate::Error::State), also in the work of the CPU
    /// stream that must complete it.
    pub fn synchronize(&self) -> Result<()> {
        // SAFETY: the event is held.
        call(|error| unsafe { sys::cai_event_synchronize(self.as_ptr(), error) })
    }

    /// The time from `start` to this one, negative if this one came first. Both were made by
    /// [`Event::timing`], for one device.
    ///
    /// # Errors
    /// [`Error::State`](crate::Error::State) if one was not recorded, or is not complete, and after
    /// a reset; [`Error::Device`](crate::Error::Device) if their devices differ;
    /// [`Error::Value`](crate::Error::Value) if one was made without timing;
    /// [`Error::Capture`](crate::Error::Capture); [`Error::Cuda`](crate::Error::Cuda).
    pub fn milliseconds_since(&self, start: &Self) -> Result<f64> {
        // SAFETY: both are held; the outputs can be written.
        ask(|out, error| unsafe {
            sys::cai_event_elapsed(start.as_ptr(), self.as_ptr(), out, error)
        })
    }
}

impl Clone for Event {
    #[inline]
    fn clone(&self) -> Self {
        // SAFETY: the event is held.
        unsafe { sys::cai_event_retain(self.as_ptr()) };
        Self { raw: self.raw }
    }
}

impl Drop for Event {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: this is the reference that was taken over.
        unsafe { sys::cai_event_release(self.as_ptr()) };
    }
}
