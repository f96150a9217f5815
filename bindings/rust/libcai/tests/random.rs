// SPDX-License-Identifier: BSD-3-Clause
//! Structs whose pointers are good and whose numbers are anything: refused, or an array all of whose
//! functions can be called.
//!
//! CAI_TEST_LONG=1 tries 25 times as many.

use std::cell::Cell;
use std::ffi::{CString, c_char};
use std::mem::offset_of;
use std::ptr;

use libcai::{Array, ArrayRef, Index, Kind, Strictness, index, sys};

/// xorshift64*: the same numbers in each run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    /// Mostly small, now and then at the limits.
    fn number(&mut self) -> i64 {
        match self.below(8) {
            0 => self.next() as i64,
            1 => i64::MAX >> self.below(64),
            2 => i64::MIN >> self.below(64),
            3 => -(self.below(64) as i64),
            _ => self.below(16) as i64,
        }
    }
}

/// An owner whose holders are counted, and that never goes.
#[repr(C)]
struct Owner {
    raw: sys::cai_owner,
    holders: Cell<i64>,
}

impl Owner {
    fn new(struct_size: u32) -> Self {
        unsafe extern "C" fn count(owner: *mut sys::cai_owner, step: i64) {
            // SAFETY: the owner is the first field of an Owner.
            let holders = unsafe { &(*owner.cast::<Owner>()).holders };
            holders.set(holders.get() + step);
        }
        unsafe extern "C" fn retain(owner: *mut sys::cai_owner) {
            // SAFETY: likewise.
            unsafe { count(owner, 1) }
        }
        unsafe extern "C" fn release(owner: *mut sys::cai_owner) {
            // SAFETY: likewise.
            unsafe { count(owner, -1) }
        }
        let raw = sys::cai_owner {
            struct_size,
            flags: 0,
            retain: Some(retain),
            release: Some(release),
            used_on: None,
            await_uses: None,
            uses: ptr::null_mut(),
            thread: 0,
            keeper: ptr::null_mut(),
            freed_on: 0,
        };
        Self { raw, holders: Cell::new(1) }
    }
}

const FIELDS: usize = 4;

/// All that a struct points to.
struct Pointed {
    dims: [i64; 128],
    fields: [sys::cai_field; FIELDS],
    nested: [sys::cai_field; FIELDS],
    mask_dims: [i64; 128],
    mask: sys::cai_array,
}

/// Numbers like those of a valid struct, one of which at least is likely to be wrong.
fn random_array(random: &mut Random, dims: &mut [i64; 128]) -> sys::cai_array {
    let ndim = match random.below(16) {
        0 => random.number() as i32,
        1 => 64,
        _ => random.below(4) as i32,
    };
    let (kind, itemsize) = *pick(
        random,
        &[(b'f', 4), (b'f', 8), (b'i', 1), (b'V', 16), (b'b', 1), (b't', 1), (b'c', 8), (b'M', 8)],
    );
    let c_strides = random.below(2) == 0;
    let mut step = i64::from(itemsize);
    for axis in (0..64).rev() {
        dims[axis] = if ndim == 64 { 1 } else { random.number() };
        dims[64 + axis] = if c_strides { step } else { random.number() };
        if axis < ndim.clamp(0, 64) as usize {
            step = step.saturating_mul(dims[axis].max(1));
        }
    }
    let is_empty = dims[..ndim.clamp(0, 64) as usize].contains(&0);
    let order = if itemsize == 1 || kind == b'V' { b'|' } else { *pick(random, b"<<<>") };
    let swapped = if order == b'>' { sys::CAI_FLAG_SWAPPED } else { 0 };
    sys::cai_array {
        abi_major: 1,
        abi_minor: random.below(2) as u16,
        flags: swapped | *pick(random, &[0, 1, sys::CAI_FLAG_READONLY, 0x8000]),
        owner: ptr::null_mut(),
        data: if is_empty { 0 } else { random.next() >> random.below(64) },
        device_type: *pick(random, &[1, 2, 3, 10, 13]),
        device_id: random.below(4) as i32 - 1,
        dtype: sys::cai_dtype {
            kind,
            byteorder: order,
            ext: 0,
            time_unit: 0,
            itemsize,
            time_step: 0,
        },
        ndim,
        shape: dims.as_ptr(),
        strides: dims[64..].as_ptr(),
        stream: 0,
        stream_kind: sys::CAI_STREAM_NONE,
        version: random.below(6) as u32,
        mask: ptr::null(),
        descr: ptr::null(),
        reserved0: 0,
        descr_count: 0,
        reserved1: 0,
        reserved2: 0,
        reserved3: 0,
    }
}

fn pick<'a, T>(random: &mut Random, from: &'a [T]) -> &'a T {
    &from[random.below(from.len() as u64) as usize]
}

/// Changes some bytes of the struct, but none of its pointers.
fn spoil(random: &mut Random, array: &mut sys::cai_array) {
    let pointers = [
        offset_of!(sys::cai_array, owner),
        offset_of!(sys::cai_array, shape),
        offset_of!(sys::cai_array, strides),
        offset_of!(sys::cai_array, mask),
        offset_of!(sys::cai_array, descr),
    ];
    // There are no more fields than that, and no more dimensions than 64 are read.
    let counts = [offset_of!(sys::cai_array, descr_count)];
    for _ in 0..random.below(4) {
        let at = random.below(size_of::<sys::cai_array>() as u64) as usize;
        let is_pointer = pointers.iter().any(|&start| (start..start + 8).contains(&at));
        let is_count = counts.iter().any(|&start| (start..start + 4).contains(&at));
        if !is_pointer && !is_count {
            // SAFETY: the byte is in the struct, and any number is one that it can hold.
            unsafe { ptr::from_mut(array).cast::<u8>().add(at).write(random.next() as u8) };
        }
    }
}

