# SPDX-License-Identifier: BSD-3-Clause
"""What `libcai check --as` says of other libraries: by rules of theirs, and by themselves."""

import json
import subprocess
from importlib import metadata
from pathlib import Path

import pytest
from helpers import ADDRESS, LIMIT, ROOT, Cuda, interface
from reading_cases import cases, cases_of_numba
from simulation import run

from libcai import check
from libcai._cli import _readers
from libcai._cli.check import READERS, _judged

CASES, OF_NUMBA = cases(ADDRESS), cases_of_numba(ADDRESS)
OTHERS = ["import", *_readers.READERS]


def judged(name, given):
    target = Cuda(given)
    return _judged(name, target, check(target))


@pytest.mark.parametrize("case", CASES)
def test_who_refuses(case):
    given, refused = CASES[case]
    found = {name: judged(name, given) for name in OTHERS}
    refusing = {name for name, one in found.items() if not one["takes"]}
    if not check(Cuda(given)):
        refusing.add("strict")
    assert refusing == set(refused.split()), found
    for one in found.values():
        severities = [remark["severity"] for remark in one["remarks"]]
        assert ("error" in severities) is not one["takes"]


@pytest.mark.parametrize("case", OF_NUMBA)
def test_what_numba_refuses(case):
    given, refuses = OF_NUMBA[case]
    found = judged("numba", given)
    assert found["takes"] is not refuses, found


@pytest.mark.parametrize(
    ("reader", "changes", "entry"),
    [
        ("numba", {"data": (ADDRESS, True)}, "data"),
        ("cupy", {"data": (ADDRESS, True)}, "data"),
        ("numba", {"stream": 0}, "stream"),
        ("cupy", {"stream": 0}, "stream"),
        ("torch", {"stream": 7}, "stream"),
        ("torch", {"typestr": ">f4"}, "typestr"),
        ("torch", {"mask": 1}, "mask"),
        ("torch", {"strides": (-12, 4)}, "strides"),
        ("torch", {"data": (0, False)}, "data"),
        ("numba", {"data": (0, False)}, "data"),
        ("numba", {"version": 0, "mask": 1}, "mask"),
        ("numba", {"shape": (-1, 3)}, "shape"),
        ("numba", {"typestr": "|V8", "descr": [("a", "<f8")]}, "descr"),
        ("numba", {"typestr": "|O8"}, "typestr"),
        ("cupy", {"typestr": "|O8"}, "typestr"),
    ],
)
def test_what_is_lost_by_one_that_takes_it(reader, changes, entry):
    found = judged(reader, interface(**changes))
    assert found["takes"]
    assert [remark["severity"] for remark in found["remarks"]] == ["warning"]
    assert found["remarks"][0]["text"].startswith(f"{entry}: ")


def test_nothing_is_said_of_a_lawful_dict():
    for name in OTHERS:
        assert judged(name, interface()) == {**judged(name, interface()), "remarks": []}


def test_an_error_says_what_was_expected_then_what_came_then_what_to_do():
    (remark,) = judged("cupy", interface(shape=[2, 3]))["remarks"]
    assert remark["text"] == (
        "shape: expected a tuple, no subclass, got [2, 3]: write tuple(shape)"
    )
    (remark,) = judged("torch", interface(strides=(13, 4)))["remarks"]
    expected, got, advice = (remark["text"].index(text) for text in ("multiples of", "13", "copy"))
    assert expected < got < advice


def test_arrays_on_the_host():
    import numpy as np

    array = np.ones((2, 3))
    for name in _readers.READERS:
        found = _judged(name, array, check(array))
        assert not found["takes"]
        assert "copy it to the GPU" in found["remarks"][0]["text"]
    assert _judged("import", array, check(array))["takes"]


def test_every_reader_is_offered():
    assert list(READERS) == ["strict", *OTHERS]


# ---- numba-cuda itself ---------------------------------------------------------------------------

ASKED = """
import json
from numba import cuda as numba_cuda
from reading_cases import cases, cases_of_numba

numba_cuda.current_context()
memory = new_memory()
refused = []
given = cases(memory.value) | cases_of_numba(memory.value)
for name, (given, _) in given.items():
    try:
        numba_cuda.as_cuda_array(Cuda(given))
    except Exception:
        refused.append(name)
print(json.dumps(refused))
"""


@pytest.mark.slow
def test_numba_refuses_what_is_said_of_it():
    refused = json.loads(run(ASKED).splitlines()[-1])
    said = {name for name, (_, who) in CASES.items() if "numba" in who.split()}
    assert set(refused) == said | {name for name, (_, refuses) in OF_NUMBA.items() if refuses}


def test_the_version_is_the_one_that_is_tested():
    assert metadata.version("numba-cuda") == _readers.READERS["numba"].version


# ---- PyTorch itself, as far as it goes without a driver ------------------------------------------

ASKED_OF_PYTORCH = f"""
import json, sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
import torch
from helpers import ADDRESS, Cuda
from reading_cases import cases

refused = []
for name, (given, _) in cases(ADDRESS).items():
    try:
        torch.as_tensor(Cuda(given), device="cuda")
    except Exception as error:
        if "NVIDIA driver" not in str(error):  # all has been read by then
            refused.append(name)
print(json.dumps([torch.__version__, refused]))
"""


@pytest.mark.long
def test_pytorch_refuses_what_is_said_of_it():
    python = ROOT / ".venv-frameworks/bin/python"
    done = subprocess.run(
        [python, "-c", ASKED_OF_PYTORCH], capture_output=True, text=True, timeout=LIMIT
    )
    assert done.returncode == 0, done.stderr
    version, refused = json.loads(done.stdout.splitlines()[-1])
    assert version.partition("+")[0] == _readers.READERS["torch"].version
    said = {name for name, (_, who) in CASES.items() if "torch" in who.split()}
    # No driver, no look at the address.
    assert set(refused) == said - {"a pointer below 0"}
