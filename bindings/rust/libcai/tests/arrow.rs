// SPDX-License-Identifier: BSD-3-Clause
//! Columns of Arrow's: whose they are, what they say, and what is refused.

mod gpu;

use std::ffi::{CStr, c_void};
use std::ptr;
use std::slice;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use gpu::{array_on, driver, stream};
use libcai::arrow::Column;
use libcai::memory::fill;
use libcai::sys::{ArrowArray, ArrowDeviceArray, ArrowSchema};
use libcai::{
    Array, ArrayBuilder, DType, Device, DeviceType, Entry, Error, Failed, Index, Legacy, Mode,
    Pending, Stream, sys,
};

/// Stream 1.
fn legacy() -> Legacy {
    // SAFETY: no test changes its thread's current context.
    unsafe { Legacy::new() }
}

/// What a producer's structs point to.
struct Producer {
    values: Vec<i32>,
    bitmap: u8,
    buffers: [*const c_void; 2],
    released: Arc<AtomicUsize>,
}

extern "C" fn release_array(array: *mut ArrowArray) {
    // SAFETY: it is one of column()'s, which is released once.
    let array = unsafe { &mut *array };
    // SAFETY: likewise.
    let producer = unsafe { Box::from_raw(array.private_data.cast::<Producer>()) };
    producer.released.fetch_add(1, Ordering::SeqCst);
    array.release = None;
}

extern "C" fn release_schema(schema: *mut ArrowSchema) {
    // SAFETY: it is one of column()'s.
    unsafe { (*schema).release = None };
}

/// The host's column of 1 to 10, of which the first is not valid, changed by `change`; and how often
/// it was released.
fn column(
    change: impl FnOnce(&mut ArrowSchema, &mut ArrowDeviceArray),
) -> (Column, Arc<AtomicUsize>) {
    let released = Arc::new(AtomicUsize::new(0));
    let mut producer = Box::new(Producer {
        values: (1..=10).collect(),
        bitmap: 0b1111_1110,
        buffers: [ptr::null(); 2],
        released: released.clone(),
    });
    producer.buffers = [(&raw const producer.bitmap).cast(), producer.values.as_ptr().cast()];
    let mut schema = ArrowSchema {
        format: c"i".as_ptr(),
        name: ptr::null(),
        metadata: ptr::null(),
        flags: 0,
        n_children: 0,
        children: ptr::null_mut(),
        dictionary: ptr::null_mut(),
        release: Some(release_schema),
        private_data: ptr::null_mut(),
    };
    let mut array = ArrowDeviceArray {
        array: ArrowArray {
            length: 8,
            null_count: -1,
            offset: 0,
            n_buffers: 2,
            n_children: 0,
            buffers: producer.buffers.as_mut_ptr(),
            children: ptr::null_mut(),
            dictionary: ptr::null_mut(),
            release: Some(release_array),
            private_data: Box::into_raw(producer).cast(),
        },
        device_id: -1,
        device_type: sys::CAI_DEVICE_CPU,
        sync_event: ptr::null_mut(),
        reserved: [0; 3],
    };
    change(&mut schema, &mut array);
    // SAFETY: both are as Arrow specifies but for what the test is about, and nobody else's.
    (unsafe { Column::from_raw(schema, array) }, released)
}

fn times(released: &AtomicUsize) -> usize {
    released.load(Ordering::SeqCst)
}

#[test]
fn a_column_becomes_an_array() {
    let (column, released) = column(|_, _| ());
    let array = column.into_array().unwrap();
    assert_eq!((array.shape(), array.strides()), (&[8][..], &[4][..]));
    assert_eq!((array.dtype(), array.device_type()), (DType::of::<i32>(), DeviceType::Cpu));
    assert!(array.is_readonly());
    assert_eq!(array.mask().unwrap().shape(), [8]);
    assert_eq!(array.pending(), Pending::Nothing);
    let other = array.clone();
    drop(array);
    assert_eq!(times(&released), 0);
    thread::spawn(move || drop(other)).join().unwrap();
    assert_eq!(times(&released), 1);
}

#[test]
fn a_column_without_nulls_is_viewed() {
    let (column, _released) = column(|_, array| {
        array.array.null_count = 0;
        array.array.offset = 2;
    });
    let array = column.into_array().unwrap();
    // SAFETY: nobody writes it.
    let values = unsafe { array.view::<i32>().unwrap().as_slice() }.unwrap();
    assert_eq!(values, [3, 4, 5, 6, 7, 8, 9, 10]);
    let (masked, _released) = self::column(|_, _| ());
    assert!(masked.into_array().unwrap().view::<i32>().is_err(), "not all are valid");
}

#[test]
fn a_column_is_released_once_by_who_has_it() {
    let (first, released) = column(|_, _| ());
    drop(first);
    assert_eq!(times(&released), 1);
    let (second, released) = column(|_, _| ());
    let (schema, array) = second.into_raw();
    assert_eq!(times(&released), 0);
    // SAFETY: into_raw() gave the duty to release them.
    drop(unsafe { Column::from_raw(schema, array) });
    assert_eq!(times(&released), 1);
}

