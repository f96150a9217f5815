// SPDX-License-Identifier: BSD-3-Clause
//! The explorer's programs, tests/explore, through guards and holders: `struct binding` of its
//! stage.h, in Rust. CAI_TEST_LONG=1 plays all of three steps, too.
//!
//! The explorer is compiled as a library, with no libcai: it calls the table alone.

use std::env;
use std::ffi::{CString, OsStr, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::ptr;
use std::slice;
use std::sync::Mutex;

use libcai::{
    Access, Array, ArrayRef, AsStream, Interface, Legacy, Options, Order, PerThread, RawStream,
    Reading, Result, Strictness, Use, Value, sys,
};
use libloading::Library;

/// Set in the process that plays, to the library.
const EXPLORER: &str = "LIBCAI_TEST_EXPLORER";
/// Likewise, to the explorer's arguments.
const ARGUMENTS: &str = "LIBCAI_TEST_EXPLORES";

// ---- What there is between the calls ----------------------------------------------------------

/// A stream by its number.
enum Said {
    Legacy(Legacy),
    PerThread(PerThread),
    Raw(RawStream<'static>),
}

impl Said {
    fn new(number: u64) -> Result<Self> {
        Ok(match number {
            // SAFETY: the stage keeps its context current.
            1 => Self::Legacy(unsafe { Legacy::new() }),
            // SAFETY: likewise.
            2 => Self::PerThread(unsafe { PerThread::new() }),
            // SAFETY: the stage's streams stay.
            other => Self::Raw(unsafe { RawStream::new(other) }?),
        })
    }
}

// SAFETY: as the one that it has; and 1 and 2 make it neither Send nor Sync.
unsafe impl AsStream for Said {
    fn on<R>(&self, function: impl FnOnce(u64) -> Result<R>) -> Result<R> {
        match self {
            Self::Legacy(stream) => stream.on(function),
            Self::PerThread(stream) => stream.on(function),
            Self::Raw(stream) => stream.on(function),
        }
    }
}

enum Guard {
    Reading(Reading<'static, Said>),
    Writing(Use<'static, Said>),
}

const ARRAYS: usize = 6;
const USES: usize = 2;

struct Held {
    arrays: [Option<Array>; ARRAYS],
    guards: [Option<Guard>; USES],
}

// SAFETY: the stage begins and ends a use on the thread, and in the context, of its stream.
unsafe impl Send for Held {}

static HELD: Mutex<Held> =
    Mutex::new(Held { arrays: [const { None }; ARRAYS], guards: [const { None }; USES] });

impl Held {
    fn array(&self, number: c_int) -> &Array {
        self.arrays[number as usize].as_ref().expect("the array is there")
    }

    fn keep(&mut self, number: c_int, array: Array) -> *const sys::cai_array {
        self.arrays[number as usize].insert(array).as_ptr()
    }
}

/// The memory, as the stage has it.
struct Memory(Release);

type Release = unsafe extern "C" fn(*mut c_void);

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: the stage's function, called once.
        unsafe { (self.0)(ptr::null_mut()) };
    }
}

/// Runs `body`; what it fails with, the stage is told as C is.
///
/// # Safety
/// `told` can be written.
unsafe fn tell(told: *mut sys::cai_error, body: impl FnOnce(&mut Held) -> Result<()>) -> i32 {
    let Err(failure) = body(&mut HELD.lock().expect("nobody has panicked")) else { return 0 };
    let mut message = [0; 240];
    for (to, from) in message[..239].iter_mut().zip(failure.detail().message().bytes()) {
        *to = from as c_char;
    }
    let status = failure.status();
    // SAFETY: the caller guarantees it.
    unsafe { told.write(sys::cai_error { status, native: 0, entry: -1, index: -1, message }) };
    status
}

// ---- The table --------------------------------------------------------------------------------

type Failure = *mut sys::cai_error;
type Made = *mut *const sys::cai_array;

macro_rules! binding {
    ($($(#[$meta:meta])* fn $name:ident($($argument:ident: $kind:ty),*) $(-> $result:ty)? $body:block)+) => {
        #[repr(C)]
        struct Binding {
            name: *const c_char,
            $($name: unsafe extern "C" fn($($kind),*) $(-> $result)?,)+
        }

        $(unsafe extern "C" fn $name($($argument: $kind),*) $(-> $result)? $body)+

        impl Binding {
            const fn new() -> Self {
                Self { name: c"Rust".as_ptr(), $($name,)+ }
            }
        }
    };
}

// SAFETY of all: the stage passes numbers of arrays and uses that are there, and outputs that can be
// written; its streams, and the array that it borrows, are there.
binding! {
    fn own(number: c_int, borrowed: *const sys::cai_array, flags: u32, release: Release, made: Made,
           told: Failure) -> i32 {
        // SAFETY: as above.
        unsafe {
            tell(told, |held| {
                let borrowed = ArrayRef::from_raw(borrowed)?;
                let array = if flags & sys::CAI_OWNER_IMPORTED == 0 {
                    borrowed.own(Memory(release))
                } else {
                    // Exporters write their dicts without libcai, which would put them in order.
                    let stated = *borrowed.as_raw();
                    let silent = sys::cai_array {
                        stream_kind: sys::CAI_STREAM_NONE,
                        stream: 0,
                        ..stated
                    };
                    let is_stated = stated.stream_kind != sys::CAI_STREAM_UNSTATED;
                    let mut dict =
                        Interface::write(ArrayRef::from_raw(&silent)?, if is_stated { 3 } else { 2 })?;
                    if stated.stream_kind == sys::CAI_STREAM_STREAM {
                        dict.stream = Value::Int(stated.stream.into());
                    }
                    dict.read(Strictness::Strict)?.borrow().own(Memory(release))
                };
                let array = array.map_err(|failed| {
                    std::mem::forget(failed.value);
                    failed.error
                })?;
                *made = held.keep(number, array);
                Ok(())
            })
        }
    }

    fn publish(number: c_int, copy: c_int, streams: *const u64, count: i32, target: u64, made: Made,
               told: Failure) -> i32 {
        // SAFETY: as above.
        unsafe {
            tell(told, |held| {
                let streams = slice::from_raw_parts(streams, count as usize);
                let view = held.array(number).publish(streams, target)?;
                *made = held.keep(copy, view);
                Ok(())
            })
        }
    }

    fn publish_event(number: c_int, copy: c_int, stream: u64, made: Made, told: Failure) -> i32 {
        // SAFETY: as above.
        unsafe {
            tell(told, |held| {
                let view = held.array(number).publish_event(Said::new(stream)?)?;
                *made = held.keep(copy, view);
                Ok(())
            })
        }
    }

    fn reclaim(number: c_int, stream: u64, access: u32, told: Failure) -> i32 {
        let access = if access == sys::CAI_ACCESS_READ { Access::Read } else { Access::Write };
        // SAFETY: as above.
        unsafe { tell(told, |held| held.array(number).reclaim(Said::new(stream)?, access)) }
    }

    fn begin(number: c_int, array: c_int, stream: u64, order: u32, access: u32, told: Failure)
            -> i32 {
        let order = if order == sys::CAI_ORDER_BEGIN { Order::Begin } else { Order::Both };
        let options = Options::new().order(order);
        // SAFETY: as above.
        unsafe {
            tell(told, |held| {
                // It outlives the borrow of `held`: the stage ends the use before the array.
                let array = ArrayRef::from_raw(held.array(array).as_ptr())?;
                let stream = Said::new(stream)?;
                let guard = if access == sys::CAI_ACCESS_READ {
                    Guard::Reading(Reading::begin(array, stream, options)?)
                } else {
                    Guard::Writing(Use::begin_each(stream, [(array, Access::Write)], options)?)
                };
                held.guards[number as usize] = Some(guard);
                Ok(())
            })
        }
    }

    fn end(number: c_int, told: Failure) -> i32 {
        // SAFETY: as above.
        unsafe {
            tell(told, |held| {
                match held.guards[number as usize].take().expect("the use is open") {
                    Guard::Reading(guard) => Ok(guard.try_end()?),
                    Guard::Writing(guard) => Ok(guard.try_end()?),
                }
            })
        }
    }

    fn release_on(number: c_int, stream: u64, told: Failure) -> i32 {
        // SAFETY: as above.
        unsafe {
            tell(told, |held| Ok(held.array(number).clone().release_on(Said::new(stream)?)?))
        }
    }

    fn same_stream(number: c_int, stream: *mut u64, told: Failure) -> i32 {
        // SAFETY: as above.
        unsafe {
            tell(told, |held| {
                *stream = libcai::same_stream(&[held.array(number).borrow()])?.unwrap_or(0);
                Ok(())
            })
        }
    }

    fn sync_host(number: c_int, told: Failure) -> i32 {
        // SAFETY: as above.
        unsafe { tell(told, |held| held.array(number).sync_host()) }
    }

    fn say(number: c_int, stream: *mut u64, told: Failure) -> i32 {
        // SAFETY: as above.
        unsafe {
            tell(told, |held| {
                let dict = Interface::write(held.array(number).borrow(), 3)?;
                *stream = if let Value::Int(said) = dict.stream { said as u64 } else { 0 };
                Ok(())
            })
        }
    }

    fn release(number: c_int) {
        HELD.lock().expect("nobody has panicked").arrays[number as usize] = None;
    }

    fn drain(left: *mut i64, told: Failure) -> i32 {
        // SAFETY: as above.
        unsafe {
            tell(told, |_| {
                *left = libcai::drain(true)? as i64;
                Ok(())
            })
        }
    }
}

// ---- The explorer -----------------------------------------------------------------------------

/// Compiles it, less what is C++'s own.
fn compile() -> PathBuf {
    let source = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../tests/explore"));
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let (stage, library) = (folder.join("stage.o"), folder.join("libexplorer.so"));
    let compile = |compiler: &str, arguments: &[&OsStr]| {
        let includes = ["../../include", "../support", "../../simcuda/tests/support"]
            .map(|path| source.join(path));
        let mut command = Command::new(compiler);
        command.args(["-O1", "-fPIC", "-D_GNU_SOURCE"]).args(arguments);
        for path in includes {
            command.arg("-I").arg(path);
        }
        assert!(command.status().expect("there is a compiler").success(), "{command:?}");
    };
    let (c, cpp) = (source.join("stage.c"), source.join("explore.cpp"));
    let options = |text: &'static str| text.split(' ').map(OsStr::new);
    compile("cc", &[&["-c", "-o"].map(OsStr::new)[..], &[stage.as_ref(), c.as_ref()]].concat());
    let mut linked: Vec<&OsStr> = options("-std=c++20 -shared -Wl,-z,lazy -o").collect();
    linked.extend([library.as_os_str(), cpp.as_ref(), stage.as_ref()]);
    compile("c++", &linked);
    library
}

/// Plays programs in this process; returns 0 if nothing differs.
fn play(library: &OsStr, arguments: &str) -> c_int {
    let words = ["explore"].into_iter().chain(arguments.split(' '));
    let words: Vec<_> = words.map(|word| CString::new(word).unwrap()).collect();
    let mut pointers: Vec<_> = words.iter().map(|word| word.as_ptr().cast_mut()).collect();
    // SAFETY: the functions are those of stage.h and explore.h.
    unsafe {
        let explorer = Box::leak(Box::new(Library::new(library).expect("it has been compiled")));
        let through =
            explorer.get::<unsafe extern "C" fn(*const Binding)>(b"play_through").unwrap();
        through(&Binding::new());
        let explore =
            explorer.get::<unsafe extern "C" fn(c_int, *mut *mut c_char) -> c_int>(b"explore");
        explore.unwrap()(pointers.len() as c_int, pointers.as_mut_ptr())
    }
}

/// Plays programs in a process of its own, whose races are counted and not fatal; returns how many.
fn explore(library: &Path, arguments: &str) -> u64 {
    let sim = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../simcuda/sim");
    let ran = Command::new(sim)
        .arg(env::current_exe().expect("a test has a path"))
        .args(["--exact", "programs", "--nocapture"])
        .envs([("SIMCUDA_RACES", "count"), ("SIMCUDA_STRICT", "1"), ("SIMCUDA_QUIET_MS", "0")])
        .env("SIMCUDA_SCHEDULE", "lazy") // what is complete by when decides what is waited for
        .env(EXPLORER, library)
        .env(ARGUMENTS, arguments)
        .output()
        .expect("simcuda/sim runs");
    let said = [ran.stdout, ran.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    println!("{said}");
    assert!(ran.status.success(), "{}", ran.status);
    assert!(!said.contains("# Rust has no"), "the table is whole");
    assert!(!said.contains("left out"), "and so is every program");
    let counts = said.lines().filter_map(|line| {
        let (_, rest) = line.split_once(" as the rules say in ")?;
        rest.split(' ').next()?.parse::<u64>().ok()
    });
    counts.sum()
}

/// All programs of two steps, in full: order, refusals, records and waits; and longer ones at random.
#[test]
fn programs() {
    if let (Some(library), Ok(arguments)) = (env::var_os(EXPLORER), env::var(ARGUMENTS)) {
        assert_eq!(play(&library, &arguments), 0);
        return;
    }
    let library = compile();
    let is_long = env::var_os("CAI_TEST_LONG").is_some_and(|value| value == "1");
    assert!(explore(&library, if is_long { "all 3" } else { "all 2" }) > 3000);
    assert_eq!(explore(&library, "random 20000 4"), 20_000);
}
