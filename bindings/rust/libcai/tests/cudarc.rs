// SPDX-License-Identifier: BSD-3-Clause
//! Arrays in cudarc's copies and launches, cudarc's slices as arrays, and others' streams.

mod gpu;
mod kernels;

use std::ffi::c_void;
use std::sync::{Arc, Barrier};
use std::time::Duration;
use std::{mem, ptr, thread};

use cudarc::driver::{
    CudaContext, CudaSlice, CudaStream, DevicePtr, DevicePtrMut, DeviceSlice, LaunchConfig,
    PushKernelArg, result,
};
use libcai::cudarc::wrap_stream;
use libcai::{
    Array, ArrayBuilder, Device, DeviceType, Element, Entry, Error, Failed, Index, Options,
    Pending, Stream, Use,
};

const COUNT: usize = 256;
const SHAPE: [i64; 1] = [COUNT as i64];
const CONFIG: LaunchConfig =
    LaunchConfig { grid_dim: (1, 1, 1), block_dim: (COUNT as u32, 1, 1), shared_mem_bytes: 0 };

fn context() -> Arc<CudaContext> {
    CudaContext::new(0).unwrap()
}

/// A slice full of a value, which is being written on the stream.
fn slice(stream: &Arc<CudaStream>, value: f32) -> CudaSlice<f32> {
    stream.clone_htod(&[value; COUNT]).unwrap()
}

fn array(slice: CudaSlice<f32>) -> Array {
    Array::from_cuda_slice(slice, &SHAPE).unwrap()
}

/// A slice of the stream's own, for what it reads.
fn fresh(stream: &Arc<CudaStream>) -> CudaSlice<f32> {
    stream.alloc_zeros(COUNT).unwrap()
}

/// Reads the array on a stream, by its address and in no order.
fn read_anyhow(array: &Array, stream: &Arc<CudaStream>, to: &mut CudaSlice<f32>) {
    let (to, _wrote) = to.device_ptr_mut(stream);
    // SAFETY: both are of that size.
    unsafe { result::memcpy_dtod_async(to, array.data(), 4 * COUNT, stream.cu_stream()) }.unwrap();
}

fn assert_all(stream: &Arc<CudaStream>, slice: &impl DevicePtr<f32>, value: f32) {
    assert_eq!(stream.clone_dtoh(slice).unwrap(), [value; COUNT]);
}

