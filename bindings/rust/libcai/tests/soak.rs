// SPDX-License-Identifier: BSD-3-Clause
//! Many operations of all kinds, good and refused: when all that they made has gone, there are no more
//! of Rust's blocks and of the driver's objects than there were. `tests/soak` counts libcai's blocks.
//!
//! CAI_TEST_LONG=1 does a million.

mod gpu;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicI64, Ordering};
use std::thread;

use gpu::driver;
use libcai::memory::{self, Request, usage};
use libcai::{
    Access, Array, Device, Element, Error, Event, Interface, Memory, MemoryKind, Options, Pending,
    Stream, Strictness, Use, dlpack::Tensor, index,
};

/// Counts the blocks that there are.
struct Counting;

static BLOCKS: AtomicI64 = AtomicI64::new(0);

// SAFETY: the system's allocator does it all.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        BLOCKS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller guarantees it.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        BLOCKS.fetch_sub(1, Ordering::Relaxed);
        // SAFETY: likewise.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

const DEVICES: [Device; 3] = [Device::Cpu, Device::Cuda(0), Device::Cuda(1)];
const OBJECTS: [&std::ffi::CStr; 5] =
    [c"CUcontext", c"CUstream", c"CUevent", c"CUdeviceptr", c"CUmemoryPool"];
const ROUNDS: u64 = 10;
/// Of each kind, at once.
const MOST: usize = 8;
const WIDTH: i64 = 64;

/// xorshift64*: the same numbers in each run.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % bound
    }

    fn of<'a, T>(&mut self, all: &'a [T]) -> Option<&'a T> {
        if all.is_empty() { None } else { all.get(self.below(all.len())) }
    }
}

struct Life {
    random: Random,
    has_threads: bool,
    memories: Vec<Memory>,
    arrays: Vec<Array>,
    streams: Vec<Stream>,
}

/// Keeps one more, in the place of another if there are many.
fn keep<T>(random: &mut Random, all: &mut Vec<T>, one: T) {
    if all.len() < MOST {
        all.push(one);
    } else {
        let at = random.below(MOST);
        all[at] = one;
    }
}

impl Life {
    fn new(seed: u64, has_threads: bool) -> Self {
        let random = Random(seed * 2 + 1);
        Self { random, has_threads, memories: vec![], arrays: vec![], streams: vec![] }
    }

    fn step(&mut self) {
        match self.random.below(20) {
            0 | 1 => self.allocate(),
            2 | 3 => self.make_array(),
            4 | 5 => self.use_on_stream(),
            6 => self.view(),
            7 => self.copy_and_fill(),
            8 => self.publish(),
            9 => self.exchange(),
            10 => self.own(),
            11 => self.change_stream(),
            12 => self.add_stream(),
            13 => self.work(),
            14 => self.record(),
            15 => self.refuse(),
            16 => self.end_on(),
            17 => self.begin_thread(),
            _ => self.end(),
        }
    }

    fn device(&mut self) -> Device {
        DEVICES[self.random.below(3)]
    }

    fn keep_array(&mut self, array: Array) {
        keep(&mut self.random, &mut self.arrays, array);
    }

    /// A stream of a GPU, if the one that comes up is one.
    fn gpu_stream(&mut self) -> Option<Stream> {
        self.random.of(&self.streams).filter(|stream| stream.value() > 2).cloned()
    }

    fn allocate(&mut self) {
        let kinds = [
            MemoryKind::Default,
            MemoryKind::Async,
            MemoryKind::Managed,
            MemoryKind::Pinned,
            MemoryKind::Host,
        ];
        let kind = kinds[self.random.below(kinds.len())];
        let bytes = WIDTH as u64 * (1 + self.random.below(3) as u64);
        let memory = Request::on(self.device()).kind(kind).bytes(bytes).unwrap();
        keep(&mut self.random, &mut self.memories, memory);
    }

