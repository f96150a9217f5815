# SPDX-License-Identifier: BSD-3-Clause
"""What docs/ shows: each block of code is in a file that is compiled or run here, or by the tests
of the examples; and what names a page names one that is there."""

import difflib
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import nanobind
import numpy as np
import pytest
from building import build_nanobind, config, run_command
from helpers import LIMIT, ROOT, load
from test_testing_examples import quiet_environment

pytestmark = pytest.mark.slow

DOCS = ROOT / "docs"
SNIPPETS = DOCS / "snippets"
PAGES = sorted(DOCS.rglob("*.rst"))
SUFFIX = sysconfig.get_config_var("EXT_SUFFIX")
ORDERS = ("eager", "lazy")
SIMCUDA = [sys.executable, "-m", "simcuda", "run"]


def run(*command, status=0, folder=None):
    """Runs a command; returns all that it printed."""
    done = subprocess.run(
        [str(part) for part in command],
        cwd=folder,
        env=quiet_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=LIMIT,
    )
    assert done.returncode == status, done.stdout
    return done.stdout


def pytest_in(folder, *, status):
    options = ["-q", "-p", "no:hypothesispytest", "-p", "no:cacheprovider"]
    return run(sys.executable, "-m", "pytest", *options, status=status, folder=folder)


# ---- Learn ---------------------------------------------------------------------------------------


def compile_module(folder, source, name, nanobind_object, *libraries):
    """Compiles a module by nanobind, as fast as it can be."""
    compiler = ["c++", "-std=c++20", "-fPIC", "-shared", "-O0", "-Wall", "-Wextra", "-Werror"]
    includes = [nanobind.include_dir(), sysconfig.get_path("include")]
    flags = [*config("--cflags"), *(f"-isystem{include}" for include in includes)]
    module = folder / f"{name}{SUFFIX}"
    run_command(*compiler, *flags, source, nanobind_object, "-o", module, *libraries, "-ldl")


@pytest.fixture
def compiled(built, tmp_path):
    """compiled(source, name) makes a module in tmp_path."""
    library = built("nanobind", build_nanobind) / "nanobind.o"

    def module(source, name, *libraries):
        compile_module(tmp_path, source, name, library, *libraries)

    return module


@pytest.mark.parametrize(("source", "status"), [("first.cpp", 1), ("adding.cpp", 0)])
def test_tutorial(compiled, tmp_path, source, status):
    """The first version fails for a missing wait, in each direction; the fixed one passes."""
    project = DOCS / "learn/adding"
    compiled(project / source, "adding")
    shutil.copy(project / "test_adding.py", tmp_path)
    out = pytest_in(tmp_path, status=status)
    if status == 0:
        assert "2 passed" in out
        return
    assert "2 failed" in out
    assert "nothing orders cuMemcpyHtoDAsync (operation 1) before cuLaunchKernel" in out
    assert (
        "nothing orders cuLaunchKernel (kernel add) (operation 3) before cuMemcpyDtoHAsync" in out
    )
    shown = (DOCS / "learn/tutorial.rst").read_text()
    for place in re.findall(r"called at test_adding.py:\d+ in test_add\n", shown):
        assert place in out


def test_the_mend_is_one_object():
    """The versions differ by three lines: the launch, and those before and behind it."""
    first, last = (
        (DOCS / "learn/adding" / name).read_text().splitlines()
        for name in ("first.cpp", "adding.cpp")
    )
    changes = [line[0] for line in difflib.ndiff(first, last) if line[0] in "+-"]
    assert sorted(changes) == ["+"] * 3 + ["-"] * 3


@pytest.mark.long
def test_tutorial_as_a_project(tmp_path):
    """Built by its own files."""
    project = tmp_path / "adding"
    shutil.copytree(DOCS / "learn/adding", project)
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-build-isolation", "--no-deps"]
    run(*pip, f"--target={tmp_path}/installed", ".", folder=project)
    (tmp_path / "tests").mkdir()
    shutil.copy(project / "test_adding.py", tmp_path / "tests")
    (module,) = (tmp_path / "installed").glob("adding*.so")
    shutil.copy(module, tmp_path / "tests")
    assert "2 passed" in pytest_in(tmp_path / "tests", status=0)


