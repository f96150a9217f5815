# SPDX-License-Identifier: BSD-3-Clause
"""What docs/testing.md shows: the races are found, and the fixed tests pass."""

import os
import re
import subprocess
import sys

import pytest
from helpers import LIMIT, LONG, PROJECT
from test_plugin import environment

PAGE = (PROJECT / "docs/testing.md").read_text(encoding="utf-8")
# Each file by its name: a comment says it before the block.
FILES = dict(re.findall(r"<!-- (\S+\.py) -->\n```python\n(.*?)```\n", PAGE, re.DOTALL))
LIBRARIES = pytest.mark.parametrize("library", ["core", "numba"])


@pytest.fixture
def run(tmp_path):
    """Runs Python in a folder with copies of the page's files."""
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)

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
    (found,) = [n for n, line in enumerate(FILES[name].splitlines(), 1) if text in line]
    return found


def pytest_of(run, name, *options):
    done = run("pytest", "-p", "no:hypothesispytest", *options, name)
    return done.returncode, done.stdout


@LIBRARIES
@pytest.mark.parametrize("schedule", ["lazy", "eager", "random:1"])
def test_races_are_found(run, library, schedule):
    """Under each schedule, whether or not the values are wrong in it."""
    name = f"test_{library}_raced.py"
    status, out = pytest_of(run, name, f"--simcuda-schedules={schedule}")
    assert status == 1
    assert "1 failed" in out
    assert out.count("simcuda: race: nothing orders ") == 1
    assert f"schedule {schedule}" in out
    line = line_of(name, "(found, stream=reader)" if library == "numba" else "found.copy_from")
    assert re.search(rf"called at {name}:{line} in test_what_was", out)
    if library == "numba":
        assert f"called at {name}:{line} in test_what_was" in PAGE
    assert ("it raced" if schedule == "eager" else "raced") in out
    if schedule == "lazy":
        assert "It also raced:" in out  # here the numbers are wrong, too


@LIBRARIES
def test_mended_tests_pass(run, library):
    status, out = pytest_of(run, f"test_{library}_mended.py", f"--simcuda-seeds={5 if LONG else 1}")
    assert (status, "1 passed" in out) == (0, True), out


def test_the_fixture_is_used_as_shown(run):
    status, out = pytest_of(run, "test_fixture.py")
    assert (status, "1 passed" in out) == (0, True), out


def test_the_program(run):
    program = ["python", "program.py"]
    done = run("simcuda", "run", *program, PATH=path())
    assert done.returncode == 66
    assert "nothing orders cuMemsetD8Async" in done.stderr
    for text in "data.fill", "found.copy_from":
        place = f"program.py:{line_of('program.py', text)} in <module>"
        assert f"       called at {place}\n" in done.stderr
    done = run("simcuda", "run", "--seeds=20", *program, PATH=path())
    assert done.returncode == 66
    assert "seed 1: the program raced" in done.stderr
    abort = ["--races=abort", *program]
    done = run("simcuda", "run", *abort, PATH=path(), PYTHONFAULTHANDLER="1")
    assert done.returncode == 134
    line = line_of("program.py", "found.copy_from")
    assert re.search(rf'File ".*program.py", line {line} in <module>', done.stderr)
    quiet = run("simcuda", "run", "--races=off", *program, PATH=path())
    assert quiet.returncode == 0


def path():
    return f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}"


def test_the_page_names_the_markers_arguments():
    from simcuda._marker import Settings

    table = PAGE.partition("## The marker")[2].partition("## The fixture")[0]
    assert set(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)) == {
        *Settings.__dataclass_fields__
    }


def test_every_link_of_the_documents_leads_somewhere():
    for page in [PROJECT / "README.md", *(PROJECT / "docs").glob("*.md")]:
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
            # A release's README has the repository's address before it.
            path = re.sub(r"^https://.*?/blob/HEAD/simcuda/", "", target)
            assert (page.parent / path).exists(), (page.name, target)
