// SPDX-License-Identifier: BSD-3-Clause
//! Order on the GPU: options of uses, and functions that need no guard.

use crate::array::{Array, ArrayRef};
use crate::as_stream::AsStream;
use crate::error::{Error, Result, ask, call};
use crate::failure::Failed;
use crate::sys;

/// Which part of the order the beginning and the end of a use make.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Order {
    /// What the text requires: both the beginning and the end make streams wait.
    #[default]
    Both,
    /// The end does nothing.
    Begin,
    /// The beginning makes no stream wait.
    End,
    /// Neither makes a stream wait.
    None,
    /// The host waits: at the beginning for the producers' streams, at the end for the consumer's
    /// stream.
    Host,
}

impl Order {
    #[inline]
    const fn to_raw(self) -> u32 {
        match self {
            Self::Both => sys::CAI_ORDER_BOTH,
            Self::Begin => sys::CAI_ORDER_BEGIN,
            Self::End => sys::CAI_ORDER_END,
            Self::None => sys::CAI_ORDER_NONE,
            Self::Host => sys::CAI_ORDER_HOST,
        }
    }
}

/// The access to an array and to its mask; a read-only mask is only read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Access {
    /// It is written, or read if it is marked read-only.
    #[default]
    Default,
    /// It waits only for kept writes, and is kept as a read.
    Read,
    /// It reads or writes; an error for an array that is marked read-only.
    Write,
}

impl Access {
    #[inline]
    pub(crate) const fn to_raw(self) -> u32 {
        match self {
            Self::Default => sys::CAI_ACCESS_DEFAULT,
            Self::Read => sys::CAI_ACCESS_READ,
            Self::Write => sys::CAI_ACCESS_WRITE,
        }
    }
}

/// Options of a use. The default is full order, and an error where only one side is being captured
/// into a graph.
///
/// ```
/// use libcai::{Options, Order};
/// let options = Options::read().order(Order::Host);
/// ```
#[derive(Debug, Clone, Copy)]
#[must_use]
pub struct Options {
    order: Order,
    access: Access,
    flags: u32,
}

impl Options {
    /// For arrays that are written, or read if they are marked read-only.
    #[inline]
    pub const fn new() -> Self {
        Self { order: Order::Both, access: Access::Default, flags: 0 }
    }

    /// For arrays that are read.
    #[inline]
    pub const fn read() -> Self {
        Self::new().access(Access::Read)
    }

    /// For arrays that are written.
    #[inline]
    pub const fn write() -> Self {
        Self::new().access(Access::Write)
    }

    /// Sets the access to all arrays; [`Use::begin_each`](crate::Use::begin_each) sets it for each
    /// array.
    #[inline]
    pub const fn access(mut self, access: Access) -> Self {
        self.access = access;
        self
    }

    /// Sets which part of the order is made.
    #[inline]
    pub const fn order(mut self, order: Order) -> Self {
        self.order = order;
        self
    }

    /// If the consumer captures and the producer does not but has work pending, each launch of the
    /// graph waits for the work that was pending at the beginning of the use, and for no later
    /// work. The event of a borrowed array must outlive the graph.
    #[inline]
    pub const fn external(mut self) -> Self {
        self.flags |= sys::CAI_USE_EXTERNAL;
        self
    }

    /// If the producer captures and the consumer does not, the consumer's stream joins the capture
    /// at the beginning, and is joined back at the end of the use.
    #[inline]
    pub const fn fork(mut self) -> Self {
        self.flags |= sys::CAI_USE_FORK;
        self
    }

    /// The C struct. `accesses` is null, or has one access for each array, which replaces the
    /// access for all.
    #[inline]
    pub(crate) const fn to_raw(self, accesses: *const u32) -> sys::cai_use_options {
        sys::cai_use_options {
            struct_size: size_of::<sys::cai_use_options>() as u32,
            order: self.order.to_raw(),
            access: self.access.to_raw(),
            flags: self.flags,
            accesses,
        }
    }
}

impl Default for Options {
    fn default() -> Self {
        Self::new()
    }
}

