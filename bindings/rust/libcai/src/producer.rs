// SPDX-License-Identifier: BSD-3-Clause
//! Producer's side: which stream the work on an array is pending on.

use std::ffi::c_void;

use crate::array::{Array, ArrayRef};
use crate::as_stream::AsStream;
use crate::error::{Result, call};
use crate::failure::{self, Failed};
use crate::order::too_many;
use crate::sys;

impl Array {
    /// Says one stream for work that is pending on several: makes `target` wait for `streams`, for
    /// the stream or event that the array comes with by now, and for kept uses, and returns the same
    /// memory as an array that comes with `target`, as does its mask. Once the last reference to that
    /// array is gone, `target` is forgotten: `cai_array_publish()`.
    ///
    /// This holder, and all that were made of it before, come with what they came with; but whoever
    /// uses them hears of `target` from the owner, if that keeps uses, and waits for it.
    ///
    /// What was queued on `streams` before they were in a capture is published before that.
    ///
    /// Before the producer works on one of `streams` again, it calls [`Array::reclaim`] for it. If the
    /// array had come from somebody else, its own stream must in the end wait for `target`: end a use
    /// of it.
    ///
    /// # Safety
    /// Each of `streams`, and `target`, is 1 or 2 or a live `CUstream`; and `target`, if it is a
    /// `CUstream`, lives as long as the array that is returned, and all that is made of it. What need
    /// not stay is the stream of [`Array::publish_event`].
    ///
    /// # Errors
    /// As [`Use::begin`](crate::Use::begin); [`Error::Order`](crate::Error::Order) also for a target 2
    /// if arrays of the owner come with another thread's. [`Detail::index`](crate::Detail::index) is
    /// the stream of `streams`.
    pub unsafe fn publish(&self, streams: &[u64], target: u64) -> Result<Self> {
        let count = i32::try_from(streams.len()).map_err(|_| too_many("streams", streams.len()))?;
        self.borrow().made(|array, out, error| {
            // SAFETY: the array is owned, the output can be written; the caller's word for the
            // streams.
            unsafe { sys::cai_array_publish(array, streams.as_ptr(), count, target, out, error) }
        })
    }

    /// The same memory as an array that comes with an event instead of a stream. `stream` waits for
    /// what [`Array::publish`] says; then the event is recorded there. It lives as long as the array
    /// that is returned, so that the stream need not stay. It is the way to another thread for work on
    /// a stream 2. A dict cannot carry it.
    ///
    /// # Errors
    /// As [`Array::publish`]; [`Error::Capture`](crate::Error::Capture) if `stream` is being captured.
    pub fn publish_event(&self, stream: impl AsStream) -> Result<Self> {
        stream.on(|stream| {
            self.borrow().made(|array, out, error| {
                // SAFETY: the array is owned, the output can be written, and the stream is one.
                unsafe { sys::cai_array_publish_event(array, stream, out, error) }
            })
        })
    }
}

/// Registers a framework's word on arrays that state no stream: which one is current where they were
/// made. It is asked for the life of the process, on any thread, at the beginning and at the end of
/// uses, and gives the same answer at both; `None` lets another be asked. It must not use arrays on
/// streams. What it panics with goes to [`on_failure`](crate::on_failure), and counts as `None`.
///
/// # Safety
/// The numbers that it gives are 1, 2 or a live `CUstream` of the array's context.
///
/// # Errors
/// [`Error::Memory`](crate::Error::Memory). The provider comes back.
pub unsafe fn provide_streams<F>(provider: F) -> Result<(), Failed<F>>
where
    F: Fn(ArrayRef<'_>) -> Option<u64> + Send + Sync + 'static,
{
    failure::give(provider, |_never, context| {
        let raw = sys::cai_stream_provider {
            struct_size: std::mem::size_of::<sys::cai_stream_provider>() as u32,
            reserved: 0,
            current: Some(current::<F>),
            context,
        };
        // SAFETY: the provider is copied; its function stays, and so does its context.
        call(|error| unsafe { sys::cai_provide_streams(&raw, error) })
    })
}

extern "C" fn current<F>(
    context: *mut c_void,
    array: *const sys::cai_array,
    stream: *mut u64,
) -> i32
where
    F: Fn(ArrayRef<'_>) -> Option<u64> + Send + Sync + 'static,
{
    let found = failure::caught("a provider of streams", || {
        // SAFETY: C passes a valid array, which lives during the call.
        let array = unsafe { ArrayRef::from_raw(array) }?;
        // SAFETY: provide_streams() gave the provider, which is shared.
        Ok(unsafe { &*context.cast::<F>() }(array))
    });
    match found.and_then(|result| result) {
        Ok(Some(found)) => {
            // SAFETY: the output can be written.
            unsafe { stream.write(found) };
            1
        }
        Ok(None) => 0,
        Err(failure) => {
            failure::report(&failure);
            0
        }
    }
}
