// SPDX-License-Identifier: BSD-3-Clause
//! Arrays in cudarc's launches and copies, and cudarc's slices as arrays. Feature `cudarc`.
//!
//! The program chooses which CUDA version cudarc is built for, and whether it links to the driver
//! or loads it, by features of its own dependency on cudarc; by default cudarc loads the driver.
//! cudarc needs Rust 1.88.
//!
//! ```
//! use cudarc::driver::CudaContext;
//! use libcai::Array;
//!
//! let context = CudaContext::new(0)?;
//! let (theirs, ours) = (context.default_stream(), context.new_stream()?);
//! let array = Array::from_cuda_slice(theirs.clone_htod(&[1f32, 2.0, 3.0])?, &[3])?;
//!
//! let x = array.view::<f32>()?.on(&ours)?; // `ours` waits for `theirs`
//! assert_eq!(ours.clone_dtoh(&x)?, [1.0, 2.0, 3.0]);
//! x.try_end()?; // and the other way round
//! # Ok::<(), libcai::Error>(())
//! ```
//!
//! A guard orders one array. To order several arrays with one event, begin a [`Use`] on the stream,
//! and launch with their addresses.

use std::fmt;
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::ptr;
use std::sync::{Arc, Mutex, PoisonError};

use ::cudarc::driver::sys::{CUdeviceptr, CUstream, cuStreamGetCtx};
use ::cudarc::driver::{
    CudaContext, CudaSlice, CudaStream, DevicePtr, DevicePtrMut, DeviceSlice, DriverError,
    LaunchArgs, PushKernelArg, SyncOnDrop, result,
};

use crate::array::{Array, ArrayRef, DeviceType, Pending};
use crate::as_stream::AsStream;
use crate::dtype::Element;
use crate::error::{Detail, Entry, Error, Result};
use crate::failure::Failed;
use crate::order::Options;
use crate::own::{self, ArrayBuilder};
use crate::sys;
use crate::uses::Use;
use crate::view::{View, ViewMut};

impl From<DriverError> for Error {
    /// [`Error::Cuda`], with the driver's number.
    fn from(DriverError(result): DriverError) -> Self {
        let message = format!("the driver returned {result:?} to cudarc");
        let detail = Detail { message, entry: None, index: None, native: result as i32 };
        Self::new(sys::CAI_ERR_CUDA, detail)
    }
}

/// The number of a stream: cudarc's default stream is the legacy stream.
fn number(stream: &CudaStream) -> Result<u64> {
    match stream.cu_stream() as u64 {
        0 => Ok(1),
        2 => Err(Error::say(
            sys::CAI_ERR_ARGUMENT,
            "the stream is cudarc's per-thread one, 2, which is another one on each thread",
        )),
        number => Ok(number),
    }
}

// SAFETY: the stream is kept alive. The legacy one is given in the context that it belongs to. The
// per-thread one is rejected, since its thread is unknown.
unsafe impl AsStream for Arc<CudaStream> {
    /// The stream's context is then current on the calling thread, as after any cudarc call. Fails
    /// with [`Error::Argument`] for cudarc's per-thread stream.
    fn on<R>(&self, function: impl FnOnce(u64) -> Result<R>) -> Result<R> {
        let number = number(self)?;
        self.context().bind_to_thread()?;
        function(number)
    }
}

// ---- Arrays in cudarc's launches and copies -----------------------------------------------------

/// A view of an array that is in use on a cudarc stream, for every cudarc function that takes a
/// `DevicePtr` or `DevicePtrMut`, and as a kernel's argument. The use, a [`Use`] that keeps the
/// array alive, ends when this is dropped.
///
/// Copies and library calls may also be queued on other streams: these wait for this stream, and
/// the host waits for them, since cudarc has no hook to order more. They must not be in a capture.
/// A copy to a slice of another context is the exception: wait for its stream before this guard
/// ends.
///
/// An argument does not learn the stream of its launch. So cudarc's `launch()`, which is unsafe,
/// must be on this stream.
#[must_use = "the use ends when the guard is dropped"]
pub struct InUse<'a, V> {
    guard: Use<'a, Arc<CudaStream>>,
    stream: Arc<CudaStream>,
    view: V,
    data: CUdeviceptr,
    len: usize,
}

