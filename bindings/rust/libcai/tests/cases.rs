// SPDX-License-Identifier: BSD-3-Clause
//! Every row of tests/cases/import.json: its verdict strict and lenient, and for what is taken the
//! way on: own, write, read again.

use std::{fs, mem};

use libcai::{
    Array, ArrayRef, DType, Entry, Error, Interface, Pending, Severity, Strictness, Value, sys,
};
use serde_json::Value as Json;

/// What "$ptr" stands for: 1024 bytes into an allocation of 4096.
const ADDRESS: i64 = 0x7f55_0000_0400;

fn rows() -> Vec<Json> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../tests/cases/import.json");
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

fn integer(json: &Json) -> i128 {
    json.to_string().parse().unwrap()
}

fn items(json: &Json) -> Vec<Value<'_>> {
    json.as_array().unwrap().iter().map(value).collect()
}

/// What the tags stand for, as the table's README.md says.
fn value(json: &Json) -> Value<'_> {
    match json {
        Json::Null => Value::None,
        Json::Bool(value) => (*value).into(),
        Json::Number(_) => Value::Int(integer(json)),
        Json::String(text) if text == "$ptr" => ADDRESS.into(),
        Json::String(text) => text.as_str().into(),
        Json::Array(_) => Value::List(items(json).into()),
        Json::Object(object) => match object.iter().next().map(|(key, of)| (key.as_str(), of)) {
            Some(("$tuple", of)) => Value::Tuple(items(of).into()),
            Some(("$npint", of)) => Value::Index(integer(of)),
            Some(("$float", of)) => Value::Float(of.to_string().into()),
            Some(("$bytes", of)) => Value::Bytes(of.as_str().unwrap().as_bytes().into()),
            Some(("$object", of)) => interface(of).into(),
            _ => Value::Dict("a dict of the table's".into()),
        },
    }
}

fn interface(json: &Json) -> Interface<'_> {
    let mut interface = Interface::default();
    match json {
        Json::Object(object) => {
            for (key, of) in object {
                let entry = match key.as_str() {
                    "shape" => &mut interface.shape,
                    "typestr" => &mut interface.typestr,
                    "data" => &mut interface.data,
                    "version" => &mut interface.version,
                    "strides" => &mut interface.strides,
                    "descr" => &mut interface.descr,
                    "mask" => &mut interface.mask,
                    "stream" => &mut interface.stream,
                    _ => continue, // a key that nobody knows does not matter
                };
                *entry = value(of);
            }
        }
        other => interface.dict = value(other),
    }
    interface
}

/// How a value of the entry may print in the message: whole, or one of the items in it.
fn printed(json: &Json, shown: &mut Vec<String>) {
    match json {
        Json::Null => shown.push("None".into()),
        Json::Bool(true) => shown.push("True".into()),
        Json::Bool(false) => shown.push("False".into()),
        Json::String(text) if text == "$ptr" => shown.push(ADDRESS.to_string()),
        Json::String(text) => shown.push(text.clone()),
        Json::Array(items) => {
            shown.push(items.len().to_string());
            items.iter().for_each(|item| printed(item, shown));
        }
        Json::Object(object) => {
            let name = if object.contains_key("$object") { "an object" } else { "a dict of the" };
            shown.push(name.into());
            object.values().for_each(|item| printed(item, shown));
        }
        other => shown.push(other.to_string()),
    }
}

fn facts(array: ArrayRef<'_>) -> Json {
    let layout = array.layout();
    let dtype = array.dtype().to_raw();
    let stream = match array.pending() {
        Pending::Stream(stream) => Json::from(stream),
        Pending::Nothing | Pending::Unstated => Json::Null,
        Pending::Event(_) => panic!("an event"),
    };
    serde_json::json!({
        "version": array.version(),
        "ndim": array.ndim(),
        "shape": array.shape(),
        "strides": array.strides(),
        "strides_given": array.strides_given(),
        "size": layout.size,
        "kind": (dtype.kind as char).to_string(),
        "byteorder": (dtype.byteorder as char).to_string(),
        "itemsize": array.dtype().itemsize(),
        "readonly": array.is_readonly(),
        "stream": stream,
        "masked": array.mask().is_some(),
        "c_contiguous": layout.c_contiguous,
        "f_contiguous": layout.f_contiguous,
        "lo": layout.lo,
        "hi": layout.hi,
    })
}

