// SPDX-License-Identifier: BSD-3-Clause
//! What can be said as a stream: the crate's own, and those of others by their numbers.

use std::marker::PhantomData;

use crate::error::{Error, Result};
use crate::stream::Stream;
use crate::sys;

/// A stream of whatever library, on which arrays are used.
///
/// ```
/// use libcai::{AsStream, Device, Stream};
/// if let Some(gpu) = Device::all()?.next() {
///     let stream = Stream::new(gpu)?;
///     assert_eq!(stream.on(|number| Ok(number))?, stream.value());
/// }
/// # Ok::<(), libcai::Error>(())
/// ```
///
/// # Safety
/// [`AsStream::on`] calls the function once or fails, always with the number of the same stream,
/// which is no other stream's as long as the implementor lives, and which the driver knows. One that
/// is 1 or 2 and means the current context, or the calling thread, is neither [`Send`] nor [`Sync`];
/// or else it sees to it that `function` runs where it means the right one, and fails where it cannot.
pub unsafe trait AsStream {
    /// Calls `function` with the stream's number: 1, 2 or a `CUstream`.
    ///
    /// # Errors
    /// What `function` fails with, or why there is no such number here.
    fn on<R>(&self, function: impl FnOnce(u64) -> Result<R>) -> Result<R>;
}

// SAFETY: it says what the other says, for a shorter time.
unsafe impl<S: AsStream> AsStream for &S {
    #[inline]
    fn on<R>(&self, function: impl FnOnce(u64) -> Result<R>) -> Result<R> {
        (**self).on(function)
    }
}

// SAFETY: the holder keeps the stream. The number of a default stream is said in the context that
// it belongs to, and refused on a thread that it does not belong to.
unsafe impl AsStream for Stream {
    /// Fails with [`Error::Argument`] for a stream of the CPU's, and with [`Error::State`] for another
    /// thread's stream 2.
    #[inline]
    fn on<R>(&self, function: impl FnOnce(u64) -> Result<R>) -> Result<R> {
        match self.value() {
            0 => Err(Error::say(
                sys::CAI_ERR_ARGUMENT,
                "the stream is a CPU's, which arrays cannot be used on: it has no number",
            )),
            default @ (1 | 2) => {
                let _guard = self.device()?.enter()?;
                function(default)
            }
            value => function(value),
        }
    }
}

/// A `CUstream` of somebody else's, who keeps it for `'a`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RawStream<'a> {
    value: u64,
    lives: PhantomData<&'a ()>,
}

impl RawStream<'_> {
    /// Takes a stream by its number.
    ///
    /// # Safety
    /// `value` is a `CUstream` that stays for `'a`, or 0, 1 or 2.
    ///
    /// # Errors
    /// [`Error::Argument`] for 0, which is never a stream, and for 1 and 2: say [`Legacy`] and
    /// [`PerThread`], or [`Stream::legacy`] and [`Stream::per_thread`].
    pub unsafe fn new(value: u64) -> Result<Self> {
        if value <= 2 {
            let message = format!("stream is {value}, which is not a CUstream");
            return Err(Error::say(sys::CAI_ERR_ARGUMENT, message));
        }
        Ok(Self { value, lives: PhantomData })
    }
}

// SAFETY: who made it has said so.
unsafe impl AsStream for RawStream<'_> {
    #[inline]
    fn on<R>(&self, function: impl FnOnce(u64) -> Result<R>) -> Result<R> {
        function(self.value)
    }
}

/// The legacy default stream, 1, of the calling thread's current context, which is to stay the same:
/// 1 of another context is another stream. Safe, and as good on any thread: [`Stream::legacy`].
#[derive(Debug, Clone, Copy)]
pub struct Legacy {
    thread_bound: PhantomData<*const ()>,
}

impl Legacy {
    /// Says it.
    ///
    /// # Safety
    /// As long as this is used, and what was begun with it has not ended, the context that is current
    /// now is so wherever it is said.
    pub const unsafe fn new() -> Self {
        Self { thread_bound: PhantomData }
    }
}

// SAFETY: who made it keeps its context current.
unsafe impl AsStream for Legacy {
    #[inline]
    fn on<R>(&self, function: impl FnOnce(u64) -> Result<R>) -> Result<R> {
        function(1)
    }
}

/// The calling thread's own default stream, 2, of its current context, which is to stay the same: 2 of
/// another context is another stream. Safe: [`Stream::per_thread`].
#[derive(Debug, Clone, Copy)]
pub struct PerThread {
    thread_bound: PhantomData<*const ()>,
}

impl PerThread {
    /// Says it.
    ///
    /// # Safety
    /// As long as this is used, and what was begun with it has not ended, the context that is current
    /// now is so wherever it is said.
    pub const unsafe fn new() -> Self {
        Self { thread_bound: PhantomData }
    }
}

// SAFETY: who made it keeps its context current.
unsafe impl AsStream for PerThread {
    #[inline]
    fn on<R>(&self, function: impl FnOnce(u64) -> Result<R>) -> Result<R> {
        function(2)
    }
}
