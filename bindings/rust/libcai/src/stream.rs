// SPDX-License-Identifier: BSD-3-Clause
//! Streams: queues of ordered work, on a GPU or on the CPU.

use std::ffi::c_void;
use std::mem;
use std::ptr::NonNull;

use crate::device::Device;
use crate::error::{Result, ask, call};
use crate::event::Event;
use crate::failure::{self, Failed};
use crate::sys;

/// A reference to a queue of ordered work, on a GPU or on the CPU. A clone adds a reference to the
/// same stream. Dropping the last reference does not wait, and queued work still runs.
///
/// ```
/// use libcai::{Device, Stream};
/// let stream = Stream::new(Device::Cpu)?;
/// stream.enqueue(|| {
///     println!("on a thread of the stream's");
///     Ok(())
/// })?;
/// stream.synchronize()?;
/// # Ok::<(), libcai::Error>(())
/// ```
#[derive(Debug)]
pub struct Stream {
    raw: NonNull<sys::cai_stream>,
    value: u64, // never changes, and each use needs it
}

// SAFETY: handles are counted, and every function of them may be called from any thread: cai.h,
// "Threads", and device.h. One of another thread's stream 2 is refused with CAI_ERR_STATE.
unsafe impl Send for Stream {}
// SAFETY: likewise.
unsafe impl Sync for Stream {}

/// The mode of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Mode {
    /// CPU: at once, on the calling thread. GPU: the legacy default stream.
    Default,
    /// CPU: likewise. GPU: a stream that the legacy stream waits for, and that waits for it.
    Sync,
    /// CPU: its own thread, first in, first out. GPU: a stream that is independent of the legacy
    /// stream.
    Async,
}

/// Whether a stream is being captured into a graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Capture {
    /// Not captured.
    None,
    /// Being captured, with the id of the capture.
    Active(u64),
    /// An error has invalidated the capture; the capturing code must end it.
    Invalidated(u64),
}

/// The properties of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct StreamInfo {
    /// Its mode; for a wrapped stream, as the driver reports it.
    pub mode: Mode,
    /// Where its work runs.
    pub device: Device,
    /// As [`Stream::value`].
    pub value: u64,
    /// An id that is unique among all streams of this process, ever; 0 if the stream was wrapped in
    /// a capture that goes on: the driver ends captures in which it is asked for it.
    pub id: u64,
    /// 0 is the default, and lower is more urgent.
    pub priority: i32,
    /// Whether it is being captured.
    pub capture: Capture,
    /// How many threads its work may use: [`Stream::set_thread_limit`]; 0 for a GPU.
    pub thread_limit: i32,
    /// Whether it is from [`Stream::wrap`].
    pub wrapped: bool,
}

impl Stream {
    /// Creates a stream of [`Mode::Async`].
    ///
    /// # Errors
    /// As [`Stream::with_mode`].
    pub fn new(device: Device) -> Result<Self> {
        Self::with_mode(device, Mode::Async, 0)
    }

    /// Creates a stream. `priority` 0 is the default, and lower is more urgent; the driver clips
    /// it. It must be 0 for the CPU and for [`Mode::Default`].
    ///
    /// # Errors
    /// [`Error::Value`](crate::Error::Value) for another priority there;
    /// [`Error::Unsupported`](crate::Error::Unsupported) if a thread cannot be created; the rest as
    /// [`Device::set_current`].
    pub fn with_mode(device: Device, mode: Mode, priority: i32) -> Result<Self> {
        let mode = match mode {
            Mode::Default => sys::CAI_MODE_DEFAULT,
            Mode::Sync => sys::CAI_MODE_SYNC,
            Mode::Async => sys::CAI_MODE_ASYNC,
        };
        // SAFETY: the outputs can be written.
        ask(|out, error| unsafe {
            sys::cai_stream_create(device.to_raw(), mode, priority, out, error)
        })
        .map(Self::adopt)
    }

