# SPDX-License-Identifier: BSD-3-Clause
"""The modules of examples/extensions, seven ways to the same function; and cai/nanobind.h and
cai/pybind11.h, by tests/bridges."""

import ctypes
import gc
import os
import shutil
import sys
import sysconfig
import weakref
from pathlib import Path

import nanobind
import numpy as np
import pybind11
import pytest
from building import (
    build_example,
    build_nanobind,
    build_rust_example,
    config,
    copy_example,
    run_command,
    run_readme,
)
from helpers import ROOT, Cuda, Host, load, producer, python
from simulation import run_with_gil
from test_exchange import describing, with_table

import libcai
from libcai import _library

pytestmark = pytest.mark.slow

SUFFIX = sysconfig.get_config_var("EXT_SUFFIX")
LIBRARIES = ["nanobind", "pybind11"]
EXAMPLES = ["cffi", "ctypes", "cython", *LIBRARIES, "rust"]  # test_extension.py has that in C
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Wundef", "-Werror"]


def compile_bridges(folder, nanobind_object):
    compiler = ["c++", "-std=c++20", "-fPIC", "-fvisibility=hidden", "-O0", "-c", *WARNINGS]
    compiler += [*config("--cflags"), "-isystem", sysconfig.get_path("include")]
    bridges, by_hand = ROOT / "tests/bridges/bridges.cpp", ROOT / "tests/bridges/by_hand.cpp"
    for name, flags in {
        "by_hand": [by_hand],
        "nanobind": ["-isystem", nanobind.include_dir(), "-DWITH_NANOBIND", bridges],
        "pybind11": ["-isystem", pybind11.get_include(), bridges],
    }.items():
        run_command(*compiler, *flags, "-o", folder / f"{name}.o")
    link = ["c++", "-shared", folder / "by_hand.o", "-o"]
    run_command(*link, folder / f"by_hand{SUFFIX}")
    # With libcai, and without a path to it: libcai.Array has loaded it.
    libs = [flag for flag in config("--libs") if not flag.startswith("-Wl,")]
    for name in LIBRARIES:
        (folder / name).mkdir(exist_ok=True)
        module = folder / name / f"clear_{name}{SUFFIX}"
        objects = [folder / f"{name}.o", *([nanobind_object] if name == "nanobind" else [])]
        run_command(*link, module, *objects, *libs)
        shutil.copy(module, module.with_name(f"bridges{SUFFIX}"))


@pytest.fixture(scope="module")
def compiled(built):
    """A folder with tests/bridges' module `by_hand`, and below it one for each library, with its
    modules `clear_NAME` and `bridges`."""
    library = built("nanobind", build_nanobind) / "nanobind.o"
    return built("bridges", compile_bridges, library)


@pytest.fixture(scope="module")
def folders(built, compiled):
    """A folder for each example, with its module `clear_NAME`."""
    made = {name: compiled / name for name in LIBRARIES}
    source = ROOT / "examples/extensions/ctypes/clear_ctypes.py"
    made["ctypes"] = built("extensions/ctypes", lambda folder: shutil.copy(source, folder))
    made["rust"] = built("rust/clear_rust", build_rust_example)
    for name in ("cffi", "cython"):
        made[name] = built(f"extensions/{name}", build_example, f"extensions/{name}")
    return made


@pytest.fixture(scope="module", params=EXAMPLES)
def example(request, folders):
    return load(folders[request.param], f"clear_{request.param}")


@pytest.fixture(scope="module", params=LIBRARIES)
def bridges(request, compiled):
    assert libcai.Array  # loads the library, whichever test comes first
    return load(compiled / request.param, "bridges")


def named(folders):
    return [(name, str(folder)) for name, folder in folders.items()]


def ones():
    return np.ones((3, 4), "<f4")


class Owner:
    pass


def exporter():
    """An exporter on the host, and a weak reference that shows when it has ended."""
    array = ones()
    made = Host(array.__array_interface__)
    made.array, made.owner = array, Owner()
    return made, weakref.ref(made.owner)


def changing():
    """An exporter of six elements that describes itself by a shape of its own, and a function that
    changes that."""
    shape = (ctypes.c_int64 * 1)(6)
    made = with_table(describe=describing(shape=ctypes.addressof(shape)))()

    def change():
        shape[0] = 1 << 40 if shape[0] == 6 else 6

    return made, change