pairs! {
    fn a_copy_waits_for_the_producer_and_is_waited_for(is_ordered) {
        let context = context();
        let (theirs, ours) = (context.new_stream().unwrap(), context.new_stream().unwrap());
        let x = array(slice(&theirs, 7.0));
        let mut taken = fresh(&ours);
        if is_ordered {
            let x = x.view::<f32>().unwrap().on(&ours).unwrap();
            ours.memcpy_dtod(&x, &mut taken).unwrap();
        } else {
            read_anyhow(&x, &ours, &mut taken);
        }
        drop(x); // frees the memory, in their stream's order
        if is_ordered {
            assert_all(&ours, &taken, 7.0);
        }
    }

    fn what_is_written_is_waited_for(is_ordered) {
        let context = context();
        let (theirs, ours) = (context.new_stream().unwrap(), context.new_stream().unwrap());
        let mut x = array(slice(&theirs, 7.0));
        let source = slice(&ours, 9.0);
        if is_ordered {
            let mut x = x.view_mut::<f32>().unwrap().on(&ours).unwrap();
            ours.memcpy_dtod(&source, &mut x).unwrap();
        } else {
            let (from, _read) = source.device_ptr(&ours);
            // SAFETY: both are of that size.
            let copied = unsafe {
                result::memcpy_dtod_async(x.data(), from, 4 * COUNT, ours.cu_stream())
            };
            copied.unwrap();
        }
        let mut taken = fresh(&theirs);
        read_anyhow(&x, &theirs, &mut taken);
        if is_ordered {
            assert_all(&theirs, &taken, 9.0);
        }
    }

    /// cudarc itself remembers the last one of several readers only.
    fn other_streams_are_in_order_too(is_ordered) {
        let context = context();
        let theirs = context.new_stream().unwrap();
        let ours = [(); 3].map(|()| context.new_stream().unwrap());
        let x = array(slice(&theirs, 7.0));
        let mut taken = ours.each_ref().map(fresh);
        let reading = x.view::<f32>().unwrap().on(&ours[0]).unwrap();
        for (stream, taken) in ours.iter().zip(&mut taken) {
            if is_ordered {
                stream.memcpy_dtod(&reading, taken).unwrap();
            } else {
                read_anyhow(&x, stream, taken);
            }
        }
        drop(reading);
        drop(x);
        if is_ordered {
            for (stream, taken) in ours.iter().zip(&taken) {
                assert_all(stream, taken, 7.0);
            }
        }
    }

    fn kernels_take_views(is_ordered) {
        let context = context();
        let (theirs, ours) = (context.new_stream().unwrap(), context.new_stream().unwrap());
        let double = kernels::double(&context);
        let (x, mut y) = (array(slice(&theirs, 7.0)), array(slice(&theirs, 0.0)));
        let count = COUNT as u32;
        if is_ordered {
            let x = x.view::<f32>().unwrap().on(&ours).unwrap();
            let mut y = y.view_mut::<f32>().unwrap().on(&ours).unwrap();
            let mut launch = ours.launch_builder(&double);
            launch.arg(&mut y).arg(&x).arg(&count);
            // SAFETY: these are the kernel's arguments.
            unsafe { launch.launch(CONFIG) }.unwrap();
        } else {
            let (x, y) = (x.data(), y.data());
            let mut launch = ours.launch_builder(&double);
            launch.arg(&y).arg(&x).arg(&count);
            // SAFETY: likewise.
            unsafe { launch.launch(CONFIG) }.unwrap();
        }
        let mut taken = fresh(&theirs);
        read_anyhow(&y, &theirs, &mut taken);
        if is_ordered {
            assert_all(&theirs, &taken, 14.0);
        }
    }

    fn one_guard_orders_several_arguments(is_ordered) {
        let context = context();
        let (theirs, ours) = (context.new_stream().unwrap(), context.new_stream().unwrap());
        let double = kernels::double(&context);
        let (x, y) = (array(slice(&theirs, 7.0)), array(slice(&theirs, 0.0)));
        let guard = is_ordered.then(|| Use::begin(&ours, [&x, &y], Options::write()).unwrap());
        let (from, to, count) = (x.data(), y.data(), COUNT as u32);
        let mut launch = ours.launch_builder(&double);
        launch.arg(&to).arg(&from).arg(&count);
        // SAFETY: these are the kernel's arguments.
        unsafe { launch.launch(CONFIG) }.unwrap();
        drop(guard);
        let mut taken = fresh(&theirs);
        read_anyhow(&y, &theirs, &mut taken);
        if is_ordered {
            assert_all(&theirs, &taken, 14.0);
        }
    }

    fn a_slice_comes_with_what_was_tracked(is_ordered) {
        let context = context();
        let (one, two, ours) =
            (context.new_stream().unwrap(), context.new_stream().unwrap(), context.new_stream().unwrap());
        let mut slice = slice(&one, 7.0);
        two.memset_zeros(&mut slice).unwrap();
        let x = if is_ordered {
            array(slice)
        } else {
            let data = slice.device_ptr(&two).0;
            let x = ArrayBuilder::new(data, f32::DTYPE, &SHAPE)
                .device(DeviceType::Cuda, Some(0))
                .pending(Pending::Stream(one.cu_stream() as u64));
            // SAFETY: it is not, since work is pending on another stream.
            unsafe { x.own(slice) }.unwrap()
        };
        let mut taken = fresh(&ours);
        ours.memcpy_dtod(&x.view::<f32>().unwrap().on(&ours).unwrap(), &mut taken).unwrap();
        if is_ordered {
            assert_all(&ours, &taken, 0.0);
        }
    }

    /// While cudarc knows of no stream but the default one, its own slices race.
    fn slices_on_a_foreign_stream_are_tracked(is_ordered) {
        let context = context();
        let foreign = Stream::new(Device::Cuda(0)).unwrap();
        let theirs = if is_ordered {
            // SAFETY: the stream outlives the test.
            unsafe { wrap_stream(&context, foreign.value()) }.unwrap()
        } else {
            // SAFETY: likewise.
            unsafe { context.wrap_borrowed_stream(foreign.value() as _) }
        };
        let ours = context.default_stream();
        let x = slice(&theirs, 7.0);
        let mut taken = fresh(&ours);
        ours.memcpy_dtod(&x, &mut taken).unwrap();
        drop(x);
        if is_ordered {
            assert_all(&ours, &taken, 7.0);
        }
        drop(taken);
        context.synchronize().unwrap();
    }
}

