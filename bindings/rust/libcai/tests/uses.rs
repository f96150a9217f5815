// SPDX-License-Identifier: BSD-3-Clause
//! Uses that are refused, guards in every order of drop, and what is asked of arrays.

mod gpu;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use gpu::{Gone, SHAPE, array_of, array_on, driver, stream};
use libcai::{
    Access, Array, ArrayBuilder, DType, Device, DeviceType, Error, Failed, Legacy, Options,
    Pending, PerThread, RawStream, Reading, Stream, Use,
};

fn readonly(address: u64) -> Array {
    let array = ArrayBuilder::new(address, DType::of::<u8>(), &SHAPE)
        .device(DeviceType::Cuda, Some(0))
        .readonly();
    // SAFETY: the memory stays until the test ends.
    unsafe { array.own(()) }.unwrap()
}

#[test]
fn a_number_that_is_no_stream_is_refused() {
    for number in [0, 1, 2] {
        // SAFETY: these are allowed, and refused.
        let refused = unsafe { RawStream::new(number) }.unwrap_err();
        assert!(matches!(refused, Error::Argument(_)));
        assert!(refused.to_string().contains(&format!("stream is {number}")), "{refused}");
    }
}

#[test]
fn a_stream_of_the_cpus_is_refused() {
    let x = array_of(driver().fresh(), Pending::Nothing, ());
    let refused = x.read_on(Stream::new(Device::Cpu).unwrap()).unwrap_err();
    assert!(matches!(&refused, Error::Argument(_)), "{refused}");
    assert!(refused.to_string().contains("CPU"), "{refused}");
}

#[test]
fn a_write_to_what_is_read_only_is_refused() {
    let (mut x, two) = (readonly(driver().fresh()), stream());
    let refused = x.write_on(&two).unwrap_err();
    assert!(matches!(&refused, Error::Value(_)), "{refused}");
    drop(x.read_on(&two).unwrap());
    let z = array_of(driver().fresh(), Pending::Nothing, ());
    let refused = Use::begin(&two, [&z, &x], Options::write()).unwrap_err();
    assert_eq!(refused.detail().index(), Some(1), "{refused}");
    // By default, it is read.
    drop(Use::begin(&two, [&z, &x], Options::default()).unwrap());
}

/// As in crates such as anyhow, which take errors that can be sent, and borrow nothing.
#[test]
fn errors_become_any_error_in_a_box() {
    type Any = Box<dyn std::error::Error + Send + Sync>;
    fn launch(x: &Array, on: &Stream) -> Result<(), Any> {
        let guard = Use::begin(on, [x], Options::write())?;
        guard.end()?;
        Ok(())
    }
    let two = stream();
    launch(&array_of(driver().fresh(), Pending::Nothing, ()), &two).unwrap();
    let refused = launch(&readonly(driver().fresh()), &two).unwrap_err();
    assert!(matches!(refused.downcast_ref(), Some(Error::Value(_))), "{refused}");
}

#[test]
fn a_use_that_is_refused_holds_nothing() {
    static GONE: AtomicUsize = AtomicUsize::new(0);
    let x = array_of(driver().fresh(), Pending::Stream(1), Gone(&GONE));
    assert!(x.read_on(Stream::new(Device::Cpu).unwrap()).is_err());
    drop(x);
    assert_eq!(GONE.load(Ordering::SeqCst), 1);
}

#[test]
fn default_streams_need_a_context() {
    let one = stream();
    let x = array_on(driver().fresh(), &one);
    let legacy = Stream::legacy(gpu::gpu()).unwrap();
    driver().no_context();
    // SAFETY: no context is current throughout.
    let (one, two) = unsafe { (Legacy::new(), PerThread::new()) };
    for refused in [x.read_on(one).map(drop), x.read_on(two).map(drop)] {
        let refused = refused.unwrap_err();
        assert!(matches!(refused, Error::Argument(_)), "{refused}");
    }
    // A handle brings its own.
    x.read_on(&legacy).unwrap().try_end().unwrap();
}