impl<'a, V> InUse<'a, V> {
    fn begin(
        array: ArrayRef<'a>,
        view: V,
        stream: &Arc<CudaStream>,
        options: Options,
    ) -> Result<Self> {
        check_device(array, stream)?;
        if !array.layout().c_contiguous {
            let message = format!("strides {:?} are not C-contiguous", array.strides());
            return Err(Error::of(sys::CAI_ERR_LAYOUT, Entry::Strides, message));
        }
        Ok(Self {
            guard: Use::begin(stream.clone(), [array], options)?,
            stream: stream.clone(),
            view,
            data: array.data(),
            len: array.size(),
        })
    }

    /// Ends the use: [`Use::try_end`].
    ///
    /// # Errors
    /// As there: the use is then still open, and the guard is returned.
    #[allow(clippy::result_large_err)] // what comes back is the guard, which has the use in it
    pub fn try_end(self) -> Result<(), Failed<Self>> {
        let Self { guard, stream, view, data, len } = self;
        guard
            .try_end()
            .map_err(|failed| failed.map(|guard| Self { guard, stream, view, data, len }))
    }

    /// Puts what is about to be queued on `stream` in order.
    fn order<'s>(&'s self, stream: &'s CudaStream) -> SyncOnDrop<'s> {
        if *stream == *self.stream {
            return SyncOnDrop::Record(None);
        }
        if stream.join(&self.stream).is_err() {
            // Then the host waits. If that fails, too, cudarc reports it by its next call.
            stream.context().record_err(self.stream.synchronize());
        }
        SyncOnDrop::sync_stream(stream)
    }
}

/// A kernel can use the memory from any stream of the GPU.
fn check_device(array: ArrayRef<'_>, stream: &CudaStream) -> Result<()> {
    let refuse = |what: String| {
        let message =
            format!("data is {what}, and the stream is of device {}", stream.context().ordinal());
        Err(Error::of(sys::CAI_ERR_DEVICE, Entry::Data, message))
    };
    let id = match (array.device_type(), array.device_id()) {
        (DeviceType::CudaManaged, _) => return Ok(()),
        (DeviceType::Cuda, Some(id)) => id,
        (DeviceType::Cuda, None) if array.size() == 0 => return Ok(()),
        (DeviceType::Cuda, None) => array.locate()?.device_id as u32,
        (other, _) => return refuse(format!("{other:?} memory")),
    };
    match id as usize == stream.context().ordinal() {
        true => Ok(()),
        false => refuse(format!("on device {id}")),
    }
}

impl<V> Deref for InUse<'_, V> {
    type Target = V;

    fn deref(&self) -> &V {
        &self.view
    }
}

impl<V: fmt::Debug> fmt::Debug for InUse<'_, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("InUse").field(&self.view).finish()
    }
}

impl<'a, T: Element> View<'a, T> {
    /// Begins to read the array on a cudarc stream, in full order. Feature `cudarc`.
    ///
    /// # Errors
    /// No use is open then. [`Error::Layout`] if the array is not C-contiguous; [`Error::Device`]
    /// if the memory is neither of the stream's device nor managed; [`Error::Argument`] for
    /// cudarc's per-thread stream; the rest as [`Use::begin`] and [`ArrayRef::locate`].
    pub fn on(self, stream: &Arc<CudaStream>) -> Result<InUse<'a, Self>> {
        InUse::begin(self.array(), self, stream, Options::read())
    }
}

impl<'a, T: Element> ViewMut<'a, T> {
    /// Begins to write the array on a cudarc stream, in full order. Feature `cudarc`.
    ///
    /// # Errors
    /// As [`View::on`].
    pub fn on(self, stream: &Arc<CudaStream>) -> Result<InUse<'a, Self>> {
        InUse::begin(self.array(), self, stream, Options::write())
    }
}

macro_rules! device_slices {
    ($($view:ident),+) => {$(
        impl<'a, T: Element> DeviceSlice<T> for InUse<'a, $view<'a, T>> {
            fn len(&self) -> usize {
                self.len
            }

            fn stream(&self) -> &Arc<CudaStream> {
                &self.stream
            }
        }

        impl<'a, T: Plain> DevicePtr<T> for InUse<'a, $view<'a, T>> {
            fn device_ptr<'s>(&'s self, stream: &'s CudaStream) -> (CUdeviceptr, SyncOnDrop<'s>) {
                (self.data, self.order(stream))
            }
        }

        // SAFETY: what is pushed is the address of an address, which stays as long as the arguments.
        unsafe impl<'l, 'b: 'l, 'a, T: Element> PushKernelArg<&'b InUse<'a, $view<'a, T>>>
            for LaunchArgs<'l>
        {
            #[inline(always)]
            fn arg(&mut self, arg: &'b InUse<'a, $view<'a, T>>) -> &mut Self {
                self.arg(&arg.data)
            }
        }
    )+};
}

