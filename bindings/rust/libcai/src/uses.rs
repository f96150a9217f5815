// SPDX-License-Identifier: BSD-3-Clause
//! Uses of arrays on a stream, as guards and with closures.
#![allow(clippy::result_large_err)] // what comes back is a guard, which has the use in it

use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::{fmt, ptr};

use crate::array::{Array, ArrayRef};
use crate::as_stream::AsStream;
use crate::dtype::Element;
use crate::error::{Error, Result, call};
use crate::failure::{self, Failed};
use crate::order::{Access, Options, pointers};
use crate::sys;
use crate::view::{View, ViewMut};

/// How a [`Use`] stores its arrays: `[ArrayRef<'a>; N]` or `Vec<ArrayRef<'a>>`.
pub trait Arrays<'a>: sealed::Arrays<'a> {}

impl<'a, const N: usize> Arrays<'a> for [ArrayRef<'a>; N] {}
impl<'a> Arrays<'a> for Vec<ArrayRef<'a>> {}

mod sealed {
    use super::ArrayRef;

    /// Returns the same arrays at each call.
    pub trait Arrays<'a> {
        fn all(&self) -> &[ArrayRef<'a>];
    }

    impl<'a, const N: usize> Arrays<'a> for [ArrayRef<'a>; N] {
        #[inline]
        fn all(&self) -> &[ArrayRef<'a>] {
            self
        }
    }

    impl<'a> Arrays<'a> for Vec<ArrayRef<'a>> {
        #[inline]
        fn all(&self) -> &[ArrayRef<'a>] {
            self
        }
    }
}

/// A use of arrays on a stream, from [`Use::begin`] to [`Use::try_end`] or until this is dropped,
/// on every path, panics too. Meanwhile queue work that uses the arrays on this stream, and on no
/// other. The guard borrows the stream, so that it outlives the use.
///
/// The guard has its own reference to each owned array. So a guard that is forgotten leaks the
/// arrays rather than free memory that is in use. A borrowed array cannot be kept alive: if its
/// guard is forgotten, its owner does not learn that the memory is still in use.
///
/// If a use cannot be ended when it is dropped, the error goes to
/// [`on_failure`](crate::on_failure), and the host waits for the stream. If the host cannot wait,
/// since the stream is being captured or is another thread's, libcai keeps the owned arrays alive
/// until the work is complete: until an event is complete, or the graph is destroyed, or else until
/// [`drain(true)`](crate::drain).
///
/// A guard may move to another thread if its stream may. If its stream, or an array's, is the
/// default stream 2 of the thread that began the use, end the use on that thread: elsewhere it is
/// [`Error::Order`].
///
/// ```
/// use libcai::{Array, Options, Result, Stream, Use};
///
/// fn add(x: &Array, y: &Array, stream: &Stream) -> Result<()> {
///     let guard = Use::begin(stream, [x, y], Options::write())?;
///     // Launch kernels on `stream` that use guard.arrays().
///     Ok(guard.try_end()?)
/// }
/// ```
#[must_use = "the use ends when the guard is dropped"]
pub struct Use<'a, S: AsStream, A: Arrays<'a> = [ArrayRef<'a>; 1]> {
    arrays: A,
    stream: S,
    open: MaybeUninit<sys::cai_use>, // what begin() has written of it; not to be copied
    lives: PhantomData<ArrayRef<'a>>,
}