    fn make_array(&mut self) {
        if let Some(memory) = self.random.of(&self.memories) {
            let array = memory.array(u8::DTYPE, &[WIDTH]).unwrap();
            self.keep_array(array);
        }
    }

    fn use_on_stream(&mut self) {
        let (Some(stream), Some(_)) = (self.gpu_stream(), self.arrays.first()) else { return };
        let at = self.random.below(self.arrays.len());
        match self.random.below(4) {
            0 => drop(self.arrays[at].read_on(&stream).unwrap()),
            1 if !self.arrays[at].is_readonly() => {
                self.arrays[at].write_on(&stream).unwrap().try_end().unwrap();
            }
            2 => self.arrays[at].reclaim(&stream, Access::Write).unwrap(),
            _ => drop(Use::begin(&stream, [&self.arrays[at]], Options::default()).unwrap()),
        }
    }

    fn view(&mut self) {
        let Some(array) = self.random.of(&self.arrays) else { return };
        let made = match array.ndim() {
            0 => array.slice(index![]),
            _ => array.slice(index![1..]).and_then(|array| array.transpose()),
        };
        self.keep_array(made.unwrap());
    }

    fn copy_and_fill(&mut self) {
        if self.arrays.is_empty() {
            return;
        }
        let (from, to) =
            (self.random.below(self.arrays.len()), self.random.below(self.arrays.len()));
        let from = self.arrays[from].clone();
        let to = &mut self.arrays[to];
        for done in [memory::copy(&from, to, None), memory::fill(to, 7_u8, None)] {
            if let Err(error) = done {
                assert!(matches!(error, Error::Value(_) | Error::Layout(_)), "{error:?}");
            }
        }
        assert!(memory::to_vec::<u8>(&from).unwrap().len() <= WIDTH as usize);
    }

    fn publish(&mut self) {
        let (Some(stream), Some(array)) = (self.gpu_stream(), self.random.of(&self.arrays)) else {
            return;
        };
        if array.device_type() == libcai::DeviceType::Cpu {
            return;
        }
        // SAFETY: the stream is one, and outlives what is published.
        drop(unsafe { array.publish(&[stream.value()], stream.value()) }.unwrap());
        drop(array.publish_event(&stream).unwrap());
    }

    fn exchange(&mut self) {
        let Some(array) = self.random.of(&self.arrays) else { return };
        match Interface::write(array.borrow(), 3) {
            Ok(interface) => drop(interface.read(Strictness::Strict).unwrap()),
            Err(error) => assert!(matches!(error, Error::Export(_)), "{error:?}"), // it is in use
        }
        let on = if array.device_type() == libcai::DeviceType::Cpu { 0 } else { 1 };
        // SAFETY: 1 is a stream of any context, and 0 none.
        let tensor = unsafe { Tensor::ordered(array, on) }.unwrap();
        if self.random.below(2) == 0 {
            return drop(tensor);
        }
        // SAFETY: likewise.
        let array = unsafe { tensor.into_array_on(on) }.unwrap();
        self.keep_array(array);
    }

    fn own(&mut self) {
        let array = Array::from_vec(vec![1_u8; WIDTH as usize], &[WIDTH]).unwrap();
        self.keep_array(array);
        let refused = Array::from_vec(vec![1_u8; 3], &[4]).unwrap_err();
        assert_eq!(refused.value.len(), 3);
        let pinned = Memory::pin(
            Device::Cuda(0),
            vec![7_u8; WIDTH as usize],
            MemoryKind::Pinned,
            Default::default(),
        );
        keep(&mut self.random, &mut self.memories, pinned.unwrap());
    }

    fn change_stream(&mut self) {
        if let (Some(memory), Some(stream)) =
            (self.random.of(&self.memories), self.random.of(&self.streams))
        {
            if let Err(error) = memory.set_stream(stream) {
                assert!(matches!(error, Error::Device(_)), "{error:?}");
            }
        }
    }

