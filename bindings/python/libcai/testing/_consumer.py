# SPDX-License-Identifier: BSD-3-Clause
"""Judges how a library reads what others export, with arrays whose work is still pending."""

import gc
import traceback
import weakref
from dataclasses import dataclass

import numpy as np

import libcai
from libcai.testing import _driver

__all__ = ["ConsumerCase", "check_consumer", "consumer_cases"]

POISON = 0xEE


@dataclass(frozen=True)
class ConsumerCase:
    """An array that `check_consumer` gives.

    Attributes
    ----------
    id : str
        Its name, the same in every version.
    words : frozenset of str
        What one has to understand to take it, apart from the plain case: see `check_consumer`.
    expected : numpy.ndarray
        What it holds; a masked array if it has a mask, whose mask is then true where the
        interface's is false.
    stream : str
        What its dict says of a stream: ``"own"``, ``"blocking"``, ``"legacy"`` (1),
        ``"per-thread"`` (2), ``"none"``, or ``"unstated"``. But for the last two, the array is not
        yet there when the consumer gets it.
    version : int
        Of its dict.
    readonly : bool
        What its dict says.
    """

    id: str
    words: frozenset
    expected: np.ndarray
    stream: str = "own"
    version: int = 3
    readonly: bool = False
    whole: "np.ndarray | None" = None  # the memory that `expected` is a view of
    strides: str = "as needed"

    def __repr__(self):
        return f"<ConsumerCase {self.id}>"


def consumer_cases():
    """Returns the arrays that `check_consumer` gives, one by one.

    Returns
    -------
    list of ConsumerCase
        For ``pytest.mark.parametrize``, with their ``id``.
    """
    return list(_cases())


def _numbers(dtype="<f4", shape=(4, 6)):
    """Numbers of a type, all of them different where it has so many."""
    count = np.arange(1, 1 + np.prod(shape, dtype=int))
    dtype = np.dtype(dtype)
    if dtype.names:
        filled = np.zeros(len(count), dtype)
        for place, name in enumerate(dtype.names):
            filled[name] = (count + place).reshape(-1, *[1] * filled[name][0].ndim)
    elif dtype.kind == "b":
        filled = count % 2 == 1
    elif dtype.kind in "mM":
        filled = count.astype("<i8").view(dtype)
    else:
        filled = count.astype(dtype)
    return filled.reshape(shape)


def _cases():
    def case(id, expected, *words, whole=None, **more):
        return ConsumerCase(
            id, frozenset(words), expected, whole=expected if whole is None else whole, **more
        )

    plain, deep = _numbers(), _numbers(shape=(2, 3, 4))
    yield case("plain", plain)
    yield case("strides-given", plain, strides="given")
    yield case("strides-left-out", plain, strides="left out")

    def layout(id, view, *words):
        whole = view
        while whole.base is not None:
            whole = whole.base
        return case(id, view, "strided", *words, whole=whole)

    yield layout("fortran", _numbers().T)
    yield layout("columns", _numbers()[:, ::2])
    yield layout("rows", _numbers()[1:3])
    yield layout("block", _numbers()[1:3, 2:5])
    yield layout("turned", _numbers()[::-1, ::-1], "negative")
    yield layout("broadcast", np.broadcast_to(_numbers(shape=(6,)), (3, 6)), "broadcast")
    yield layout("transposed", deep.transpose(2, 0, 1))
    yield case("1-d", _numbers(shape=(24,)))
    yield case("6-d", _numbers(shape=(1, 2, 3, 1, 2, 2)), "dimensions")
    yield case("0-d", _numbers(shape=()), "scalar")
    yield case("empty", _numbers(shape=(0, 3)), "empty")
    yield case("empty-inside", _numbers(shape=(3, 0, 2)), "empty")

    for dtype in ("|b1", "|i1", "<i2", "<i4", "<i8", "|u1", "<u2", "<u4", "<u8", "<f2", "<f8"):
        yield case(dtype[1:], _numbers(dtype), "types")
    for dtype in ("<c8", "<c16"):
        yield case(dtype[1:], _numbers(dtype), "types", "complex")
    yield case("big-endian", _numbers(">f4"), "swapped")
    yield case("datetime", _numbers("<M8[s]"), "time")
    yield case("timedelta", _numbers("<m8[25us]"), "time")
    yield case("structured", _numbers([("a", "<i4"), ("b", "<f8", (2,))]), "structured")

    for stream in ("blocking", "legacy", "per-thread", "none"):
        yield case(f"stream-{stream}", plain, stream=stream)
    yield case("version-2", plain, "old", stream="unstated", version=2)
    yield case("version-0", plain, "old", stream="unstated", version=0, strides="left out")
    yield case("read-only", plain, "read-only", readonly=True)
    mask = np.arange(plain.size).reshape(plain.shape) % 3 == 0
    yield case("masked", np.ma.masked_array(plain, mask), "masked", whole=plain)


