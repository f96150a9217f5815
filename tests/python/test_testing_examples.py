# SPDX-License-Identifier: BSD-3-Clause
"""What docs/testing.rst shows: the races are found, and the mended tests pass."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from helpers import LIMIT, LONG, ROOT
from simulation import lazy_and
from test_testing_plugin import environment

pytestmark = pytest.mark.slow

LIBRARIES = pytest.mark.parametrize(
    "library", ["core", pytest.param("numba", marks=pytest.mark.long)]
)
KIT = ROOT / "examples/kit"
PAGE = (ROOT / "docs/testing.rst").read_text(encoding="utf-8")

# The checks collect garbage after each array, and Numba is large.
FROZEN = """
import gc

def pytest_collection_finish():
    gc.freeze()
"""


@pytest.fixture
def run(tmp_path):
    """Runs Python where somebody new has copied the page's files to."""
    for file in KIT.glob("*.py"):
        shutil.copy(file, tmp_path)
    (tmp_path / "conftest.py").write_text(FROZEN)

    def run(*arguments, **more):
        return subprocess.run(
            [sys.executable, "-m", *arguments],
            cwd=tmp_path,
            env=environment(**more),
            capture_output=True,
            text=True,
            timeout=LIMIT,
        )

    return run


def line_of(name, text):
    """The number of the only line of a file with this text."""
    lines = (KIT / name).read_text().splitlines()
    (found,) = [number for number, line in enumerate(lines, 1) if text in line]
    return found


def pytest_of(run, name, *options):
    done = run("pytest", "-p", "no:hypothesispytest", *options, name)
    return done.returncode, done.stdout


@LIBRARIES
@pytest.mark.parametrize("schedule", lazy_and("eager", "random:1"))
def test_races_are_found(run, library, schedule):
    """Under each schedule, whether or not the values are wrong in it."""
    name = f"test_{library}_raced.py"
    status, out = pytest_of(run, name, f"--simcuda-schedules={schedule}")
    assert status == 1
    assert "1 failed" in out
    assert out.count("simcuda: race: nothing orders ") == 1
    assert f"schedule {schedule}" in out
    line = line_of(name, "(found, stream=reader)" if library == "numba" else "found.copy_from")
    assert re.search(rf'File ".*{name}", line {line} in test_what_was', out)
    if library == "numba":
        assert f'"{name}", line {line - 1} in test_what_was' in PAGE  # shown without its first line
    assert ("it raced" if schedule == "eager" else "raced") in out
    if schedule == "lazy":
        assert "It also raced:" in out  # here the numbers are wrong, too


@LIBRARIES
def test_mended_tests_pass(run, library):
    status, out = pytest_of(run, f"test_{library}_mended.py", f"--simcuda-seeds={5 if LONG else 1}")
    assert (status, "1 passed" in out) == (0, True), out


@pytest.mark.parametrize("name", ["test_producer.py", "test_consumer.py", "test_importer.py"])
def test_checks_pass(run, name):
    status, out = pytest_of(run, name)
    assert status == 0, out
    assert re.search(r"\d+ passed in", out)


@pytest.mark.long
def test_a_producer_that_hides_its_stream_is_found(run, tmp_path):
    """The page's producer without the stream in its dict."""
    file = tmp_path / "test_producer.py"
    text = file.read_text()
    changed = text.replace("return array ", "array.stream = 0\n    return array ")
    assert changed != text
    file.write_text(changed)
    status, out = pytest_of(run, "test_producer.py")
    assert status == 1, out
    assert "nothing orders" in out


@pytest.mark.long
def test_a_consumer_that_does_not_wait_is_found(run, tmp_path):
    file = tmp_path / "test_consumer.py"
    text = file.read_text()
    changed = text.replace(
        "cuda.as_cuda_array(array).copy_to_host()",
        "cuda.as_cuda_array(array, sync=False).copy_to_host(stream=cuda.stream())",
    )
    assert changed != text
    file.write_text(changed)
    status, out = pytest_of(run, "test_consumer.py")
    assert status == 1, out
    assert "plain: it is read as" in out


def test_the_program(run):
    done = run("libcai", "sim", "python", "program.py", PATH=path())
    assert done.returncode == 66
    assert "nothing orders cuMemsetD8Async" in done.stderr
    done = run("libcai", "sim", "--seeds=20", "python", "program.py", PATH=path())
    assert done.returncode == 66
    assert "seed 1: the program raced" in done.stderr
    done = run(
        "libcai",
        "sim",
        "--races=abort",
        "python",
        "program.py",
        PATH=path(),
        PYTHONFAULTHANDLER="1",
    )
    assert done.returncode == 134
    line = line_of("program.py", "found.copy_from")
    assert re.search(rf'File ".*program.py", line {line} in <module>', done.stderr)
    quiet = run("libcai", "sim", "--races=off", "python", "program.py", PATH=path())
    assert quiet.returncode == 0


def path():
    return f"{Path(sys.executable).parent}:{os.environ['PATH']}"


def test_the_page_shows_these_files():
    shown = set(re.findall(r"literalinclude:: \.\./examples/kit/(\S+)", PAGE))
    assert shown == {file.name for file in KIT.iterdir() if file.is_file()}
    # Every line that is pointed out is there.
    for name, lines in re.findall(
        r"examples/kit/(\S+)\n(?:   :(?!emph).*\n)*   :emphasize-lines: (\S+)", PAGE
    ):
        text = (KIT / name).read_text().splitlines()[1:]
        first, _, last = lines.partition("-")
        pointed = text[int(first) - 1 : int(last or first)]
        assert len(pointed) >= 1
        assert all("copied" in line or "wait" in line for line in pointed), (name, pointed)


def test_the_page_names_the_markers_arguments():
    from libcai.testing._marker import Settings

    assert set(re.findall(r"^``(\w+)``$", PAGE, re.MULTILINE)) == set(Settings.__dataclass_fields__)
