// SPDX-License-Identifier: BSD-3-Clause
//! Devices, streams and events, on the CPU and on simcuda's GPUs.

mod gpu;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;

use gpu::{driver, stream};
use libcai::{Capture, Device, Error, Event, Mode, Result, Stream};

fn say(message: &str) -> Error {
    message.parse::<Device>().unwrap_err() // a failure with words of the test's
}

#[test]
fn devices_are_read_and_written() {
    assert_eq!(" CPU ".parse(), Ok(Device::Cpu));
    assert_eq!("cuda : 1".parse(), Ok(Device::Cuda(1)));
    for (device, text) in [(Device::Cpu, "cpu"), (Device::Cuda(12), "gpu:12")] {
        assert_eq!(device.to_string(), text);
        assert_eq!(format!("{device:>8}").len(), 8);
    }
    for wrong in ["", "tpu", "gpu:-1", "gpu:x", "cpu:1", "cp\0u"] {
        let refused = wrong.parse::<Device>().unwrap_err();
        assert!(matches!(refused, Error::Value(_)), "{wrong:?}: {refused}");
    }
    assert!(matches!("gpu:99".parse::<Device>(), Err(Error::Device(_))));
}

#[test]
fn what_is_known_of_devices() {
    let all: Vec<Device> = Device::all().unwrap().collect();
    assert_eq!(all.len(), Device::count().unwrap() as usize);
    for gpu in all.iter().copied().chain([Device::Cpu]) {
        let info = gpu.describe().unwrap();
        assert!(!info.name.is_empty() && info.total > 0);
        assert!(gpu.summary().unwrap().contains(&info.name));
        let amount = gpu.memory().unwrap();
        assert!(amount.free <= amount.total);
        assert!(gpu.can_access(gpu).unwrap());
        gpu.synchronize().unwrap();
        gpu.set_cache(1 << 20).unwrap();
        gpu.trim_cache(0).unwrap();
        if gpu != Device::Cpu {
            assert_eq!(Device::find(&info.uuid).unwrap(), gpu);
            assert!(!gpu.can_access(Device::Cpu).unwrap());
        }
    }
    assert!(all.contains(&Device::most_free().unwrap()));
    assert!(matches!(Device::find(&[0xAB; 16]), Err(Error::Device(_))));
    assert!(matches!(Device::Cuda(99).describe(), Err(Error::Device(_))));
    assert!(matches!(Device::Cuda(-1).describe(), Err(Error::Value(_))));
    assert!(matches!(Device::Cuda(99).enter(), Err(Error::Device(_))));
    assert_eq!(Device::from_raw(Device::Cuda(3).to_raw()), Device::Cuda(3));
}

#[test]
fn devices_are_entered_and_left_in_turn() {
    Device::Cuda(0).set_current().unwrap();
    let outer = Device::Cuda(1).enter().unwrap();
    let inner = Device::Cuda(0).enter().unwrap();
    assert_eq!(Device::current().unwrap(), Device::Cuda(0));
    let failed = outer.try_leave().unwrap_err(); // out of turn
    assert!(matches!(failed.error, Error::State(_)), "{failed}");
    assert_eq!(Device::current().unwrap(), Device::Cuda(0));
    inner.try_leave().unwrap();
    assert_eq!(Device::current().unwrap(), Device::Cuda(1));
    failed.value.try_leave().unwrap();
    assert_eq!(Device::current().unwrap(), Device::Cuda(0));
    let cpu = Device::Cpu.enter().unwrap();
    assert_eq!(Device::current().unwrap(), Device::Cuda(0));
    drop(cpu);
}

