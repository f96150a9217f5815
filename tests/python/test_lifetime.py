# SPDX-License-Identifier: BSD-3-Clause
"""Who keeps what alive, on which thread it ends, and that nothing runs after the interpreter."""

import ctypes
import gc
import subprocess
import sys
import sysconfig
import threading
import weakref

import numpy as np
import pytest
from helpers import LONG, ROOT, Cuda, eventually, interface, producer, python

import libcai
from libcai import _core as core
from libcai import _library


class Owner(ctypes.Structure):
    pass


CALL = ctypes.CFUNCTYPE(None, ctypes.POINTER(Owner))  # lets the GIL go
CALL_WITH_GIL = ctypes.PYFUNCTYPE(None, ctypes.POINTER(Owner))
Owner._fields_ = [
    ("struct_size", ctypes.c_uint32),
    ("flags", ctypes.c_uint32),
    ("retain", ctypes.c_void_p),
    ("release", ctypes.c_void_p),
]


def owner_of(array):
    address = ctypes.c_void_p.from_address(array.ptr + 8).value
    return ctypes.cast(address, ctypes.POINTER(Owner))


def retain(array):
    """Adds a holder from C; returns its release(), which runs without the GIL."""
    owner = owner_of(array)
    CALL(owner.contents.retain)(owner)
    return lambda call=CALL: call(owner.contents.release)(owner)


def until_gone(reference):
    # A pending call runs between two instructions of the main thread.
    return eventually(lambda: reference() is None)


class Watched(Cuda):
    pass


def watched(**changes):
    given = Watched(interface(**changes))
    return given, weakref.ref(given)


def test_an_owner_too_short_to_keep_uses():
    """As of an array that code compiled for an earlier header made."""
    nothing = CALL(lambda owner: None)
    address = ctypes.cast(nothing, ctypes.c_void_p).value
    owner = Owner(ctypes.sizeof(Owner), 0, address, address)
    array = libcai.asarray(producer())
    copy = (ctypes.c_uint64 * 64)()
    ctypes.memmove(copy, array.ptr, core.sizes()["cai_array"])
    copy[1] = ctypes.addressof(owner)
    adopted = libcai.Array.from_ptr(ctypes.addressof(copy))
    assert adopted.__cuda_array_interface__ == array.__cuda_array_interface__
    assert adopted[1:].__cuda_array_interface__ == array[1:].__cuda_array_interface__
    with pytest.raises(libcai.CudaError, match="keeps no uses"):
        adopted.used_on(1)
    del adopted


@pytest.mark.usefixtures("collected")
def test_the_exporter_dies_last():
    given, reference = watched()
    array = libcai.asarray(given)
    del given
    assert reference() is not None
    view = array[1:]
    del array
    assert reference() is not None
    del view
    assert reference() is None


@pytest.mark.usefixtures("collected")
def test_the_mask_s_object_too():
    mask, mask_reference = watched(typestr="|b1")
    given, reference = watched(mask=mask)
    array = libcai.asarray(given)
    del mask
    given._interface["mask"] = None
    del given
    assert mask_reference() is not None
    mask = array.mask
    del array
    assert reference() is not None
    assert mask_reference() is not None
    del mask
    assert reference() is None
    assert mask_reference() is None


@pytest.mark.usefixtures("collected")
def test_failures_leave_nothing():
    given, reference = watched(shape=[2, -1], mask=producer())
    with pytest.raises(libcai.InterfaceError):
        libcai.asarray(given)
    del given
    assert reference() is None


def cycles():
    def plain(given):
        given.cached = libcai.asarray(given)

    def view(given):
        given.cached = libcai.asarray(given)[1:]

    def view_of_view(given):
        given.cached = libcai.asarray(given)[1:].transpose()[...]

    def several(given):
        first = libcai.asarray(given)
        given.cached = [first, libcai.asarray(given)]

    def as_a_mask(given):
        given.cached = libcai.asarray(Cuda(interface(mask=given)))

    return [plain, view, view_of_view, several, as_a_mask]


@pytest.mark.parametrize("tie", cycles(), ids=lambda tie: tie.__name__)
@pytest.mark.usefixtures("collected")
def test_a_producer_that_caches_its_own_array_is_freed(tie):
    given, reference = watched(typestr="|b1")
    tie(given)
    del given
    assert reference() is not None
    gc.collect()
    assert reference() is None


