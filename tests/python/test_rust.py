# SPDX-License-Identifier: BSD-3-Clause
"""Functions of PyO3's that take and return arrays, by the crate libcai: tests/bridges/rust."""

import gc
import subprocess
import sys
import sysconfig
import threading
import weakref

import numpy as np
import pytest
from building import build_crate, build_example, build_rust_example
from helpers import LONG, eventually, load, producer, python
from simulation import run_with_gil
from test_bridges import WRONG, WRONG_SECONDS, changing, exporter, first_is_let_go_of, ones
from test_exchange import on_host
from test_lifetime import IN_ANOTHER

import libcai
from libcai import _library

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folder(built):
    # By the limited API, as the example has it, so that PyO3 is compiled once; in the long run also
    # by the one of this Python.
    options = [] if LONG else ["--features=pyo3/abi3-py310"]
    return built("rust/bridges", build_crate, "bindings/rust", "bridges", *options)


@pytest.fixture(scope="module")
def bridges(folder):
    return load(folder, "bridges")


@pytest.fixture(scope="module")
def exporters(built):
    return load(built("exporters", build_example, "exporters"), "exporters")


wrong = pytest.mark.parametrize("wrong", WRONG.values(), ids=list(WRONG))


# ---- The table


def test_the_table_is_laid_out_as_in_the_header(bridges, tmp_path):
    source = tmp_path / "layout.c"
    names = dict(bridges.layout())
    lines = []
    for name in names:
        kind, _, member = name.partition(".")
        lines.append(f"offsetof({kind}, {member})" if member else f"sizeof({kind})")
    source.write_text(
        "#include <cai/python.h>\n#include <stddef.h>\n#include <stdio.h>\n"
        "int main(void) {\n"
        + "".join(f'  printf("%zu\\n", (size_t){line});\n' for line in lines)
        + "  return 0;\n}\n"
    )
    includes = [f"-I{_library.INCLUDE_DIR}", f"-I{sysconfig.get_path('include')}"]
    flags = ["-Wno-unused-variable", "-Wl,--unresolved-symbols=ignore-all"]
    subprocess.run(["cc", *includes, *flags, "-o", tmp_path / "layout", source], check=True)
    done = subprocess.run([tmp_path / "layout"], capture_output=True, text=True, check=True)
    assert list(map(int, done.stdout.split())) == list(names.values())


def test_without_the_package(folder):
    """The module's import fails, and says what is missing."""
    python(
        """
import sys
sys.path.insert(0, sys.argv[1])
sys.modules["libcai"] = None
try:
    import bridges
except ImportError as error:
    assert "libcai" in str(error), error
else:
    raise AssertionError
""",
        str(folder),
    )


def test_sub_interpreters_are_refused(folder):
    """Before the main interpreter has the module, and afterwards."""
    within = f"""
import sys
sys.path.insert(0, {str(folder)!r})
try:
    import bridges
except ImportError:
    print("refused", flush=True)
"""
    code = f"""
def from_another():
    for given, named in kinds:
        second = interpreters.create(*given, **named)
        interpreters.run_string(second, {within!r})
        interpreters.destroy(second)

sys.path.insert(0, {str(folder)!r})
from_another()
import bridges
from_another()
"""
    assert python(IN_ANOTHER + code) == 4 * "refused\n"


# ---- Arguments


def test_arguments(bridges):
    array, taken = ones(), libcai.asarray(ones())
    assert bridges.elements(array, taken, b"four") == 28
    assert bridges.owned(array, taken) == 24
    assert bridges.shape(array[:, 1:]) == [3, 3]
    assert bridges.shape(producer()) == [2, 3]
    assert bridges.shape(np.ones(())) == []
    assert bridges.shape(np.ones((1,) * 32)) == [1] * 32
    assert bridges.writes(array) is True


@pytest.mark.parametrize("name", ["Described", "Ordered", "Tensor"])
def test_by_tables(bridges, exporters, name):
    array = ones()
    made = on_host(getattr(exporters, name), array)
    before = sys.getrefcount(made)
    assert bridges.elements(made, made, array) == 36
    assert bridges.elements(made, producer(), array) == 30  # described, dict only, NumPy
    assert bridges.writes(made) is True
    assert sys.getrefcount(made) == before


def test_more_arguments_than_are_kept_room_for(bridges):
    """Each has its own room, also while another one calls."""
    arrays = [np.ones(n) for n in range(20)]

    def nested(n):
        assert bridges.during(arrays[n], lambda: n and nested(n - 1)) == n

    nested(19)
    nested(19)


def test_what_is_no_array(bridges):
    for given, name in ((3, "int"), (None, "NoneType"), ("text", "str"), ([1, 2], "list")):
        for function in (bridges.shape, bridges.writes, bridges.maybe):
            if function is bridges.maybe and given is None:
                continue
            with pytest.raises(TypeError, match=f"the {name} object has neither") as caught:
                function(given)
            assert caught.type is libcai.InterfaceTypeError
            assert caught.value.__notes__ == ["while processing 'x'"]
    with pytest.raises(libcai.InterfaceTypeError, match="the int object"):
        bridges.many([ones(), 3])