# Every word of a case, and what it stands for.
WORDS = frozenset(word for case in _cases() for word in case.words)


class _Exporter:
    """The object that a consumer gets; when the last reference is gone, so is its memory."""

    def __init__(self, memory):
        self._memory = memory
        weakref.finalize(self, memory.let_go).atexit = False

    @property
    def __cuda_array_interface__(self):
        return self._memory.interface()


class _Memory:
    """An array's memory, filled on a stream, and freed in that stream's order.

    A consumer that reads it without waiting for that stream, or still reads it when it has been
    given up, reads something else, and races.
    """

    def __init__(self, cuda, case, content, stream):
        self._cuda, self._case, self.stream = cuda, case, stream
        self._size = content.nbytes
        self._source = _driver.Pinned(cuda, self._size, content.tobytes())
        self._after = _driver.Pinned(cuda, self._size)
        self._address, self._gone = 0, False
        self._mask = None
        if self._size:
            self._address = cuda.cuMemAllocAsync(self._size, stream)
            cuda.cuMemcpyAsync(self._address, self._source.address, self._size, stream)
        if np.ma.isMaskedArray(case.expected) and content.dtype != bool:
            # The interface's is true where NumPy's is not.
            mask = ~np.ma.getmaskarray(case.expected)
            plain = ConsumerCase("mask", frozenset(), mask, whole=mask, stream=case.stream)
            self._mask = _Memory(cuda, plain, mask, stream)

    def interface(self):
        case, view = self._case, np.ma.getdata(self._case.expected)
        if self._size:
            offset = view.__array_interface__["data"][0] - case.whole.__array_interface__["data"][0]
        else:
            offset = 0
        made = {
            "shape": view.shape,
            "typestr": view.dtype.str,
            "data": (self._address + offset, case.readonly),
            "version": case.version,
        }
        if view.dtype.names:
            made["descr"] = view.dtype.descr
        if case.strides == "given" or not (view.flags.c_contiguous or case.strides == "left out"):
            made["strides"] = view.strides
        elif case.strides != "left out":
            made["strides"] = None
        names = {"none": None, "legacy": _driver.LEGACY, "per-thread": _driver.PER_THREAD}
        if case.stream != "unstated":
            made["stream"] = names.get(case.stream, self.stream)
        if self._mask:
            made["mask"] = _Exporter(self._mask)
        return made

    def let_go(self):
        """Keeps what is there now, and gives the memory up: all in the order of the stream."""
        if self._gone:
            return
        self._gone = True
        if self._size:
            cuda = self._cuda
            cuda.cuMemcpyAsync(self._after.address, self._address, self._size, self.stream)
            cuda.cuMemsetD8Async(self._address, POISON, self._size, self.stream)
            cuda.cuMemFreeAsync(self._address, self.stream)
        if self._mask:
            self._mask.let_go()

    def changed(self):
        """Whether the consumer wrote to it; for when all work is done."""
        return bytes(self._after) != bytes(self._source) or (
            self._mask is not None and self._mask.changed()
        )

    def free(self):
        self._source.free()
        self._after.free()
        if self._mask:
            self._mask.free()


