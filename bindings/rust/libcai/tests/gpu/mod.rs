// SPDX-License-Identifier: BSD-3-Clause
//! The driver as other libraries use it, for tests on simcuda; and pairs of tests, of which one must
//! race.
#![allow(dead_code, unreachable_pub)] // each test file uses what it needs

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::process::Command;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use libcai::{Array, ArrayBuilder, DType, Device, DeviceType, Pending, Stream};
use libloading::Library;

/// Elements, and bytes, of the tests' arrays.
pub const BYTES: usize = 4096;
pub const SHAPE: [i64; 1] = [BYTES as i64];

macro_rules! driver {
    ($($name:ident: $symbol:literal ($($argument:ty),*)),+ $(,)?) => {
        /// The functions that the tests call; 0 is success.
        pub struct Driver {
            $($name: unsafe extern "C" fn($($argument),*) -> c_int,)+
            simcuda_fail: unsafe extern "C" fn(*const c_char, u64, i32) -> i32,
            simcuda_busy: unsafe extern "C" fn(*mut c_void, u64) -> i32,
            simcuda_calls: unsafe extern "C" fn(*const c_char) -> u64,
            simcuda_objects: unsafe extern "C" fn(*const c_char) -> u64,
            _library: Library,
        }

        impl Driver {
            fn load() -> Self {
                let why = "these tests run on simcuda: simcuda/sim cargo test";
                // SAFETY: the signatures are those of cuda.h and simcuda.h.
                unsafe {
                    let library = Library::new("libcuda.so.1").expect(why);
                    Self {
                        $($name: *library.get($symbol).expect(why),)+
                        simcuda_fail: *library.get(b"simcuda_fail").expect(why),
                        simcuda_busy: *library.get(b"simcuda_busy").expect(why),
                        simcuda_calls: *library.get(b"simcuda_calls").expect(why),
                        simcuda_objects: *library.get(b"simcuda_objects").expect(why),
                        _library: library,
                    }
                }
            }
        }
    };
}

driver! {
    mem_alloc: b"cuMemAlloc_v2" (*mut u64, usize),
    mem_alloc_async: b"cuMemAllocAsync" (*mut u64, usize, *mut c_void),
    mem_free_async: b"cuMemFreeAsync" (u64, *mut c_void),
    memset: b"cuMemsetD8Async" (u64, u8, usize, *mut c_void),
    copy: b"cuMemcpyDtoDAsync_v2" (u64, u64, usize, *mut c_void),
    read: b"cuMemcpyDtoH_v2" (*mut c_void, u64, usize),
    begin_capture: b"cuStreamBeginCapture_v2" (*mut c_void, c_uint),
    end_capture: b"cuStreamEndCapture" (*mut c_void, *mut *mut c_void),
    destroy_graph: b"cuGraphDestroy" (*mut c_void),
    set_current: b"cuCtxSetCurrent" (*mut c_void),
    synchronize: b"cuCtxSynchronize" (),
}

pub fn driver() -> &'static Driver {
    static DRIVER: OnceLock<Driver> = OnceLock::new();
    DRIVER.get_or_init(Driver::load)
}

#[track_caller]
fn must(result: c_int) {
    assert_eq!(result, 0, "CUresult");
}

fn handle(stream: u64) -> *mut c_void {
    ptr::without_provenance_mut(stream as usize)
}

impl Driver {
    /// Memory that nobody has used.
    pub fn fresh(&self) -> u64 {
        gpu();
        let mut address = 0;
        // SAFETY: the output can be written.
        must(unsafe { (self.mem_alloc)(&mut address, BYTES) });
        address
    }

    /// Memory of the pool's.
    pub fn fresh_on(&self, stream: &Stream) -> u64 {
        let mut address = 0;
        // SAFETY: the output can be written.
        must(unsafe { (self.mem_alloc_async)(&mut address, BYTES, handle(stream.value())) });
        address
    }

    /// Frees it in the order of a stream, of which the device knows no other.
    pub fn free_on(&self, address: u64, stream: u64) {
        // SAFETY: numbers.
        must(unsafe { (self.mem_free_async)(address, handle(stream)) });
    }

    /// Writes the memory in the order of a stream.
    pub fn fill(&self, address: u64, byte: u8, stream: u64) {
        // SAFETY: numbers.
        must(unsafe { (self.memset)(address, byte, BYTES, handle(stream)) });
    }

    /// Reads it in the order of a stream, to other memory.
    pub fn take(&self, address: u64, stream: u64) -> u64 {
        let taken = self.fresh();
        self.take_to(taken, address, stream);
        taken
    }

    /// Likewise, where no memory can be made.
    pub fn take_to(&self, taken: u64, address: u64, stream: u64) {
        // SAFETY: numbers.
        must(unsafe { (self.copy)(taken, address, BYTES, handle(stream)) });
    }

    /// The bytes, read by the host once the device is done.
    pub fn bytes(&self, address: u64) -> Vec<u8> {
        let mut bytes = vec![0; BYTES];
        // SAFETY: as many bytes can be written.
        must(unsafe { (self.read)(bytes.as_mut_ptr().cast(), address, BYTES) });
        bytes
    }

    /// Runs `body` while a stream is captured, of this thread only; the graph goes.
    pub fn captured<R>(&self, stream: &Stream, body: impl FnOnce() -> R) -> R {
        self.capture(stream);
        let result = body();
        self.drop_captured(stream);
        result
    }

    /// Begins to capture a stream, of this thread only.
    pub fn capture(&self, stream: &Stream) {
        // SAFETY: the stream is one.
        must(unsafe { (self.begin_capture)(handle(stream.value()), 1) });
    }

