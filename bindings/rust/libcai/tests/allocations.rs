// SPDX-License-Identifier: BSD-3-Clause
//! What allocates no memory in C allocates none in Rust.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::hint::black_box;

use libcai::{ArrayBuilder, ArrayRef, Element, index};

struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: the system's allocator does it all.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller guarantees it.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: likewise.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

fn allocations(body: impl FnOnce()) -> usize {
    let before = ALLOCATIONS.get();
    body();
    ALLOCATIONS.get() - before
}

#[test]
fn arrays_and_views_allocate_nothing() {
    let builder = ArrayBuilder::new(0x1000, f32::DTYPE, &[2, 3]);
    // SAFETY: nobody uses the memory.
    let mut array = unsafe { builder.own(()) }.unwrap();
    let raw = array.as_ptr();

    assert_eq!(allocations(|| drop(black_box(Box::new(1)))), 1); // it does count
    assert_eq!(allocations(|| drop(black_box(array.clone()))), 0);
    let reading = allocations(|| {
        // SAFETY: the array is held.
        let array = unsafe { ArrayRef::from_raw(raw) }.unwrap();
        black_box((array.shape(), array.strides(), array.dtype(), array.layout()));
        black_box((array.device_type(), array.device_id(), array.pending(), array.mask()));
        black_box(array.descr()); // of none
    });
    assert_eq!(reading, 0);
    let viewing = allocations(|| {
        black_box(array.view::<f32>().unwrap().data());
        black_box(array.view_mut::<f32>().unwrap().data());
    });
    assert_eq!(viewing, 0);
    // C makes one block, and Rust nothing beside it.
    assert_eq!(allocations(|| drop(array.slice(index![1, 1..]).unwrap())), 0);
    assert_eq!(allocations(|| drop(array.transpose().unwrap())), 0);
}
