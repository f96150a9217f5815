# SPDX-License-Identifier: BSD-3-Clause
"""The explorer's programs, tests/explore, through libcai.use and libcai.Array."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from building import build_explorer
from helpers import LIMIT, ROOT
from simulation import environment

pytestmark = pytest.mark.slow


@pytest.fixture
def explore(built, record_property):
    """Plays programs; returns how many, which is also in the report, and what was said."""
    library = built("explorer", build_explorer) / "explorer.so"
    script = Path(__file__).with_name("exploring.py")

    def play(how, *arguments, status=0):
        settings = {
            "SIMCUDA": "1",
            "SIMCUDA_BANNER": "0",
            "SIMCUDA_QUIET_MS": "0",
            "SIMCUDA_RACES": "count",
            "SIMCUDA_STRICT": "1",
        }
        done = subprocess.run(
            [sys.executable, "-W", "error", script, library, how, *map(str, arguments)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=LIMIT,
            env=environment(**settings),
        )
        assert done.returncode == status, done.stdout
        programs = sum(map(int, re.findall(r"in (\d+) programs", done.stdout)))
        record_property("programs", programs)
        print(done.stdout)
        return programs, done.stdout

    return play


@pytest.mark.parametrize("depth", [2, pytest.param(3, marks=pytest.mark.long)])
@pytest.mark.parametrize("how", ["numbers", "objects"])
def test_programs_of_so_many_steps(explore, how, depth):
    """All of them; order, refusals, records and waits are as the model has them."""
    programs, said = explore(how, "all", depth)
    assert programs > 3000
    # What a run leaves to cai.h is everything for which this package has no name.
    assert re.findall(r"has no (\w+)", said) == ["release_on"]


@pytest.mark.parametrize("count", [20_000, pytest.param(1_000_000, marks=pytest.mark.long)])
def test_longer_programs_at_random(explore, count):
    """But for what a dict has published for itself, and is given to nobody."""
    programs, said = explore("objects", "random", count, 1)
    assert programs == count
    left_out = re.search(r"# (\d+) are left out from where Python has no such array", said)
    assert int(left_out[1]) < count / 100


@pytest.mark.parametrize("count", [10_000, pytest.param(1_000_000, marks=pytest.mark.long)])
def test_blocks_that_the_collector_finds(explore, count):
    """Order is kept, nothing is refused, and the memory goes once and in the end."""
    programs, _ = explore("collected", "hunt", 2, count, 1)
    assert programs > count + 3000


def test_programs_that_were_wrong_once(explore):
    corpus = ROOT / "tests/explore/corpus.txt"
    _, said = explore("objects", "replay", corpus)
    lines = [line for line in corpus.read_text().splitlines() if line and line[0] != "#"]
    assert len(re.findall(r"^ok \d+", said, re.MULTILINE)) == len(lines)


def test_without_order_the_explorer_tells(explore):
    _, said = explore("unordered", "all", 2, status=1)
    assert "libcai leaves two pieces of work without order" in said