#[test]
fn another_threads_stream_is_refused() {
    let x = array_of(driver().fresh(), Pending::Nothing, ());
    let mine = Stream::per_thread(gpu::gpu()).unwrap();
    drop(x.read_on(&mine).unwrap());
    thread::scope(|scope| {
        scope.spawn(|| {
            gpu::gpu();
            let refused = x.read_on(&mine).unwrap_err();
            assert!(matches!(refused, Error::State(_)), "{refused}");
            let made_here = array_of(x.data(), Pending::Stream(2), ());
            thread::scope(|scope| {
                scope.spawn(|| {
                    let refused = made_here.read_on(stream()).unwrap_err();
                    assert!(matches!(refused, Error::Order(_)), "{refused}");
                });
            });
        });
    });
}

#[test]
fn a_forgotten_guard_leaks_the_array() {
    static GONE: AtomicUsize = AtomicUsize::new(0);
    let x = array_of(driver().fresh(), Pending::Nothing, Gone(&GONE));
    std::mem::forget(x.read_on(stream()).unwrap());
    drop(x);
    libcai::drain(true).unwrap();
    assert_eq!(GONE.load(Ordering::SeqCst), 0);
}

/// It cannot end on this thread, and the host cannot wait there for what is another's: libcai holds
/// the array until it has waited for all.
#[test]
#[allow(clippy::result_large_err)] // what comes back is a guard
fn a_guard_that_goes_on_the_wrong_thread_leaves_the_array_to_libcai() {
    static GONE: AtomicUsize = AtomicUsize::new(0);
    let x = array_of(driver().fresh(), Pending::Nothing, Gone(&GONE));
    let reading = x.read_on(Stream::per_thread(gpu::gpu()).unwrap()).unwrap();
    let elsewhere = thread::scope(|scope| scope.spawn(|| reading.try_end()).join());
    let Failed { error, value } = elsewhere.unwrap().unwrap_err();
    assert!(matches!(error, Error::Order(_)), "{error}");
    value.try_end().unwrap(); // on its own thread

    let reading = x.read_on(Stream::per_thread(gpu::gpu()).unwrap()).unwrap();
    driver().take(x.data(), 2);
    thread::scope(|scope| scope.spawn(|| drop(reading)).join()).unwrap();
    drop(x);
    assert_eq!(GONE.load(Ordering::SeqCst), 0);
    assert_eq!(libcai::drain(true).unwrap(), 0);
    assert_eq!(GONE.load(Ordering::SeqCst), 1);
}

/// Its work was queued before the capture: neither can the host wait for it, nor an event say when it
/// is complete.
#[test]
fn a_guard_that_goes_in_a_capture_leaves_the_array_to_libcai() {
    static GONE: AtomicUsize = AtomicUsize::new(0);
    static TOLD: AtomicUsize = AtomicUsize::new(0);
    libcai::on_failure(Some(|failure| {
        assert!(matches!(failure, Error::Capture(_)), "{failure}");
        TOLD.fetch_add(1, Ordering::SeqCst);
    }));
    let two = stream();
    let x = array_of(driver().fresh(), Pending::Nothing, Gone(&GONE));
    let reading = x.read_on(&two).unwrap();
    driver().capture(&two);
    drop(reading);
    drop(x);
    assert_eq!(GONE.load(Ordering::SeqCst), 0);
    driver().drop_captured(&two);
    libcai::on_failure(None);
    assert_eq!(TOLD.load(Ordering::SeqCst), 1); // of the end
    while GONE.load(Ordering::SeqCst) == 0 {
        libcai::drain(true).unwrap(); // the driver releases what a graph holds in its own time
    }
}

#[test]
fn a_use_that_is_finished_is_not_kept() {
    static GONE: AtomicUsize = AtomicUsize::new(0);
    let (one, two) = (stream(), stream());
    let x = array_of(driver().fresh(), Pending::Stream(one.value()), Gone(&GONE));
    let reading = x.read_on(&two).unwrap();
    let uses = Use::begin(&two, [&x, &x], Options::read()).unwrap();
    let calls = || (driver().waits(), driver().calls(c"cuEventRecord"));
    let before = calls();
    reading.finish(false).unwrap();
    uses.finish(false).unwrap();
    assert_eq!(calls(), before);
    drop(x);
    assert_eq!(GONE.load(Ordering::SeqCst), 1);
}