@pytest.mark.usefixtures("collected")
def test_the_collector_leaves_what_somebody_else_holds():
    given, reference = watched()
    given.cached = libcai.asarray(given)
    release = retain(given.cached)
    address = given.cached.ptr
    del given
    gc.collect()
    assert reference() is not None
    again = libcai.Array.from_ptr(address, steal=False)
    release()
    assert again.shape == (2, 3)
    del again
    gc.collect()
    assert reference() is None


@pytest.mark.usefixtures("collected")
def test_two_holders_of_a_cycle():
    given, reference = watched()
    given.cached = libcai.asarray(given)
    view = given.cached[0]
    del given
    gc.collect()
    assert reference() is not None
    assert view.shape == (3,)
    del view
    gc.collect()
    assert reference() is None


def test_an_array_that_the_collector_has_cleared_is_harmless():
    seen = []

    class Late:
        def __del__(self):
            seen.append(repr(self.array))

    given, reference = watched()
    given.late = Late()
    given.late.array = given.cached = libcai.asarray(given)
    del given
    gc.collect()
    assert reference() is None
    assert len(seen) == 1


@pytest.mark.usefixtures("collected")
def test_a_release_with_the_gil_is_prompt():
    given, reference = watched()
    array = libcai.asarray(given)
    release = retain(array)
    del array, given
    assert reference() is not None
    release(CALL_WITH_GIL)
    assert reference() is None


@pytest.mark.usefixtures("collected")
def test_a_release_without_the_gil_is_queued_and_drained():
    given, reference = watched()
    release = retain(libcai.asarray(given))
    del given
    release()
    assert until_gone(reference)