@wrong
def test_what_is_wrong_with_an_array_is_said(bridges, wrong):
    make, kind, message = wrong
    given = make()
    before = sys.getrefcount(given)
    with pytest.raises(kind, match=message):
        bridges.writes(given)
    if "read-only" in message:
        assert bridges.shape(given) == [3, 4]
    else:
        for function in (bridges.shape, bridges.maybe):
            with pytest.raises(kind, match=message):
                function(given)
    assert sys.getrefcount(given) == before


@pytest.mark.parametrize("function", ["elements", "owned"])
@pytest.mark.parametrize("second", WRONG_SECONDS)
def test_the_first_argument_is_let_go_of_when_the_second_is_wrong(bridges, function, second):
    first_is_let_go_of(bridges, function, second)


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
    change()
    assert bridges.extents_elsewhere(given, change) == 6


def test_without_the_gil(bridges):
    assert bridges.extents_elsewhere(ones(), lambda: None) == 7
    assert bridges.extents_elsewhere(libcai.asarray(ones()), lambda: None) == 7


# ---- Results, and arrays that are kept


def test_results(bridges, exporters):
    array = ones()
    made = bridges.maybe(array)
    assert type(made) is libcai.Array
    assert made.data == array.ctypes.data
    assert bridges.maybe() is None
    assert bridges.maybe(made).ptr == made.ptr
    assert [type(x) for x in bridges.many([array, made])] == [libcai.Array] * 2
    assert (type(bridges.empty_like(made, [5, 2])), bridges.empty_like(array, []).shape) == (
        libcai.Array,
        (),
    )
    like = bridges.empty_like(on_host(exporters.Described, array), [5, 2])
    assert type(like) is exporters.Described
    assert libcai.asarray(like).shape == (5, 2)
    for shape, kind in (([-1], libcai.Error), ([1] * 65, libcai.InterfaceError)):
        with pytest.raises(kind, match="shape"):
            bridges.empty_like(array, shape)
    with pytest.raises(libcai.InterfaceTypeError):
        bridges.empty_like(3, [])


def test_an_array_is_kept(bridges):
    assert bridges.kept() is None
    given, seen = exporter()
    bridges.keep(given)
    del given
    gc.collect()
    assert seen() is not None
    first, second = bridges.kept(), bridges.kept()
    assert first.ptr == second.ptr
    bridges.keep(None)
    assert seen() is not None
    del first, second
    libcai.drain()
    gc.collect()
    assert seen() is None


def test_an_array_is_let_go_of_by_a_thread_without_the_gil(bridges):
    """While this one has the GIL, and waits: the exporter goes when Python comes to it."""
    for _ in range(100):
        given, seen = exporter()
        bridges.keep(given)
        del given
        bridges.drop_elsewhere()
        libcai.drain()
        gc.collect()
        assert seen() is None
    given, seen = exporter()
    gone = threading.Event()
    given.owner.gone = weakref.finalize(given.owner, gone.set)
    bridges.keep(given)
    del given
    bridges.drop_elsewhere()
    assert eventually(gone.is_set)  # the pending call comes by itself


def test_nothing_leaks(bridges):
    array, taken = ones(), libcai.asarray(ones())
    given = [array, taken, producer(), b"four"]
    before = [sys.getrefcount(one) for one in given]
    for one in given:
        for _ in range(50):
            bridges.elements(one, one, one)
            bridges.owned(one, one)
            bridges.maybe(one)
            bridges.many([one] * 3)
            bridges.keep(one)
            with pytest.raises(libcai.ViewError):
                bridges.judge(True)
    bridges.keep(None)
    libcai.drain()
    gc.collect()
    del one
    assert [sys.getrefcount(one) for one in given] == before


# ---- Errors


def test_an_error_of_libcais_is_its_exception(bridges):
    with pytest.raises(libcai.ViewError, match="array is NULL") as caught:
        bridges.judge(True)
    assert caught.value.status == -1
    with pytest.raises(libcai.InterfaceError) as caught:
        bridges.judge(False)
    assert caught.value.status == -2


# ---- Classes that export


@pytest.mark.parametrize("name", ["Picture", "Described"])
def test_a_class_exports(bridges, name):
    dtype_of = producer(shape=(2, 3), strides=(24, 8), typestr="<f8")
    array = libcai.asarray(dtype_of)
    made = getattr(bridges, name)(array)
    taken = libcai.asarray(made)
    assert (taken.shape, taken.typestr, taken.data) == ((2, 3), "<f8", array.data)
    assert taken.route == ("cuda" if name == "Picture" else "exchange")
    assert bridges.shape(made) == [2, 3]
    assert not hasattr(made, "__cuda_array_interface__") or (
        made.__cuda_array_interface__ == array.__cuda_array_interface__
    )


def test_what_a_class_hands_out_outlives_its_object(bridges):
    given, seen = exporter()
    made = bridges.Described(given)
    taken = libcai.asarray(made)
    del made, given
    gc.collect()
    assert seen() is not None
    assert taken.shape == (3, 4)
    del taken
    gc.collect()
    assert seen() is None