/// The host cannot wait for a stream that is being captured, and the use is not over.
#[test]
fn a_finish_is_tried_again() {
    let two = stream();
    let mut x = array_of(driver().fresh(), Pending::Nothing, ());
    let writing = x.write_on(&two).unwrap();
    let Failed { error, value } = driver().captured(&two, || writing.finish(true).unwrap_err());
    assert!(matches!(error, Error::Capture(_)), "{error}");
    value.finish(true).unwrap();
    drop(x.write_on(&two).unwrap());
}

#[test]
fn each_array_is_judged_by_its_access() {
    let (x, y, two) = (readonly(driver().fresh()), readonly(driver().fresh()), stream());
    let z = array_of(driver().fresh(), Pending::Nothing, ());
    let arrays = [(&x, Access::Read), (&z, Access::Write), (&y, Access::Write)];
    // The access of the options is not used.
    let refused = Use::begin_each(&two, arrays, Options::read()).unwrap_err();
    assert!(matches!(refused, Error::Value(_)), "{refused}");
    assert_eq!(refused.detail().index(), Some(2), "{refused}");
    assert!(Use::begin_all_each(&two, arrays, Options::read()).is_err());
    let uses = Use::begin_each(&two, [arrays[0], arrays[1]], Options::write()).unwrap();
    assert_eq!(uses.arrays().len(), 2);
    let of_none = Vec::<(&Array, Access)>::new();
    Use::begin_all_each(&two, of_none, Options::write()).unwrap().try_end().unwrap();
}

#[test]
fn guard_array_and_stream_go_in_any_order() {
    static GONE: AtomicUsize = AtomicUsize::new(0);
    let made = || {
        let one = stream();
        let x = array_on(driver().fresh(), &one);
        let owned = array_of(x.data(), Pending::Stream(one.value()), (x, one, Gone(&GONE)));
        (owned, stream())
    };
    let used = |reading: &Reading<'_, Stream>, two: u64| {
        driver().take(reading.array().data(), two);
    };

    let (x, two) = made(); // guard, array, stream
    let reading = x.read_on(two.clone()).unwrap();
    used(&reading, two.value());
    drop(reading);
    drop(x);
    drop(two);

    let (x, two) = made(); // guard, stream, array
    let reading = x.read_on(two.clone()).unwrap();
    used(&reading, two.value());
    drop(reading);
    drop(two);
    drop(x);

    let (x, two) = made(); // stream, guard, array
    let reading = x.read_on(two.clone()).unwrap();
    used(&reading, two.value());
    drop(two);
    drop(reading);
    drop(x);

    // Array, guard, stream, and array, stream, guard: a view holds a reference of its own.
    let (x, two) = made();
    let y = x.slice(&[]).unwrap();
    let reading = y.read_on(two.clone()).unwrap();
    used(&reading, two.value());
    drop(x);
    drop(reading);
    drop(two);
    drop(y);

    let (x, two) = made();
    let y = x.clone();
    let reading = y.read_on(two.clone()).unwrap();
    used(&reading, two.value());
    drop(x);
    drop(two);
    drop(reading);
    drop(y);

    libcai::drain(true).unwrap();
    assert_eq!(GONE.load(Ordering::SeqCst), 5);
}