    /// The calling thread's current stream of a device; the default is a stream of
    /// [`Mode::Default`].
    ///
    /// # Errors
    /// As [`Stream::with_mode`].
    pub fn current(device: Device) -> Result<Self> {
        // SAFETY: the outputs can be written.
        ask(|out, error| unsafe { sys::cai_stream_current(device.to_raw(), out, error) })
            .map(Self::adopt)
    }

    /// The legacy default stream of a GPU's primary context, whatever context is current.
    ///
    /// # Errors
    /// As [`Stream::with_mode`]; [`Error::Device`](crate::Error::Device) for the CPU.
    pub fn legacy(device: Device) -> Result<Self> {
        // SAFETY: that stream lives as long as its context.
        unsafe { Self::wrap(device, 1) }
    }

    /// The calling thread's per-thread default stream of a GPU's primary context. On any other
    /// thread the handle returns [`Error::State`](crate::Error::State).
    ///
    /// # Errors
    /// As [`Stream::legacy`].
    pub fn per_thread(device: Device) -> Result<Self> {
        // SAFETY: that stream lives as long as its context.
        unsafe { Self::wrap(device, 2) }
    }

    /// Makes a handle for a GPU stream that other code created: 1 or 2 of the device's primary
    /// context, or a `CUstream`. Two handles mean the same stream if their values, contexts and
    /// (for 2) threads are the same.
    ///
    /// # Safety
    /// `value` is such a stream, and lives as long as the handle, its clones, and the work that
    /// they queue.
    ///
    /// # Errors
    /// [`Error::Value`](crate::Error::Value) for 0; [`Error::Device`](crate::Error::Device) if the
    /// stream is not of that device, or the device is the CPU; the rest as [`Device::set_current`].
    pub unsafe fn wrap(device: Device, value: u64) -> Result<Self> {
        ask(|out, error| {
            let nothing = std::ptr::null_mut();
            // SAFETY: the caller guarantees the rest; the outputs can be written.
            unsafe { sys::cai_stream_wrap(device.to_raw(), value, None, nothing, out, error) }
        })
        .map(Self::adopt)
    }