impl<'a, S: AsStream, const N: usize> Use<'a, S, [ArrayRef<'a>; N]> {
    /// Begins a use: makes the stream wait for the producers' pending work on the arrays and their
    /// masks, and for kept uses that conflict with the access. The host does not wait, except with
    /// [`Order::Host`](crate::Order::Host), and for work of CPU streams. For up to 8 arrays, or up to
    /// 4 if one has a mask, the call allocates no memory.
    ///
    /// # Errors
    /// No use is open then; [`Detail::index`](crate::Detail::index) is the array, if one is at
    /// fault. [`Error::Capture`] if a capture allows no such order, with nothing changed;
    /// [`Error::Driver`]; [`Error::Cuda`], after which some of the waits may be queued;
    /// [`Error::Device`] for ROCm, and for an array whose 1 or 2 has no context; [`Error::Order`]
    /// for a 2 of another thread; [`Error::Value`] for a write to a read-only array;
    /// [`Error::Memory`]; [`Error::State`] after a reset or in a forked child, and for memory that
    /// was freed; [`Error::Argument`], also for a CPU stream, for [`Legacy`](crate::Legacy) and
    /// [`PerThread`](crate::PerThread) if no context is current, and for an environment variable
    /// with an invalid value.
    #[inline]
    pub fn begin(
        stream: S,
        arrays: [impl Into<ArrayRef<'a>>; N],
        options: Options,
    ) -> Result<Self> {
        Self::of(stream, arrays.map(Into::into), options.to_raw(ptr::null()))
    }

    /// Likewise with an access for each array, which replaces the access of the options: so an
    /// array that is only read does not wait for other readers, even if another array is written.
    ///
    /// ```
    /// use libcai::{Access, Array, Options, Result, Stream, Use};
    ///
    /// fn scale(x: &Array, out: &Array, stream: &Stream) -> Result<()> {
    ///     let arrays = [(x, Access::Read), (out, Access::Write)];
    ///     let guard = Use::begin_each(stream, arrays, Options::new())?;
    ///     // Launch a kernel on `stream` that reads x and writes out.
    ///     Ok(guard.try_end()?)
    /// }
    /// ```
    ///
    /// # Errors
    /// As [`Use::begin`].
    #[inline]
    pub fn begin_each(
        stream: S,
        arrays: [(impl Into<ArrayRef<'a>>, Access); N],
        options: Options,
    ) -> Result<Self> {
        let accesses = arrays.each_ref().map(|&(_, access)| access.to_raw());
        let arrays = arrays.map(|(array, _)| array.into());
        Self::of(stream, arrays, options.to_raw(accesses.as_ptr()))
    }
}

impl<'a, S: AsStream> Use<'a, S, Vec<ArrayRef<'a>>> {
    /// Likewise for any number of arrays.
    ///
    /// # Errors
    /// As [`Use::begin`].
    pub fn begin_all(
        stream: S,
        arrays: impl IntoIterator<Item = impl Into<ArrayRef<'a>>>,
        options: Options,
    ) -> Result<Self> {
        let arrays = arrays.into_iter().map(Into::into).collect();
        Self::of(stream, arrays, options.to_raw(ptr::null()))
    }

    /// [`Use::begin_each`] for any number of arrays.
    ///
    /// # Errors
    /// As [`Use::begin`].
    pub fn begin_all_each(
        stream: S,
        arrays: impl IntoIterator<Item = (impl Into<ArrayRef<'a>>, Access)>,
        options: Options,
    ) -> Result<Self> {
        let (arrays, accesses): (_, Vec<_>) =
            arrays.into_iter().map(|(array, access)| (array.into(), access.to_raw())).unzip();
        Self::of(stream, arrays, options.to_raw(accesses.as_ptr()))
    }
}

impl<'a, S: AsStream, A: Arrays<'a>> Use<'a, S, A> {
    #[inline]
    fn of(stream: S, arrays: A, options: sys::cai_use_options) -> Result<Self> {
        let (all, count) = pointers(arrays.all())?;
        let mut open = MaybeUninit::uninit();
        stream.on(|stream| {
            // SAFETY: the arrays are borrowed, the stream is one, and there is room for the use.
            call(|error| unsafe {
                sys::cai_use_begin(open.as_mut_ptr(), all, count, stream, &options, error)
            })
        })?;
        for array in arrays.all() {
            // SAFETY: the array is borrowed, hence alive.
            unsafe { sys::cai_array_retain(array.as_raw()) };
        }
        Ok(Self { arrays, stream, open, lives: PhantomData })
    }

    /// The arrays in use, in the order in which they were passed.
    #[inline]
    pub fn arrays(&self) -> &[ArrayRef<'_>] {
        self.arrays.all()
    }

    /// Ends the use: makes every producer's stream wait for this one, and lets the owners keep the
    /// use. One event is recorded in all.
    ///
    /// # Errors
    /// The use is then still open: the guard is returned, to be ended again, finished or dropped.
    /// [`Error::Capture`], also if the stream is being captured and was not at the beginning;
    /// [`Error::Cuda`]; [`Error::Order`] on another thread than that of a 2; [`Error::Memory`]. If
    /// one producer cannot be ordered, the others still are, unless a capture forbids that.
    pub fn try_end(mut self) -> Result<(), Failed<Self>> {
        match self.end_now() {
            Ok(()) => Ok(()), // and to drop it ends nothing
            Err(error) => Err(Failed { error, value: self }),
        }
    }

    /// Ends the use, as [`Use::try_end`] does, for callers that would not try again: the guard is
    /// dropped on failure. So the error carries no guard, and `?` converts it to any other error.
    ///
    /// ```
    /// use libcai::{Array, Options, Stream, Use};
    ///
    /// fn launch(x: &Array, stream: &Stream) -> Result<(), Box<dyn std::error::Error>> {
    ///     let guard = Use::begin(stream, [x], Options::write())?;
    ///     // Launch kernels on `stream` that use guard.arrays().
    ///     guard.end()?;
    ///     Ok(())
    /// }
    /// ```
    ///
    /// # Errors
    /// As [`Use::try_end`]; the host has then waited for the stream, or libcai keeps the arrays
    /// alive.
    pub fn end(self) -> Result<()> {
        self.try_end().map_err(Error::from)
    }

    /// Ends a use whose work is complete, or was never queued: no stream waits for it, and no owner
    /// keeps it. If `wait`, the host waits for the stream first, so that it is complete; but not
    /// with [`Order::None`](crate::Order::None).
    ///
    /// # Errors
    /// The use is then still open, as with [`Use::try_end`]. With `wait`: [`Error::Capture`] if the
    /// stream is being captured; [`Error::Driver`]; [`Error::Cuda`]; [`Error::Order`] or
    /// [`Error::State`] on another thread than that of a 2.
    pub fn finish(mut self, wait: bool) -> Result<(), Failed<Self>> {
        match self.finish_if(wait) {
            Ok(()) => Ok(()),
            Err(error) => Err(Failed { error, value: self }),
        }
    }

    #[inline]
    fn end_now(&mut self) -> Result<()> {
        // SAFETY: the use is this guard's, and the arrays are borrowed.
        call(|error| unsafe { sys::cai_use_end(self.open.as_mut_ptr(), error) })
    }

    fn finish_if(&mut self, wait: bool) -> Result<()> {
        let open = self.open.as_mut_ptr();
        // SAFETY: likewise.
        let finish = || call(|error| unsafe { sys::cai_use_finish(open, wait.into(), error) });
        // Where no array needed order, C has not asked which context a 1 is of.
        if wait { self.stream.on(|_| finish()) } else { finish() }
    }

    /// Makes the host wait after an end that failed; if that fails, too, abandons the use.
    #[cold]
    fn end_otherwise(&mut self, failure: &Error) {
        failure::report(failure);
        let Err(again) = self.finish_if(true) else { return };
        if !matches!(again, Error::Capture(_)) {
            failure::report(&again);
        }
        // SAFETY: likewise. It takes references of its own, where it needs any.
        unsafe { sys::cai_use_abandon(self.open.as_mut_ptr()) };
    }
}

impl<'a, S: AsStream, A: Arrays<'a>> Drop for Use<'a, S, A> {
    #[inline]
    fn drop(&mut self) {
        if let Err(failure) = self.end_now() {
            self.end_otherwise(&failure);
        }
        for array in self.arrays.all() {
            // SAFETY: the array is still borrowed, and this is the reference of the beginning.
            unsafe { sys::cai_array_release(array.as_raw()) };
        }
    }
}

impl<'a, S: AsStream, A: Arrays<'a>> fmt::Debug for Use<'a, S, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Use").field("arrays", &self.arrays()).finish_non_exhaustive()
    }
}