@pytest.mark.usefixtures("collected")
def test_a_release_on_another_thread():
    references, releases = [], []
    for _ in range(200):
        given, reference = watched()
        releases.append(retain(libcai.asarray(given)))
        references.append(reference)
        del given
    threads = [
        threading.Thread(
            target=lambda part: [release() for release in part], args=(releases[i::4],)
        )
        for i in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(until_gone(reference) for reference in references)


def test_a_release_does_not_wait_for_the_gil():
    """The thread is one of C; the main thread holds the GIL all the while."""
    pthread = ctypes.PyDLL(None)
    given, reference = watched()
    array = libcai.asarray(given)
    owner = owner_of(array)
    CALL(owner.contents.retain)(owner)
    del array, given
    thread = ctypes.c_ulong()
    release = ctypes.c_void_p(owner.contents.release)
    assert pthread.pthread_create(ctypes.byref(thread), None, release, owner) == 0
    assert pthread.pthread_join(thread, None) == 0  # PyDLL: the GIL is held while it waits
    libcai.asarray(producer())  # an entry drains
    assert reference() is None


@pytest.mark.usefixtures("collected")
def test_each_entry_drains():
    given, reference = watched()
    release = retain(libcai.asarray(given))
    del given
    done = threading.Thread(target=release)
    done.start()
    done.join()
    libcai.from_interface(interface())
    assert reference() is None


@pytest.fixture
def at_most():
    yield libcai.defer_releases
    libcai.defer_releases()


def on_a_thread(references, releases):
    """Releases without the GIL one after the other, while the main thread runs no Python; returns
    how many objects were left after each."""
    libc = ctypes.CDLL(None)
    mutex, end = (ctypes.create_string_buffer(128) for _ in range(2))  # zeros are one, on Linux
    left = []

    def work():
        libc.pthread_mutex_lock(mutex)  # the main thread waits for the end now, within C
        for release in releases:
            release()
            left.append(sum(reference() is not None for reference in references))
        libc.pthread_cond_signal(end)
        libc.pthread_mutex_unlock(mutex)

    libc.pthread_mutex_lock(mutex)
    thread = threading.Thread(target=work)
    thread.start()
    libc.pthread_cond_wait(end, mutex)
    libc.pthread_mutex_unlock(mutex)
    thread.join()
    return left


@pytest.mark.parametrize(
    ("most", "left"), [(0, [4, 3, 2, 1, 0]), (2, [5, 5, 2, 2, 2]), (5, [5, 5, 5, 5, 5])]
)
@pytest.mark.usefixtures("collected")
def test_releases_wait_up_to_a_bound(at_most, most, left):
    at_most(most)
    references, releases = [], []
    for _ in range(5):
        given, reference = watched()
        releases.append(retain(libcai.asarray(given)))
        references.append(reference)
        del given
    assert on_a_thread(references, releases) == left
    libcai.drain()
    assert not any(reference() for reference in references)


def test_bounds_that_are_none(at_most):
    for most in (-1, 2**63):
        with pytest.raises(libcai.UseError, match=f"most is {most}"):
            at_most(most)
    for most in (1.5, "2", None):
        with pytest.raises(TypeError):
            at_most(most)


def test_adopting_takes_the_holder():
    given = producer()
    count = sys.getrefcount(given)
    array = libcai.asarray(given)
    owner = owner_of(array)
    CALL(owner.contents.retain)(owner)
    again = libcai.Array.from_ptr(array.ptr)
    del array
    assert sys.getrefcount(given) == count + 1
    del again
    assert sys.getrefcount(given) == count


def test_many_arrays_take_no_memory():
    given = np.ones((3, 4))
    for _ in range(3):
        blocks = sys.getallocatedblocks()
        for _ in range(1000):
            array = libcai.asarray(given)
            view = array[1:].reshape(-1)
            del array, view
        grown = sys.getallocatedblocks() - blocks
    assert grown < 50


AT_EXIT = """
import ctypes, sys, threading, time
import libcai
class P:
    __cuda_array_interface__ = {interface}
    def __del__(self):
        print("gone")
keep = libcai.asarray(P())
"""


def at_exit(more):
    return python(AT_EXIT.replace("{interface}", repr(interface())) + more)


def test_exit_with_a_live_array():
    assert at_exit("") in ("gone\n", "")
    assert at_exit("sys.keep = keep; del keep") in ("gone\n", "")


def test_exit_with_a_cycle():
    at_exit("keep.__class__; p = P(); p.cached = libcai.asarray(p); del p")


def test_exit_while_a_thread_releases():
    at_exit(
        """
owner = ctypes.c_void_p.from_address(keep.ptr + 8).value
retain, release = (ctypes.c_void_p.from_address(owner + at).value for at in (8, 16))
call = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
def work():
    while True:
        array = libcai.asarray(P())
        owner = ctypes.c_void_p.from_address(array.ptr + 8).value
        call(retain)(owner)
        del array
        call(release)(owner)
P.__del__ = lambda self: None
for _ in range(3):
    threading.Thread(target=work, daemon=True).start()
time.sleep(0.2)
"""
    )


def test_a_release_after_the_interpreter_has_ended():
    """libc's atexit runs after Py_Finalize: the release must leak, not touch Python."""
    out = at_exit(
        """
owner = ctypes.c_void_p.from_address(keep.ptr + 8).value
retain, release = (ctypes.c_void_p.from_address(owner + at).value for at in (8, 16))
ctypes.CFUNCTYPE(None, ctypes.c_void_p)(retain)(owner)
at_exit = ctypes.CDLL(None).__cxa_atexit  # calls function(argument)
at_exit.argtypes = [ctypes.c_void_p] * 3
assert at_exit(release, owner, None) == 0
"""
    )
    assert out == ""


def test_fork():
    at_exit(
        """
import os, warnings
warnings.simplefilter("ignore")
P.__del__ = lambda self: None
pid = os.fork()
array = libcai.asarray(P())
del array
if pid:
    assert os.waitpid(pid, 0)[1] == 0
"""
    )


def test_a_fork_waits_for_a_module_that_another_thread_imports():
    """The child would wait for it forever."""
    python(
        """
import os, signal, sys, threading, warnings
import libcai
warnings.simplefilter("ignore")
started, may_go = threading.Event(), threading.Event()
class Slow:
    def find_spec(name, path=None, target=None):
        if name == "libcai._devices":
            started.set()
            may_go.wait()
sys.meta_path.insert(0, Slow)
thread = threading.Thread(target=lambda: libcai.zeros(3))
thread.start()
started.wait()
threading.Timer(0.2, may_go.set).start()
pid = os.fork()
if pid == 0:
    signal.alarm(600)  # a hang is a failure
    libcai.zeros(3)
    os._exit(0)
thread.join()
assert os.waitpid(pid, 0)[1] == 0
"""
    )


@pytest.mark.slow
@pytest.mark.parametrize("most", ["0", "1", "4096"])
def test_a_long_chain_of_owners_takes_no_deep_stack(most):
    out = python(
        """
import sys
sys.path.insert(0, sys.argv[1])
import gc, libcai
from helpers import interface
libcai.defer_releases(int(sys.argv[2]))

def chain(last):
    for _ in range(int(sys.argv[3])):
        last = libcai.from_interface(interface(), owner=last)
    return last

last = chain(None)
del last
root = []
root.append(chain(root))
del root
gc.collect()
view = chain(None)[1:]
del view
print("ok")
""",
        str(ROOT / "tests/python"),
        most,
        "300000" if LONG else "100000",  # in 8 MiB: 28 or 84 bytes for each
    )
    assert out == "ok\n"


MEDDLER = """
#include <Python.h>
#include "cai.h"

static cai_owner *held;

/* The collector's first pass: a thread without the GIL retains an array just now. */
static int traverse(PyObject *self, visitproc visit, void *arg) {
  (void)self, (void)visit, (void)arg;
  if (held) held->retain(held);
  held = NULL;
  return 0;
}
static PyObject *make(PyObject *type, PyObject *owner) {
  PyObject *self = PyType_GenericAlloc((PyTypeObject *)type, 0);
  held = (cai_owner *)PyLong_AsVoidPtr(owner);
  return self;
}
static void dealloc(PyObject *self) {
  PyObject_GC_UnTrack(self);
  PyObject_GC_Del(self);
}
static PyMethodDef methods[] = {{"make", make, METH_O | METH_CLASS, NULL}, {0}};
static PyTypeObject type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "meddler.Meddler",
    .tp_basicsize = sizeof(PyObject),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_traverse = traverse,
    .tp_dealloc = dealloc,
    .tp_methods = methods,
};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, .m_name = "meddler", .m_size = -1};
PyMODINIT_FUNC PyInit_meddler(void) {
  PyObject *self = PyModule_Create(&module);
  if (!self || PyType_Ready(&type) < 0 || PyModule_AddObject(self, "Meddler", (PyObject *)&type))
    return NULL;
  return self;
}
"""


@pytest.mark.usefixtures("collected")
def test_a_retain_amid_a_collection(tmp_path, monkeypatch):
    """Objects that the first pass of the collector found are found by later ones, too."""
    (tmp_path / "meddler.c").write_text(MEDDLER)
    headers = [f"-I{sysconfig.get_path('include')}", f"-I{_library.INCLUDE_DIR}"]
    command = ["cc", "-shared", "-fPIC", *headers, "meddler.c", "-o", "meddler.so"]
    subprocess.run(command, cwd=tmp_path, check=True)
    monkeypatch.syspath_prepend(tmp_path)
    import meddler

    for make in (libcai.asarray, lambda given: libcai.asarray(given)[1:]):
        given, reference = watched()
        array = make(given)
        owner = owner_of(array)
        meddling = meddler.Meddler.make(ctypes.addressof(owner.contents))
        del given
        gc.collect()
        del meddling
        assert reference() is not None
        assert reference()._interface
        del array
        assert reference() is not None
        CALL(owner.contents.release)(owner)
        assert until_gone(reference)


IN_ANOTHER = (
    """
import sys
if sys.version_info >= (3, 13):
    import _interpreters as interpreters
    kinds = [(("legacy",), {}), (("isolated",), {})]
else:
    import _xxsubinterpreters as interpreters
    kinds = [((), {"isolated": False}), ((), {"isolated": True})]

def from_another():
    for given, named in kinds:
        second = interpreters.create(*given, **named)
        interpreters.run_string(second, """
    + repr("""
for name in ("libcai", "libcai._core", "libcai._devices"):
    try:
        __import__(name)
    except ImportError as error:
        print(error, flush=True)
""")
    + """)
        interpreters.destroy(second)
"""
)
REFUSED = "libcai cannot be imported into a sub-interpreter, only into the main one\n"


def test_sub_interpreters_are_refused():
    code = IN_ANOTHER + "import libcai; libcai.asarray; libcai.empty; from_another()"
    assert python(code) == 6 * REFUSED


def test_a_sub_interpreter_that_is_refused_spoils_nothing():
    code = IN_ANOTHER + "from_another(); import libcai; print(libcai.zeros(2).item(1))"
    assert python(code) == 6 * REFUSED + "0.0\n"


def test_no_class_stays_since_an_object_of_it_was_seen():
    class Kept:
        pass

    def seen():
        class Exporter:
            kept = Kept()
            __array_interface__ = property(lambda self: data.__array_interface__)

        libcai.asarray(Exporter())
        return weakref.ref(Exporter), weakref.ref(Exporter.kept)

    data = np.zeros(4, np.uint8)
    references = [reference for _ in range(20) for reference in seen()]
    gc.collect()
    assert not any(reference() for reference in references)