#[test]
fn captures_are_refused_unless_it_is_said_what_is_meant() {
    let (one, two, data, taken) = (stream(), stream(), driver().fresh(), driver().fresh());
    let x = array_on(data, &one);
    driver().busy(one.value());
    driver().captured(&two, || {
        let refused = x.read_on(&two).unwrap_err();
        assert!(matches!(refused, Error::Capture(_)), "{refused}");
        let reading = Reading::begin(&x, &two, Options::read().external()).unwrap();
        driver().take_to(taken, data, two.value());
        reading.try_end().unwrap();
    });
    driver().captured(&one, || {
        assert!(matches!(x.read_on(&two).unwrap_err(), Error::Capture(_)));
        let reading = Reading::begin(&x, &two, Options::read().fork()).unwrap();
        driver().take_to(taken, data, two.value());
        reading.try_end().unwrap();
    });
    one.synchronize().unwrap();
}

#[test]
fn the_streams_of_arrays() {
    let (one, two) = (stream(), stream());
    let x = array_on(driver().fresh(), &one);
    let y = array_on(driver().fresh(), &two);
    let z = array_of(driver().fresh(), Pending::Nothing, ());
    let [x, y, z] = [x.borrow(), y.borrow(), z.borrow()];
    assert_eq!(libcai::same_stream(&[z]).unwrap(), None);
    assert_eq!(libcai::same_stream(&[]).unwrap(), None);
    assert_eq!(libcai::same_stream(&[x, z]).unwrap(), Some(one.value()));
    // z may now be in use there, and alone it has no stream that waits for that.
    assert!(matches!(libcai::same_stream(&[z]).unwrap_err(), Error::Order(_)));
    assert!(matches!(libcai::same_stream(&[x, y]).unwrap_err(), Error::Order(_)));
}

#[test]
fn publishing_is_refused_where_there_is_no_such_stream() {
    let x = array_of(driver().fresh(), Pending::Nothing, ());
    // SAFETY: 0 is refused.
    let refused = unsafe { x.publish(&[1, 0], 1) }.unwrap_err();
    assert!(matches!(refused, Error::Argument(_)), "{refused}");
    assert_eq!(refused.detail().index(), Some(1), "{refused}");
    assert_eq!(x.pending(), Pending::Nothing);
    let refused = x.reclaim(Stream::new(Device::Cpu).unwrap(), Access::Read).unwrap_err();
    assert!(matches!(refused, Error::Argument(_)), "{refused}");
}

#[test]
fn a_release_that_fails_gives_the_array_back() {
    static GONE: AtomicUsize = AtomicUsize::new(0);
    let x = array_of(driver().fresh(), Pending::Nothing, Gone(&GONE));
    let failed = x.release_on(Stream::new(Device::Cpu).unwrap()).unwrap_err();
    assert!(matches!(failed.error, Error::Argument(_)), "{failed}");
    assert_eq!(GONE.load(Ordering::SeqCst), 0);
    failed.value.release_on(stream()).unwrap();
    libcai::drain(true).unwrap();
    assert_eq!(GONE.load(Ordering::SeqCst), 1);
}

#[test]
fn a_graph_holds_what_is_released_in_its_capture() {
    static GONE: AtomicUsize = AtomicUsize::new(0);
    let (two, x) = (stream(), array_of(driver().fresh(), Pending::Nothing, Gone(&GONE)));
    driver().capture(&two);
    x.clone().release_on(&two).unwrap();
    drop(x);
    libcai::drain(true).unwrap();
    assert_eq!(GONE.load(Ordering::SeqCst), 0);
    driver().drop_captured(&two);
    // The driver releases it on a thread of its own.
    while GONE.load(Ordering::SeqCst) == 0 {
        libcai::drain(true).unwrap();
    }
}

#[test]
fn where_the_memory_is() {
    let data = driver().fresh();
    let found = array_of(data, Pending::Nothing, ()).locate().unwrap();
    assert_eq!((found.device_type, found.device_id), (DeviceType::Cuda, 0));
    assert_eq!((found.base, found.size), (Some(data), Some(gpu::BYTES as u64)));
    assert_eq!(found.device_pointer, Some(data));
    assert!(found.context.is_some() && !found.host_accessible && !found.managed);
    let beyond = array_of(data + 1, Pending::Nothing, ()).locate().unwrap_err();
    assert!(matches!(beyond, Error::Bounds(_)), "{beyond}");
    let host = Array::from_vec(vec![1u8], &[1]).unwrap().locate().unwrap();
    assert!(host.host_accessible);
}