#[test]
fn a_stream_of_its_own_needs_no_order() {
    let context = context();
    let stream = context.default_stream();
    let x = array(slice(&stream, 3.0));
    assert_eq!(x.pending(), Pending::Stream(1), "cudarc's default stream is the legacy one");
    let x = x.view::<f32>().unwrap().on(&stream).unwrap();
    assert_eq!((DeviceSlice::len(&x), x.num_bytes(), x.shape()), (COUNT, 4 * COUNT, &SHAPE[..]));
    assert_eq!(DeviceSlice::stream(&x), &stream);
    assert_all(&stream, &x, 3.0);
    x.try_end().unwrap();
}

#[test]
fn a_guard_ends_on_another_thread() {
    let context = context();
    let (theirs, ours) = (context.default_stream(), context.new_stream().unwrap());
    let x = array(slice(&theirs, 3.0));
    let mut taken = fresh(&ours);
    thread::scope(|scope| {
        let x = x.view::<f32>().unwrap().on(&ours).unwrap();
        ours.memcpy_dtod(&x, &mut taken).unwrap();
        scope.spawn(move || x.try_end().unwrap()); // where no context is current
    });
    drop(x);
    assert_all(&ours, &taken, 3.0);
}

#[test]
fn a_forgotten_guard_keeps_the_memory() {
    let context = context();
    let stream = context.new_stream().unwrap();
    let slice = slice(&stream, 3.0);
    let data = slice.device_ptr(&stream).0;
    let kept = Arc::new(());
    let x = ArrayBuilder::new(data, f32::DTYPE, &SHAPE)
        .device(DeviceType::Cuda, Some(0))
        .pending(Pending::Stream(stream.cu_stream() as u64));
    // SAFETY: the slice keeps its memory and its stream.
    let x = unsafe { x.own((slice, kept.clone())) }.unwrap();
    mem::forget(x.view::<f32>().unwrap().on(&stream).unwrap());
    drop(x);
    assert_eq!(Arc::strong_count(&kept), 2, "it leaks, with all that keeps it");
}

#[test]
fn the_memory_goes_with_the_array() {
    let context = context();
    let stream = context.new_stream().unwrap();
    let x = array(slice(&stream, 3.0));
    let other = x.clone();
    assert_eq!(Arc::strong_count(&stream), 2);
    drop(x);
    thread::spawn(move || drop(other)).join().unwrap();
    assert_eq!(Arc::strong_count(&stream), 1);
}

#[test]
fn the_memory_is_freed_in_its_own_context() {
    let context = context();
    let here = array(slice(&context.default_stream(), 3.0));
    let there = array(slice(&context.default_stream(), 3.0));
    thread::scope(|scope| {
        scope.spawn(|| {
            drop(here); // where no context is current
            assert_eq!(result::ctx::get_current().unwrap(), None);
        });
        scope.spawn(|| {
            let other = CudaContext::new(1).unwrap();
            drop(there);
            assert_eq!(result::ctx::get_current().unwrap(), Some(other.cu_ctx()));
        });
    });
    context.check_err().unwrap(); // of what is dropped, cudarc tells there
}

