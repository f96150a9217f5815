// SPDX-License-Identifier: BSD-3-Clause
//! Streams as arguments: the crate's own, and those of other libraries by number.

use std::marker::PhantomData;

use crate::error::{Error, Result};
use crate::stream::Stream;
use crate::sys;

/// A stream of any library, on which arrays are used.
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
/// [`AsStream::on`] calls the function once or fails, always with the number of the same stream.
/// The number must be valid for the driver, and must not become another stream's while the
/// implementor lives. A stream 1 or 2 that means the current context, or the calling thread, is
/// neither [`Send`] nor [`Sync`]; or else the implementor makes `function` run where the number
/// means the right stream, and fails where it cannot.
pub unsafe trait AsStream {
    /// Calls `function` with the stream's number: 1, 2 or a `CUstream`.
    ///
    /// # Errors
    /// The error of `function`, or the reason why the stream has no number here.
    fn on<R>(&self, function: impl FnOnce(u64) -> Result<R>) -> Result<R>;
}

// SAFETY: it passes on the other's number, for a shorter time.
unsafe impl<S: AsStream> AsStream for &S {
    #[inline]
    fn on<R>(&self, function: impl FnOnce(u64) -> Result<R>) -> Result<R> {
        (**self).on(function)
    }
}

// SAFETY: the stream is kept alive. The number of a default stream is given in the context that it
// belongs to, and rejected on a thread that it does not belong to.
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

/// A `CUstream` of other code, which keeps it alive for `'a`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RawStream<'a> {
    value: u64,
    lives: PhantomData<&'a ()>,
}

impl RawStream<'_> {
    /// Takes a stream by its number.
    ///
    /// # Safety
    /// `value` is a `CUstream` that lives for `'a`, or 0, 1 or 2.
    ///
    /// # Errors
    /// [`Error::Argument`] for 0, which is never a stream, and for 1 and 2: use [`Legacy`] and
    /// [`PerThread`], or [`Stream::legacy`] and [`Stream::per_thread`].
    pub unsafe fn new(value: u64) -> Result<Self> {
        if value <= 2 {
            let message = format!("stream is {value}, which is not a CUstream");
            return Err(Error::say(sys::CAI_ERR_ARGUMENT, message));
        }
        Ok(Self { value, lives: PhantomData })
    }
}

// SAFETY: its creator guarantees it.
unsafe impl AsStream for RawStream<'_> {
    #[inline]
    fn on<R>(&self, function: impl FnOnce(u64) -> Result<R>) -> Result<R> {
        function(self.value)
    }
}

/// The legacy default stream, 1, of the calling thread's current context, which must stay current:
/// 1 of another context is another stream. Safe, and usable on any thread: [`Stream::legacy`].
#[derive(Debug, Clone, Copy)]
pub struct Legacy {
    thread_bound: PhantomData<*const ()>,
}

impl Legacy {
    /// Makes it.
    ///
    /// # Safety
    /// As long as this is in use, and uses that were begun with it have not ended, the context that
    /// is current now is current wherever it is passed.
    pub const unsafe fn new() -> Self {
        Self { thread_bound: PhantomData }
    }
}

// SAFETY: its creator keeps its context current.
unsafe impl AsStream for Legacy {
    #[inline]
    fn on<R>(&self, function: impl FnOnce(u64) -> Result<R>) -> Result<R> {
        function(1)
    }
}

/// The calling thread's own default stream, 2, of its current context, which must stay current: 2
/// of another context is another stream. Safe: [`Stream::per_thread`].
#[derive(Debug, Clone, Copy)]
pub struct PerThread {
    thread_bound: PhantomData<*const ()>,
}

impl PerThread {
    /// Makes it.
    ///
    /// # Safety
    /// As long as this is in use, and uses that were begun with it have not ended, the context that
    /// is current now is current wherever it is passed.
    pub const unsafe fn new() -> Self {
        Self { thread_bound: PhantomData }
    }
}

// SAFETY: its creator keeps its context current.
unsafe impl AsStream for PerThread {
    #[inline]
    fn on<R>(&self, function: impl FnOnce(u64) -> Result<R>) -> Result<R> {
        function(2)
    }
}
