# SPDX-License-Identifier: BSD-3-Clause
"""tests/cases/import.json through the compiled module, the lint and cffi."""

import sys

import pytest
from cases import CASES, Case, offending

import libcai
import libcai.cffi
from libcai.cffi import ffi, lib

VERDICTS = [
    pytest.param(row, mode, id=f"{row['id']}-{mode}")
    for row in CASES
    for mode in ("lenient", "strict")
]


def facts_of(array):
    lo, hi = array.extent
    return {
        "version": array.version,
        "ndim": array.ndim,
        "shape": list(array.shape),
        "strides": list(array.strides),
        "strides_given": array.strides_given,
        "size": array.size,
        "kind": array.kind,
        "byteorder": array.byteorder,
        "itemsize": array.itemsize,
        "readonly": array.readonly,
        "stream": array.stream,
        "masked": array.mask is not None,
        "c_contiguous": array.c_contiguous,
        "f_contiguous": array.f_contiguous,
        "lo": lo,
        "hi": hi,
    }


def facts_of_cdata(array):
    layout = ffi.new("cai_layout *")
    assert lib.cai_array_layout(array, layout, ffi.NULL) == 0
    none = array.stream_kind in (lib.CAI_STREAM_NONE, lib.CAI_STREAM_UNSTATED)
    return {
        "version": array.version,
        "ndim": array.ndim,
        "shape": [array.shape[i] for i in range(array.ndim)],
        "strides": [array.strides[i] for i in range(array.ndim)],
        "strides_given": not array.flags & lib.CAI_FLAG_STRIDES_NONE,
        "size": layout.size,
        "kind": chr(array.dtype.kind),
        "byteorder": chr(array.dtype.byteorder),
        "itemsize": array.dtype.itemsize,
        "readonly": bool(array.flags & lib.CAI_FLAG_READONLY),
        "stream": None if none else array.stream,
        "masked": array.mask != ffi.NULL,
        "c_contiguous": bool(layout.c_contiguous),
        "f_contiguous": bool(layout.f_contiguous),
        "lo": layout.lo,
        "hi": layout.hi,
    }


def judge(read, facts, row, mode):
    case = Case(row)
    verdict = row[mode]
    producer = case.producer
    before = sys.getrefcount(producer)
    if "ok" in verdict:
        array = read(producer, strict=mode == "strict")
        found = facts(array)
        assert {key: found[key] for key in verdict["ok"]} == verdict["ok"]
        assert sys.getrefcount(producer) == before + 1
        del array, found
    else:
        entry = verdict["reject"]
        with pytest.raises((libcai.InterfaceError, libcai.InterfaceTypeError)) as caught:
            read(producer, strict=mode == "strict")
        error = caught.value
        assert error.entry == entry
        assert entry in str(error)
        assert any(text in str(error) for text in offending(case, entry)), str(error)
        if entry != "interface" and entry in case.value:
            assert error.value is case.value[entry]
        del caught, error
    assert sys.getrefcount(producer) == before


@pytest.mark.parametrize(("row", "mode"), VERDICTS)
def test_asarray(row, mode):
    judge(libcai.asarray, facts_of, row, mode)


@pytest.mark.parametrize(("row", "mode"), VERDICTS)
def test_cffi(row, mode):
    judge(libcai.cffi.array_from, facts_of_cdata, row, mode)


@pytest.mark.parametrize("row", CASES, ids=[row["id"] for row in CASES])
def test_check(row):
    case = Case(row)
    report = libcai.check(case.producer)
    errors = [finding for finding in report.findings if finding.severity == "error"]
    assert bool(report) == ("ok" in row["strict"]) == (not errors)
    if errors:
        assert row["strict"]["reject"] in {finding.entry for finding in errors}
        assert errors[0].entry == row["strict"]["reject"]
    for finding in report.findings:
        assert finding.entry in finding.text
        assert finding.clause
    assert str(report)


@pytest.mark.parametrize("row", CASES, ids=[row["id"] for row in CASES])
def test_from_interface(row):
    case = Case(row)
    if "ok" in row["lenient"]:
        assert facts_of(libcai.from_interface(case.value))["shape"] == row["lenient"]["ok"]["shape"]
    else:
        with pytest.raises((libcai.InterfaceError, libcai.InterfaceTypeError)) as caught:
            libcai.from_interface(case.value)
        assert caught.value.entry == row["lenient"]["reject"]
