// SPDX-License-Identifier: BSD-3-Clause
//! Order on the GPU: how arrays are used, and what needs no guard.

use crate::array::{Array, ArrayRef};
use crate::as_stream::AsStream;
use crate::error::{Error, Result, ask, call};
use crate::failure::Failed;
use crate::sys;

/// Which part of the order the two ends of a use do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Order {
    /// What the text asks for: the beginning and the end both do their part.
    #[default]
    Both,
    /// The end does nothing.
    Begin,
    /// The beginning makes nobody wait.
    End,
    /// Neither does anything.
    None,
    /// The host waits: at the beginning for the producers' streams, at the end for the consumer's.
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

/// What is done to an array, and so to its mask, unless that is read-only itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Access {
    /// It is written, or read if it is marked read-only.
    #[default]
    Default,
    /// It waits for kept writes only, and is kept as a read.
    Read,
    /// It reads or writes; refused for an array that is marked read-only.
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

/// How arrays are used: in full order, and refused where only one side is being captured into a
/// graph, unless it is said otherwise.
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

    /// Says what is done to the arrays, to all of them;
    /// [`Use::begin_each`](crate::Use::begin_each) says it of each one.
    #[inline]
    pub const fn access(mut self, access: Access) -> Self {
        self.access = access;
        self
    }

    /// Says which part of the order is done.
    #[inline]
    pub const fn order(mut self, order: Order) -> Self {
        self.order = order;
        self
    }

    /// Where the consumer captures, the producer does not, and has work pending: the graph waits, at
    /// each launch, for what was pending at the beginning of the use, and for nothing later. The
    /// event of a borrowed array must outlive the graph.
    #[inline]
    pub const fn external(mut self) -> Self {
        self.flags |= sys::CAI_USE_EXTERNAL;
        self
    }

    /// Where the producer captures and the consumer does not: the consumer's stream joins the
    /// capture at the beginning, and is joined back at the end of the use.
    #[inline]
    pub const fn fork(mut self) -> Self {
        self.flags |= sys::CAI_USE_FORK;
        self
    }

    /// As C takes them. `accesses` is null, or has one for each array, in the place of what is said
    /// of all of them.
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

/// Arrays as C takes them.
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

/// Finds the one stream on which the arrays can be used with no event at all: the producer's own.
/// `None` if none of them asks for any.
///
/// # Errors
/// [`Error::Order`] if there is no such stream, an owner has kept a use that the array's stream
/// does not wait for, or an exporter says None of an array, or of a mask, and cannot be told; [`Error::Driver`] and [`Error::Cuda`] if the driver had to tell two contexts
/// apart; the rest as [`Use::begin`](crate::Use::begin).
pub fn same_stream(arrays: &[ArrayRef<'_>]) -> Result<Option<u64>> {
    let (arrays, count) = pointers(arrays)?;
    // SAFETY: the arrays are borrowed; the outputs can be written.
    ask(|out, error| unsafe { sys::cai_arrays_same_stream(arrays, count, out, error) })
        .map(|stream: u64| (stream != 0).then_some(stream))
}

/// Ends the arrays whose release was put off until kept uses were complete, and now are, and drops
/// what was attached to streams; their owners are dropped on this thread. It returns how many arrays'
/// end is still put off.
///
/// It looks at the current context and the active primary ones. If `wait`, the host waits for the
/// uses to complete: do so before a context in which arrays were used is destroyed or reset.
///
/// # Errors
/// [`Error::Driver`]; [`Error::Cuda`].
pub fn drain(wait: bool) -> Result<u64> {
    // SAFETY: the outputs can be written.
    ask(|left, error| unsafe { sys::cai_drain(wait.into(), left, error) })
        .map(|left: i64| left.unsigned_abs())
}

impl ArrayRef<'_> {
    /// Blocks the calling thread until what the producer has pending on the array and on its mask,
    /// and all uses that its owner has kept, are complete. The last resort.
    ///
    /// # Errors
    /// As [`Use::begin`](crate::Use::begin).
    pub fn sync_host(self) -> Result<()> {
        // SAFETY: the array is borrowed.
        call(|error| unsafe { sys::cai_array_sync_host(self.as_raw(), error) })
    }

    /// Producer's side: before the producer's own work on `stream` reads or writes an array that
    /// others may have used. Makes `stream` wait for the array's own stream, where consumers have put
    /// their ends, and for kept uses that conflict with the access. The producer may write what it
    /// has marked read-only for others. Within a capture that began on another stream this is needed
    /// on the array's own one, too.
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

    /// Takes this holder away once all that is queued on `stream` by now is complete; for a consumer
    /// that does not end its use, or does not trust the memory's allocation stream to be the array's.
    ///
    /// The host does not wait: a later use, or [`drain`], finds out. If `stream` is being captured,
    /// the graph takes the holder over.
    ///
    /// # Errors
    /// As [`Use::begin`](crate::Use::begin). The array comes back: to drop it may be too early.
    pub fn release_on(self, stream: impl AsStream) -> Result<(), Failed<Self>> {
        let released = stream.on(|stream| {
            // SAFETY: the array is held, and the stream is one.
            call(|error| unsafe { sys::cai_array_release_on(self.as_ptr(), stream, error) })
        });
        match released {
            Ok(()) => {
                std::mem::forget(self); // the library has taken the holder
                Ok(())
            }
            Err(error) => Err(Failed { error, value: self }),
        }
    }
}
