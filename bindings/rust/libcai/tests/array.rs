// SPDX-License-Identifier: BSD-3-Clause
//! Arrays through the public API: what they say, views of them, and who keeps them.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use libcai::{
    Array, ArrayBuilder, ArrayRef, DType, Descr, DeviceType, Element, Entry, Error, Field, Index,
    Kind, Pending, index, sys,
};

const ADDRESS: u64 = 0x7f55_0000_0400;

/// A GPU's array of an address that nothing is ever asked to touch.
fn array(dtype: DType, shape: &[i64]) -> Array {
    // SAFETY: nobody uses the memory.
    unsafe { ArrayBuilder::new(ADDRESS, dtype, shape).own(()) }.unwrap()
}

fn refused<T>(builder: ArrayBuilder<'_>, owner: T) -> libcai::Failed<T>
where
    T: Send + 'static,
{
    // SAFETY: nothing is made.
    unsafe { builder.own(owner) }.unwrap_err()
}

/// Counts how often it was dropped.
#[derive(Default)]
struct Owner(Arc<AtomicUsize>);

impl Owner {
    fn drops(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }

    fn guard(&self) -> Dropped {
        Dropped(self.0.clone())
    }
}

struct Dropped(Arc<AtomicUsize>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn says_what_the_builder_was_told() {
    let shape = [3, 2];
    let strides = [-16, 4];
    let mask_shape = [2];
    // SAFETY: nobody uses the memory.
    let mask = unsafe { ArrayBuilder::new(0x1000, bool::DTYPE, &mask_shape).own(()) }.unwrap();
    let builder = ArrayBuilder::new(ADDRESS, DType::of::<f32>(), &shape)
        .strides(&strides)
        .device(DeviceType::Cuda, Some(3))
        .pending(Pending::Stream(7))
        .mask(mask.borrow())
        .readonly();
    // SAFETY: likewise.
    let array = unsafe { builder.own(mask.clone()) }.unwrap();
    drop(mask);
    assert_eq!(array.shape(), shape);
    assert_eq!(array.strides(), strides);
    assert_eq!((array.ndim(), array.size()), (2, 6));
    assert_eq!(array.data(), ADDRESS);
    assert_eq!((array.device_type(), array.device_id()), (DeviceType::Cuda, Some(3)));
    assert_eq!(array.pending(), Pending::Stream(7));
    assert_eq!(array.version(), 3);
    assert!(array.is_readonly() && array.strides_given() && array.descr().is_empty());
    let layout = array.layout();
    assert_eq!((layout.size, layout.nbytes, layout.lo, layout.hi), (6, 24, -32, 8));
    assert!(!layout.c_contiguous && !layout.f_contiguous);
    let mask = array.mask().unwrap();
    assert_eq!((mask.data(), mask.shape(), mask.dtype().kind()), (0x1000, &[2][..], Kind::Bool));
    assert!(mask.mask().is_none());
}

#[test]
fn says_defaults() {
    let array = array(DType::of::<u16>(), &[4, 5]);
    assert_eq!(array.strides(), [10, 2]);
    assert_eq!((array.device_type(), array.device_id()), (DeviceType::Cuda, None));
    assert_eq!(array.pending(), Pending::Nothing);
    assert!(!array.is_readonly() && !array.strides_given() && array.mask().is_none());
    assert!(array.layout().c_contiguous);
    let debug = format!("{array:?}");
    assert!(debug.contains("[4, 5]") && debug.contains("<u2"), "{debug}");
}

#[test]
fn says_each_pending_work() {
    for pending in [Pending::Nothing, Pending::Unstated, Pending::Stream(1), Pending::Event(0x99)] {
        let builder = ArrayBuilder::new(ADDRESS, f32::DTYPE, &[1]).pending(pending);
        // SAFETY: nobody uses the memory.
        assert_eq!(unsafe { builder.own(()) }.unwrap().pending(), pending);
    }
}

#[test]
fn holds_no_dimensions_no_elements_and_64_dimensions() {
    let scalar = array(f64::DTYPE, &[]);
    assert_eq!((scalar.shape(), scalar.size()), (&[][..], 1));
    assert_eq!(scalar.view::<f64>().unwrap().len(), 1);

    let empty = array(f64::DTYPE, &[3, 0, 2]);
    assert_eq!((empty.data(), empty.size()), (0, 0));
    assert_eq!(empty.layout().hi, 0);
    assert!(empty.view::<f64>().unwrap().is_empty());

    let many = array(f64::DTYPE, &[1; 64]);
    assert_eq!((many.ndim(), many.size()), (64, 1));
    assert_eq!(many.transpose().unwrap().ndim(), 64);
    assert!(matches!(many.slice(index![Index::NEW_AXIS]), Err(Error::Argument(_))));

    let error = refused(ArrayBuilder::new(ADDRESS, f64::DTYPE, &[1; 65]), ()).error;
    assert_eq!((error.entry(), error.status()), (Some(Entry::Shape), sys::CAI_ERR_VALUE));
    assert!(error.to_string().contains("65"), "{error}");
}

#[test]
fn refuses_what_is_no_array_and_gives_the_owner_back() {
    let owner = Owner::default();
    let of = |shape| ArrayBuilder::new(ADDRESS, f32::DTYPE, shape);
    let descr = Descr::new(vec![Field::new("x\0", f32::DTYPE, 0)]).unwrap();
    let cases = [
        (of(&[-1]), Entry::Shape, "-1"),
        (of(&[1 << 32, 1 << 32]), Entry::Shape, "4294967296"),
        (of(&[2]).strides(&[4, 4]), Entry::Strides, "[4, 4]"),
        (of(&[4]).strides(&[i64::MAX]), Entry::Strides, "9223372036854775807"),
        (ArrayBuilder::new(0, f32::DTYPE, &[1]), Entry::Data, "0x0"),
        (ArrayBuilder::new(u64::MAX, f32::DTYPE, &[1]), Entry::Data, "0xffffffffffffffff"),
        (of(&[1]).device(DeviceType::Cuda, Some(u32::MAX)), Entry::Data, "4294967295"),
        (of(&[1]).device(DeviceType::Unknown(77), None), Entry::Data, "77"),
        (of(&[1]).pending(Pending::Stream(0)), Entry::Stream, "0x0"),
        (of(&[1]).descr(&descr), Entry::Descr, "x\\0"),
    ];
    for (builder, entry, shown) in cases {
        let refused = refused(builder, owner.guard());
        assert_eq!(refused.error.entry(), Some(entry), "{refused}");
        let message = refused.error.to_string();
        assert!(message.contains(shown) && message.contains(&entry.to_string()), "{message}");
        assert_eq!(owner.drops(), 0);
        drop(refused);
        assert_eq!(owner.0.swap(0, Ordering::SeqCst), 1);
    }
}

#[test]
fn refuses_too_many_fields_and_too_many_lists() {
    let byte = Field::new("", u8::DTYPE, 0);
    let error = Descr::new(vec![byte.clone(); sys::CAI_MAX_DESCR_FIELDS + 1]).unwrap_err();
    assert_eq!(error.entry(), Some(Entry::Descr), "{error}");

    let mut descr = Descr::new(vec![byte.clone()]).unwrap();
    for _ in 1..sys::CAI_MAX_DESCR_DEPTH {
        let void: DType = "|V1".parse().unwrap();
        descr = Descr::new(vec![Field { fields: descr, ..Field::new("", void, 0) }]).unwrap();
    }
    let builder = ArrayBuilder::new(ADDRESS, "|V1".parse().unwrap(), &[2]).descr(&descr);
    // SAFETY: nobody uses the memory.
    assert_eq!(unsafe { builder.own(()) }.unwrap().descr(), descr);
    let error = Descr::new(vec![Field { fields: descr, ..byte }]).unwrap_err();
    assert_eq!(error.entry(), Some(Entry::Descr));
    assert!(error.to_string().contains("65 nested lists"), "{error}");
}

#[test]
fn keeps_fields() {
    let inner: DType = "|V3".parse().unwrap();
    let descr = Descr::new(vec![
        Field { title: Some("the title".into()), ..Field::new("größe", f32::DTYPE, 0) },
        Field { shape: vec![2, 2], ..Field::new("m", u16::DTYPE, 4) },
        Field {
            fields: Descr::new(vec![
                Field::new("a", u8::DTYPE, 0),
                Field::new("b", "|S2".parse().unwrap(), 1),
            ])
            .unwrap(),
            ..Field::new("nested", inner, 12)
        },
        Field::new("", "|V1".parse().unwrap(), 15),
    ])
    .unwrap();
    let builder = ArrayBuilder::new(ADDRESS, "|V16".parse().unwrap(), &[5]).descr(&descr);
    // SAFETY: nobody uses the memory.
    let array = unsafe { builder.own(()) }.unwrap();
    assert_eq!(array.descr(), descr);
    assert_eq!(array.slice(index![1..3]).unwrap().descr(), descr);

    let bits = Descr::new(vec![Field::new("bits", u32::DTYPE, 0)]).unwrap();
    let builder = ArrayBuilder::new(ADDRESS, f32::DTYPE, &[5]).descr(&bits);
    // SAFETY: likewise.
    let array = unsafe { builder.own(()) }.unwrap();
    assert_eq!((array.dtype(), array.descr()), (f32::DTYPE, bits));

    let swapped = Descr::new(vec![Field::new("x", ">f4".parse().unwrap(), 0)]).unwrap();
    let builder = ArrayBuilder::new(ADDRESS, "|V4".parse().unwrap(), &[5]).descr(&swapped);
    // SAFETY: likewise.
    let array = unsafe { builder.own(()) }.unwrap();
    assert_ne!(array.as_raw().flags & sys::CAI_FLAG_SWAPPED, 0);
}

#[test]
fn drops_the_owner_once_when_the_last_holder_goes() {
    let owner = Owner::default();
    // SAFETY: nobody uses the memory.
    let array = unsafe { ArrayBuilder::new(ADDRESS, f32::DTYPE, &[4]).own(owner.guard()) }.unwrap();
    let clone = array.clone();
    let view = array.slice(index![1..]).unwrap();
    let raw = array.into_raw();
    // SAFETY: it is the holder that into_raw() gave.
    let array = unsafe { Array::from_raw(raw) };
    // SAFETY: the struct lies in its owner's block.
    let retained = unsafe { clone.borrow().retain() }.unwrap();
    for held in [array, clone, retained] {
        drop(held);
        assert_eq!(owner.drops(), 0);
    }
    thread::spawn(move || drop(view)).join().unwrap();
    assert_eq!(owner.drops(), 1);
}

#[test]
fn survives_an_owner_that_panics() {
    struct Panics(#[allow(dead_code)] Dropped, &'static str);
    impl Drop for Panics {
        fn drop(&mut self) {
            match self.1 {
                "" => std::panic::panic_any(PanicsAgain),
                message => panic!("{message}"),
            }
        }
    }
    struct PanicsAgain;
    impl Drop for PanicsAgain {
        fn drop(&mut self) {
            panic!("again");
        }
    }
    static HEARD: Mutex<Vec<String>> = Mutex::new(Vec::new());
    libcai::on_failure(Some(|failure| HEARD.lock().unwrap().push(failure.to_string())));
    let owner = Owner::default();
    for (message, drops) in [("the owner's own words", 1), ("", 2)] {
        let panics = Panics(owner.guard(), message);
        // SAFETY: nobody uses the memory.
        drop(unsafe { ArrayBuilder::new(ADDRESS, f32::DTYPE, &[4]).own(panics) }.unwrap());
        assert_eq!(owner.drops(), drops);
    }
    let unwound = catch_unwind(AssertUnwindSafe(|| {
        let panics = Panics(owner.guard(), "while another panic unwinds");
        // SAFETY: nobody uses the memory.
        let _array = unsafe { ArrayBuilder::new(ADDRESS, f32::DTYPE, &[4]).own(panics) }.unwrap();
        panic!("of the holder");
    }));
    assert_eq!((unwound.is_err(), owner.drops()), (true, 3));
    libcai::on_failure(None);
    let heard = HEARD.lock().unwrap();
    let all = ["the owner's own words", "", "while another panic unwinds"];
    let said = |words: &str| match words {
        "" => "an owner panicked".to_owned(),
        words => format!("an owner panicked: {words}"),
    };
    assert_eq!(*heard, all.map(said));
}

#[test]
fn shares_one_array_between_threads() {
    let owner = Owner::default();
    // SAFETY: nobody uses the memory.
    let array =
        unsafe { ArrayBuilder::new(ADDRESS, f32::DTYPE, &[4, 4]).own(owner.guard()) }.unwrap();
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..100 {
                    let clone = array.clone();
                    assert_eq!(clone.slice(index![1]).unwrap().shape(), [4]);
                }
            });
        }
    });
    assert_eq!(owner.drops(), 0);
    drop(array);
    assert_eq!(owner.drops(), 1);
}