def test_waits(tmp_path):
    for file in (DOCS / "learn/waits").glob("*.py"):
        shutil.copy(file, tmp_path)
    out = pytest_in(tmp_path, status=1)
    assert "1 failed, 1 passed" in out
    assert "called at mine.py:10 in to_host_unordered, from test_mine.py:16" in out
    assert "called at mine.py:10 in to_host_unordered" in (DOCS / "learn/waits.rst").read_text()


def shown_after(page, command):
    """The block of output behind a command."""
    text = (DOCS / page).read_text().partition(command)[2].partition(".. code-block:: text\n\n")[2]
    lines = text.split("\n\n")[0].splitlines()
    return "".join(line.removeprefix("   ") + "\n" for line in lines)


def test_embed(tmp_path):
    shutil.copy(DOCS / "learn/embed/array.lua", tmp_path)
    (include, library) = config("--includedir", "--libdir")
    out = run("luajit", "array.lua", include, f"{library}/libcai.so.1", folder=tmp_path)
    assert out == shown_after("learn/embed.rst", "$ luajit array.lua")


def test_pictures():
    run(sys.executable, DOCS / "pictures.py", "--check")


# ---- How to, and reference -----------------------------------------------------------------------


def test_build_by_hand(tmp_path):
    program = tmp_path / "mine"
    flags = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
    main = SNIPPETS / "building/main.c"
    run_command("cc", *flags, main, "-o", program, *config("--cflags", "--libs"))
    assert run(program) == shown_after("learn/link.rst", "$ ./mine")


def test_build_for_a_gpu(tmp_path):
    program = tmp_path / "on_gpu"
    flags = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
    source = SNIPPETS / "building/gpu.c"
    run_command("cc", *flags, source, "-o", program, *config("--cflags", "--libs"))
    for schedule in ("eager", "lazy", "random:1"):
        shown = run("env", f"SIMCUDA_SCHEDULE={schedule}", *SIMCUDA, program)
        assert shown_after("learn/link.rst", "$ simcuda run ./on_gpu") in shown


def test_build_with_cmake(tmp_path):
    (folder,) = config("--cmake-dir")
    run("cmake", "-S", SNIPPETS / "building", "-B", tmp_path, f"-Dlibcai_DIR={folder}")
    run("cmake", "--build", tmp_path)
    for name in ("mine", "with_memory"):
        assert "adds up to 9" in run(tmp_path / name)


def test_build_with_meson(tmp_path):
    folder, library = config("--pkg-config-dir", "--libdir")
    shutil.copytree(SNIPPETS / "building", tmp_path, dirs_exist_ok=True)
    meson = [sys.executable, "-m", "mesonbuild.mesonmain"]
    run("env", f"PKG_CONFIG_PATH={folder}", *meson, "setup", "build", folder=tmp_path)
    run(*meson, "compile", "-C", "build", folder=tmp_path)
    assert "adds up to 9" in run("env", f"LD_LIBRARY_PATH={library}", tmp_path / "build/mine")


def test_pages_in_c(tmp_path):
    program = tmp_path / "pages"
    flags = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
    run_command("cc", *flags, SNIPPETS / "pages.c", "-o", program, *config("--cflags", "--libs"))
    assert run(program) == "all of it\n"
    assert "all of it\n" in run(*SIMCUDA, program, "gpu")


def test_manager_in_cpp(tmp_path):
    library = tmp_path / "manager.so"
    command = ["c++", "-std=c++20", "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror"]
    command += ["-fvisibility=hidden"]  # as libraries are often compiled
    source = SNIPPETS / "manager.cpp"
    run_command(*command, source, "-o", library, *config("--cflags", "--libs"))
    # As the environment has it, it must find its own upstream manager.
    code = "import libcai; print(libcai.MemoryManager.of('gpu').name, libcai.zeros(4))"
    command = ["env", f"CAI_MEMORY_MANAGER={library}", *SIMCUDA, sys.executable, "-c", code]
    assert "telling " in run(*command)
    code = """
import libcai, sys
host = libcai.MemoryManager.of("cpu")
libcai.memory_manager(sys.argv[1], upstream=host).install()
x = libcai.full(4, 7, "|u1", device="cpu")
print(libcai.MemoryManager.of("cpu").name, bytes(memoryview(x)))
"""
    assert "telling" in (out := run(sys.executable, "-c", code, library))
    assert out.endswith("b'\\x07\\x07\\x07\\x07'\n")