class Dying:
    @property
    def __cuda_array_interface__(self):
        raise ZeroDivisionError("mine")


def read_only():
    array = ones()
    array.flags.writeable = False
    return array


WRONG = {
    "strides": (
        lambda: producer(strides=[16]),
        libcai.InterfaceError,
        r"strides: .*, got 1: \[16\]",
    ),
    "dtype": (lambda: producer(typestr="<x4"), libcai.InterfaceError, "typestr.*<x4"),
    "data": (lambda: producer(data=(0, False)), libcai.InterfaceError, "data"),
    "no dict": (lambda: Cuda(7), libcai.InterfaceTypeError, "interface.*7"),
    "dying": (Dying, ZeroDivisionError, "mine"),
    "read-only": (read_only, libcai.InterfaceError, "read-only"),
    "read-only Array": (
        lambda: libcai.asarray(read_only()),
        libcai.InterfaceError,
        "read-only",
    ),
}
wrong = pytest.mark.parametrize("wrong", WRONG.values(), ids=list(WRONG))


# ---- The examples -------------------------------------------------------------------------------


def test_examples_beside_each_other(folders):
    """Each has a name of its own, so that all can be installed in one environment."""
    python(
        """
import importlib, sys
import numpy
from libcai import Array  # and so the library, which those of tests/bridges are linked with
sys.path[:0] = folders = sys.argv[2:]
for name, folder in zip(sys.argv[1].split(), folders, strict=True):
    module = importlib.import_module("clear_" + name)
    assert module.__file__.startswith(folder), (folder, module)
    array = numpy.ones(3)
    module.clear(array)
    assert not array.any(), module
""",
        " ".join(folders),
        *map(str, folders.values()),
    )


def test_examples_on_the_host(example):
    for array in (ones(), np.ones(()), np.ones((3, 1, 2))[:, :, :]):
        before = sys.getrefcount(array)
        assert example.clear(array) is None
        assert not array.any()
        assert sys.getrefcount(array) == before
    taken, text = libcai.asarray(ones()), bytearray(b"text")
    example.clear(taken)
    example.clear(text, stream=2)
    example.clear(np.ones((0, 3)))
    example.clear(np.ones((2, 0, 3)))
    assert not np.asarray(taken).any()
    assert text == bytes(4)


@wrong
def test_examples_refuse(example, wrong):
    make, kind, message = wrong
    given = make()
    before = sys.getrefcount(given)
    with pytest.raises(kind, match=message):
        example.clear(given)
    assert sys.getrefcount(given) == before


def test_examples_refuse_what_is_no_array(example):
    for given in (3, None, "text", [1, 2], np.float64(3)):
        with pytest.raises(TypeError):
            example.clear(given)
    array, mask = ones(), np.ones((3, 4), "|b1")
    masked = {**array.__array_interface__, "mask": Host(mask.__array_interface__)}
    for given in (array[:, ::2], Host(masked)):
        with pytest.raises(ValueError, match=r"(contiguous|masked)"):
            example.clear(given)
    for stream, kind in ((-1, (ValueError, OverflowError)), (0, ValueError), ("1", TypeError)):
        with pytest.raises(kind):
            example.clear(array, stream)
    assert array.all()


def test_examples_on_a_gpu(folders, simulated_with_gil):
    simulated_with_gil(
        f"""
from helpers import load
from libcai import Array
theirs, mine = new_stream(), new_stream()
for name, folder in {named(folders)}:
    example = load(folder, "clear_" + name)
    memory = new_memory(256)
    for given in (array(theirs, memory, shape=(64,), typestr="<u4"),
                  libcai.asarray(array(theirs, memory, shape=(64,), typestr="<u4"))):
        fill(memory, 7, 64, theirs)
        example.clear(given, mine.value)
        assert not any(read(memory, 64, theirs)), folder  # ordered both ways
        fill(memory, 7, 64, theirs)
        example.clear(given)
        assert not any(read(memory, 64, theirs)), folder
wait(theirs, mine)
"""
    )


def test_examples_race_with_what_says_that_it_needs_no_order(folders):
    """So it is the dict's stream that the test above rests on."""
    run_with_gil(
        f"""
from helpers import load
from libcai import Array
theirs, mine = new_stream(), new_stream()
for name, folder in {named(folders)}:
    memory, before = new_memory(256), cuda.simcuda_races()
    fill(memory, 7, 64, theirs)
    load(folder, "clear_" + name).clear(array(None, memory, shape=(64,), typestr="<u4"), mine.value)
    wait(theirs, mine)
    assert cuda.simcuda_races() > before, folder
""",
        races=True,
    )


