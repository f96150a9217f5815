# SPDX-License-Identifier: BSD-3-Clause
"""What the README shows: its files are those of examples/readme, which work; links, the picture and
figures."""

import re
import shutil
import subprocess
import sys
import sysconfig
import xml.etree.ElementTree
from pathlib import Path

import nanobind
import pytest
from building import build_nanobind, config, quiet_environment, run_command
from helpers import LIMIT, ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
FILES = ROOT / "examples/readme"
PICTURE = ROOT / "docs/pictures/two_waits"
PAGES = ["README.md", "SECURITY.md", "CODE_OF_CONDUCT.md"]


def test_it_shows_the_files_that_are_tested():
    """But for their licence line."""
    blocks = re.findall(r"`([\w.]+)`:\n\n```\w+\n(.*?)```\n", README, re.DOTALL)
    assert README.count("```") == 2 * len(blocks)
    shown = {
        file.name: re.sub(r".*SPDX-License-Identifier.*\n", "", file.read_text())
        for file in FILES.iterdir()
        if file.is_file()
    }
    assert dict(blocks) == shown


def test_every_link_leads_somewhere():
    for page in PAGES:
        text = (ROOT / page).read_text(encoding="utf-8")
        targets = re.findall(r"\]\(([^)#]+)", text)
        assert targets
        for target in targets:
            # Once the address is known, tools/release has put it before each.
            path = re.sub(r"^https://.*?/(blob|raw)/HEAD/", "", target)
            assert (ROOT / path).exists(), (page, target)


def test_the_picture_is_what_its_program_draws():
    drawn = subprocess.run(
        [sys.executable, PICTURE.with_suffix(".py")], capture_output=True, check=True, timeout=LIMIT
    ).stdout
    assert drawn == PICTURE.with_suffix(".svg").read_bytes()
    root = xml.etree.ElementTree.fromstring(drawn)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert "prefers-color-scheme: dark" in drawn.decode()


def test_its_figures_are_those_of_the_benchmarks():
    bench = (ROOT / "bench/README.md").read_text(encoding="utf-8")
    for shown, row, index in (
        ("0.8 µs (by cuda.core)", "cuda.core's StridedMemoryView; by DLPack", -1),
        ("| 2.2 µs | not", "cuda.core's StridedMemoryView; by DLPack", 0),
        ("| 1.3 µs |", "read, without order: `libcai.asarray`", 0),
        ("| 5.5 µs |", "cuda.core's StridedMemoryView, with a stream", 0),
        ("7.1 µs, for both", "`libcai.use` of CuPy's array itself", 0),
        ("2.2 µs if it was read", "`libcai.use` of an array read before", 0),
        (
            "by hand (1.5 µs)",
            "there and back between two streams: by hand, with two kept events",
            0,
        ),
    ):
        assert shown in README
        (medians,) = re.findall(
            rf"^\| {re.escape(row)} \| [^|]+ \| ([^|]+) \|", bench, re.MULTILINE
        )
        median = float(medians.split("; ")[index]) / 1000
        assert f"{median:.1f} µs" in shown


# ---- An extension, and the test of its waits ----------------------------------------------------


def compile_mylib(folder, nanobind_object, text):
    (folder / "mylib.cpp").write_text(text)
    flags = ["-std=c++20", "-O0", "-fPIC", "-shared", "-fvisibility=hidden"]
    flags += ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror", *config("--cflags")]
    for include in (nanobind.include_dir(), sysconfig.get_path("include")):
        flags += ["-isystem", include]
    module = folder / f"mylib{sysconfig.get_config_var('EXT_SUFFIX')}"
    run_command("c++", *flags, folder / "mylib.cpp", nanobind_object, "-o", module)


def run_its_test(folder):
    """Runs test_mylib.py where the module is."""
    shutil.copy(FILES / "test_mylib.py", folder)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:hypothesispytest", "test_mylib.py"],
        cwd=folder,
        env=quiet_environment(),
        capture_output=True,
        text=True,
        timeout=LIMIT,
    )
    return done.returncode, done.stdout


@pytest.mark.slow
def test_the_extension_waits(built):
    library = built("nanobind", build_nanobind) / "nanobind.o"
    text = (FILES / "mylib.cpp").read_text()
    folder = built("readme", compile_mylib, library, text)
    status, out = run_its_test(folder)
    assert (status, "1 passed" in out) == (0, True), out


@pytest.mark.slow
def test_without_the_use_its_test_finds_both_races(built):
    library = built("nanobind", build_nanobind) / "nanobind.o"
    text = (FILES / "mylib.cpp").read_text()
    text, uses = re.subn(r".*cai::nanobind_use use\(.*\n", UNORDERED, text)
    text, ends = re.subn(r".*use\.end\(\);.*\n", "", text)
    assert (uses, ends) == (1, 1)
    folder = built("readme-unordered", compile_mylib, library, text)
    status, out = run_its_test(folder)
    assert status == 1, out
    assert out.count("simcuda: race: nothing orders ") == 2


# The stream that was passed, and no order.
UNORDERED = """
  struct {
    std::uint64_t number;
    std::uint64_t stream() const { return number; }
  } use{};
  if (cai_py->stream(stream.ptr(), &use.number) < 0) throw nb::python_error();
"""


@pytest.mark.long
def test_the_extension_installs_as_shown(tmp_path):
    source, out = shutil.copytree(FILES, tmp_path / "source"), tmp_path / "out"
    assert "\n    pip install --no-build-isolation . " in README
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    run_command(*pip, "--no-build-isolation", "--no-deps", "--target", out, ".", folder=source)
    assert run_its_test(out)[0] == 0
    (module,) = out.glob("mylib.*.so")
    assert " U cai_" not in run_command("nm", "-D", module)  # nothing of libcai is linked


# ---- C, and other languages ---------------------------------------------------------------------


@pytest.mark.slow
def test_the_program_in_c(tmp_path):
    """By both ways to the flags."""
    assert "cc use.c $(libcai config --cflags --libs) && ./a.out" in README
    assert "`$(pkg-config --cflags --libs libcai)`" in README
    said = "launch: 100 x 200 at 0x7f0000000000, strides 1600 and 8 bytes, times 2\n"
    warnings = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror"]
    program = tmp_path / "a.out"
    run_command("cc", *warnings, FILES / "use.c", "-o", program, *config("--cflags", "--libs"))
    assert run_command(program) == said
    (path,), (libdir,) = config("--pkg-config-dir"), config("--libdir")
    ask = ["pkg-config", "--cflags", "--libs", "libcai"]
    flags = run_command(*ask, PKG_CONFIG_PATH=path).split()
    run_command("cc", *warnings, FILES / "use.c", "-o", program, *flags)
    assert run_command(program, LD_LIBRARY_PATH=libdir) == said


def test_the_program_in_lua():
    (includedir,), (libdir,) = config("--includedir"), config("--libdir")
    out = run_command("luajit", FILES / "embed.lua", includedir, libdir)
    assert out == "launch: 4 x 3 float32\n"


def test_the_schema_that_it_names_is_installed():
    (libdir,) = config("--libdir")
    assert list(Path(libdir).parent.glob("**/abi.json"))