/// Uses arrays on a stream while `work` queues work on that stream, and on no other.
///
/// ```
/// use libcai::{Array, Options, Result, Stream};
///
/// fn add(x: &Array, y: &Array, stream: &Stream) -> Result<()> {
///     libcai::with(stream, [x, y], Options::write(), |arrays| {
///         // Launch kernels on `stream` that use `arrays`.
///     })
/// }
/// ```
///
/// # Errors
/// As [`Use::begin`], and then `work` was not called; as [`Use::try_end`], and then the use was
/// ended as if dropped.
#[inline]
pub fn with<'a, R, const N: usize>(
    stream: impl AsStream,
    arrays: [impl Into<ArrayRef<'a>>; N],
    options: Options,
    work: impl FnOnce(&[ArrayRef<'_>; N]) -> R,
) -> Result<R> {
    while_in_use(Use::begin(stream, arrays, options)?, work)
}

/// [`with()`] with an access for each array: [`Use::begin_each`].
///
/// ```
/// use libcai::{Access, Array, Options, Result, Stream};
///
/// fn scale(x: &Array, out: &Array, stream: &Stream) -> Result<()> {
///     let arrays = [(x, Access::Read), (out, Access::Write)];
///     libcai::with_each(stream, arrays, Options::new(), |arrays| {
///         // Launch a kernel on `stream` that reads arrays[0] and writes arrays[1].
///     })
/// }
/// ```
///
/// # Errors
/// As [`with()`].
#[inline]
pub fn with_each<'a, R, const N: usize>(
    stream: impl AsStream,
    arrays: [(impl Into<ArrayRef<'a>>, Access); N],
    options: Options,
    work: impl FnOnce(&[ArrayRef<'_>; N]) -> R,
) -> Result<R> {
    while_in_use(Use::begin_each(stream, arrays, options)?, work)
}

#[inline]
fn while_in_use<'a, S: AsStream, R, const N: usize>(
    guard: Use<'a, S, [ArrayRef<'a>; N]>,
    work: impl FnOnce(&[ArrayRef<'_>; N]) -> R,
) -> Result<R> {
    let result = work(&guard.arrays);
    guard.try_end()?;
    Ok(result)
}

macro_rules! of_one_array {
    ($guard:ident) => {
        impl<'a, S: AsStream> $guard<'a, S> {
            /// The array that is in use.
            #[inline]
            pub fn array(&self) -> ArrayRef<'_> {
                self.0.arrays[0]
            }

            /// The elements as `T`, for work on the stream while the guard lives:
            /// [`ArrayRef::view`].
            ///
            /// # Errors
            /// As that.
            #[inline]
            pub fn view<T: Element>(&self) -> Result<View<'_, T>> {
                self.array().view()
            }

            /// Ends the use: [`Use::try_end`].
            ///
            /// # Errors
            /// As there: the use is then still open, and the guard is returned.
            pub fn try_end(self) -> Result<(), Failed<Self>> {
                self.0.try_end().map_err(|failed| failed.map(Self))
            }

            /// Ends a use whose work is complete, or was never queued: [`Use::finish`].
            ///
            /// # Errors
            /// As there: the use is then still open, and the guard is returned.
            pub fn finish(self, wait: bool) -> Result<(), Failed<Self>> {
                self.0.finish(wait).map_err(|failed| failed.map(Self))
            }
        }

        impl<S: AsStream> fmt::Debug for $guard<'_, S> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_tuple(stringify!($guard)).field(&self.array()).finish()
            }
        }
    };
}

/// One array that is read on a stream: a [`Use`], which ends when this is dropped.
#[must_use = "the use ends when the guard is dropped"]
pub struct Reading<'a, S: AsStream>(Use<'a, S>);