    /// Likewise with an owner that keeps the stream alive: it is dropped once, on any thread, when
    /// libcai no longer needs the stream. Its panics go to [`on_failure`](crate::on_failure).
    ///
    /// # Safety
    /// `value` is such a stream, and lives as long as `owner`.
    ///
    /// # Errors
    /// As [`Stream::wrap`]; the owner is returned.
    pub unsafe fn wrap_owned<T: Send + 'static>(
        device: Device,
        value: u64,
        owner: T,
    ) -> Result<Self, Failed<T>> {
        failure::give(owner, |release, context| {
            // SAFETY: the caller guarantees the rest; the outputs can be written.
            ask(|out, error| unsafe {
                sys::cai_stream_wrap(device.to_raw(), value, release, context, out, error)
            })
        })
        .map(Self::adopt)
    }

    /// Takes over the caller's reference, as C functions return it.
    ///
    /// # Safety
    /// `raw` is a stream of libcai's, with a reference that the caller owns.
    #[inline]
    pub unsafe fn from_raw(raw: NonNull<sys::cai_stream>) -> Self {
        // SAFETY: the stream is held.
        let value = unsafe { sys::cai_stream_value(raw.as_ptr()) };
        Self { raw, value }
    }

    /// Returns the reference to the caller, who must release it with `cai_stream_release()`.
    #[inline]
    pub fn into_raw(self) -> NonNull<sys::cai_stream> {
        mem::ManuallyDrop::new(self).raw
    }

    /// The stream for C functions, borrowed from this object.
    #[inline]
    pub fn as_ptr(&self) -> *mut sys::cai_stream {
        self.raw.as_ptr()
    }

    /// Wraps the result of a C function.
    fn adopt(raw: *mut sys::cai_stream) -> Self {
        let raw = NonNull::new(raw).expect("a stream that was made is not NULL");
        // SAFETY: C returns a reference with it.
        unsafe { Self::from_raw(raw) }
    }

    /// The stream's number for kernels and the dict: 1, 2 or a `CUstream`; 0 for a CPU stream. 1
    /// and 2 mean the primary context of the device, which need not be current.
    #[inline]
    pub fn value(&self) -> u64 {
        self.value
    }

    /// Its properties.
    ///
    /// # Errors
    /// [`Error::State`](crate::Error::State) after a reset of the context, and for another thread's
    /// stream 2; [`Error::Cuda`](crate::Error::Cuda).
    pub fn describe(&self) -> Result<StreamInfo> {
        let mut raw = sys::cai_stream_info {
            struct_size: mem::size_of::<sys::cai_stream_info>() as u32,
            // SAFETY: numbers, for which 0 is a value.
            ..unsafe { mem::zeroed() }
        };
        // SAFETY: the stream is held; the outputs can be written.
        call(|error| unsafe { sys::cai_stream_describe(self.as_ptr(), &mut raw, error) })?;
        Ok(StreamInfo {
            mode: match raw.mode {
                sys::CAI_MODE_ASYNC => Mode::Async,
                sys::CAI_MODE_SYNC => Mode::Sync,
                _ => Mode::Default,
            },
            device: Device::from_raw(raw.device),
            value: raw.value,
            id: raw.id,
            priority: raw.priority,
            capture: match raw.capture {
                sys::CAI_CAPTURE_NONE => Capture::None,
                sys::CAI_CAPTURE_ACTIVE => Capture::Active(raw.capture_id),
                _ => Capture::Invalidated(raw.capture_id),
            },
            thread_limit: raw.thread_limit,
            wrapped: raw.wrapped != 0,
        })
    }

    /// Where its work runs.
    ///
    /// # Errors
    /// As [`Stream::describe`].
    pub fn device(&self) -> Result<Device> {
        Ok(self.describe()?.device)
    }

    /// Sets how many threads the work on a CPU stream may use; the work must read it itself. At
    /// least 1; the default is the machine's number of processors.
    ///
    /// # Errors
    /// [`Error::Value`](crate::Error::Value); [`Error::Device`](crate::Error::Device) for a GPU
    /// stream.
    pub fn set_thread_limit(&self, threads: i32) -> Result<()> {
        // SAFETY: the stream is held.
        call(|error| unsafe { sys::cai_stream_set_thread_limit(self.as_ptr(), threads, error) })
    }

    /// Queues a closure. A CPU stream that is not [`Mode::Async`] runs it before the call returns.
    ///
    /// It is called once; on a CPU stream, not at all if earlier work failed. Its error or panic
    /// becomes a failure of the stream. The first failure is returned once, by the next call of this
    /// function (which then queues nothing), [`Stream::is_busy`], [`Stream::synchronize`],
    /// [`Stream::follow`] or [`Stream::wait`]. If there is no such call, it goes to
    /// [`on_failure`](crate::on_failure).
    ///
    /// On a CPU stream it may use arrays. Calls inside it that wait for pending work, such as
    /// [`item()`](crate::memory::item) and [`ArrayRef::sync_host`](crate::ArrayRef::sync_host), wait
    /// for what CPU streams were to do before this work, and not for what was queued after it, not
    /// even by this work. For later uses to wait for this work, record it:
    /// [`Memory::record`](crate::Memory::record).
    ///
    /// It must not wait for work on another stream that waits for it, for example because that uses
    /// memory on which this work was recorded: both would wait forever.
    ///
    /// On a GPU stream it runs on a thread of the driver: it must not call the driver, directly or
    /// through this crate. It may drop arrays, which later calls free. What it captured is dropped
    /// later, by another call for the stream or by [`drain`](crate::drain); hence it is `FnMut`, not
    /// `FnOnce`.
    ///
    /// # Errors
    /// The failure of earlier work, or of this work if it ran at once;
    /// [`Error::Capture`](crate::Error::Capture) if the stream is being captured;
    /// [`Error::State`](crate::Error::State) after a reset; [`Error::Cuda`](crate::Error::Cuda);
    /// [`Error::Memory`](crate::Error::Memory). The closure is dropped then.
    pub fn enqueue<F>(&self, work: F) -> Result<()>
    where
        F: FnMut() -> Result<()> + Send + 'static,
    {
        let queued = failure::give(work, |end, context| {
            // SAFETY: the stream is held; the context is the closure, as run() and end() take it.
            call(|error| unsafe {
                sys::cai_stream_enqueue(self.as_ptr(), Some(run::<F>), end, context, error)
            })
        });
        Ok(queued?)
    }

    /// Keeps an object until the work queued on the stream so far is complete; in a capture, the
    /// graph keeps it. It is dropped by a later call for the stream, a later use, or
    /// [`drain`](crate::drain); on a CPU stream by the thread that runs its work. Panics of its
    /// drop go to [`on_failure`](crate::on_failure).
    ///
    /// # Errors
    /// [`Error::State`](crate::Error::State) after a reset;
    /// [`Error::Capture`](crate::Error::Capture) if the capture was invalidated;
    /// [`Error::Cuda`](crate::Error::Cuda); [`Error::Memory`](crate::Error::Memory). The object is
    /// returned, since the stream may still use it.
    pub fn attach<T: Send + 'static>(&self, object: T) -> Result<(), Failed<T>> {
        failure::give(object, |release, context| {
            // SAFETY: the stream is held; the context is the object, as release takes it.
            call(|error| unsafe { sys::cai_stream_attach(self.as_ptr(), release, context, error) })
        })
    }

    /// Whether work is pending.
    ///
    /// # Errors
    /// The failure of earlier work; [`Error::Capture`](crate::Error::Capture) if the stream is being
    /// captured, and the capture goes on; [`Error::State`](crate::Error::State) after a reset, and for
    /// another thread's stream 2; [`Error::Cuda`](crate::Error::Cuda).
    pub fn is_busy(&self) -> Result<bool> {
        // SAFETY: the stream is held; the outputs can be written.
        ask(|busy, error| unsafe { sys::cai_stream_query(self.as_ptr(), busy, error) })
            .map(|busy: i32| busy != 0)
    }

    /// Waits until the queued work is complete; then drops what was attached.
    ///
    /// # Errors
    /// As [`Stream::is_busy`]; [`Error::State`](crate::Error::State), also in the work of a CPU
    /// stream that would wait for itself.
    pub fn synchronize(&self) -> Result<()> {
        // SAFETY: the stream is held.
        call(|error| unsafe { sys::cai_stream_synchronize(self.as_ptr(), error) })
    }

    /// Makes later work wait for the work queued on `other` so far. The host waits only if a GPU
    /// stream follows an [`Mode::Async`] stream of the CPU, or if a CPU stream that works at once
    /// follows any stream. A GPU stream that follows a stream that is being captured joins the
    /// capture; the captured stream must follow it back before the capture ends.
    ///
    /// # Errors
    /// The failure of earlier work on either; [`Error::Capture`](crate::Error::Capture) where a
    /// capture allows no such order; [`Error::State`](crate::Error::State) after a reset, and where
    /// a CPU stream would wait for itself; [`Error::Cuda`](crate::Error::Cuda);
    /// [`Error::Memory`](crate::Error::Memory).
    pub fn follow(&self, other: &Self) -> Result<()> {
        // SAFETY: the streams are held.
        call(|error| unsafe { sys::cai_stream_follow(self.as_ptr(), other.as_ptr(), error) })
    }

    /// Makes later work wait for the last record of an event, of any device; does nothing if it was
    /// never recorded.
    ///
    /// # Errors
    /// As [`Stream::follow`].
    pub fn wait(&self, event: &Event) -> Result<()> {
        // SAFETY: both are held.
        call(|error| unsafe { sys::cai_event_wait(event.as_ptr(), self.as_ptr(), error) })
    }

    /// Makes it the calling thread's current stream of its device. For a scope, use
    /// [`Stream::enter`].
    ///
    /// # Errors
    /// [`Error::State`](crate::Error::State) after a reset; [`Error::Memory`](crate::Error::Memory).
    pub fn set_current(&self) -> Result<()> {
        // SAFETY: the stream is held.
        call(|error| unsafe { sys::cai_stream_set_current(self.as_ptr(), error) })
    }

    /// Makes it the calling thread's current stream of its device until the guard is dropped.
    ///
    /// # Errors
    /// As [`Stream::set_current`].
    pub fn enter(&self) -> Result<StreamGuard> {
        // SAFETY: the stream is held; the outputs can be written.
        ask(|guard, error| unsafe { sys::cai_stream_enter(self.as_ptr(), guard, error) })
            .map(|raw| StreamGuard { raw })
    }
}