    fn add_stream(&mut self) {
        let stream = Stream::new(self.device()).unwrap();
        keep(&mut self.random, &mut self.streams, stream);
    }

    fn work(&mut self) {
        if let Some(stream) = self.random.of(&self.streams) {
            let block = Box::new(8);
            stream
                .enqueue(move || {
                    assert_eq!(*block, 8);
                    Ok(())
                })
                .unwrap();
            stream.attach(vec![1_u8; 8]).unwrap();
        }
    }

    fn record(&mut self) {
        let Some(stream) = self.random.of(&self.streams) else { return };
        let event = Event::new(stream.device().unwrap()).unwrap();
        event.record(stream).unwrap();
        if let Some(other) = self.random.of(&self.streams) {
            other.follow(stream).unwrap();
        }
        if self.random.below(2) == 0 {
            event.synchronize().unwrap();
        }
    }

    fn refuse(&mut self) {
        let request = Request::on(DEVICES[1 + self.random.below(2)]);
        assert!(matches!(request.bytes(1 << 60), Err(Error::Memory(_))));
        let unknown = request.kind(MemoryKind::Unknown(99));
        assert!(matches!(unknown.bytes(8), Err(Error::Value(_))));
        if let Some(array) = self.random.of(&self.arrays) {
            assert!(array.reshape(&[7, 7]).is_err());
            assert!(array.slice(index![0, 0, 0]).is_err());
        }
    }

    fn end(&mut self) {
        match self.random.below(3) {
            0 if !self.memories.is_empty() => drop(self.memories.remove(0)),
            1 if !self.arrays.is_empty() => drop(self.arrays.remove(0)),
            2 if !self.streams.is_empty() => drop(self.streams.remove(0)),
            _ => {}
        }
    }

    fn end_on(&mut self) {
        let Some(stream) = self.gpu_stream() else { return };
        let Some(last) = self.arrays.pop() else { return };
        if let Err(failed) = last.release_on(&stream) {
            assert!(failed.value.pending() != Pending::Nothing, "{}", failed.error);
        }
    }

    fn begin_thread(&mut self) {
        if self.has_threads && self.random.below(16) == 0 {
            let mut other = Self::new(self.random.below(1 << 30) as u64, false);
            thread::spawn(move || {
                gpu::gpu();
                (0..50).for_each(|_| other.step());
            })
            .join()
            .unwrap();
        }
    }
}

fn settle() {
    libcai::drain(true).unwrap();
    for device in DEVICES {
        memory::flush_pending(device).unwrap();
        device.synchronize().unwrap();
    }
    libcai::drain(true).unwrap();
}

/// Rust's blocks; what each device has; the driver's objects.
fn kept_after(seed: u64, operations: u64) -> Vec<i64> {
    {
        let mut life = Life::new(seed, true);
        (0..operations).for_each(|_| life.step());
    }
    settle();
    let mut kept = vec![BLOCKS.load(Ordering::Relaxed)];
    for device in DEVICES {
        let used = usage(device).unwrap();
        kept.extend([used.count, used.bytes, used.pending_count].map(|count| count as i64));
    }
    kept.extend(OBJECTS.iter().map(|name| driver().objects(name) as i64));
    kept
}

/// Libcai keeps events to use them again, as many as there were at once, which differs with the
/// programs. Each operation is done in each round, so one that leaves something leaves more.
const SPARE: i64 = 64;

alone! {
    fn nothing_is_left() {
        let long = std::env::var_os("CAI_TEST_LONG").is_some_and(|value| value == "1");
        let operations = if long { 1_000_000 } else { 20_000 };
        gpu::gpu();
        let first = kept_after(0, operations / ROUNDS);
        for round in 1..ROUNDS {
            let now = kept_after(round, operations / ROUNDS);
            let is_left = now.iter().zip(&first).any(|(now, first)| *now > first + SPARE);
            assert!(!is_left, "in round {round}: {now:?}, and {first:?} in the first");
        }
    }
}
