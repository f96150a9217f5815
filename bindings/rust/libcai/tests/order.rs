// SPDX-License-Identifier: BSD-3-Clause
//! Uses of arrays on streams: what guards order, and that nothing else does.

mod gpu;

use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

use gpu::{array_of, array_on, driver, stream};
use libcai::{
    Access, Array, Device, Event, Legacy, Options, Order, Pending, PerThread, RawStream, Stream,
    Use,
};

/// Frees memory in the order of a stream that knows of no other.
struct FreeOn(u64, Stream);

impl Drop for FreeOn {
    fn drop(&mut self) {
        driver().free_on(self.0, self.1.value());
    }
}

/// Memory of a pool, which goes back to it on a stream of its own.
fn pooled() -> Array {
    let three = stream();
    let block = driver().fresh_on(&three);
    three.synchronize().unwrap();
    array_of(block, Pending::Nothing, FreeOn(block, three))
}

fn order(ordered: bool) -> Order {
    if ordered { Order::Both } else { Order::None }
}

pairs! {
    fn a_reading_waits_for_the_producer(ordered) {
        let (one, two, data) = (stream(), stream(), driver().fresh());
        let x = array_on(data, &one);
        driver().fill(data, 7, one.value());
        let reading = ordered.then(|| x.read_on(&two).unwrap());
        let taken = driver().take(data, two.value());
        drop(reading);
        two.synchronize().unwrap();
        assert!(!ordered || driver().bytes(taken) == [7; gpu::BYTES]);
    }

    fn the_producer_waits_for_a_reading(ordered) {
        let (one, two, data) = (stream(), stream(), driver().fresh());
        let x = array_on(data, &one);
        let reading = x.read_on(&two).unwrap();
        driver().take(reading.view::<u8>().unwrap().data(), two.value());
        match ordered {
            true => reading.try_end().unwrap(),
            false => mem::forget(reading),
        }
        driver().fill(data, 7, one.value());
    }

    fn a_writing_waits_for_the_producer(ordered) {
        let (one, two, data) = (stream(), stream(), driver().fresh());
        let mut x = array_on(data, &one);
        driver().take(data, one.value());
        let options = Options::default().order(order(ordered));
        let mut writing = libcai::Writing::begin(&mut x, &two, options).unwrap();
        driver().fill(writing.view_mut::<u8>().unwrap().data(), 7, two.value());
    }

    fn the_producer_waits_for_a_writing(ordered) {
        let (one, two, data) = (stream(), stream(), driver().fresh());
        let mut x = array_on(data, &one);
        let writing = x.write_on(&two).unwrap();
        driver().fill(data, 7, two.value());
        if ordered { drop(writing) } else { mem::forget(writing) }
        driver().take(data, one.value());
    }

    fn a_closure_is_between_the_two(ordered) {
        let (one, two) = (stream(), stream());
        let (a, b) = (driver().fresh(), driver().fresh());
        let (x, y) = (array_on(a, &one), array_on(b, &one));
        driver().fill(a, 7, one.value());
        let options = Options::write().order(order(ordered));
        let taken = libcai::with(&two, [&x, &y], options, |arrays| {
            driver().fill(arrays[1].data(), 8, two.value());
            driver().take(arrays[0].data(), two.value())
        })
        .unwrap();
        driver().fill(b, 9, one.value());
        two.synchronize().unwrap();
        assert!(!ordered || driver().bytes(taken) == [7; gpu::BYTES]);
    }

    fn as_many_arrays_as_there_are(ordered) {
        let (streams, two): (Vec<_>, _) = ((0..20).map(|_| stream()).collect(), stream());
        let arrays: Vec<_> = streams.iter().map(|one| array_on(driver().fresh(), one)).collect();
        for (x, one) in arrays.iter().zip(&streams) {
            driver().fill(x.data(), 7, one.value());
        }
        let used = if ordered { 20 } else { 19 };
        let uses = Use::begin_all(&two, &arrays[..used], Options::read()).unwrap();
        assert_eq!(uses.arrays().len(), used);
        driver().take(arrays[19].data(), two.value());
    }

    fn each_array_has_its_access(ordered) {
        let (one, two, data) = (stream(), stream(), driver().fresh());
        let x = array_of(driver().fresh(), Pending::Nothing, ());
        let y = array_of(data, Pending::Nothing, ());
        let access = if ordered { Access::Write } else { Access::Read };
        let arrays = [(&x, Access::Read), (&y, access)];
        libcai::with_each(&one, arrays, Options::new(), |arrays| {
            driver().fill(arrays[1].data(), 7, one.value());
        })
        .unwrap();
        let _reading = y.read_on(&two).unwrap(); // which waits for writes alone
        driver().take(data, two.value());
    }

    fn each_of_as_many_arrays_as_there_are(ordered) {
        let (one, two) = (stream(), stream());
        let new = |_| array_of(driver().fresh(), Pending::Nothing, ());
        let arrays = (0..20).map(new).collect::<Vec<_>>();
        let written = if ordered { 19 } else { 18 };
        let access = |index| if index == written { Access::Write } else { Access::Read };
        let each = arrays.iter().enumerate().map(|(index, x)| (x, access(index)));
        let uses = Use::begin_all_each(&one, each, Options::new()).unwrap();
        driver().fill(uses.arrays()[19].data(), 7, one.value());
        uses.try_end().unwrap();
        let _reading = arrays[19].read_on(&two).unwrap();
        driver().take(arrays[19].data(), two.value());
    }

    fn a_panic_ends_the_use(ordered) {
        let (one, two, data) = (stream(), stream(), driver().fresh());
        let x = array_on(data, &one);
        let panic = catch_unwind(AssertUnwindSafe(|| {
            let reading = x.read_on(&two).unwrap();
            driver().take(data, two.value());
            if !ordered {
                mem::forget(reading);
            }
            panic!("of the consumer");
        }));
        assert!(panic.is_err());
        driver().fill(data, 7, one.value());
    }

    fn a_use_that_is_kept_keeps_the_memory(ordered) {
        let (two, x) = (stream(), pooled());
        let options = Options::read().order(if ordered { Order::Both } else { Order::Begin });
        let reading = libcai::Reading::begin(&x, &two, options).unwrap();
        driver().take(x.data(), two.value());
        drop(reading);
        drop(x);
        assert_eq!(libcai::drain(true).unwrap(), 0);
    }

    fn a_forgotten_guard_keeps_the_memory(ordered) {
        let (two, x) = (stream(), pooled());
        let reading = x.read_on(&two).unwrap();
        driver().take(x.data(), two.value());
        mem::forget(reading);
        if !ordered {
            // SAFETY: this is the holder of the guard, as if it had none.
            unsafe { libcai::sys::cai_array_release(x.as_ptr()) };
        }
        drop(x);
    }

    fn who_does_not_end_releases_on_the_stream(ordered) {
        let (two, x) = (stream(), pooled());
        let options = Options::read().order(Order::Begin);
        drop(libcai::Reading::begin(&x, &two, options).unwrap());
        driver().take(x.data(), two.value());
        match ordered {
            true => x.release_on(&two).unwrap(),
            false => drop(x),
        }
        assert_eq!(libcai::drain(true).unwrap(), 0);
    }

    fn a_reading_waits_for_a_kept_writing(ordered) {
        let (one, two, data) = (stream(), stream(), driver().fresh());
        let mut x = array_of(data, Pending::Nothing, ());
        let writing = x.write_on(&one).unwrap();
        driver().fill(data, 7, one.value());
        drop(writing);
        let options = Options::read().order(order(ordered));
        let _reading = libcai::Reading::begin(&x, &two, options).unwrap();
        driver().take(data, two.value());
    }

    fn the_producer_reclaims(ordered) {
        let (one, two, data) = (stream(), stream(), driver().fresh());
        let x = array_of(data, Pending::Nothing, ());
        let reading = x.read_on(&two).unwrap();
        driver().take(data, two.value());
        drop(reading);
        if ordered {
            x.reclaim(&one, Access::Write).unwrap();
        }
        driver().fill(data, 7, one.value());
    }

    fn the_host_waits_for_all(ordered) {
        let (one, two, data) = (stream(), stream(), driver().fresh());
        let x = array_on(data, &one);
        driver().fill(data, 7, one.value());
        if ordered {
            x.sync_host().unwrap();
        }
        driver().take(data, two.value());
    }

    fn the_host_waits_at_both_ends(ordered) {
        let (one, two, data) = (stream(), stream(), driver().fresh());
        let mut x = array_on(data, &one);
        driver().take(data, one.value());
        let how = if ordered { Order::Host } else { Order::None };
        let writing = libcai::Writing::begin(&mut x, &two, Options::write().order(how)).unwrap();
        driver().fill(data, 7, two.value());
        writing.try_end().unwrap();
        driver().take(data, one.value());
    }

    fn several_streams_are_published_as_one(ordered) {
        let (seven, nine, three, two) = (stream(), stream(), stream(), stream());
        let data = driver().fresh();
        let x = array_of(data, Pending::Nothing, ());
        driver().fill(data, 7, seven.value());
        let streams = [seven.value(), nine.value()];
        let streams = if ordered { &streams[..] } else { &streams[1..] };
        // SAFETY: the streams are there until the test ends.
        let published = unsafe { x.publish(streams, three.value()) }.unwrap();
        assert_eq!(published.pending(), Pending::Stream(three.value()));
        assert_eq!(x.pending(), Pending::Nothing);
        let _reading = published.read_on(&two).unwrap();
        driver().take(data, two.value());
    }

    fn who_has_the_array_already_hears_what_is_published(ordered) {
        let (one, three, two, data) = (stream(), stream(), stream(), driver().fresh());
        let x = array_of(data, Pending::Nothing, ());
        driver().fill(data, 7, one.value());
        if ordered {
            // SAFETY: the streams are there until the test ends.
            drop(unsafe { x.publish(&[one.value()], three.value()) }.unwrap());
        }
        let _reading = x.read_on(&two).unwrap();
        driver().take(data, two.value());
    }

    fn an_event_is_published_and_the_stream_goes(ordered) {
        let (one, two, other, data) = (stream(), stream(), stream(), driver().fresh());
        let x = array_of(data, Pending::Nothing, ());
        driver().fill(data, 7, one.value());
        let published = x.publish_event(if ordered { &one } else { &other }).unwrap();
        assert!(matches!(published.pending(), Pending::Event(_)));
        drop((one, other));
        let _reading = published.read_on(&two).unwrap();
        driver().take(data, two.value());
    }

    fn a_provider_says_the_stream_of_arrays_that_state_none(ordered) {
        let (one, two, data) = (stream(), stream(), driver().fresh());
        let value = one.value();
        // SAFETY: the stream is there until the test ends.
        unsafe {
            libcai::provide_streams(|_| panic!("of a provider")).unwrap();
            if ordered {
                libcai::provide_streams(move |x| (x.data() == data).then_some(value)).unwrap();
            }
        }
        let x = array_of(data, Pending::Unstated, ());
        driver().fill(data, 7, one.value());
        let _reading = x.read_on(&two).unwrap();
        driver().take(data, two.value());
    }

    /// A handle of a default stream means its device's, whatever is current.
    fn a_legacy_stream_is_its_devices(ordered) {
        let (one, data) = (stream(), driver().fresh());
        let x = array_on(data, &one);
        driver().fill(data, 7, one.value());
        let legacy = Stream::legacy(gpu::gpu()).unwrap();
        Device::Cuda(1).set_current().unwrap();
        let handle = ordered.then(|| x.read_on(&legacy).unwrap());
        // SAFETY: gpu:1's context is current where the use begins, and where it ends.
        let current = (!ordered).then(|| x.read_on(unsafe { Legacy::new() }).unwrap());
        let entered = gpu::gpu().enter().unwrap();
        driver().take(data, 1);
        drop((entered, handle, current));
    }

    fn a_per_thread_stream_is_its_devices(ordered) {
        let (one, data) = (stream(), driver().fresh());
        let x = array_on(data, &one);
        driver().fill(data, 7, one.value());
        let mine = Stream::per_thread(gpu::gpu()).unwrap();
        Device::Cuda(1).set_current().unwrap();
        let handle = ordered.then(|| x.read_on(&mine).unwrap());
        // SAFETY: as there.
        let current = (!ordered).then(|| x.read_on(unsafe { PerThread::new() }).unwrap());
        let entered = gpu::gpu().enter().unwrap();
        driver().take(data, 2);
        drop((entered, handle, current));
    }

    fn a_foreign_stream_by_its_number(ordered) {
        let (one, two, other, data) = (stream(), stream(), stream(), driver().fresh());
        let x = array_on(data, &one);
        driver().fill(data, 7, one.value());
        let on = if ordered { two.value() } else { other.value() };
        // SAFETY: the streams are there until the test ends.
        let _reading = x.read_on(unsafe { RawStream::new(on) }.unwrap()).unwrap();
        driver().take(data, two.value());
    }

    fn guards_of_two_threads(ordered) {
        let (one, data) = (stream(), driver().fresh());
        let x = array_on(data, &one);
        let mut y = x.clone();
        thread::scope(|scope| {
            let read = scope.spawn(|| {
                let two = stream();
                let reading = x.read_on(&two).unwrap();
                driver().take(data, two.value());
                if !ordered {
                    mem::forget(reading);
                }
            });
            read.join().unwrap();
            scope.spawn(|| {
                let three = stream();
                let _writing = y.write_on(&three).unwrap();
                driver().fill(data, 7, three.value());
            });
        });
    }

    fn a_guard_ends_on_another_thread(ordered) {
        let (one, two, data) = (stream(), stream(), driver().fresh());
        let x = array_on(data, &one);
        let reading = x.read_on(&two).unwrap();
        driver().take(data, two.value());
        thread::scope(|scope| {
            scope.spawn(move || if ordered { drop(reading) } else { mem::forget(reading) });
        });
        driver().fill(data, 7, one.value());
    }

    /// The first end fails: the use is not over.
    fn an_end_is_tried_again(ordered) {
        let (one, two, data) = (stream(), stream(), driver().fresh());
        let x = array_on(data, &one);
        let reading = x.read_on(&two).unwrap();
        driver().take(data, two.value());
        driver().fail(c"cuEventRecord", 1, 801);
        let failed = reading.try_end().unwrap_err();
        assert!(matches!(&failed.error, libcai::Error::Cuda(_)), "{failed:?}");
        assert_eq!(failed.error.detail().native(), 801);
        match ordered {
            true => failed.value.try_end().unwrap(),
            false => mem::forget(failed.value),
        }
        driver().fill(data, 7, one.value());
    }

    /// An end that fails in a capture, since its work was queued before that, is tried after it.
    fn an_end_is_tried_again_after_a_capture(ordered) {
        let (one, two, data) = (stream(), stream(), driver().fresh());
        let x = array_on(data, &one);
        let reading = x.read_on(&two).unwrap();
        driver().take(data, two.value());
        let failed = driver().captured(&two, || reading.try_end().unwrap_err());
        assert!(matches!(&failed.error, libcai::Error::Capture(_)), "{failed:?}");
        match ordered {
            true => failed.value.try_end().unwrap(),
            false => mem::forget(failed.value),
        }
        driver().fill(data, 7, one.value());
    }

    fn the_host_waits_to_finish(ordered) {
        let (one, two, data) = (stream(), stream(), driver().fresh());
        let x = array_on(data, &one);
        let reading = x.read_on(&two).unwrap();
        driver().take(data, two.value());
        reading.finish(ordered).unwrap();
        driver().fill(data, 7, one.value());
    }

    /// A handle of a default stream means its device's, whatever is current as it is finished, and
    /// also if no array asks for order.
    fn the_host_waits_for_a_legacy_stream_to_finish(ordered) {
        let (one, data) = (stream(), driver().fresh());
        let x = array_of(data, Pending::Nothing, ());
        let legacy = Stream::legacy(gpu::gpu()).unwrap();
        let options = Options::read().order(Order::Begin);
        let reading = libcai::Reading::begin(&x, &legacy, options).unwrap();
        driver().take(data, 1);
        Device::Cuda(1).set_current().unwrap();
        reading.finish(ordered).unwrap();
        gpu::gpu().set_current().unwrap();
        driver().fill(data, 7, one.value());
    }

    /// A guard that goes in a capture: what was queued before it keeps the memory all the same.
    fn what_was_queued_before_a_capture_keeps_the_memory(ordered) {
        let (two, x) = (stream(), pooled());
        let reading = x.read_on(&two).unwrap();
        driver().take(x.data(), two.value());
        if ordered {
            driver().capture(&two);
            drop(reading);
            drop(x);
            driver().drop_captured(&two);
        } else {
            reading.finish(false).unwrap();
            drop(x);
        }
        assert_eq!(libcai::drain(true).unwrap(), 0);
    }

    /// A guard that cannot end as it goes tells the hook, and the host waits.
    fn an_end_that_fails_is_the_hosts(ordered) {
        static TOLD: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
        libcai::on_failure(Some(|failure| {
            assert_eq!(failure.detail().native(), 801);
            TOLD.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            panic!("of a hook");
        }));
        let (one, two, data) = (stream(), stream(), driver().fresh());
        let x = array_on(data, &one);
        let reading = x.read_on(&two).unwrap();
        driver().take(data, two.value());
        driver().fail(c"cuEventRecord", 1, 801);
        if ordered {
            drop(reading);
            assert_eq!(TOLD.load(std::sync::atomic::Ordering::SeqCst), 1);
        } else {
            mem::forget(reading);
        }
        driver().fill(data, 7, one.value());
    }

    fn a_stream_follows_another(ordered) {
        let (one, two, data) = (stream(), stream(), driver().fresh());
        driver().fill(data, 7, one.value());
        if ordered {
            two.follow(&one).unwrap();
        }
        driver().take(data, two.value());
    }

    fn a_stream_waits_for_an_event(ordered) {
        let (one, two, data) = (stream(), stream(), driver().fresh());
        let event = Event::new(gpu::gpu()).unwrap();
        if !ordered {
            event.record(&one).unwrap();
        }
        driver().fill(data, 7, one.value());
        if ordered {
            event.record(&one).unwrap();
        }
        two.wait(&event).unwrap();
        driver().take(data, two.value());
    }

    fn what_is_attached_stays_until_the_stream_has_passed(ordered) {
        let (one, two) = (stream(), stream());
        let block = driver().fresh_on(&one);
        one.synchronize().unwrap();
        driver().take(block, two.value());
        let memory = FreeOn(block, one);
        match ordered {
            true => two.attach(memory).unwrap(),
            false => drop(memory),
        }
        two.synchronize().unwrap();
    }
}