@pytest.mark.parametrize("schedule", ORDERS)
@pytest.mark.parametrize("name", ["pages.py", "graph.py", "migrate.py"])
def test_pages_in_python(name, schedule):
    run(*SIMCUDA, f"--schedule={schedule}", sys.executable, SNIPPETS / name)


def test_the_parser_by_hand_races():
    assert "races" in run(*SIMCUDA, sys.executable, SNIPPETS / "migrate.py", "before", status=1)


def test_ndarray(compiled, tmp_path):
    compiled(SNIPPETS / "ndarray.cpp", "ndarray")
    module = load(tmp_path, "ndarray")
    for given in (np.ones((3, 4), "f4"), np.ones((6, 8), "f4")[::2, ::2]):
        wanted = given.shape[0], given.strides[0] // 4
        assert module.rows_before(given) == module.rows_after(given) == wanted
    for wrong in (np.ones((3, 4)), np.ones(3, "f4")):
        with pytest.raises((TypeError, ValueError)):
            module.rows_after(wrong)


def test_a_module_that_is_linked(compiled, tmp_path):
    """It finds the library that its package has loaded: it has no run path."""
    libraries = [flag for flag in config("--libs") if not flag.startswith("-Wl,")]
    compiled(SNIPPETS / "linked/_linked.cpp", "_linked", *libraries)
    package = tmp_path / "linked"
    package.mkdir()
    shutil.move(tmp_path / f"_linked{SUFFIX}", package)
    shutil.copy(SNIPPETS / "linked/__init__.py", package)
    code = "import linked; print(linked.identity(bytearray(5)).shape)"
    assert run(sys.executable, "-c", code, folder=tmp_path) == "(5,)\n"


# ---- All pages -----------------------------------------------------------------------------------

# Of these, what is shown is compiled or run: here, by the tests of the examples and by Cargo.
TRIED = ("docs/learn/", "docs/snippets/", "examples/", "bindings/rust/libcai/examples/", "include/")
TRIED += ("docs/specification/numba-cuda.diff",)  # by tests/interop/test_adoption.py
INCLUDED = re.compile(r"(?:literalinclude::|:diff:) (\S+)")
BLOCK = re.compile(r"^ *\.\. (?:code-block|code|sourcecode)::(.*)$", re.MULTILINE)
OUTPUT = {"console", "text"}
# Lines for the sources of others; the page says which of them were compiled, or run.
PATCHES = DOCS / "specification/adoption.rst"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_every_block_is_tried(page):
    text = page.read_text(encoding="utf-8")
    allowed = OUTPUT | {"diff"} if page == PATCHES else OUTPUT
    assert {language.strip() for language in BLOCK.findall(text)} <= allowed
    assert re.findall(r"^(?! *\.\. ).*::$", text, re.MULTILINE) == []  # a block of no language
    for name in INCLUDED.findall(text):
        file = (page.parent / name).resolve().relative_to(ROOT)
        assert str(file).startswith(TRIED), file


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_commands_are_there(page):
    """Of libcai's command, the parts and options that the page's consoles use."""
    consoles = re.findall(r"\.\. code-block:: console\n\n((?:(?:   .*)?\n)+)", page.read_text())
    for command, options in re.findall(
        r"\blibcai (config|check|doctor|demo|bench|completion|sim)\b((?: --[\w-]+)*)",
        "".join(consoles),
    ):
        usage = run_command(sys.executable, "-m", "libcai", command, "--help")
        assert all(option in usage for option in options.split())


NAMED = re.compile(r"(?<![\w/.-])docs/[\w/.-]*\.rst\b")
SOURCES = {".build", ".c", ".cpp", ".h", ".hpp", ".md", ".py", ".rs", ".rst", ".toml"}


def test_pages_that_are_named_are_there():
    files = run("git", "ls-files", "-co", "--exclude-standard", folder=ROOT).splitlines()
    named = {
        (name, file)
        for file in files
        if Path(file).suffix in SOURCES and (ROOT / file).is_file()
        for name in NAMED.findall((ROOT / file).read_text(encoding="utf-8"))
    }
    assert [(name, file) for name, file in named if not (ROOT / name).exists()] == []
    assert len(named) > 5


def test_links_of_texts_lead_somewhere():
    for page in [*ROOT.glob("*.md"), *DOCS.rglob("*.md"), *(ROOT / "examples").rglob("*.md")]:
        for target in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), (page.relative_to(ROOT), target)