device_slices!(View, ViewMut);

impl<'a, T: Element> DevicePtrMut<T> for InUse<'a, ViewMut<'a, T>> {
    fn device_ptr_mut<'s>(&'s mut self, stream: &'s CudaStream) -> (CUdeviceptr, SyncOnDrop<'s>) {
        (self.data, self.order(stream))
    }
}

// SAFETY: as for the shared one.
unsafe impl<'l, 'b: 'l, 'a, T: Element> PushKernelArg<&'b mut InUse<'a, ViewMut<'a, T>>>
    for LaunchArgs<'l>
{
    #[inline(always)]
    fn arg(&mut self, arg: &'b mut InUse<'a, ViewMut<'a, T>>) -> &mut Self {
        self.arg(&arg.data)
    }
}

/// An element for which every bit pattern is valid, so that cudarc may copy it to the host,
/// whatever wrote it. A `bool` is not:
///
/// ```compile_fail
/// # fn copy(x: &libcai::Array, stream: &std::sync::Arc<cudarc::driver::CudaStream>) {
/// let x = x.view::<bool>().unwrap().on(stream).unwrap();
/// stream.clone_dtoh(&x).unwrap();
/// # }
/// ```
///
/// # Safety
/// Every bit pattern is a valid value.
pub unsafe trait Plain: Element {}

macro_rules! plain {
    ($($type:ty),+) => {$(
        // SAFETY: a number, or two.
        unsafe impl Plain for $type {}
    )+};
}

plain!(i8, i16, i32, i64, u8, u16, u32, u64, f32, f64);
#[cfg(feature = "half")]
plain!(half::f16, half::bf16);
#[cfg(feature = "num-complex")]
plain!(num_complex::Complex<f32>, num_complex::Complex<f64>);

#[cfg(feature = "bytemuck")]
mod record {
    use ::bytemuck::Pod;
    use ::cudarc::driver::DeviceRepr;

    use crate::Record;

    // SAFETY: a Pod takes all bits.
    unsafe impl<T: Pod + Send + Sync> super::Plain for Record<T> {}
    // SAFETY: a Pod is nothing but its bytes.
    unsafe impl<T: Pod> DeviceRepr for Record<T> {}
}

// ---- cudarc's slices as arrays ------------------------------------------------------------------

impl Array {
    /// Makes an array of a cudarc slice, without a copy, in C order. Feature `cudarc`.
    ///
    /// It comes with the slice's stream, which waits for all uses that cudarc has tracked. The
    /// slice is dropped, and its memory freed in its context, on any thread, when the last
    /// reference to the array is dropped and all kept uses are complete.
    ///
    /// cudarc remembers one read of a slice at a time: if several streams have read it, make its
    /// stream wait for them first.
    ///
    /// # Errors
    /// [`Error::Argument`], with entry shape, if the slice does not have as many elements, and for
    /// a slice of cudarc's per-thread stream; [`Error::Cuda`]; else as [`ArrayBuilder::own()`]. The
    /// slice is returned with it.
    pub fn from_cuda_slice<T: Element>(
        mut slice: CudaSlice<T>,
        shape: &[i64],
    ) -> Result<Self, Failed<CudaSlice<T>>> {
        let stream = slice.stream().clone();
        let said = own::check_size(shape, slice.len()).and_then(|()| {
            stream.on(|number| {
                let (data, _wrote) = slice.device_ptr_mut(&stream);
                stream.context().check_err()?;
                Ok((data, number))
            })
        });
        let (data, number) = match said {
            Ok(said) => said,
            Err(error) => return Err(Failed { error, value: slice }),
        };
        let builder = ArrayBuilder::new(data, T::DTYPE, shape)
            .device(DeviceType::Cuda, Some(slice.ordinal() as u32))
            .pending(Pending::Stream(number));
        // SAFETY: the slice keeps its memory, which nobody else has, and its stream.
        unsafe { builder.own(Owned(ManuallyDrop::new(slice))) }
            .map_err(|Failed { error, value }| Failed { error, value: value.into_slice() })
    }
}

/// A slice that is freed in its own context. cudarc frees it in the current context, where a
/// default stream is another stream.
struct Owned<T>(ManuallyDrop<CudaSlice<T>>);

impl<T> Owned<T> {
    fn into_slice(self) -> CudaSlice<T> {
        let mut this = ManuallyDrop::new(self);
        // SAFETY: it is taken once, as this is not dropped.
        unsafe { ManuallyDrop::take(&mut this.0) }
    }
}

