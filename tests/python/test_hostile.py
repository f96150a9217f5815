# SPDX-License-Identifier: BSD-3-Clause
"""Cases of hostile.py and the scripts of its name, each many in a process of their own: what kills
it is that process's death, and its number is told."""

import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from helpers import LIMIT, ROOT
from simulation import environment

SCRIPTS = ["hostile", "hostile_tables", "hostile_modules", "hostile_arrow"]
SIMULATED = ["hostile_arguments", "hostile_handles"]  # with streams, and with another process
SCRIPTS += SIMULATED
KEPT = ROOT / "build/results/hostile.json"
MORE = int(os.environ.get("CAI_FUZZ_PYTHON", "400000"))  # in each long run, of each script
AT_ONCE = 5_000


def around(script):
    """The environment of a script."""
    return environment(SIMCUDA="1", SIMCUDA_BANNER="0") if script in SIMULATED else os.environ


def run(code, first, count, around=os.environ):
    """Runs a script, or code that has one's arguments; returns what it printed."""
    command = [sys.executable, *code, str(first), str(count)]
    with tempfile.TemporaryFile() as at:
        number = at.fileno()
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=LIMIT,
            cwd=Path(__file__).parent,
            env={**around, "HOSTILE_AT": str(number)},
            pass_fds=[number],
        )
        at.seek(0)
        last = at.read().decode().strip()
    said = f"{code[-1]}: ended at case {last} with {done.returncode}\n"
    return done.returncode, said + done.stdout[-3000:] + done.stderr[-3000:], done.stdout


def play(script, first, count):
    status, said, printed = run([f"{script}.py"], first, count, around(script))
    assert status == 0, said
    assert printed == f"0 faults in {count} cases\n"


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS)
def test_cases(script, record_property):
    play(script, 0, 5000)
    record_property("cases", 5000)


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS)
def test_corpus(script, record_property):
    """What each case ends in, too: so that a change of a generator is seen, and `record` run."""
    done = subprocess.run(
        [sys.executable, "replaying.py", script],
        capture_output=True,
        text=True,
        timeout=LIMIT,
        cwd=Path(__file__).parent,
        env=around(script),
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert done.stdout.startswith("0 faults in ")
    record_property("cases", int(done.stdout.split()[3]))


CODE = """
import os, sys, hostile
def wrong(exporter, strict):
    return {"shape": ("none has this",)}
def play(number):
    if number == 7 and sys.argv[1] == "0":
        os.abort()
    hostile.READERS = (wrong,)
    return hostile.play(number)
sys.exit(hostile.play_many(*map(int, sys.argv[1:]), play))
"""


def test_what_kills_is_named():
    status, said, _ = run(["-c", CODE], 0, 10)
    assert status != 0
    assert "ended at case 7 with" in said


def test_what_is_read_wrongly_is_found():
    status, _, printed = run(["-c", CODE], 100, 200)
    assert status == 1
    assert "libcai: shape ('none has this',)" in printed


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("script", SCRIPTS)
def test_more_cases_at_random(script, record_property):
    """Goes on where the last run ended, whatever the sources were: the total is kept."""
    processes = os.cpu_count() or 1
    KEPT.parent.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(processes) as pool:
        left = MORE
        while left > 0:
            totals = json.loads(KEPT.read_text()) if KEPT.exists() else {}
            done = totals.get(script, 0)
            counts = [min(AT_ONCE, left - i * AT_ONCE) for i in range(processes)]
            counts = [count for count in counts if count > 0]
            starts = [done + i * AT_ONCE for i in range(len(counts))]
            list(pool.map(lambda first, count: play(script, first, count), starts, counts))
            left -= sum(counts)
            totals[script] = done + sum(counts)
            KEPT.write_text(json.dumps(totals))
    record_property("cases", totals[script])
