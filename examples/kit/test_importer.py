# SPDX-License-Identifier: BSD-3-Clause
import pytest

from libcai import asarray  # in place of an importer of yours
from libcai.testing import conformance_cases


@conformance_cases
def test_import(case):
    if case.accepted:
        array = asarray(case.exporter)
        assert list(array.shape) == case.facts["shape"]
        assert list(array.strides) == case.facts["strides"]
        assert array.stream == case.facts["stream"]
        assert array.readonly == case.facts["readonly"]
    else:
        with pytest.raises((TypeError, ValueError), match=case.entry):
            asarray(case.exporter)