#[test]
fn slices_as_python_does() {
    let array = array(i32::DTYPE, &[4, 5, 6]);
    let cases: [(&[Index], &[i64], i64); 15] = [
        (index![], &[4, 5, 6], 0),
        (index![1], &[5, 6], 120),
        (index![-1], &[5, 6], 360),
        (index![.., 2..4], &[4, 2, 6], 48),
        (index![..=1, ..3, 1..], &[2, 3, 5], 4),
        (index![1..=-1, 0..=-2], &[3, 4, 6], 120),
        (index![..=i64::MAX], &[4, 5, 6], 0),
        (index![Index::ELLIPSIS, 0], &[4, 5], 0),
        (index![Index::NEW_AXIS, 100..], &[1, 0, 5, 6], 0),
        (index![Index::from(3..0).step(-2)], &[2, 5, 6], 360),
        (index![Index::from(3..=1).step(-1)], &[3, 5, 6], 360),
        (index![Index::from(3..=0).step(-1)], &[4, 5, 6], 360),
        (index![Index::from(..=-2).step(-1)], &[2, 5, 6], 360),
        (index![Index::from(..=i64::MIN).step(-1)], &[4, 5, 6], 360),
        (index![Index::from(0..=-1).step(-1).step(3)], &[2, 5, 6], 0),
    ];
    for (items, shape, offset) in cases {
        let view = array.slice(items).unwrap();
        assert_eq!(view.shape(), shape, "{items:?}");
        if view.size() > 0 {
            assert_eq!(view.data(), ADDRESS + offset as u64, "{items:?}");
        }
    }
    let error = array.slice(index![.., 5]).unwrap_err();
    assert!(matches!(&error, Error::Argument(detail) if detail.index() == Some(1)), "{error:?}");
    assert!(array.slice(index![Index::from(..).step(0)]).is_err());
    assert!(array.slice(index![0, 0, 0, 0]).is_err());
    assert!(array.slice(index![Index::ELLIPSIS, Index::ELLIPSIS]).is_err());
}