fn random_fields(
    random: &mut Random,
    fields: &mut [sys::cai_field; FIELDS],
    nested: &[sys::cai_field; FIELDS],
    dims: &[i64; 128],
    names: &[CString],
) {
    let mut offset = 0;
    for field in fields {
        let ndim = if random.below(8) == 0 { random.number() as i32 } else { 0 };
        let has_nested = random.below(8) == 0;
        let text = |random: &mut Random| -> *const c_char { pick(random, names).as_ptr() };
        *field = sys::cai_field {
            name: text(random),
            title: if random.below(4) == 0 { text(random) } else { ptr::null() },
            fields: if has_nested { nested.as_ptr() } else { ptr::null() },
            shape: dims.as_ptr(),
            offset: if random.below(16) == 0 { random.next() } else { offset },
            dtype: sys::cai_dtype {
                kind: if has_nested { b'V' } else { *pick(random, b"fiuV") },
                byteorder: *pick(random, b"<<|>"),
                ext: 0,
                time_unit: 0,
                itemsize: if has_nested { 16 } else { 4 },
                time_step: 0,
            },
            ndim,
            field_count: if has_nested { random.below(FIELDS as u64 + 1) as u32 } else { 0 },
            reserved: 0,
        };
        offset += u64::from(field.dtype.itemsize);
    }
}

/// Calls all that there is to call, and says how many views came of it.
fn exercise(array: ArrayRef<'_>) -> usize {
    let layout = array.layout();
    assert_eq!(layout.size, array.size());
    assert_eq!(array.shape().len(), array.ndim());
    assert_eq!(array.data() == 0, array.size() == 0);
    assert!(!format!("{array:?} {:?}", array.descr()).is_empty());
    if let Some(mask) = array.mask() {
        exercise(mask);
    }
    for pending in [array.view::<f32>().is_ok(), array.view::<u8>().is_ok()] {
        assert!(!(pending && array.mask().is_some()));
    }
    // SAFETY: nobody uses the memory.
    let owned = unsafe { array.own(()) }.unwrap();
    assert_eq!((owned.shape(), owned.strides()), (array.shape(), array.strides()));
    assert_eq!((owned.dtype(), owned.descr()), (array.dtype(), array.descr()));
    // The written form reads as the same array. Bits can be read only as a mask.
    if let Ok(interface) = libcai::Interface::write(owned.borrow(), 3) {
        let read = interface.read(Strictness::Strict);
        assert_eq!(read.is_err(), owned.dtype().kind() == Kind::Bits, "{owned:?}: {read:?}");
    }
    let views: [libcai::Result<Array>; 5] = [
        array.slice(index![Index::ELLIPSIS, Index::NEW_AXIS]),
        array.slice(index![-1]),
        array.reshape(&[-1]),
        array.transpose(),
        array.broadcast(&[2, 3, 4]),
    ];
    views.iter().flatten().filter(|view| view.layout().size <= layout.size.max(24)).count()
}

#[test]
fn random_structs_are_refused_or_can_be_used() {
    let long = std::env::var_os("CAI_TEST_LONG").is_some_and(|value| value == "1");
    let times = if long { 500_000 } else { 20_000 };
    let names = ["", "a", "b", "größe"].map(|name| CString::new(name).unwrap());
    let broken = CString::new([0xff, 0xfe]).unwrap();
    let names: Vec<CString> = names.into_iter().chain([broken]).collect();
    let mut random = Random(0x5eed);
    let (mut taken, mut views) = (0, 0);
    for _ in 0..times {
        // SAFETY: all of it may be zero, pointers that are NULL among it.
        let mut pointed: Pointed = unsafe { std::mem::zeroed() };
        let mut array = random_array(&mut random, &mut pointed.dims);
        let owner = Owner::new(*pick(&mut random, &[0, 24, 40, 64, 64, 64, 1000]));
        if random.below(2) == 0 {
            array.owner = ptr::from_ref(&owner.raw).cast_mut();
        }
        if array.dtype.kind == b'V' && random.below(4) != 0 {
            let no_nested = pointed.nested;
            let dims = &pointed.dims;
            random_fields(&mut random, &mut pointed.nested, &no_nested, dims, &names[..4]);
            let nested = pointed.nested;
            random_fields(&mut random, &mut pointed.fields, &nested, dims, &names);
            for field in pointed.fields.iter_mut().filter(|field| !field.fields.is_null()) {
                field.fields = pointed.nested.as_ptr();
            }
            for field in &mut pointed.nested {
                (field.fields, field.field_count) = (ptr::null(), 0);
            }
            array.descr = pointed.fields.as_ptr();
            array.descr_count = random.below(FIELDS as u64 + 1) as u32;
        }
        if random.below(4) == 0 {
            pointed.mask = random_array(&mut random, &mut pointed.mask_dims);
            spoil(&mut random, &mut pointed.mask);
            array.mask = &pointed.mask;
            array.flags |= sys::CAI_FLAG_MASKED;
        }
        spoil(&mut random, &mut array);
        // SAFETY: all pointers are good, and nobody uses the memory.
        match unsafe { ArrayRef::from_raw(&array) } {
            Ok(array) => {
                taken += 1;
                views += exercise(array);
            }
            Err(error) => assert!(!error.to_string().is_empty() && error.status() < 0),
        }
        assert_eq!(owner.holders.get(), 1);
    }
    println!("{taken} of {times} taken, {views} views");
    assert!(taken > times / 100 && views > taken / 10, "{taken} taken, {views} views");
    assert!(taken < times * 9 / 10, "{taken} of {times} taken");
}
