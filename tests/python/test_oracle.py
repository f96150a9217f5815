# SPDX-License-Identifier: BSD-3-Clause
"""libcai's reading against the oracle's, oracle.py: the shared cases, and random dicts."""

import hashlib
import json
import os
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from cases import CASES, Case
from helpers import LIMIT, ROOT
from judging import disagreement
from oracle import CHOICES, Judge
from test_cases import facts_of_cdata

import libcai.cffi
from libcai import _library

KEPT = ROOT / "build/results/oracle.json"
AT_ONCE = 250_000


@pytest.mark.parametrize("mode", ["lenient", "strict"])
@pytest.mark.parametrize("row", CASES, ids=[row["id"] for row in CASES])
def test_shared_cases(row, mode):
    """They were settled by hand: the oracle is right, too."""
    judge = Judge(Case(row).value, mode == "strict")
    if "reject" in row[mode]:
        assert row[mode]["reject"] in judge.faults
        return
    assert not judge.faults
    facts = {**judge.facts, "ndim": len(judge.facts["shape"]), "masked": bool(judge.facts["mask"])}
    facts["lo"], facts["hi"] = facts["extent"]
    said = row[mode]["ok"]
    assert {key: facts[key] for key in said} == {
        key: tuple(fact) if isinstance(fact, list) else fact for key, fact in said.items()
    }


def test_choices():
    """The table is used, whole; strict reading takes nothing that lenient reading does not."""
    text = Path(__file__).with_name("oracle.py").read_text(encoding="utf-8")
    for name, choice in CHOICES.items():
        assert f'choose("{name}")' in text, name
        assert choice.lenient >= choice.strict
        assert choice.reason


def judged(first, count):
    """Judges dicts in a process of their own, so that a crash is one process's."""
    script = Path(__file__).with_name("judging.py")
    done = subprocess.run(
        [sys.executable, script, str(first), str(count)],
        capture_output=True,
        text=True,
        timeout=LIMIT,
    )
    assert done.returncode == 0, (done.returncode, done.stdout[-3000:], done.stderr[-3000:])
    assert done.stdout == f"0 disagreements over {count} dicts\n"


@pytest.mark.slow
def test_dicts(record_property):
    judged(0, 100_000)
    record_property("dicts", 100_000)


def test_dicts_by_cffi():
    """The same unpacking in Python: fewer of them, and what a cdata says."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number in range(2000):
            for strict in (False, True):
                said = disagreement(number, strict, libcai.cffi.array_from, facts_of_cai)
                assert said is None, (number, strict)


def facts_of_cai(array):
    facts = facts_of_cdata(array)
    return {name: facts[name] for name in ("size", "kind", "byteorder", "itemsize", "version",
                                           "readonly", "stream", "strides_given", "c_contiguous",
                                           "f_contiguous")}  # fmt: skip


@pytest.mark.parametrize("number", [7617041])  # a field that is a list of no fields
def test_what_was_judged_apart_once(number):
    assert [disagreement(number, strict) for strict in (True, False)] == [None, None]


def sources():
    """The subjects of the verdicts."""
    digest = hashlib.sha256(Path(_library.LIBRARY).read_bytes())
    for name in ("oracle.py", "judging.py"):
        digest.update(Path(__file__).with_name(name).read_bytes())
    for module in sorted(Path(_library.__file__).parent.glob("_core*")):
        digest.update(module.read_bytes())
    return digest.hexdigest()


@pytest.mark.slow
@pytest.mark.long
def test_many_dicts_at_random(record_property):
    """Ten million; what an interrupted run has judged of the same sources is not judged again."""
    ours = sources()
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    done = kept["done"] if kept.get("of") == ours else 0
    processes = os.cpu_count() or 1
    KEPT.parent.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(processes) as pool:
        while done < 10_000_000:
            starts = range(done, done + processes * AT_ONCE, AT_ONCE)
            list(pool.map(lambda first: judged(first, AT_ONCE), starts))
            done += processes * AT_ONCE
            KEPT.write_text(json.dumps({"of": ours, "done": done}))
    record_property("dicts", done)
