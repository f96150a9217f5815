# SPDX-License-Identifier: BSD-3-Clause
"""The command `libcai`."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import libcai

SCRIPT = Path(sys.executable).parent / "libcai"
PRODUCERS = """
class P:
    def __init__(self, **changes):
        self.__cuda_array_interface__ = {
            "shape": (2, 3), "typestr": "<f4", "data": (4096, False), "version": 3,
            "strides": None, "stream": None, **changes}

good = P()
bad = P(shape=[2, 3])

class group:
    inner = good

def make():
    return P()

def fail():
    raise RuntimeError("no GPU here")
"""


@pytest.fixture
def here(tmp_path):
    (tmp_path / "producers.py").write_text(PRODUCERS, encoding="utf-8")
    return tmp_path


def command(*arguments, cwd=None):
    return subprocess.run(
        [sys.executable, "-m", "libcai", *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=cwd,
    )


@pytest.mark.parametrize(
    ("name", "code"),
    [("good", 0), ("group.inner", 0), ("make()", 0), ("bad", 1), ("fail()", 2), ("none", 2)],
)
def test_check(here, name, code):
    done = command("check", f"producers:{name}", cwd=here)
    assert done.returncode == code, done.stderr
    assert bool(done.stdout) == (code < 2)
    assert bool(done.stderr) == (code == 2)


def test_check_as_json(here):
    good = json.loads(command("check", "--json", "producers:good", cwd=here).stdout)
    assert good == {
        "ok": True,
        "subject": "P",
        "protocol": "__cuda_array_interface__",
        "findings": good["findings"],
    }
    done = command("check", "producers:bad", "--json", cwd=here)
    assert done.returncode == 1
    assert json.loads(done.stdout)["findings"][0]["entry"] == "shape"


@pytest.mark.parametrize("target", ["producers", "nowhere:x", ":x", "producers:", "json:loads"])
def test_nothing_to_check(here, target):
    done = command("check", target, cwd=here)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("arguments", [(), ("config",), ("unknown",), ("check",)])
def test_usage(arguments):
    done = command(*arguments)
    assert done.returncode == 2
    assert "usage" in done.stderr


def test_config():
    answers = command(
        "config",
        "--version",
        "--includedir",
        "--cmake-dir",
        "--pkg-config-dir",
        "--cflags",
        "--libs",
    ).stdout.splitlines()
    version, include, cmake, pkg_config, cflags, libs = answers
    assert version == libcai.__version__
    assert (Path(include) / "cai.h").is_file()
    assert (Path(cmake) / "libcaiConfig.cmake").is_file()
    assert (Path(pkg_config) / "libcai.pc").is_file()
    assert "-I" in cflags
    assert "-lcai" in libs


def test_the_script():
    done = subprocess.run(
        [SCRIPT, "config", "--version"], capture_output=True, text=True, timeout=60
    )
    assert done.stdout.strip() == libcai.__version__


def test_a_program_builds_with_the_flags(tmp_path):
    source = tmp_path / "program.c"
    source.write_text(
        "#include <cai.h>\n"
        "int main(void) { return cai_version() == CAI_HEADER_VERSION ? 0 : 1; }\n",
        encoding="utf-8",
    )
    flags = command("config", "--cflags", "--libs").stdout
    subprocess.run(
        f"cc {source} -o {tmp_path}/program {' '.join(flags.split())}", shell=True, check=True
    )
    subprocess.run([tmp_path / "program"], check=True)