@pytest.mark.long
@pytest.mark.parametrize("name", ["c", *EXAMPLES])
def test_examples_build_alone(name, tmp_path):
    """A copy of the folder, as the README says, against the installed package; and nothing of
    libcai is linked."""
    out = tmp_path / "out"
    said = run_readme(copy_example(f"extensions/{name}", tmp_path / "source"), out)
    assert said.endswith("\n[0. 0. 0.]\n")
    for module in out.rglob("*.so"):
        symbols = run_command("nm", "-D", module)
        assert " U " in symbols
        assert " U cai_" not in symbols


@pytest.mark.parametrize("name", ["c", *EXAMPLES])
def test_their_readmes_show_what_they_have(name):
    folder = ROOT / "examples/extensions" / name
    sources = [path for path in folder.iterdir() if path.is_file() and path.suffix != ".md"]
    theirs = {line.strip() for path in sources for line in path.read_text().splitlines()}
    readme = (folder / "README.md").read_text()
    blocks = readme.split("```")[1::2]
    assert blocks
    for line in "".join(block.partition("\n")[2] for block in blocks).splitlines():
        assert line.strip() in theirs | {""}
    assert f"[clear_{name}]({name})" in (folder.parent / "README.md").read_text()


# ---- The casters --------------------------------------------------------------------------------


def test_arguments(bridges):
    array, taken = ones(), libcai.asarray(ones())
    assert bridges.elements(array, taken, b"four") == 28
    assert bridges.owned(array, taken) == 24
    assert bridges.shape(array[:, 1:]) == [3, 3]
    assert bridges.shape(producer()) == [2, 3]
    assert bridges.use_both(array, taken, None) == 1
    assert bridges.use_both(array, taken, 7) == 7
    with pytest.raises(TypeError, match="incompatible function arguments"):
        bridges.elements(array, array)


WRONG_SECONDS = [3, None, producer(strides=[16]), Dying()]


def first_is_let_go_of(bridges, function, second):
    """The first argument has as many references as before once the second was rejected."""
    first, seen = exporter()
    taken = libcai.asarray(first)
    rest = [ones()] if function == "elements" else []
    before = sys.getrefcount(first), sys.getrefcount(taken)
    for given in (first, taken):
        for _ in range(3):
            with pytest.raises((TypeError, libcai.InterfaceError, ZeroDivisionError)):
                getattr(bridges, function)(given, second, *rest)
    del given
    assert (sys.getrefcount(first), sys.getrefcount(taken)) == before
    del first, taken
    gc.collect()
    assert seen() is None


@pytest.mark.parametrize("function", ["elements", "owned"])
@pytest.mark.parametrize("second", WRONG_SECONDS)
def test_the_first_argument_is_let_go_of_when_the_second_is_wrong(bridges, function, second):
    first_is_let_go_of(bridges, function, second)


def test_overloads(bridges):
    array = ones()
    assert bridges.which(array, array) == "two arrays"
    assert bridges.which(array, 3.0) == "array and number"
    assert bridges.which(array, np.float64(3)) == "array and number"
    assert bridges.which(array, "three") == "array and text"
    assert bridges.which(3.0, 3.0) == "two numbers"
    with pytest.raises(TypeError, match="incompatible function arguments"):
        bridges.which(None, 3.0)
    with pytest.raises(TypeError, match="incompatible function arguments"):
        bridges.which(array, None)


@wrong
def test_what_is_wrong_with_an_array_is_said(bridges, wrong):
    """The exception of the first overload whose other arguments fit."""
    make, kind, message = wrong
    with pytest.raises(kind, match=message):
        bridges.which(make(), ones())
    if "read-only" not in message:
        with pytest.raises(kind, match=message):
            bridges.which(ones(), make())
        with pytest.raises(kind, match=message):
            bridges.which(make(), 3.0)
        with pytest.raises(kind, match=message):
            bridges.keep(make())