#[test]
fn nothing_to_copy() {
    let stream = context().default_stream();
    let x = array(slice(&stream, 3.0)).slice(&[Index::from(..0)]).unwrap();
    assert_eq!(x.data(), 0);
    let x = x.view::<f32>().unwrap().on(&stream).unwrap();
    assert!(DeviceSlice::is_empty(&x));
    assert!(stream.clone_dtoh(&x).unwrap().is_empty());
}

fn device_array(data: u64, device: DeviceType, id: Option<u32>) -> Array {
    let array = ArrayBuilder::new(data, f32::DTYPE, &SHAPE).device(device, id);
    // SAFETY: nobody uses the memory.
    unsafe { array.own(()) }.unwrap()
}

#[test]
fn what_is_not_in_a_row_is_refused() {
    let stream = context().default_stream();
    let x = array(slice(&stream, 3.0));
    for view in [
        x.slice(&[Index::from(..).step(2)]).unwrap(),
        x.slice(&[Index::from(..).step(-1)]).unwrap(),
        x.reshape(&[2, -1]).unwrap().transpose().unwrap(),
        x.broadcast(&[2, COUNT as i64]).unwrap(),
    ] {
        let error = view.view::<f32>().unwrap().on(&stream).unwrap_err();
        assert!(matches!(error, Error::Layout(_)), "{error:?}");
        assert_eq!(error.entry(), Some(Entry::Strides));
    }
    let half = x.slice(&[Index::from(..COUNT as i64 / 2)]).unwrap();
    let half = half.view::<f32>().unwrap().on(&stream).unwrap();
    assert_eq!(stream.clone_dtoh(&half).unwrap(), [3.0; COUNT / 2]);
}

#[test]
fn memory_elsewhere_is_refused() {
    let context = context();
    let stream = context.default_stream();
    for array in [
        device_array(0x1000, DeviceType::Cuda, Some(1)),
        device_array(0x1000, DeviceType::Cpu, Some(0)),
        device_array(0x1000, DeviceType::CudaHost, Some(0)),
        device_array(0x1000, DeviceType::Rocm, Some(0)),
        device_array(0x1000, DeviceType::Cuda, None), // the driver does not know it
    ] {
        let error = array.view::<f32>().unwrap().on(&stream).unwrap_err();
        assert!(matches!(error, Error::Device(_)), "{error:?}");
    }
    let slice = slice(&stream, 3.0);
    let data = slice.device_ptr(&stream).0;
    let unsaid = device_array(data, DeviceType::Cuda, None);
    assert_all(&stream, &unsaid.view::<f32>().unwrap().on(&stream).unwrap(), 3.0);
    let other = CudaContext::new(1).unwrap().default_stream();
    let error = unsaid.view::<f32>().unwrap().on(&other).unwrap_err();
    assert!(error.to_string().contains("on device 0"), "{error}");
}

#[test]
fn a_per_thread_stream_is_refused() {
    let context = context();
    let stream = context.default_stream();
    let x = array(slice(&stream, 3.0));
    let error = x.view::<f32>().unwrap().on(&context.per_thread_stream()).unwrap_err();
    assert!(matches!(error, Error::Argument(_)), "{error:?}");
    let theirs = slice(&context.per_thread_stream(), 5.0);
    let Failed { error, value } = Array::from_cuda_slice(theirs, &SHAPE).unwrap_err();
    assert!(matches!(error, Error::Argument(_)), "{error:?}");
    assert_all(value.stream(), &value, 5.0);
}

#[test]
fn a_shape_of_another_size_is_refused() {
    let stream = context().default_stream();
    let mut long = [1; 65];
    long[0] = COUNT as i64;
    for shape in [&[3, 85][..], &[-256], &[i64::MAX, i64::MAX], &[], &long] {
        let Failed { error, value } =
            Array::from_cuda_slice(slice(&stream, 3.0), shape).unwrap_err();
        assert_eq!(error.entry(), Some(Entry::Shape), "{error:?}");
        assert_all(&stream, &value, 3.0);
    }
}

