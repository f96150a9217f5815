// SPDX-License-Identifier: BSD-3-Clause
//! Producer's side: naming the stream on which work on an array is pending.

use std::ffi::c_void;

use crate::array::{Array, ArrayRef};
use crate::as_stream::AsStream;
use crate::error::{Result, call};
use crate::failure::{self, Failed};
use crate::order::too_many;
use crate::sys;

impl Array {
    /// Returns an array of the same memory that names one stream for work that is pending on
    /// several: `cai_array_publish()`. It makes `target` wait for `streams`, for the stream or
    /// event that this array comes with, and for kept uses. The returned array, and its mask, come
    /// with `target`. Once its last reference is dropped, `target` is forgotten.
    ///
    /// This array, and its earlier views and clones, keep their stream; but if the owner keeps
    /// uses, their uses wait for `target`, too.
    ///
    /// Publish work that was queued on `streams` before a capture before that capture.
    ///
    /// Before the producer works on one of `streams` again, it calls [`Array::reclaim`] for it. If
    /// the array came from another producer, its own stream must in the end wait for `target`:
    /// begin and end a use of it.
    ///
    /// # Safety
    /// Each of `streams`, and `target`, is 1 or 2 or a live `CUstream`; and `target`, if it is a
    /// `CUstream`, lives as long as the returned array, and all that is made from it. The stream of
    /// [`Array::publish_event`] may be destroyed earlier.
    ///
    /// # Errors
    /// As [`Use::begin`](crate::Use::begin); [`Error::Order`](crate::Error::Order) also for a target 2
    /// if arrays of the owner come with another thread's. [`Detail::index`](crate::Detail::index) is
    /// the stream of `streams`.
    pub unsafe fn publish(&self, streams: &[u64], target: u64) -> Result<Self> {
        let count = i32::try_from(streams.len()).map_err(|_| too_many("streams", streams.len()))?;
        self.borrow().made(|array, out, error| {
            // SAFETY: the array is owned, the output can be written; the caller guarantees the
            // streams.
            unsafe { sys::cai_array_publish(array, streams.as_ptr(), count, target, out, error) }
        })
    }

    /// Returns an array of the same memory that comes with an event instead of a stream. `stream`
    /// waits as for [`Array::publish`]; then the event is recorded there. The event lives as long
    /// as the returned array, so the stream may be destroyed, unless arrays of the owner are used
    /// on it again. With an event, work on a stream 2 can be handed to another thread. A dict cannot
    /// carry it.
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

/// Registers a function that returns a framework's current stream for its arrays that state no
/// stream. It is called for the life of the process, on any thread, at the beginning of uses; a use
/// ends on the stream that it began with. `None` asks the next provider. It must not use
/// arrays on streams. Its panics go to [`on_failure`](crate::on_failure), and count as `None`.
///
/// # Safety
/// The numbers that it returns are 1, 2 or a live `CUstream` of the array's context.
///
/// # Errors
/// [`Error::Memory`](crate::Error::Memory). The provider is returned.
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
