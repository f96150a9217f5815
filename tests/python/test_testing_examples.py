# SPDX-License-Identifier: BSD-3-Clause
"""What docs/howto/testing.rst shows: the checks pass, and find what is wrong."""

import re
import shutil
import subprocess
import sys

import pytest
from building import quiet_environment
from helpers import LIMIT, ROOT

pytestmark = pytest.mark.slow

KIT = ROOT / "examples/kit"
PAGE = (ROOT / "docs/howto/testing.rst").read_text(encoding="utf-8")

# The checks collect garbage after each array, and Numba is large.
FROZEN = """
import gc

def pytest_collection_finish():
    gc.freeze()
"""


@pytest.fixture
def run(tmp_path):
    """Runs Python in a folder with copies of the page's files."""
    for file in KIT.glob("*.py"):
        shutil.copy(file, tmp_path)
    (tmp_path / "conftest.py").write_text(FROZEN)

    def run(*arguments):
        return subprocess.run(
            [sys.executable, "-m", *arguments],
            cwd=tmp_path,
            env=quiet_environment(),
            capture_output=True,
            text=True,
            timeout=LIMIT,
        )

    return run


def pytest_of(run, name, *options):
    done = run("pytest", "-p", "no:hypothesispytest", *options, name)
    return done.returncode, done.stdout


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
    assert "plain: expected\n" in out


def test_the_page_shows_these_files():
    shown = set(re.findall(r"literalinclude:: \.\./\.\./examples/kit/(\S+)", PAGE))
    assert shown == {file.name for file in KIT.iterdir() if file.is_file()} - {"README.md"}