#[test]
fn what_is_no_stream_of_the_context_is_refused() {
    let context = context();
    for number in [0, 2] {
        // SAFETY: these are refused.
        let error = unsafe { wrap_stream(&context, number) }.unwrap_err();
        assert!(matches!(error, Error::Argument(_)), "{error:?}");
    }
    let other = Stream::new(Device::Cuda(1)).unwrap();
    // SAFETY: the stream is one.
    let error = unsafe { wrap_stream(&context, other.value()) }.unwrap_err();
    assert!(matches!(error, Error::Device(_)), "{error:?}");
    // SAFETY: that stream is always there.
    let legacy = unsafe { wrap_stream(&context, 1) }.unwrap();
    assert_eq!(legacy, context.default_stream());
}

alone! {
    fn slices_are_tracked_as_long_as_the_context_lives() {
        let context = context();
        let foreign = Stream::new(Device::Cuda(0)).unwrap();
        assert!(!context.is_in_multi_stream_mode());
        // SAFETY: the stream outlives what is made of it.
        let wrap = |context: &Arc<CudaContext>| drop(unsafe { wrap_stream(context, foreign.value()) }.unwrap());
        wrap(&context);
        drop(context.new_stream().unwrap());
        assert!(context.is_in_multi_stream_mode(), "also when its last own stream has gone");
        let ended = Arc::downgrade(&context);
        drop(context);
        let other = self::context();
        wrap(&other);
        assert_eq!(ended.strong_count(), 0, "contexts of which nobody knows go");
        assert!(other.is_in_multi_stream_mode());
    }

    /// All of them wait for the context's work, which takes long enough for both to come meanwhile.
    fn threads_wrap_streams_at_once() {
        unsafe extern "C" fn take_long(_: *mut c_void) {
            thread::sleep(Duration::from_millis(50));
        }
        let context = context();
        let default = context.default_stream();
        let x = slice(&default, 7.0);
        // SAFETY: the function needs nothing.
        unsafe { result::stream::launch_host_function(default.cu_stream(), take_long, ptr::null_mut()) }
            .unwrap();
        let start = Barrier::new(2);
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    let foreign = Stream::new(Device::Cuda(0)).unwrap();
                    start.wait();
                    // SAFETY: the stream outlives what is made of it.
                    let ours = unsafe { wrap_stream(&context, foreign.value()) }.unwrap();
                    assert_all(&ours, &x, 7.0);
                });
            }
        });
    }

    fn a_use_that_cannot_end_comes_back() {
        let context = context();
        let (theirs, ours) = (context.new_stream().unwrap(), context.new_stream().unwrap());
        let x = array(slice(&theirs, 3.0));
        let reading = x.view::<f32>().unwrap().on(&ours).unwrap();
        let mut taken = fresh(&ours);
        ours.memcpy_dtod(&reading, &mut taken).unwrap();
        gpu::driver().fail(c"cuEventRecord", 1, 2);
        let Failed { error, value: reading } = reading.try_end().unwrap_err();
        assert_eq!(error.detail().native(), 2, "{error}");
        reading.try_end().unwrap();
        drop(x);
        assert_all(&ours, &taken, 3.0);
    }

    fn a_failure_of_the_drivers_is_told() {
        let context = context();
        let stream = context.new_stream().unwrap();
        let slice = slice(&stream, 3.0);
        gpu::driver().fail(c"cuStreamWaitEvent", 1, 2);
        let Failed { error, value } = Array::from_cuda_slice(slice, &SHAPE).unwrap_err();
        assert!(matches!(error, Error::Cuda(_)), "{error:?}");
        assert_eq!(error.detail().native(), 2);
        assert_eq!(array(value).shape(), SHAPE);
    }
}