alone! {
    /// A context that failed for good: guards go, and tell.
    fn a_poisoned_context() {
        static TOLD: AtomicUsize = AtomicUsize::new(0);
        static GONE: AtomicUsize = AtomicUsize::new(0);
        libcai::on_failure(Some(|_| {
            TOLD.fetch_add(1, Ordering::SeqCst);
        }));
        let (one, two, data) = (stream(), stream(), driver().fresh());
        let x = array_of(data, Pending::Stream(one.value()), Gone(&GONE));
        let reading = x.read_on(&two).unwrap();
        let failed = x.read_on(&two).unwrap();
        driver().poison();
        let failed = failed.try_end().unwrap_err();
        assert!(matches!(failed.error, Error::Cuda(_)), "{failed}");
        assert_eq!(failed.error.detail().native(), 719);
        drop(failed);
        drop(reading);
        assert!(TOLD.load(Ordering::SeqCst) >= 2);
        let refused = x.read_on(&two).unwrap_err();
        assert!(matches!(refused, Error::Cuda(_)), "{refused}");
        assert!(two.synchronize().is_err() && two.is_busy().is_err());
        drop((one, two, x));
        let _ = libcai::drain(true); // for the guards' references; the driver fails all calls
        assert_eq!(GONE.load(Ordering::SeqCst), 1);
    }

    /// After a reset, what is held is refused, and goes.
    fn a_context_that_was_reset() {
        let (event, two) = (libcai::Event::new(gpu::gpu()).unwrap(), stream());
        let legacy = Stream::legacy(gpu::gpu()).unwrap();
        let x = array_of(driver().fresh(), Pending::Nothing, ());
        // SAFETY: nobody uses memory or streams by their numbers.
        unsafe { gpu::gpu().reset_context() }.unwrap();
        for refused in [two.synchronize(), event.record(&two), two.enqueue(|| Ok(()))] {
            assert!(matches!(refused.unwrap_err(), Error::State(_)));
        }
        assert!(matches!(two.attach(5).unwrap_err().error, Error::State(_)));
        let refused = x.read_on(&legacy).unwrap_err();
        assert!(matches!(refused, Error::State(_)), "{refused}");
        drop((event, two, legacy, x));
        stream().synchronize().unwrap();
    }

    /// One input, and an output each, on two streams: the second does not wait for the first.
    fn what_is_read_waits_for_no_reader() {
        let (one, two) = (stream(), stream());
        let [x, y, z] = std::array::from_fn(|_| array_of(driver().fresh(), Pending::Nothing, ()));
        let [x, y, z] = [x.borrow(), y.borrow(), z.borrow()];
        let begin = |stream: Stream, out| {
            let arrays = [(x, Access::Read), (out, Access::Write)];
            let number = stream.value();
            let uses = Use::begin_each(stream, arrays, Options::new()).unwrap();
            driver().take(x.data(), number);
            driver().fill(out.data(), 7, number);
            uses
        };
        let before = driver().waits();
        let first = begin(one.clone(), y);
        let second = begin(two.clone(), z); // beside the first
        first.try_end().unwrap();
        second.try_end().unwrap();
        begin(one.clone(), y).try_end().unwrap(); // and after them
        begin(two.clone(), z).try_end().unwrap();
        assert_eq!(driver().waits(), before);
        // By one access for all arrays, it does.
        drop(Use::begin(&one, [x, y], Options::write()).unwrap());
        assert!(driver().waits() > before);
    }

    fn without_a_context_that_fails_to_enter() {
        let legacy = Stream::legacy(gpu::gpu()).unwrap();
        let x = array_of(driver().fresh(), Pending::Nothing, ());
        driver().fail(c"cuCtxPushCurrent", 1, 999);
        let refused = x.read_on(&legacy).unwrap_err();
        assert!(matches!(refused, Error::Cuda(_)), "{refused}");
        x.read_on(&legacy).unwrap().try_end().unwrap();
    }
}