impl Clone for Stream {
    #[inline]
    fn clone(&self) -> Self {
        // SAFETY: the stream is held.
        unsafe { sys::cai_stream_retain(self.as_ptr()) };
        Self { raw: self.raw, value: self.value }
    }
}

impl Drop for Stream {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: this is the reference that was taken over.
        unsafe { sys::cai_stream_release(self.as_ptr()) };
    }
}

extern "C" fn run<F: FnMut() -> Result<()>>(
    context: *mut c_void,
    error: *mut sys::cai_error,
) -> sys::cai_status {
    // SAFETY: enqueue() gave the closure, which C calls once, and ends after that.
    unsafe { failure::as_status("work on a stream", error, &mut *context.cast::<F>()) }
}

/// A guard that makes a stream the calling thread's current stream of its device until it is
/// dropped. Drop the guards of a device in the reverse order, on the thread that made them. When it
/// is dropped, the host waits for the stream; failures then go to
/// [`on_failure`](crate::on_failure). A guard that is forgotten leaves its stream current.
#[derive(Debug)]
#[must_use = "the stream is left when the guard is dropped"]
pub struct StreamGuard {
    raw: sys::cai_stream_guard,
}

impl StreamGuard {
    /// Creates a stream of a device, and enters it; the guard holds it.
    ///
    /// ```
    /// use libcai::{Device, Mode, Stream, StreamGuard};
    ///
    /// let guard = StreamGuard::new(Device::Cpu, Mode::Async)?;
    /// assert_eq!(Stream::current(Device::Cpu)?.describe()?.mode, Mode::Async);
    /// # drop(guard);
    /// # Ok::<(), libcai::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Stream::with_mode`] and [`Stream::enter`].
    pub fn new(device: Device, mode: Mode) -> Result<Self> {
        Stream::with_mode(device, mode, 0)?.enter()
    }

