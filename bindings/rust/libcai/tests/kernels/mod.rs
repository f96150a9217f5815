// SPDX-License-Identifier: BSD-3-Clause
//! A kernel of simcuda's, for cudarc to launch: y[i] = 2 * x[i].

use std::ffi::{c_char, c_void};
use std::slice;
use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaFunction};
use cudarc::nvrtc::Ptx;
use libloading::Library;

/// As simcuda.h has it.
#[repr(C)]
struct Launch {
    grid: [u32; 3],
    block: [u32; 3],
    shared_bytes: u32,
    argument_count: u32,
    arguments: *const *const c_void,
}

/// Likewise.
#[repr(C)]
struct Range {
    address: u64,
    size: u64,
    write: i32,
    reserved: i32,
    bytes: *mut c_void,
}

type Ranges = extern "C" fn(&Launch, *mut Range, u32) -> u32;
type Run = extern "C" fn(&Launch, *const Range, u32) -> i32;
type Register = unsafe extern "C" fn(*const c_char, *const u32, u32, Ranges, Run) -> i32;

extern "C" fn ranges(launch: &Launch, out: *mut Range, capacity: u32) -> u32 {
    // SAFETY: the kernel was registered with two addresses and a count.
    let (y, x, count) = unsafe {
        let arguments = slice::from_raw_parts(launch.arguments, 3);
        let [y, x] = [arguments[0], arguments[1]].map(|address| *address.cast::<u64>());
        (y, x, *arguments[2].cast::<u32>())
    };
    let range = |address, write| Range {
        address,
        size: 4 * u64::from(count),
        write,
        reserved: 0,
        bytes: std::ptr::null_mut(),
    };
    for (index, range) in [range(y, 1), range(x, 0)].into_iter().enumerate() {
        if (index as u32) < capacity {
            // SAFETY: there is room for as many.
            unsafe { out.add(index).write(range) };
        }
    }
    2
}

extern "C" fn run(_launch: &Launch, ranges: *const Range, _count: u32) -> i32 {
    // SAFETY: these are the two ranges above, which do not overlap.
    unsafe {
        let (y, x) = (&*ranges, &*ranges.add(1));
        let count = y.size as usize / 4;
        let y = slice::from_raw_parts_mut(y.bytes.cast::<f32>(), count);
        let x = slice::from_raw_parts(x.bytes.cast::<f32>(), count);
        y.iter_mut().zip(x).for_each(|(y, x)| *y = 2.0 * x);
    }
    0
}

/// The kernel, of `(y, x, count)`: addresses of floats, and how many there are.
pub fn double(context: &Arc<CudaContext>) -> CudaFunction {
    // SAFETY: the signature is that of simcuda.h; the kernel stays.
    unsafe {
        let library = Library::new("libcuda.so.1").expect("these tests run on simcuda");
        let register = library.get::<Register>(b"simcuda_kernel").expect("this is simcuda");
        assert_eq!(register(c"double".as_ptr(), [8, 8, 4].as_ptr(), 3, ranges, run), 0);
    }
    let module = context.load_module(Ptx::from_src("simcuda module\ndouble\n")).unwrap();
    module.load_function("double").unwrap()
}