    /// Ends the capture, and destroys the graph.
    pub fn drop_captured(&self, stream: &Stream) {
        let mut graph = ptr::null_mut();
        // SAFETY: the stream is one, the output can be written, and nobody else has the graph.
        unsafe {
            must((self.end_capture)(handle(stream.value()), &mut graph));
            must((self.destroy_graph)(graph));
        }
    }

    /// The calling thread has no context.
    pub fn no_context(&self) {
        // SAFETY: NULL is allowed.
        must(unsafe { (self.set_current)(ptr::null_mut()) });
    }

    /// The nth call of a function from now on fails.
    pub fn fail(&self, name: &std::ffi::CStr, nth: u64, status: i32) {
        // SAFETY: a text that ends in NUL.
        must(unsafe { (self.simcuda_fail)(name.as_ptr(), nth, status) });
    }

    /// Work is pending on a stream, until a call waits for it.
    pub fn busy(&self, stream: u64) {
        // SAFETY: a number.
        must(unsafe { (self.simcuda_busy)(handle(stream), 1_000_000_000) });
    }

    /// How often anybody has waited, a stream or the host.
    pub fn waits(&self) -> u64 {
        [c"cuStreamWaitEvent", c"cuEventSynchronize", c"cuStreamSynchronize"]
            .iter()
            .map(|name| self.calls(name))
            .sum()
    }

    /// How often a function has been called.
    pub fn calls(&self, name: &std::ffi::CStr) -> u64 {
        // SAFETY: a text that ends in NUL.
        unsafe { (self.simcuda_calls)(name.as_ptr()) }
    }

    /// How many of the driver's objects of a type there are.
    pub fn objects(&self, name: &std::ffi::CStr) -> u64 {
        // SAFETY: a text that ends in NUL.
        unsafe { (self.simcuda_objects)(name.as_ptr()) }
    }

    /// The current context fails for good.
    pub fn poison(&self) {
        self.fail(c"cuCtxSynchronize", 1, 719);
        // SAFETY: no argument.
        assert_eq!(unsafe { (self.synchronize)() }, 719);
    }
}

/// The GPU of the tests, current on the calling thread.
pub fn gpu() -> Device {
    let gpu = Device::Cuda(0);
    gpu.set_current().expect("simcuda has a GPU");
    gpu
}

pub fn stream() -> Stream {
    Stream::new(gpu()).expect("a stream")
}

/// Counts owners that have gone.
pub struct Gone(pub &'static AtomicUsize);

impl Drop for Gone {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// An array of memory on the GPU; the owner is dropped with it. The memory itself is the test's.
pub fn array_of<T: Send + 'static>(address: u64, pending: Pending, owner: T) -> Array {
    let array = ArrayBuilder::new(address, DType::of::<u8>(), &SHAPE)
        .device(DeviceType::Cuda, Some(0))
        .pending(pending);
    // SAFETY: the memory and the streams stay until the test ends.
    unsafe { array.own(owner) }.expect("an array")
}

/// An array on which work may be pending on a stream.
pub fn array_on(address: u64, stream: &Stream) -> Array {
    array_of(address, Pending::Stream(stream.value()), stream.clone())
}

/// Set in a process that runs one test alone, to whether its order is kept.
const ALONE: &str = "LIBCAI_TEST_ALONE";

/// Runs a test in a process of its own: what it does to the driver, and the races that it has, are
/// its own. `is_ordered` is told to it.
#[track_caller]
fn expect(status: i32, name: &str, is_ordered: bool) {
    let sim = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../simcuda/sim");
    let ran = Command::new(sim)
        .arg(std::env::current_exe().expect("a test has a path"))
        .args(["--exact", name, "--nocapture"])
        .env(ALONE, if is_ordered { "ordered" } else { "left out" })
        .env("SIMCUDA_RACES", "log") // all of them, and the status below, whatever else is asked for
        .output()
        .expect("simcuda/sim runs");
    let said = [ran.stdout, ran.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    assert!(said.contains("running 1 test"), "{said}");
    assert_eq!(ran.status.code(), Some(status), "ordered: {is_ordered}\n{said}");
}

/// Whether each test has a process of its own anyhow.
fn is_by_nextest() -> bool {
    std::env::var_os("NEXTEST_EXECUTION_MODE").is_some_and(|mode| mode == "process-per-test")
}

/// Runs a test in a process of its own, where it must not race.
#[track_caller]
pub fn alone(name: &str, body: fn()) {
    if is_by_nextest() || std::env::var_os(ALONE).is_some() {
        body();
    } else {
        expect(0, name, true);
    }
}

/// Runs a test in order, where it must not race, and with the order left out, where it must: exit
/// status 66 of simcuda/sim.
#[track_caller]
pub fn pair(name: &str, body: fn(is_ordered: bool)) {
    match std::env::var_os(ALONE) {
        Some(how) => body(how == "ordered"),
        None => {
            expect(0, name, true);
            expect(66, name, false);
        }
    }
}

/// Tests that are right in order, and race without.
#[macro_export]
macro_rules! pairs {
    ($($(#[doc = $doc:literal])* fn $name:ident($ordered:ident) $body:block)+) => {
        $(
            $(#[doc = $doc])*
            #[test]
            fn $name() {
                fn body($ordered: bool) $body
                $crate::gpu::pair(stringify!($name), body);
            }
        )+
    };
}

/// Tests that need a process of their own.
#[macro_export]
macro_rules! alone {
    ($($(#[doc = $doc:literal])* fn $name:ident() $body:block)+) => {
        $(
            $(#[doc = $doc])*
            #[test]
            fn $name() {
                fn body() $body
                $crate::gpu::alone(stringify!($name), body);
            }
        )+
    };
}