#[test]
fn streams_are_entered_and_left_in_turn() {
    for device in [Device::Cpu, gpu::gpu()] {
        let (one, two) = (Stream::new(device).unwrap(), Stream::new(device).unwrap());
        let before = Stream::current(device).unwrap();
        let outer = one.enter().unwrap();
        let inner = two.enter().unwrap();
        assert_eq!(Stream::current(device).unwrap().as_ptr(), two.as_ptr());
        let failed = outer.try_leave().unwrap_err();
        assert!(matches!(failed.error, Error::State(_)), "{failed}");
        inner.try_leave_queued().unwrap();
        assert_eq!(Stream::current(device).unwrap().as_ptr(), one.as_ptr());
        drop(failed.value);
        assert_eq!(Stream::current(device).unwrap().as_ptr(), before.as_ptr());
        two.set_current().unwrap();
        assert_eq!(Stream::current(device).unwrap().as_ptr(), two.as_ptr());
        before.set_current().unwrap();
    }
}

#[test]
fn to_leave_a_stream_tells_what_failed() {
    let stream = Stream::new(Device::Cpu).unwrap();
    let guard = stream.enter().unwrap();
    stream.enqueue(|| Err(say("of the work"))).unwrap();
    let failed = guard.try_leave().unwrap_err();
    assert!(failed.to_string().contains("of the work"), "{failed}");
    assert_ne!(Stream::current(Device::Cpu).unwrap().as_ptr(), stream.as_ptr());
}

#[test]
fn what_is_known_of_streams() {
    let gpu = gpu::gpu();
    let made = Stream::with_mode(gpu, Mode::Sync, 0).unwrap();
    let info = made.describe().unwrap();
    assert_eq!((info.mode, info.device, info.value), (Mode::Sync, gpu, made.value()));
    assert_eq!((info.capture, info.wrapped, info.thread_limit), (Capture::None, false, 0));
    // SAFETY: the stream is held as long.
    let wrapped = unsafe { Stream::wrap(gpu, made.value()) }.unwrap().describe().unwrap();
    assert!(wrapped.wrapped && wrapped.id == info.id);
    driver().captured(&made, || {
        assert!(matches!(made.describe().unwrap().capture, Capture::Active(_)));
        assert!(matches!(made.is_busy(), Err(Error::Capture(_))));
        assert!(matches!(made.enqueue(|| Ok(())), Err(Error::Capture(_))));
    });
    assert_eq!(Stream::legacy(gpu).unwrap().value(), 1);
    let cpu = Stream::new(Device::Cpu).unwrap();
    assert_eq!((cpu.value(), cpu.device().unwrap()), (0, Device::Cpu));
    cpu.set_thread_limit(3).unwrap();
    assert_eq!(cpu.describe().unwrap().thread_limit, 3);
    assert!(matches!(cpu.set_thread_limit(0), Err(Error::Value(_))));
    assert!(matches!(made.set_thread_limit(3), Err(Error::Device(_))));
    assert!(matches!(Stream::legacy(Device::Cpu), Err(Error::Device(_))));
    // SAFETY: 0 is refused.
    assert!(matches!(unsafe { Stream::wrap(gpu, 0) }, Err(Error::Value(_))));
    assert!(matches!(Stream::with_mode(Device::Cpu, Mode::Async, 5), Err(Error::Value(_))));
}

#[test]
fn what_keeps_a_wrapped_stream_goes_with_it() {
    static GONE: AtomicUsize = AtomicUsize::new(0);
    let made = stream();
    // SAFETY: the owner holds the stream.
    let wrap = |device, value| unsafe {
        Stream::wrap_owned(device, value, (made.clone(), gpu::Gone(&GONE)))
    };
    let refused = wrap(Device::Cpu, made.value()).unwrap_err();
    assert!(matches!(refused.error, Error::Device(_)), "{refused}");
    assert_eq!(GONE.load(Ordering::SeqCst), 0);
    drop(refused);
    assert_eq!(GONE.load(Ordering::SeqCst), 1);
    let wrapped = wrap(gpu::gpu(), made.value()).unwrap();
    let again = wrapped.clone();
    drop(wrapped);
    assert_eq!(GONE.load(Ordering::SeqCst), 1);
    drop(again);
    made.synchronize().unwrap();
    assert_eq!(GONE.load(Ordering::SeqCst), 2);
}

