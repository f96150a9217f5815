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
    /// The beginning does nothing.
    End,
    /// Neither does anything.
    None,
    /// The host waits: at the beginning for the producers' streams, at the end for the consumer's.
    Host,
}

/// What is done to an array.
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
    fn to_raw(self) -> u32 {
        match self {
            Self::Default => sys::CAI_ACCESS_DEFAULT,
            Self::Read => sys::CAI_ACCESS_READ,
            Self::Write => sys::CAI_ACCESS_WRITE,
        }
    }
}

/// How arrays are used. By default: the full order, [`Access::Default`], and a refusal where only one
/// side is being captured into a graph.
///
/// ```
/// use libcai::{Options, Order};
/// let options = Options::read().order(Order::Host);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Options {
    order: Order,
    access: Access,
    flags: u32,
}

impl Options {
    /// For arrays that are read.
    pub fn read() -> Self {
        Self::default().access(Access::Read)
    }

    /// For arrays that are written.
    pub fn write() -> Self {
        Self::default().access(Access::Write)
    }

    /// Says what is done to the arrays.
    pub fn access(self, access: Access) -> Self {
        Self { access, ..self }
    }

    /// Says which part of the order is done.
    pub fn order(self, order: Order) -> Self {
        Self { order, ..self }
    }

    /// Where the consumer captures, the producer does not, and has work pending: the graph waits, at
    /// each launch, for what was pending at the beginning of the use, and for nothing later. The
    /// event of a borrowed array must outlive the graph.
    pub fn external(self) -> Self {
        Self { flags: self.flags | sys::CAI_USE_EXTERNAL, ..self }
    }

    /// Where the producer captures and the consumer does not: the consumer's stream joins the
    /// capture at the beginning, and is joined back at the end of the use.
    pub fn fork(self) -> Self {
        Self { flags: self.flags | sys::CAI_USE_FORK, ..self }
    }

    /// As C takes them.
    #[inline]
    pub(crate) fn to_raw(self) -> sys::cai_use_options {
        sys::cai_use_options {
            struct_size: std::mem::size_of::<sys::cai_use_options>() as u32,
            order: match self.order {
                Order::Both => sys::CAI_ORDER_BOTH,
                Order::Begin => sys::CAI_ORDER_BEGIN,
                Order::End => sys::CAI_ORDER_END,
                Order::None => sys::CAI_ORDER_NONE,
                Order::Host => sys::CAI_ORDER_HOST,
            },
            access: self.access.to_raw(),
            flags: self.flags,
        }
    }
}

/// Arrays as C takes them.
#[inline]
pub(crate) fn pointers(arrays: &[ArrayRef<'_>]) -> Result<(*const *const sys::cai_array, i32)> {
    match i32::try_from(arrays.len()) {
        Ok(count) => Ok((arrays.as_ptr().cast(), count)),
        Err(_) => Err(Error::say(
            sys::CAI_ERR_ARGUMENT,
            format!("{} arrays are more than can be counted", arrays.len()),
        )),
    }
}

/// Finds the one stream on which the arrays can be used with no event at all: the producer's own.
/// `None` if none of them asks for any.
///
/// # Errors
/// [`Error::Order`] if there is no such stream, or an owner has kept a use that the array's stream
/// does not wait for; [`Error::Driver`] and [`Error::Cuda`] if the driver had to tell two contexts
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
    /// has marked read-only for others.
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