def test_containers(request, bridges):
    array = ones()
    assert bridges.maybe() is None
    assert bridges.maybe(None) is None
    assert bridges.maybe(array).data == array.ctypes.data
    assert [type(x) for x in bridges.many([array, array, libcai.asarray(array)])] == (
        [libcai.Array] * 3
    )
    for given in ([array, 3], 3, [array, None]):
        with pytest.raises(TypeError, match="incompatible function arguments"):
            bridges.many(given)
    # nanobind has no way to say more.
    in_nanobind = "nanobind" in bridges.__spec__.name
    for function, given in ((bridges.maybe, Cuda(7)), (bridges.many, [array, Cuda(7)])):
        with pytest.raises(
            TypeError if in_nanobind else libcai.InterfaceTypeError,
            match="incompatible function arguments"
            if in_nanobind
            else "interface: expected a dict, got 7",
        ):
            function(given)


def test_an_object_of_the_modules_own(bridges):
    """What a callback returned, say: nanobind's cast has no way to say more, and opening has."""
    array, in_nanobind = ones(), "nanobind" in bridges.__spec__.name
    assert bridges.cast(array) == bridges.opened(array) == array.size
    with pytest.raises(libcai.InterfaceTypeError, match="expected a dict, got 7"):
        bridges.opened(Cuda(7))
    with pytest.raises(
        RuntimeError if in_nanobind else libcai.InterfaceTypeError,
        match="std::bad_cast" if in_nanobind else "expected a dict, got 7",
    ):
        bridges.cast(Cuda(7))


def test_an_empty_array_is_no_default(bridges):
    """It would be None, which is no array: `maybe` has what to write instead."""
    with pytest.raises(TypeError, match="incompatible function arguments"):
        bridges.defaulted()
    bridges.defaulted(ones())


def test_results(bridges):
    array = np.arange(12).reshape(3, 4)
    made = bridges.transposed(array)
    assert type(made) is libcai.Array
    np.testing.assert_array_equal(np.asarray(made), array.T)
    assert bridges.flat(array, 12).shape == (12,)


def test_an_error_of_libcais_is_its_exception(bridges):
    with pytest.raises(libcai.ViewError, match="shape") as caught:
        bridges.flat(ones(), 7)
    assert caught.value.status < 0


@pytest.mark.parametrize("stream", [None, 1])
def test_an_empty_array_is_refused(bridges, stream):
    with pytest.raises(libcai.UseError, match="is NULL"):
        bridges.use_none(stream)


def test_an_array_is_kept(bridges):
    assert bridges.kept() is None
    given, seen = exporter()
    bridges.keep(given)
    del given
    gc.collect()
    assert seen() is not None
    first, second = bridges.kept(), bridges.kept()
    assert first.ptr == second.ptr
    bridges.keep(ones())
    assert seen() is not None
    del first, second
    libcai.drain()
    gc.collect()
    assert seen() is None
    bridges.keep(libcai.asarray(np.ones(3)))
    assert bridges.kept().shape == (3,)


def test_the_exporter_lives_during_the_call(bridges):
    made, seen = exporter()
    given = [made]
    del made
    assert bridges.during(given.pop(), lambda: (gc.collect(), seen().__class__)) == 12
    gc.collect()
    assert seen() is None
    given, seen = exporter()
    with pytest.raises(ZeroDivisionError):
        bridges.during(given, lambda: 1 / 0)
    del given
    gc.collect()
    assert seen() is None


def test_an_exporter_that_changes_during_the_call(bridges):
    """The array that it has described stays as it was."""
    given, change = changing()
    assert bridges.during(given, change) == 6


def test_signatures(bridges):
    assert "libcai.typing.ArrayLike" in bridges.transposed.__doc__
    assert "-> libcai.Array" in bridges.transposed.__doc__


def test_one_import_is_for_all_files_of_a_module(bridges):
    assert bridges.by_hand_knows_libcai()


def test_without_an_import_the_first_argument_imports(compiled):
    out = python(
        """
import sys
sys.path[:0] = sys.argv[1:]
import by_hand
from helpers import producer
assert "libcai._core" not in sys.modules
print(by_hand.ndim(producer()), by_hand.ndim(3))
try:
    by_hand.ndim(b"read-only")
except ValueError as error:
    print(error)
""",
        str(compiled),
        str(Path(__file__).parent),
    )
    assert out == "2 None\ndata: the array is marked read-only, and would be written\n"