#[test]
fn work_runs_in_order_and_once() {
    for device in [Device::Cpu, gpu::gpu()] {
        for mode in [Mode::Default, Mode::Sync, Mode::Async] {
            let stream = Stream::with_mode(device, mode, 0).unwrap();
            let done = Arc::new(Mutex::new(Vec::new()));
            for i in 0..10 {
                let done = Arc::clone(&done);
                stream
                    .enqueue(move || {
                        done.lock().unwrap().push(i);
                        Ok(())
                    })
                    .unwrap();
            }
            stream.synchronize().unwrap();
            assert!(!stream.is_busy().unwrap());
            assert_eq!(*done.lock().unwrap(), (0..10).collect::<Vec<_>>());
            assert_eq!(Arc::strong_count(&done), 1, "what it captured has gone");
        }
    }
}

#[test]
fn what_work_captured_is_never_dropped_by_the_driver() {
    struct Dropped(mpsc::Sender<thread::ThreadId>);
    impl Drop for Dropped {
        fn drop(&mut self) {
            self.0.send(thread::current().id()).unwrap();
        }
    }
    let (dropped, on) = mpsc::channel();
    let (ran, ran_on) = mpsc::channel();
    let stream = stream();
    let captured = Dropped(dropped);
    stream
        .enqueue(move || {
            let _captured = &captured;
            ran.send(thread::current().id()).unwrap();
            Ok(())
        })
        .unwrap();
    stream.synchronize().unwrap();
    assert_ne!(ran_on.recv().unwrap(), thread::current().id());
    assert_eq!(on.recv().unwrap(), thread::current().id());
}

#[test]
fn work_fails_by_an_error_or_a_panic_and_the_stream_goes_on() {
    type Work = fn() -> Result<()>;
    let ways: [(&str, Work); 3] = [
        ("of the work", || Err(say("of the work"))),
        ("work on a stream panicked: of a panic", || panic!("of a panic")),
        ("work on a stream panicked", || std::panic::panic_any(5)),
    ];
    for device in [Device::Cpu, gpu::gpu()] {
        for (text, work) in ways {
            let stream = Stream::new(device).unwrap();
            stream.enqueue(work).unwrap();
            let failed = stream.synchronize().unwrap_err();
            assert!(failed.to_string().contains(text), "{failed}");
            stream.synchronize().unwrap(); // it is told once
            let ran = Arc::new(AtomicBool::new(false));
            let sets = Arc::clone(&ran);
            stream
                .enqueue(move || {
                    sets.store(true, Ordering::SeqCst);
                    Ok(())
                })
                .unwrap();
            stream.synchronize().unwrap();
            assert!(ran.load(Ordering::SeqCst));
        }
    }
    let at_once = Stream::with_mode(Device::Cpu, Mode::Default, 0).unwrap();
    let failed = at_once.enqueue(|| Err(say("at once"))).unwrap_err();
    assert!(failed.to_string().contains("at once"), "{failed}");
}

#[test]
fn what_is_attached_goes_once() {
    static GONE: AtomicUsize = AtomicUsize::new(0);
    struct Panics(gpu::Gone);
    impl Drop for Panics {
        fn drop(&mut self) {
            let _gone = &self.0;
            panic!("of what was attached");
        }
    }
    for device in [Device::Cpu, gpu::gpu()] {
        let before = GONE.load(Ordering::SeqCst);
        let stream = Stream::new(device).unwrap();
        stream.attach(gpu::Gone(&GONE)).unwrap();
        stream.attach(Panics(gpu::Gone(&GONE))).unwrap();
        stream.synchronize().unwrap();
        assert_eq!(GONE.load(Ordering::SeqCst), before + 2);
    }
}

#[test]
fn a_cpus_stream_does_not_wait_for_itself() {
    let stream = Stream::new(Device::Cpu).unwrap();
    let own = stream.clone();
    stream.enqueue(move || own.synchronize()).unwrap();
    assert!(matches!(stream.synchronize().unwrap_err(), Error::State(_)));
}

