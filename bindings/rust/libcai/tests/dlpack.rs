// SPDX-License-Identifier: BSD-3-Clause
//! Tensors of DLPack's: whose they are, what they say, and what is refused.

mod gpu;

use std::ffi::c_void;
use std::ptr::{self, NonNull};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use gpu::{array_on, driver, stream};
use libcai::dlpack::{self, LegacyTensor, Tensor};
use libcai::sys::{
    DLDataType, DLDevice, DLManagedTensor, DLManagedTensorVersioned, DLPackVersion, DLTensor,
};
use libcai::{
    Array, ArrayBuilder, DType, DeviceType, Entry, Error, Failed, Options, Pending, Use, sys,
};

const FLOAT: DLDataType = DLDataType { code: sys::kDLFloat as u8, bits: 32, lanes: 1 };
const CPU: DLDevice = DLDevice { device_type: sys::kDLCPU, device_id: 0 };
const GPU: DLDevice = DLDevice { device_type: sys::kDLCUDA, device_id: 1 };
const ADDRESS: usize = 0x7f55_0000_0400;

/// A producer's tensor of `[2, 3]` floats, and how often its deleter has run.
struct Producer {
    shape: Vec<i64>,
    deleted: Arc<AtomicUsize>,
}

fn tensor(producer: &mut Producer, device: DLDevice) -> DLTensor {
    DLTensor {
        data: ptr::without_provenance_mut(ADDRESS),
        device,
        ndim: producer.shape.len() as i32,
        dtype: FLOAT,
        shape: producer.shape.as_mut_ptr(),
        strides: ptr::null_mut(),
        byte_offset: 8,
    }
}

/// Makes one, changed by `change`.
fn versioned(change: impl FnOnce(&mut DLManagedTensorVersioned)) -> (Tensor, Arc<AtomicUsize>) {
    extern "C" fn delete(tensor: *mut DLManagedTensorVersioned) {
        // SAFETY: both came from boxes below, and this runs once.
        let tensor = unsafe { Box::from_raw(tensor) };
        // SAFETY: likewise.
        let producer = unsafe { Box::from_raw(tensor.manager_ctx.cast::<Producer>()) };
        producer.deleted.fetch_add(1, Ordering::SeqCst);
    }
    let deleted = Arc::new(AtomicUsize::new(0));
    let mut producer = Box::new(Producer { shape: vec![2, 3], deleted: deleted.clone() });
    let dl_tensor = tensor(&mut producer, CPU);
    let mut managed = Box::new(DLManagedTensorVersioned {
        version: DLPackVersion { major: 1, minor: 1 },
        manager_ctx: Box::into_raw(producer).cast::<c_void>(),
        deleter: Some(delete),
        flags: 0,
        dl_tensor,
    });
    change(&mut managed);
    // SAFETY: nobody else deletes it, and any thread may.
    let tensor = unsafe { Tensor::from_raw(NonNull::from(Box::leak(managed))) };
    (tensor, deleted)
}

fn legacy() -> (LegacyTensor, Arc<AtomicUsize>) {
    extern "C" fn delete(tensor: *mut DLManagedTensor) {
        // SAFETY: both came from boxes below, and this runs once.
        let tensor = unsafe { Box::from_raw(tensor) };
        // SAFETY: likewise.
        let producer = unsafe { Box::from_raw(tensor.manager_ctx.cast::<Producer>()) };
        producer.deleted.fetch_add(1, Ordering::SeqCst);
    }
    let deleted = Arc::new(AtomicUsize::new(0));
    let mut producer = Box::new(Producer { shape: vec![2, 3], deleted: deleted.clone() });
    let dl_tensor = tensor(&mut producer, CPU);
    let managed = Box::new(DLManagedTensor {
        dl_tensor,
        manager_ctx: Box::into_raw(producer).cast::<c_void>(),
        deleter: Some(delete),
    });
    // SAFETY: nobody else deletes it, and any thread may.
    let tensor = unsafe { LegacyTensor::from_raw(NonNull::from(Box::leak(managed))) };
    (tensor, deleted)
}