def check_consumer(consumer, /, *, refuses=(), cases=None):
    """Judges a function that reads GPU arrays, with arrays of every kind.

    Each array comes from an object with ``__cuda_array_interface__`` and nothing else, and is
    still being written, by a copy on the stream that its dict names, when the function gets it.
    What the function gives must equal what NumPy has. Besides, it must

    * wait for that stream: on simcuda a read before that is a race, and gives other bytes;
    * keep the object, or the order of its stream, until its own work is done: when the last
      reference is gone, the memory is overwritten and freed in the order of that stream;
    * not write: the function is a reader, and of some arrays the dict says so, too;
    * take or refuse, never misread: a mask must be used, or the array refused by an exception.

    Rules: the text of version 3, `CUDA Array Interface
    <https://nvidia.github.io/numba-cuda/user/cuda_array_interface.html>`_, "Synchronization" and
    "Lifetime management" above all.

    Parameters
    ----------
    consumer : callable
        Takes the object; returns its values as an array on the host, or anything that
        ``numpy.asarray`` takes; a masked one if there was a mask. It may also return a function
        without arguments, which is called later and gives them; meanwhile the check lets the
        object go, so that it is the consumer's to keep.
    refuses : collection of str
        What the consumer may refuse, by raising any exception. Of ``"broadcast"``, ``"complex"``,
        ``"dimensions"`` (more than 3), ``"empty"``, ``"masked"``, ``"negative"`` (strides),
        ``"old"`` (versions below 3), ``"read-only"``, ``"scalar"``, ``"strided"``,
        ``"structured"``, ``"swapped"`` (big-endian), ``"time"``, ``"types"`` (others than
        float32).
    cases : sequence of ConsumerCase, optional
        Those of `consumer_cases` that are wanted; all of them if not given.

    Returns
    -------
    dict
        For each case's id, ``"read"`` or ``"refused"``.

    Raises
    ------
    AssertionError
        With all that went wrong, case by case; also if every case was refused.
    ValueError
        If `refuses` holds an unknown word.
    libcai.CudaError
        If there is no driver.
    """
    __tracebackhide__ = True
    if isinstance(refuses, str):
        refuses = (refuses,)
    unknown = set(refuses) - WORDS
    if unknown:
        raise ValueError(
            f"refuses: expected some of {', '.join(sorted(WORDS))}, got {sorted(unknown)[0]!r}"
        )
    cuda = _driver.current()
    outcomes, problems = {}, []
    for case in consumer_cases() if cases is None else cases:
        _driver.settle()
        with _driver.no_collector():
            outcome, wrong = _judge(cuda, consumer, case, case.words & set(refuses))
        outcomes[case.id] = outcome
        problems += [f"{case.id}: {text}" for text in wrong]
    if "read" not in outcomes.values() and not problems:
        problems.append("expected arrays that it reads, got none: every array was refused")
    if problems:
        raise AssertionError("\n".join(["the consumer does not pass", *problems]))
    return outcomes


def _judge(cuda, consumer, case, may_refuse):
    """Gives the consumer one array; how it took it, and what was wrong."""
    races = cuda.races()
    names = {"legacy": _driver.LEGACY, "per-thread": _driver.PER_THREAD}
    stream = names.get(case.stream) or cuda.new_stream(blocking=case.stream == "blocking")
    memory = _Memory(cuda, case, case.whole, stream)
    if case.stream in ("none", "unstated"):
        cuda.cuStreamSynchronize(stream)
    outcome, wrong = "read", []
    given = [_Exporter(memory)]
    try:
        got = consumer(given.pop())
        if callable(got):
            gc.collect()
            got = got()
        wrong += _compare(got, case.expected)
        del got
    except Exception as error:
        outcome = "refused"
        if not may_refuse:
            wrong.append("".join(traceback.format_exception(error)).rstrip())
    given.clear()
    gc.collect()
    memory.let_go()  # if the consumer has kept it
    cuda.cuCtxSynchronize()
    if memory.changed():
        wrong.append("expected the memory as it was, got it changed: the consumer wrote to it")
    found = cuda.races() - races
    if found:
        wrong.append(
            f"expected no race, got {found} races (simcuda reports them on standard error): read "
            "it inside `with libcai.use(array, stream=yours)`, or wait for the dict's stream first"
        )
    memory.free()
    # What a consumer by libcai has put off may ask about the stream.
    libcai.drain(wait=True)
    if stream > _driver.PER_THREAD:
        cuda.cuStreamDestroy_v2(stream)
    return outcome, wrong


def _compare(got, expected):
    if np.ma.isMaskedArray(expected):
        if not np.ma.isMaskedArray(got):
            yield (
                "expected a masked array, got one without: its mask was dropped: read the dict's "
                "mask, or raise"
            )
            return
        if (np.ma.getmaskarray(got) != np.ma.getmaskarray(expected)).any():
            yield (
                f"expected the mask {np.ma.getmaskarray(expected)!r}, "
                f"got {np.ma.getmaskarray(got)!r}"
            )
        got, expected = got.filled(0), expected.filled(0)
    got = np.asarray(got)
    if got.shape != expected.shape:
        yield f"expected the shape {expected.shape}, got {got.shape}"
    elif got.dtype != expected.dtype and not (
        expected.dtype.names and got.dtype == f"V{expected.itemsize}"  # not all read descr
    ):
        yield f"expected the type {expected.dtype}, got {got.dtype}"
    elif got.tobytes() != expected.tobytes():
        yield f"expected\n{expected}\ngot\n{got}"