#[test]
fn cpu_and_gpu_follow_each_other() {
    let (cpu, gpu) = (Stream::new(Device::Cpu).unwrap(), stream());
    let data = driver().fresh();
    driver().fill(data, 7, gpu.value());
    cpu.follow(&gpu).unwrap();
    let (sends, gets) = mpsc::channel();
    cpu.enqueue(move || {
        sends.send(()).unwrap();
        Ok(())
    })
    .unwrap();
    gpu.follow(&cpu).unwrap();
    gets.recv().unwrap();
    gpu.synchronize().unwrap();
    assert_eq!(driver().bytes(data), [7; gpu::BYTES]);
}

#[test]
fn events_are_points_in_time() {
    let gpu = gpu::gpu();
    let (start, end, one) = (Event::timing(gpu).unwrap(), Event::timing(gpu).unwrap(), stream());
    assert!(!start.is_busy().unwrap(), "complete until it is recorded");
    assert!(matches!(end.milliseconds_since(&start), Err(Error::State(_))));
    start.record(&one).unwrap();
    driver().busy(one.value());
    end.record(&one).unwrap();
    assert!(end.is_busy().unwrap());
    end.clone().synchronize().unwrap();
    assert!(end.milliseconds_since(&start).unwrap() >= 1000.0);
    assert!(start.milliseconds_since(&end).unwrap() < 0.0);
    let (plain, cpu) = (Event::new(gpu).unwrap(), Event::new(Device::Cpu).unwrap());
    plain.record(&one).unwrap();
    plain.synchronize().unwrap();
    assert!(matches!(end.milliseconds_since(&plain), Err(Error::Value(_))));
    assert!(matches!(cpu.record(&one), Err(Error::Device(_))));
    assert!(plain.value() != 0 && cpu.value() == 0);
}

#[test]
fn a_reset_calls_back() {
    static RESET: AtomicUsize = AtomicUsize::new(0);
    fn callback(device: Device) {
        if device == Device::Cpu {
            RESET.fetch_add(1, Ordering::SeqCst);
        }
        assert!(matches!(device.reset(), Err(Error::State(_))));
        panic!("of a callback");
    }
    Device::on_reset(callback).unwrap();
    Device::Cpu.reset().unwrap();
    Device::Cpu.reset().unwrap();
    Device::off_reset(callback).unwrap();
    Device::Cpu.reset().unwrap();
    assert_eq!(RESET.load(Ordering::SeqCst), 2);
}

alone! {
    /// What nobody asked about goes to the hook.
    fn failures_that_nobody_was_told_of() {
        static TOLD: Mutex<Vec<String>> = Mutex::new(Vec::new());
        fn hook(failure: &Error) {
            TOLD.lock().unwrap().push(failure.to_string());
        }
        assert!(libcai::on_failure(Some(hook)).is_none());
        let stream = Stream::new(Device::Cpu).unwrap();
        stream.enqueue(|| Err(say("unheard"))).unwrap();
        drop(stream);
        while TOLD.lock().unwrap().is_empty() {
            thread::yield_now();
        }
        assert!(TOLD.lock().unwrap()[0].contains("unheard"));
        // A guard out of turn.
        let outer = Device::Cuda(0).enter().unwrap();
        let inner = Device::Cuda(1).enter().unwrap();
        drop(outer);
        assert_eq!(TOLD.lock().unwrap().len(), 2);
        drop(inner);
        assert!(libcai::on_failure(None).is_some());
    }

    fn what_the_driver_refuses() {
        gpu::gpu();
        driver().fail(c"cuStreamCreateWithPriority", 1, 2);
        let refused = Stream::new(Device::Cuda(0)).unwrap_err();
        assert!(matches!(refused, Error::Cuda(_)) && refused.detail().native() == 2);
        driver().fail(c"cuEventCreate", 1, 2);
        let refused = Event::new(Device::Cuda(0)).unwrap_err();
        assert!(matches!(refused, Error::Cuda(_)) && refused.detail().native() == 2);
    }
}