fn times(deleted: &AtomicUsize) -> usize {
    deleted.load(Ordering::SeqCst)
}

/// A GPU's array of an address that nothing is ever asked to touch.
fn array(dtype: &str, strides: &[i64]) -> ArrayBuilder<'static> {
    let strides = Vec::leak(strides.to_vec());
    ArrayBuilder::new(ADDRESS as u64, dtype.parse().unwrap(), &[2, 3])
        .strides(strides)
        .device(DeviceType::Cuda, Some(1))
}

fn owned(builder: ArrayBuilder<'_>) -> Array {
    // SAFETY: nobody uses the memory.
    unsafe { builder.own(()) }.unwrap()
}

#[test]
fn a_tensor_becomes_an_array() {
    let (tensor, deleted) = versioned(|tensor| tensor.dl_tensor.device = GPU);
    let array = tensor.into_array().unwrap();
    assert_eq!((array.shape(), array.strides()), (&[2, 3][..], &[12, 4][..]));
    assert_eq!(array.data(), ADDRESS as u64 + 8);
    assert_eq!(array.dtype(), DType::of::<f32>());
    assert_eq!((array.device_type(), array.device_id()), (DeviceType::Cuda, Some(1)));
    assert_eq!(array.pending(), Pending::Unstated);
    assert!(!array.is_readonly());
    let other = array.clone();
    drop(array);
    assert_eq!(times(&deleted), 0);
    thread::spawn(move || drop(other)).join().unwrap();
    assert_eq!(times(&deleted), 1);
}

#[test]
fn a_tensor_comes_with_its_stream() {
    let (tensor, deleted) = versioned(|tensor| tensor.dl_tensor.device = GPU);
    // SAFETY: stream 1 is always there.
    let array = unsafe { tensor.into_array_on(1) }.unwrap();
    assert_eq!(array.pending(), Pending::Stream(1));
    drop(array);
    assert_eq!(times(&deleted), 1);
}

#[test]
fn a_read_only_tensor_becomes_a_read_only_array() {
    let (tensor, _deleted) =
        versioned(|tensor| tensor.flags = u64::from(sys::DLPACK_FLAG_BITMASK_READ_ONLY));
    assert!(tensor.into_array().unwrap().is_readonly());
}

#[test]
fn a_legacy_tensor_becomes_an_array() {
    let (tensor, deleted) = legacy();
    let array = tensor.into_array().unwrap();
    assert_eq!((array.shape(), array.data()), (&[2, 3][..], ADDRESS as u64 + 8));
    assert_eq!(times(&deleted), 0);
    drop(array);
    assert_eq!(times(&deleted), 1);
}

#[test]
fn a_tensor_is_deleted_once_by_who_has_it() {
    let (tensor, deleted) = versioned(|_| ());
    drop(tensor);
    assert_eq!(times(&deleted), 1);

    let (tensor, deleted) = legacy();
    let raw = tensor.into_raw();
    assert_eq!(times(&deleted), 0);
    // SAFETY: into_raw() gave the duty to delete it.
    drop(unsafe { LegacyTensor::from_raw(raw) });
    assert_eq!(times(&deleted), 1);
}

#[test]
fn a_tensor_without_a_deleter_is_left_alone() {
    let mut producer = Producer { shape: vec![2, 3], deleted: Arc::default() };
    let mut managed = DLManagedTensor {
        dl_tensor: tensor(&mut producer, CPU),
        manager_ctx: ptr::null_mut(),
        deleter: None,
    };
    // SAFETY: the tensor outlives both the holder and the array.
    let tensor = unsafe { LegacyTensor::from_raw(NonNull::from(&mut managed)) };
    drop(tensor.into_array().unwrap());
    assert_eq!(producer.shape, [2, 3]);
}