/// Arrays as C pointers.
#[inline]
pub(crate) fn pointers(arrays: &[ArrayRef<'_>]) -> Result<(*const *const sys::cai_array, i32)> {
    match i32::try_from(arrays.len()) {
        Ok(count) => Ok((arrays.as_ptr().cast(), count)),
        Err(_) => Err(too_many("arrays", arrays.len())),
    }
}

#[cold]
pub(crate) fn too_many(what: &str, count: usize) -> Error {
    Error::say(sys::CAI_ERR_ARGUMENT, format!("{count} {what} are more than can be counted"))
}

/// Returns the one stream on which the arrays can be used without any event: the producer's own.
/// `None` if no array names a stream.
///
/// # Errors
/// [`Error::Order`] if there is no such stream, an owner has kept a use that the array's stream
/// does not wait for, or an array, or a mask, came with None from an exporter that cannot be told
/// of the stream; [`Error::Driver`] and [`Error::Cuda`] if the driver had to tell two contexts
/// apart; the rest as [`Use::begin`](crate::Use::begin).
pub fn same_stream(arrays: &[ArrayRef<'_>]) -> Result<Option<u64>> {
    let (arrays, count) = pointers(arrays)?;
    // SAFETY: the arrays are borrowed; the outputs can be written.
    ask(|out, error| unsafe { sys::cai_arrays_same_stream(arrays, count, out, error) })
        .map(|stream: u64| (stream != 0).then_some(stream))
}

/// Ends the arrays whose release was deferred until kept uses were complete, if they are complete
/// now, and drops what was attached to streams. Owners are dropped on this thread. Returns the
/// number of arrays whose end is still deferred.
///
/// It works in the current context and the active primary contexts. If `wait`, the host waits for
/// the uses to complete: do so before a context in which arrays were used is destroyed or reset. It
/// also waits for owners that other threads are dropping so, unless it is called by a drop: no drop
/// may wait for the caller, or need a lock that the caller holds.
///
/// # Errors
/// [`Error::Driver`]; [`Error::Cuda`].
pub fn drain(wait: bool) -> Result<u64> {
    // SAFETY: the outputs can be written.
    ask(|left, error| unsafe { sys::cai_drain(wait.into(), left, error) })
        .map(|left: i64| left.unsigned_abs())
}

impl ArrayRef<'_> {
    /// Blocks the calling thread until the producer's pending work on the array and its mask, and
    /// all uses that its owner has kept, are complete. Use it as the last resort. In the work of a CPU
    /// stream it does not wait for what was queued after that work
    /// ([`Stream::enqueue`](crate::Stream::enqueue)).
    ///
    /// # Errors
    /// As [`Use::begin`](crate::Use::begin).
    pub fn sync_host(self) -> Result<()> {
        // SAFETY: the array is borrowed.
        call(|error| unsafe { sys::cai_array_sync_host(self.as_raw(), error) })
    }

    /// Producer's side: call it before the producer's own work on `stream` reads or writes an array
    /// that others may have used. It makes `stream` wait for the array's own stream, which
    /// consumers made wait at the end of their uses, and for kept uses that conflict with the
    /// access. The producer may write an array that it has marked read-only for others. Within a
    /// capture that began on another stream, call it for the array's own stream, too.
    ///
    /// # Errors
    /// As [`Use::begin`](crate::Use::begin).
    pub fn reclaim(self, stream: impl AsStream, access: Access) -> Result<()> {
        stream.on(|stream| {
            // SAFETY: the array is borrowed, and the stream is one.
            call(|error| unsafe {
                sys::cai_array_reclaim(self.as_raw(), stream, access.to_raw(), error)
            })
        })
    }
}

impl Array {
    /// As [`ArrayRef::sync_host`].
    ///
    /// # Errors
    /// As that.
    pub fn sync_host(&self) -> Result<()> {
        self.borrow().sync_host()
    }

    /// As [`ArrayRef::reclaim`].
    ///
    /// # Errors
    /// As that.
    pub fn reclaim(&self, stream: impl AsStream, access: Access) -> Result<()> {
        self.borrow().reclaim(stream, access)
    }

    /// Drops this reference once all work queued on `stream` so far is complete. For a consumer
    /// that does not end its use, or does not know whether the memory's allocation stream is the
    /// array's.
    ///
    /// The host does not wait: a later use, or [`drain`], finds the work complete. If `stream` is
    /// being captured, the graph takes over the reference.
    ///
    /// # Errors
    /// As [`Use::begin`](crate::Use::begin). The array is returned, since dropping it may be too
    /// early.
    pub fn release_on(self, stream: impl AsStream) -> Result<(), Failed<Self>> {
        let released = stream.on(|stream| {
            // SAFETY: the array is held, and the stream is one.
            call(|error| unsafe { sys::cai_array_release_on(self.as_ptr(), stream, error) })
        });
        match released {
            Ok(()) => {
                std::mem::forget(self); // the library has taken the reference
                Ok(())
            }
            Err(error) => Err(Failed { error, value: self }),
        }
    }
}