#[test]
fn refused_columns_come_back() {
    fn refuses(
        what: &str,
        change: impl FnOnce(&mut ArrowSchema, &mut ArrowDeviceArray),
        is_it: impl FnOnce(&Error) -> bool,
    ) {
        let (column, released) = column(change);
        let Failed { error, value } = column.into_array().unwrap_err();
        assert!(is_it(&error), "{what}: {error:?}");
        assert_eq!(times(&released), 0, "{what}");
        drop(value);
        assert_eq!(times(&released), 1, "{what}");
    }
    refuses(
        "text",
        |schema, _| schema.format = c"u".as_ptr(),
        |error| matches!(error, Error::Unsupported(_)),
    );
    refuses(
        "a bitmap that begins within a byte",
        |_, array| array.array.offset = 1,
        |error| matches!(error, Error::Unsupported(_)) && error.entry() == Some(Entry::Mask),
    );
    refuses("Metal", |_, array| array.device_type = 8, |error| matches!(error, Error::Device(_)));
    refuses(
        "a negative length",
        |_, array| array.array.length = -1,
        |error| matches!(error, Error::Value(_)),
    );
    refuses(
        "three buffers",
        |_, array| array.array.n_buffers = 3,
        |error| matches!(error, Error::Value(_)),
    );
}

#[test]
fn a_column_that_is_released_already_is_refused() {
    let (mut raw, released) = {
        let (column, released) = column(|_, _| ());
        (column.into_raw(), released)
    };
    release_array(&mut raw.1.array);
    // SAFETY: that is lawful, and nothing is left to release but the type.
    let column = unsafe { Column::from_raw(raw.0, raw.1) };
    let Failed { error, value } = column.into_array().unwrap_err();
    assert!(matches!(error, Error::Argument(_)), "{error:?}");
    drop(value);
    assert_eq!(times(&released), 1);
}

#[test]
fn a_column_holds_its_array() {
    let kept = Arc::new(());
    let builder = ArrayBuilder::new(0x1000, DType::of::<f64>(), &[3]);
    let builder = builder.device(DeviceType::Cuda, Some(1));
    // SAFETY: nobody uses the memory.
    let array = unsafe { builder.own(kept.clone()) }.unwrap();
    let column = Column::from_array(&array, legacy()).unwrap();
    drop(array);
    // SAFETY: a format is a text.
    assert_eq!(unsafe { CStr::from_ptr(column.schema().format) }, c"g");
    assert_eq!((column.array().device_type, column.array().device_id), (2, 1));
    assert!(column.array().sync_event.is_null(), "nothing is pending");
    let back = column.into_array().unwrap();
    assert_eq!((back.data(), back.shape()), (0x1000, &[3][..]));
    assert_eq!(Arc::strong_count(&kept), 2);
    drop(back);
    assert_eq!(Arc::strong_count(&kept), 1);
}

#[test]
fn a_column_comes_after_work_of_the_cpu() {
    let slow = Stream::with_mode(Device::Cpu, Mode::Async, 0).unwrap();
    slow.enqueue(|| {
        thread::sleep(Duration::from_millis(20));
        Ok(())
    })
    .unwrap();
    let mut array = Array::from_vec(vec![0_u8; 64], &[64]).unwrap();
    fill(&mut array, 7_u8, Some(&slow)).unwrap();
    let column = Column::from_array(&array, legacy()).unwrap();
    assert!(column.array().sync_event.is_null(), "the host has waited");
    // SAFETY: a column of numbers has two buffers.
    let second = unsafe { *column.array().array.buffers.add(1) };
    // SAFETY: it has as many bytes.
    let bytes = unsafe { slice::from_raw_parts(second.cast::<u8>(), 64) };
    assert_eq!(bytes, [7; 64]);
}

#[test]
fn what_a_column_cannot_say_is_refused() {
    let refuses = |array: &Array, entry| {
        let error = Column::from_array(array, legacy()).unwrap_err();
        assert!(matches!(error, Error::Export(_)), "{error:?}");
        assert_eq!(error.entry(), Some(entry), "{error:?}");
    };
    let array = Array::from_vec((0..6).collect::<Vec<i32>>(), &[6]).unwrap();
    refuses(&array.reshape(&[2, 3]).unwrap(), Entry::Shape);
    refuses(&array.slice(&[Index::from(..).step(2)]).unwrap(), Entry::Strides);
    refuses(&Array::from_vec(vec![true], &[1]).unwrap(), Entry::Typestr);
}

pairs! {
    fn a_column_comes_with_an_event(is_ordered) {
        let (theirs, ours) = (stream(), stream());
        let address = driver().fresh();
        let array = array_on(address, &theirs);
        driver().fill(address, 7, theirs.value());
        let column = Column::from_array(&array, &theirs).unwrap();
        assert!(!column.array().sync_event.is_null());
        let column = column.into_array().unwrap();
        assert!(matches!(column.pending(), Pending::Event(_)));
        let reading = is_ordered.then(|| column.read_on(&ours).unwrap());
        let taken = driver().take(column.data(), ours.value());
        if let Some(reading) = reading {
            reading.try_end().unwrap();
        }
        ours.synchronize().unwrap();
        if is_ordered {
            assert!(driver().bytes(taken).iter().all(|&byte| byte == 7));
        }
    }
}