#[test]
fn refused_tensors_come_back() {
    fn refuses(
        what: &str,
        change: impl FnOnce(&mut DLManagedTensorVersioned),
        is_it: impl FnOnce(&Error) -> bool,
    ) {
        let (tensor, deleted) = versioned(change);
        let Failed { error, value } = tensor.into_array().unwrap_err();
        assert!(is_it(&error), "{what}: {error:?}");
        assert_eq!(times(&deleted), 0, "{what}");
        drop(value);
        assert_eq!(times(&deleted), 1, "{what}");
    }
    refuses(
        "another major",
        |tensor| tensor.version.major = 2,
        |error| matches!(error, Error::Version(_)),
    );
    refuses(
        "lanes",
        |tensor| tensor.dl_tensor.dtype.lanes = 4,
        |error| matches!(error, Error::Unsupported(_)) && error.entry() == Some(Entry::Typestr),
    );
    refuses(
        "OpenCL",
        |tensor| tensor.dl_tensor.device.device_type = sys::kDLOpenCL,
        |error| matches!(error, Error::Device(_)),
    );
    refuses(
        "65 dimensions",
        |tensor| tensor.dl_tensor.ndim = 65,
        |error| matches!(error, Error::Value(_)) && error.entry() == Some(Entry::Shape),
    );
    refuses(
        "a negative extent",
        // SAFETY: the shape is the producer's, and has two of them.
        |tensor| unsafe { *tensor.dl_tensor.shape = -1 },
        |error| matches!(error, Error::Value(_)) && error.entry() == Some(Entry::Shape),
    );
    refuses(
        "no shape",
        |tensor| tensor.dl_tensor.shape = ptr::null_mut(),
        |error| error.entry() == Some(Entry::Shape),
    );
    refuses(
        "no data",
        |tensor| tensor.dl_tensor.data = ptr::null_mut(),
        |error| error.entry() == Some(Entry::Data),
    );
}

#[test]
fn a_tensor_holds_its_array() {
    let dropped = Arc::new(());
    let owner = dropped.clone();
    // SAFETY: nobody uses the memory.
    let array = unsafe { array("<f4", &[4, 8]).readonly().own(owner) }.unwrap();
    let tensor = Tensor::unordered(&array).unwrap();
    drop(array);
    let raw = tensor.as_raw();
    assert_eq!(raw.version.major, 1);
    assert_eq!(raw.flags & u64::from(sys::DLPACK_FLAG_BITMASK_READ_ONLY), 1);
    assert_eq!((raw.dl_tensor.device.device_type, raw.dl_tensor.device.device_id), (2, 1));
    // SAFETY: the tensor has two of each.
    let strides = unsafe { std::slice::from_raw_parts(raw.dl_tensor.strides, 2) };
    assert_eq!(strides, [1, 2], "in elements");

    let back = tensor.into_array().unwrap();
    assert_eq!((back.data(), back.strides()), (ADDRESS as u64, &[4, 8][..]));
    assert_eq!(Arc::strong_count(&dropped), 2);
    drop(back);
    assert_eq!(Arc::strong_count(&dropped), 1);
}

#[test]
fn what_a_tensor_cannot_say_is_refused() {
    let refuses = |array: &Array, entry| {
        let error = Tensor::unordered(array).unwrap_err();
        assert!(matches!(error, Error::Export(_)), "{error:?}");
        assert_eq!(error.entry(), Some(entry), "{error:?}");
    };
    refuses(&owned(array(">f4", &[12, 4])), Entry::Typestr);
    refuses(&owned(array("<M8[s]", &[24, 8])), Entry::Typestr);
    refuses(&owned(array("<f4", &[14, 4])), Entry::Strides);
    let mask = owned(ArrayBuilder::new(0x1000, DType::of::<bool>(), &[2, 3]));
    refuses(&owned(array("<f4", &[12, 4]).mask(mask.borrow())), Entry::Mask);

    let readonly = owned(array("<f4", &[12, 4]).readonly());
    let error = LegacyTensor::unordered(&readonly).unwrap_err();
    assert!(matches!(error, Error::Export(_)) && error.entry() == Some(Entry::Data), "{error:?}");
    assert!(dlpack::lend(readonly.borrow(), |_| ()).is_err());
    LegacyTensor::unordered(&owned(array("<f4", &[12, 4]))).unwrap();
}