of_one_array!(Reading);

impl<'a, S: AsStream> Reading<'a, S> {
    /// Begins. The access is a read, whatever the options say.
    ///
    /// # Errors
    /// As [`Use::begin`].
    #[inline]
    pub fn begin(array: impl Into<ArrayRef<'a>>, stream: S, options: Options) -> Result<Self> {
        Use::begin(stream, [array], options.access(Access::Read)).map(Self)
    }
}

/// One array that is written on a stream: a [`Use`], which ends when this is dropped.
#[must_use = "the use ends when the guard is dropped"]
pub struct Writing<'a, S: AsStream>(Use<'a, S>);

of_one_array!(Writing);

impl<'a, S: AsStream> Writing<'a, S> {
    /// Begins. The access is a write, whatever the options say.
    ///
    /// # Errors
    /// As [`Use::begin`].
    #[inline]
    pub fn begin(array: &'a mut Array, stream: S, options: Options) -> Result<Self> {
        Use::begin(stream, [array.borrow()], options.access(Access::Write)).map(Self)
    }

    /// The elements as `T`, to be written by work on the stream while the guard lives:
    /// [`Array::view_mut`].
    ///
    /// # Errors
    /// As that.
    #[inline]
    pub fn view_mut<T: Element>(&mut self) -> Result<ViewMut<'_, T>> {
        ViewMut::new(self.array())
    }
}

impl<'a> ArrayRef<'a> {
    /// Begins to read the array on a stream, in full order.
    ///
    /// # Errors
    /// As [`Use::begin`].
    #[inline]
    pub fn read_on<S: AsStream>(self, stream: S) -> Result<Reading<'a, S>> {
        Reading::begin(self, stream, Options::read())
    }
}

impl Array {
    /// Begins to read the array on a stream, in full order.
    ///
    /// ```
    /// # use libcai::{Array, Result, Stream};
    /// fn sum(x: &Array, stream: &Stream) -> Result<()> {
    ///     let reading = x.read_on(stream)?;
    ///     // Launch a kernel on `stream` that reads reading.array().
    ///     Ok(reading.try_end()?)
    /// }
    /// ```
    ///
    /// # Errors
    /// As [`Use::begin`].
    #[inline]
    pub fn read_on<S: AsStream>(&self, stream: S) -> Result<Reading<'_, S>> {
        self.borrow().read_on(stream)
    }

    /// Begins to write the array on a stream, in full order. No other guard of this object can
    /// exist meanwhile. A guard of a clone is ordered with this one if one of them begins after the
    /// other has ended.
    ///
    /// # Errors
    /// As [`Use::begin`].
    #[inline]
    pub fn write_on<S: AsStream>(&mut self, stream: S) -> Result<Writing<'_, S>> {
        Writing::begin(self, stream, Options::write())
    }
}