def test_a_class_that_panics(bridges):
    for take in (libcai.asarray, bridges.shape):
        with pytest.raises(RuntimeError, match="an exporter panicked: the array was lost"):
            take(bridges.Panicking())


def test_a_class_cannot_say_the_hosts_arrays_in_the_dict(bridges):
    with pytest.raises(AttributeError, match="on the host"):
        _ = bridges.Picture(ones()).__cuda_array_interface__


# ---- Order


def test_streams(bridges):
    array, taken = ones(), libcai.asarray(ones())
    assert bridges.use_both(array, taken, None) == 1
    assert bridges.use_both(array, taken, 7) == 7
    for stream, kind in ((-1, ValueError), (0, ValueError), ("1", TypeError)):
        with pytest.raises(kind, match="stream"):
            bridges.use_both(array, taken, stream)
    with pytest.raises(ZeroDivisionError):
        bridges.use_both(array, taken, 7, lambda: 1 / 0)


IN_ORDER = """
from helpers import load
bridges = load({folder!r}, "bridges")
theirs, mine = new_stream(), new_stream()
memory = new_memory(256)
dict_only = array(theirs, memory, shape=(64,), typestr="<u4")
"""


def test_order_both_ways(folder, simulated_with_gil):
    simulated_with_gil(
        IN_ORDER.format(folder=str(folder))
        + """
for given in (dict_only, libcai.asarray(dict_only)):
    for stream in (mine.value, None):
        fill(memory, 7, 64, theirs)
        bridges.clear(given, stream)
        assert not any(read(memory, 64, theirs))
wait(theirs, mine)
"""
    )


@pytest.mark.parametrize("panics", [False, True])
def test_a_use_ends_when_its_work_fails(folder, simulated_with_gil, panics):
    simulated_with_gil(
        IN_ORDER.format(folder=str(folder))
        + f"""
fill(memory, 7, 64, theirs)
try:
    bridges.clear_and_fail(dict_only, mine.value, {panics})
except BaseException as error:
    assert type(error).__name__ == ("PanicException" if {panics} else "RuntimeError"), error
    assert "after the work was queued" in str(error)
else:
    raise AssertionError
assert not any(read(memory, 64, theirs))
wait(theirs, mine)
"""
    )


def test_without_order_the_race_is_found(folder):
    """So it is the use that the tests above rest on."""
    run_with_gil(
        IN_ORDER.format(folder=str(folder))
        + """
fill(memory, 7, 64, theirs)
bridges.clear_without_order(dict_only, mine.value)
wait(theirs, mine)
""",
        races=True,
    )


def test_a_use_that_cannot_begin(folder):
    """The driver's failure is libcai's exception, and the work is not done."""
    run_with_gil(
        IN_ORDER.format(folder=str(folder))
        + """
done = []
fill(memory, 7, 64, theirs)
refused(libcai.CudaError, "cuEventRecord", bridges.use_both, dict_only, dict_only, mine.value,
        lambda: done.append(1))
assert not done
wait(theirs, mine)
""",
        SIMCUDA_FAIL="cuEventRecord:1:999",
    )


def test_a_use_that_cannot_end(folder):
    """The host waits in its place, and the caller is told."""
    run_with_gil(
        IN_ORDER.format(folder=str(folder))
        + """
lost = []
sys.unraisablehook = lost.append
fill(memory, 7, 64, theirs)
refused(libcai.CudaError, "cuEventRecord", bridges.clear, dict_only, mine.value)
assert not any(read(memory, 64, theirs))
assert not lost
fill(memory, 7, 64, theirs)
wait(theirs)
""",
        SIMCUDA_FAIL="cuEventRecord:2:999",
    )


# ---- The example's second function; test_bridges.py has its first


@pytest.fixture(scope="module")
def example(built):
    return built("rust/clear_rust", build_rust_example)


def test_the_example_copies(example, exporters):
    clear_rust = load(example, "clear_rust")
    array = np.arange(12, dtype="<i2").reshape(3, 4)
    for given in (array, libcai.asarray(array), np.ones((0, 3)), np.ones(())):
        made = clear_rust.copy(given)
        assert type(made) is libcai.Array
        np.testing.assert_array_equal(np.asarray(made), np.asarray(given))
    assert type(clear_rust.copy(on_host(exporters.Described, ones()))) is exporters.Described
    with pytest.raises(ValueError, match="C-contiguous"):
        clear_rust.copy(array[:, ::2])


def test_the_example_takes_numba_cudas_array_and_gives_one_back(example, simulated_with_gil):
    simulated_with_gil(
        f"""
import numpy as np
from helpers import load
from numba import cuda as numba_cuda
clear_rust = load({str(example)!r}, "clear_rust")
mine, theirs = numba_cuda.stream(), numba_cuda.stream()
numbers = np.arange(6, dtype="<f4").reshape(2, 3)
given = numba_cuda.to_device(numbers, stream=theirs)
made = numba_cuda.as_cuda_array(clear_rust.copy(given, int(mine.handle)))
clear_rust.clear(given)
assert np.array_equal(made.copy_to_host(), numbers)
assert not given.copy_to_host(stream=theirs).any()
"""
    )