#[test]
fn an_array_is_lent_for_a_call() {
    let mut value = 7f32;
    let array = ArrayBuilder::new((&raw mut value) as u64, DType::of::<f32>(), &[])
        .device(DeviceType::Cpu, Some(0));
    let array = owned(array);
    let lent = dlpack::lend(array.borrow(), |tensor| {
        assert_eq!((tensor.ndim, tensor.byte_offset), (0, 0));
        // SAFETY: it is this function's own variable.
        unsafe { *tensor.data.cast::<f32>() }
    });
    assert_eq!(lent, Ok(7.0));
}

#[test]
fn a_tensor_is_read_for_a_call() {
    let mut producer = Producer { shape: vec![2, 3], deleted: Arc::default() };
    let mut tensor = tensor(&mut producer, GPU);
    // SAFETY: the tensor is this function's; stream 1 is always there.
    let said = unsafe {
        dlpack::read(&tensor, Some(1), |array| {
            assert!(array.is_readonly());
            (array.shape().to_vec(), array.strides().to_vec(), array.pending())
        })
    };
    assert_eq!(said, Ok((vec![2, 3], vec![12, 4], Pending::Stream(1))));
    // SAFETY: likewise; no stream is named.
    let pending = unsafe { dlpack::read(&tensor, None, |array| array.pending()) };
    assert_eq!(pending, Ok(Pending::Unstated));

    tensor.ndim = 65;
    // SAFETY: likewise.
    let error = unsafe { dlpack::read(&tensor, None, |_| ()) }.unwrap_err();
    assert!(matches!(error, Error::Value(_)), "{error:?}");
    tensor.ndim = 2;
    // SAFETY: likewise.
    let error = unsafe { dlpack::read(&tensor, Some(0), |_| ()) }.unwrap_err();
    assert!(matches!(error, Error::Argument(_)), "{error:?}");
}

pairs! {
    fn a_consumer_waits_for_the_producer_and_is_waited_for(is_ordered) {
        let (theirs, ours) = (stream(), stream());
        let address = driver().fresh_on(&theirs);
        let array = array_on(address, &theirs);
        driver().fill(address, 7, theirs.value());
        let tensor = match is_ordered {
            // SAFETY: the stream outlives the array.
            true => unsafe { Tensor::ordered(&array, ours.value()) },
            false => Tensor::unordered(&array),
        };
        let tensor = tensor.unwrap();
        let taken = driver().take(tensor.as_raw().dl_tensor.data as u64, ours.value());
        // A later use waits for the consumer, which the array's own stream does not know.
        let writing = Use::begin(&theirs, [&array], Options::write());
        driver().fill(address, 9, theirs.value());
        writing.unwrap().try_end().unwrap();
        ours.synchronize().unwrap();
        if is_ordered {
            assert!(driver().bytes(taken).iter().all(|&byte| byte == 7));
        }
    }

    fn a_tensor_of_a_stream_is_waited_for(is_ordered) {
        let (theirs, ours) = (stream(), stream());
        let address = driver().fresh();
        let array = array_on(address, &theirs);
        driver().fill(address, 7, theirs.value());
        let tensor = Tensor::unordered(&array).unwrap();
        let stated = match is_ordered {
            // SAFETY: the stream outlives the array.
            true => unsafe { tensor.into_array_on(theirs.value()) },
            false => tensor.into_array(), // as if the legacy stream were it
        };
        let stated = stated.unwrap();
        let reading = stated.read_on(&ours).unwrap();
        let taken = driver().take(stated.data(), ours.value());
        reading.try_end().unwrap();
        ours.synchronize().unwrap();
        if is_ordered {
            assert!(driver().bytes(taken).iter().all(|&byte| byte == 7));
        }
    }
}