    /// Waits for the work on the stream, and makes the previous stream current again.
    ///
    /// # Errors
    /// As [`Stream::synchronize`], and the stream is left all the same;
    /// [`Error::State`](crate::Error::State), with nothing changed, for a guard out of order, which
    /// is returned to be left later.
    pub fn try_leave(self) -> Result<(), Failed<Self>> {
        self.leave_as(0)
    }

    /// Likewise, without waiting.
    ///
    /// # Errors
    /// As [`StreamGuard::try_leave`], without the failures of waiting.
    pub fn try_leave_queued(self) -> Result<(), Failed<Self>> {
        self.leave_as(sys::CAI_LEAVE_QUEUED)
    }

    fn leave_as(mut self, flags: u32) -> Result<(), Failed<Self>> {
        self.leave(flags).map_err(|error| Failed { error, value: self })
    }

    fn leave(&mut self, flags: u32) -> Result<()> {
        match self.raw.thread {
            0 => Ok(()), // left already
            // SAFETY: cai_stream_enter() has filled in the guard.
            _ => call(|error| unsafe { sys::cai_stream_leave(&mut self.raw, flags, error) }),
        }
    }
}

impl Drop for StreamGuard {
    fn drop(&mut self) {
        if let Err(failure) = self.leave(0) {
            failure::report(&failure);
        }
    }
}
