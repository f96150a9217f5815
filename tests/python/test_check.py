# SPDX-License-Identifier: BSD-3-Clause
"""The lint: every finding, its parts, and how it prints."""

import json

import numpy as np
import pytest
from helpers import Cuda, interface, producer

import libcai


def test_a_good_producer():
    report = libcai.check(producer())
    assert report
    assert report.ok is True
    assert isinstance(report, libcai.Report)
    assert report.subject == "Cuda"
    assert report.protocol == "__cuda_array_interface__"
    assert "follows" in str(report)


def test_all_errors_are_found():
    report = libcai.check(producer(shape=[2, -1], stream=0, version=2, data=(0x1000, 1)))
    assert not report
    found = {finding.entry for finding in report.findings if finding.severity == "error"}
    assert {"shape", "version", "data"} <= found
    for finding in report.findings:
        assert isinstance(finding, libcai.Finding)
        assert finding.severity in ("error", "warning", "advice")
        assert finding.entry in finding.text
        assert finding.clause
        assert finding.text in str(report)
        assert finding.clause in str(report)
        assert finding.index is None or finding.index >= 0
        with pytest.raises(AttributeError):
            finding.entry = "else"


def test_values_are_shown():
    (finding,) = [f for f in libcai.check(producer(typestr="<f3")).findings if f.entry == "typestr"]
    assert "<f3" in finding.value
    assert "<f3" in finding.text


def test_a_mask_is_judged_too():
    assert libcai.check(producer(mask=producer(typestr="|b1")))
    report = libcai.check(producer(mask=producer(typestr="|b1", version=2)))
    assert not report
    assert {f.entry for f in report.findings if f.severity == "error"} == {"mask"}


def test_the_producer_s_own_error_passes():
    class Raising:
        @property
        def __cuda_array_interface__(self):
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        libcai.check(Raising())
    with pytest.raises(libcai.InterfaceTypeError):
        libcai.check(object())
    assert not libcai.check(Cuda(None))


def test_host_arrays_and_our_own():
    assert libcai.check(np.ones((2, 3))).protocol == "__array_interface__"
    assert libcai.check(np.ones((2, 3)))
    assert libcai.check(libcai.asarray(producer(shape=[2, 3], stream=0)))


def test_arrays_of_the_host_without_elements_may_have_an_address():
    for array in (np.zeros(0), np.zeros((2, 0, 3)), libcai.asarray(np.zeros(0))):
        assert array.__array_interface__["data"][0] != 0
        report = libcai.check(array)
        assert report.ok, report


def test_json():
    report = libcai.check(producer(shape=[2, 3]))
    again = json.loads(json.dumps(report.to_json()))
    assert again["ok"] is False
    assert again["findings"][0]["entry"] == "shape"
    assert set(again["findings"][0]) == {"entry", "value", "clause", "severity", "text", "index"}


def test_the_dict_is_not_touched():
    mapping = interface(shape=[2, 3])
    before = dict(mapping)
    libcai.check(Cuda(mapping))
    assert mapping == before