fn check_refused(row: &Json, entry: &str, error: &Error) {
    assert!(matches!(error, Error::Value(_) | Error::Type(_)), "{error:?}");
    let message = error.to_string();
    assert_eq!(error.entry().map(|entry| entry.to_string()).as_deref(), Some(entry), "{message}");
    assert!(message.contains(entry), "{message}");
    let mut shown = vec![];
    match &row["interface"] {
        Json::Object(object) if entry != "interface" && !object.contains_key(entry) => {
            shown.push("missing".into());
        }
        Json::Object(object) if entry != "interface" => printed(&object[entry], &mut shown),
        Json::Object(_) => shown.push("missing".into()),
        other => printed(other, &mut shown),
    }
    assert!(shown.iter().any(|shown| message.contains(shown)), "{message}: none of {shown:?}");
}

/// Says the array as a dict and reads that, strictly: the same array must come back.
fn check_written(array: &Array) {
    let interface = Interface::write(array.borrow(), 3).unwrap();
    let described = interface.read(Strictness::Strict).unwrap();
    // SAFETY: the array is only looked at.
    let again = unsafe { described.borrow() };
    assert_eq!((again.data(), again.shape()), (array.data(), array.shape()));
    assert_eq!((again.dtype(), again.descr()), (array.dtype(), array.descr()));
    assert_eq!(again.is_readonly(), array.is_readonly());
    assert_eq!(again.mask().map(|mask| mask.dtype()), array.mask().map(|mask| mask.dtype()));
    assert_eq!(again.layout().c_contiguous, array.layout().c_contiguous);
    if array.layout().size > 0 && !array.layout().c_contiguous {
        assert_eq!(again.layout(), array.layout());
    }
    let unstated = array.pending() == Pending::Unstated;
    assert_eq!(again.pending(), if unstated { Pending::Stream(1) } else { array.pending() });

    match (array.pending(), Interface::write(array.borrow(), 2)) {
        (Pending::Stream(_), written) => assert!(matches!(written, Err(Error::Export(_)))),
        (_, written) => assert_eq!(written.unwrap().stream, Value::Missing),
    }
    assert!(matches!(Interface::write(array.borrow(), 4), Err(Error::Argument(_))));
}

#[test]
fn judges_every_case() {
    let rows = rows();
    assert!(rows.len() >= 159, "{} rows", rows.len());
    for row in &rows {
        for (name, mode) in [("strict", Strictness::Strict), ("lenient", Strictness::Lenient)] {
            let context = format!("{}, {name}", row["id"]);
            let interface = interface(&row["interface"]);
            let findings = interface.findings(mode).unwrap();
            let worst = findings.iter().find(|finding| finding.severity == Severity::Error);
            match (interface.read(mode), row[name]["reject"].as_str()) {
                (Err(error), Some(entry)) => {
                    check_refused(row, entry, &error);
                    assert_eq!(worst.unwrap().entry, error.entry(), "{context}");
                }
                (Ok(described), None) => {
                    assert!(worst.is_none(), "{context}: {worst:?}");
                    // SAFETY: nobody uses the memory.
                    let array = unsafe {
                        assert_eq!(facts(described.borrow()), row[name]["ok"], "{context}");
                        described.borrow().own(()).unwrap()
                    };
                    drop(described);
                    assert_eq!(facts(array.borrow()), row[name]["ok"], "{context}");
                    check_written(&array);
                }
                (Err(error), None) => panic!("{context}: {error}"),
                (Ok(_), Some(entry)) => panic!("{context}: taken, though {entry} is wrong"),
            }
            for finding in findings {
                assert!(!finding.clause.is_empty(), "{context}: {finding:?}");
                assert!(finding.text.contains(&finding.entry.unwrap().to_string()), "{context}");
            }
        }
    }
}

#[test]
fn reads_and_writes_the_hosts_interface() {
    let array = Array::from_vec(vec![1i16, 2, 3, 4], &[2, 2]).unwrap();
    let interface = Interface::write(array.borrow(), 3).unwrap();
    assert_eq!(interface.protocol, libcai::Protocol::Host);
    assert_eq!(interface.stream, Value::Missing);
    let described = interface.read(Strictness::Strict).unwrap();
    // SAFETY: the array is only looked at.
    let again = unsafe { described.borrow() };
    assert_eq!((again.device_type(), again.data()), (array.device_type(), array.data()));
    assert!(format!("{described:?}").contains("[2, 2]"));

    let mut moved = interface.clone();
    moved.offset = 8.into();
    assert_eq!(moved.read(Strictness::Lenient).unwrap_err().entry(), Some(Entry::Offset));
}