impl<T> Drop for Owned<T> {
    fn drop(&mut self) {
        let before = result::ctx::get_current();
        let context = self.0.context();
        // SAFETY: the slice keeps its context.
        context.record_err(unsafe { result::ctx::set_current(context.cu_ctx()) });
        // SAFETY: it is dropped once.
        unsafe { ManuallyDrop::drop(&mut self.0) };
        if let Ok(before) = before {
            // SAFETY: it was current. If it ended with the slice, no context is current.
            let _ = unsafe { result::ctx::set_current(before.unwrap_or(ptr::null_mut())) };
        }
    }
}

// ---- Foreign streams ----------------------------------------------------------------------------

/// One stream for each context in which foreign streams were wrapped. As long as cudarc knows a
/// stream other than the default stream, it tracks the streams on which its slices are used.
static KNOWN: Mutex<Vec<Arc<CudaStream>>> = Mutex::new(Vec::new());

/// Makes cudarc track the uses of a context's slices, as long as the context has a reference.
fn track_uses(context: &Arc<CudaContext>) -> Result<()> {
    let known = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let knows = |streams: &[Arc<CudaStream>]| {
        streams.iter().any(|stream| Arc::ptr_eq(stream.context(), context))
    };
    if knows(&known()) {
        return Ok(());
    }
    // No lock is held while cudarc waits for the context, nor while contexts end.
    let new = context.new_stream()?;
    // Uses before now are not tracked. cudarc waits for them where it makes a context's first stream;
    // if another thread makes that one, the wait may go on still.
    context.synchronize()?;
    let mut streams = known();
    let (kept, ended): (Vec<_>, Vec<_>) = std::mem::take(&mut *streams)
        .into_iter()
        .partition(|stream| Arc::strong_count(stream.context()) > 1);
    *streams = kept;
    if !knows(&streams) {
        streams.push(new);
    }
    drop(streams);
    drop(ended);
    Ok(context.bind_to_thread()?)
}

/// Wraps a foreign stream for cudarc, which will not destroy it: a stream of this crate
/// ([`Stream::value`](crate::Stream::value)), or the stream that an array comes with.
///
/// cudarc does not count such streams. While it knows only the default stream, it does not track
/// the streams on which its slices are used, so that they race. Hence the first call for a context
/// makes a cudarc stream, for which the host waits for the context's work, and keeps it as long as
/// the context has a reference.
///
/// ```
/// use cudarc::driver::CudaContext;
/// use libcai::{Device, Stream, cudarc::wrap_stream};
///
/// let context = CudaContext::new(0)?;
/// let stream = Stream::new(Device::Cuda(0))?;
/// // SAFETY: the stream outlives what is made of it.
/// let wrapped = unsafe { wrap_stream(&context, stream.value()) }?;
/// let x = wrapped.clone_htod(&[1f32, 2.0])?;
/// let y = context.default_stream().clone_dtod(&x)?; // waits for the copy to x
/// # drop((x, y));
/// # stream.synchronize()?;
/// # Ok::<(), libcai::Error>(())
/// ```
///
/// # Errors
/// [`Error::Argument`] for 0, and for 2, which is another stream on each thread; [`Error::Device`]
/// for a stream of another context; [`Error::Cuda`], also while a stream of the context is being
/// captured.
///
/// # Safety
/// `stream` is 1 or a `CUstream` that lives as long as the returned stream, its clones, and the
/// slices that are allocated on it.
pub unsafe fn wrap_stream(context: &Arc<CudaContext>, stream: u64) -> Result<Arc<CudaStream>> {
    if let 0 | 2 = stream {
        let message = format!("stream {stream} cannot be wrapped: only 1, or a CUstream");
        return Err(Error::say(sys::CAI_ERR_ARGUMENT, message));
    }
    context.bind_to_thread()?;
    if stream == 1 {
        return Ok(context.default_stream());
    }
    let raw = stream as CUstream;
    let mut of = ptr::null_mut();
    // SAFETY: the caller guarantees the rest; the output can be written.
    unsafe { cuStreamGetCtx(raw, &mut of) }.result()?;
    if of != context.cu_ctx() {
        let message = format!("stream {stream:#x} is not of cudarc's context");
        return Err(Error::say(sys::CAI_ERR_DEVICE, message));
    }
    track_uses(context)?;
    // SAFETY: it is of this context, and the caller sees that it stays.
    Ok(unsafe { context.wrap_borrowed_stream(raw) })
}