def test_owned_to_be_written(compiled):
    by_hand = load(compiled, "by_hand")
    given, seen = exporter()
    assert by_hand.ndim(given) == 2  # and libcai is imported
    made = by_hand.own_to_write(given)
    assert (type(made), made.shape) == (libcai.Array, (3, 4))
    refused = Host({**given.array.__array_interface__, "data": (given.array.ctypes.data, True)})
    refused.owner = given.owner
    del given, made
    for array in (refused, libcai.asarray(refused)):
        with pytest.raises(libcai.InterfaceError, match="read-only"):
            by_hand.own_to_write(array)
    with pytest.raises(libcai.InterfaceTypeError, match="the int object"):
        by_hand.own_to_write(3)
    assert seen() is not None
    del refused, array
    gc.collect()
    assert seen() is None


@pytest.mark.parametrize("library", LIBRARIES)
def test_importing_without_libcai(compiled, library):
    out = python(
        """
import sys
sys.modules["libcai"] = None
sys.path.append(sys.argv[1])
try:
    import bridges
except ImportError as error:
    print(error.__cause__)
""",
        str(compiled / library),
        env={**os.environ, "LD_LIBRARY_PATH": str(_library.LIBRARY_DIR)},
    )
    assert out.startswith("No module named 'libcai")


def test_a_function_that_throws_has_ended_its_use(compiled, simulated_with_gil):
    simulated_with_gil(
        f"""
from helpers import load
from libcai import Array
theirs, mine = new_stream(), new_stream()
for name in {LIBRARIES}:
    bridges = load({str(compiled)!r} + "/" + name, "bridges")
    memory = new_memory(256)
    fill(memory, 7, 64, theirs)
    made = array(theirs, memory, shape=(64,), typestr="<u4")
    refused(IndexError, "after the work was queued", bridges.clear_and_throw, made, mine.value)
    assert not any(read(memory, 64, theirs))
    calls_before = calls("cuStreamWaitEvent")
    bridges.use_both(made, made, mine.value)
    assert calls("cuStreamWaitEvent") == calls_before + 2  # there and back, once
    # A readable one is only read, and two readers do not wait for each other.
    given = libcai.asarray(array(None, shape=(64,), typestr="<u4"))
    outs = [libcai.asarray(array(None, shape=(64,), typestr="<u4")) for _ in range(2)]
    calls_before = calls("cuStreamWaitEvent")
    for stream, out in zip((theirs, mine), outs, strict=True):
        bridges.use_both(given, out, stream.value)
    assert calls("cuStreamWaitEvent") == calls_before
    bridges.use_both(outs[0], given, mine.value)
    assert calls("cuStreamWaitEvent") == calls_before + 1  # one event is of both arrays' uses
    read_twice = libcai.asarray(array(None, shape=(64,), typestr="<u4"))
    calls_before = calls("cuStreamWaitEvent")
    for stream in (theirs, mine):
        bridges.read_on(read_twice, stream.value)
    assert calls("cuStreamWaitEvent") == calls_before
wait(theirs, mine)
"""
    )


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_use_that_does_not_end_well(compiled, library):
    run_with_gil(
        f"""
from helpers import load
from libcai import Array
bridges = load({str(compiled / library)!r}, "bridges")
cuda.simcuda_fail.argtypes = c_char_p, c_uint64, c_int32
heard = []
sys.unraisablehook = lambda told: heard.append(told.exc_type)
theirs, mine = new_stream(), new_stream()
memory = new_memory(256)
fill(memory, 7, 64, theirs)
made = array(theirs, memory, shape=(64,), typestr="<u4")
cuda.simcuda_fail(b"cuEventRecord", 2, 2)  # on the way back
refused(IndexError, "after the work was queued", bridges.clear_and_throw, made, mine.value)
assert heard == [libcai.CudaError], heard
assert not any(read(memory, 64, theirs))  # the host has waited
cuda.simcuda_fail(b"cuEventRecord", 2, 2)
refused(libcai.CudaError, "cuEventRecord", bridges.use_both, made, made, mine.value)
taken = libcai.asarray(made)
cuda.simcuda_fail(b"cuEventRecord", 2, 2)
cuda.simcuda_fail(b"cuStreamSynchronize", 1, 2)  # nor can the host wait: the owner keeps the use
heard.clear()
refused(IndexError, "after the work was queued", bridges.clear_and_throw, taken, mine.value)
assert heard == [libcai.CudaError] * 2, heard
with libcai.use(taken, stream=theirs):
    fill(memory, 7, 64, theirs)
wait(theirs, mine)
"""
    )