/// NumPy's text has such. The typestr is the truth.
#[test]
fn takes_a_descr_of_any_kind() {
    let part = |name: &'static str| Value::Tuple([name.into(), "<f4".into()].into());
    let mut interface = Interface::default();
    interface.shape = [2].into();
    interface.typestr = "<c8".into();
    interface.data = Value::Tuple([ADDRESS.into(), false.into()].into());
    interface.version = 3.into();
    interface.descr = Value::List([part("real"), part("imag")].into());
    let array = interface.read(Strictness::Strict).unwrap();
    // SAFETY: the array is only looked at.
    let array = unsafe { array.borrow() };
    assert_eq!(array.dtype(), "<c8".parse().unwrap());
    assert_eq!(array.descr().iter().map(|field| field.offset).collect::<Vec<_>>(), [0, 4]);

    interface.descr = Value::List([part("real")].into());
    assert_eq!(interface.read(Strictness::Lenient).unwrap_err().entry(), Some(Entry::Descr));
}

#[test]
fn refuses_values_that_go_too_deep_or_too_far() {
    let mut interface = Interface::default();
    interface.shape = [2].into();
    interface.typestr = "|V4".into();
    interface.data = Value::Tuple([ADDRESS.into(), false.into()].into());
    interface.version = 3.into();
    assert!(interface.read(Strictness::Strict).is_ok());

    let mut descr: Value<'_> = "|V4".into();
    for depth in 1..=sys::CAI_MAX_DESCR_DEPTH + 1 {
        descr = Value::List([Value::Tuple(["x".into(), descr].into())].into());
        interface.descr = descr.clone();
        let is_read = interface.read(Strictness::Strict).is_ok();
        assert_eq!(is_read, depth <= sys::CAI_MAX_DESCR_DEPTH, "{depth}");
    }
    interface.descr = Value::Missing;

    let mut deep = Value::List([].into());
    for _ in 0..50_000 {
        deep = Value::List([Value::Tuple(["".into(), deep].into())].into());
    }
    for entry in ["descr", "shape", "mask", "stream"] {
        let mut interface = interface.clone();
        let place = match entry {
            "descr" => &mut interface.descr,
            "shape" => &mut interface.shape,
            "mask" => &mut interface.mask,
            _ => &mut interface.stream,
        };
        *place = deep.clone();
        let error = interface.read(Strictness::Lenient).unwrap_err();
        assert_eq!(error.entry().unwrap().to_string(), entry, "{error}");
        assert_eq!(interface.clone(), interface);
    }

    let mut masked = interface.clone();
    for _ in 0..3 {
        masked.mask = masked.clone().into();
    }
    assert_eq!(masked.read(Strictness::Lenient).unwrap_err().entry(), Some(Entry::Mask));

    for _ in 0..50_000 {
        let mask = mem::take(&mut masked);
        masked = interface.clone();
        masked.mask = mask.into();
    }
    assert_eq!(masked.clone(), masked);
    assert!(format!("{masked:?}").len() < 1_000_000);
    assert_eq!(masked.read(Strictness::Lenient).unwrap_err().entry(), Some(Entry::Mask));

    interface.shape = Value::Tuple([Value::Int(i128::MIN)].into());
    let error = interface.read(Strictness::Lenient).unwrap_err();
    assert!(error.to_string().contains(&i128::MIN.to_string()), "{error}");
}

#[test]
fn takes_text_that_is_not_utf8_for_what_it_is() {
    let mut interface = Interface::default();
    interface.shape = [2].into();
    interface.data = Value::Tuple([ADDRESS.into(), false.into()].into());
    interface.version = 3.into();
    interface.typestr = Value::Text([b'<', 0xff, 0, b'4'].as_slice().into());
    assert_eq!(interface.read(Strictness::Lenient).unwrap_err().entry(), Some(Entry::Typestr));
    assert!("<f4\0".parse::<DType>().is_err());
    assert!("".parse::<DType>().is_err());
    assert_eq!(sys::CAI_TYPESTR_SIZE, 32);
}