#[test]
fn makes_other_views() {
    let array = array(i32::DTYPE, &[4, 6]);
    assert_eq!(array.reshape(&[2, -1]).unwrap().shape(), [2, 12]);
    assert_eq!(array.transpose().unwrap().strides(), [4, 24]);
    assert_eq!(array.permute(&[-1, 0]).unwrap().shape(), [6, 4]);
    let large = array.broadcast(&[3, 4, 6]).unwrap();
    assert_eq!(large.strides(), [0, 24, 4]);
    assert!(large.is_readonly());

    let transposed = array.transpose().unwrap();
    assert!(matches!(transposed.reshape(&[24]), Err(Error::Layout(_))));
    assert!(matches!(array.reshape(&[5, 5]), Err(Error::Argument(_))));
    assert!(matches!(array.permute(&[0]), Err(Error::Argument(_))));
    assert!(matches!(array.permute(&[0, 0]), Err(Error::Argument(_))));
    assert!(matches!(array.broadcast(&[3]), Err(Error::Argument(_))));
}

#[test]
fn cannot_hold_what_is_borrowed() {
    let array = array(i32::DTYPE, &[4]);
    let raw = sys::cai_array { owner: std::ptr::null_mut(), ..*array.as_raw() };
    // SAFETY: the struct stays, and what it points to is the array's.
    let borrowed = unsafe { ArrayRef::from_raw(&raw) }.unwrap();
    assert_eq!(borrowed.shape(), [4]);
    assert!(matches!(borrowed.slice(index![]), Err(Error::Argument(_))));
    // SAFETY: it has no owner.
    assert!(matches!(unsafe { borrowed.retain() }, Err(Error::Argument(_))));
    // SAFETY: NULL is refused.
    assert!(matches!(unsafe { ArrayRef::from_raw(std::ptr::null()) }, Err(Error::Argument(_))));
}
