# SPDX-License-Identifier: BSD-3-Clause
"""The conformance cases of the interface, for importers."""

import ctypes
import functools
import json
from pathlib import Path

__all__ = ["Case", "cases", "conformance_cases"]


class _Exporter:
    """An object with the attribute, and with nothing else."""

    def __init__(self, interface, memory):
        self._interface, self._memory = interface, memory

    @property
    def __cuda_array_interface__(self):
        return self._interface


class Case:
    """A dict, and what an importer should make of it.

    Attributes
    ----------
    id : str
        Its name, the same in every version.
    why : str
        What it is about.
    mode : str
        ``"lenient"`` or ``"strict"``.
    accepted : bool
        Whether the importer should take it.
    entry : str or None
        The dict's key that is at fault, ``"interface"`` for the dict as a whole; None for a case
        that should be taken.
    facts : dict or None
        What the array is: ``shape``, ``strides`` (in bytes, never None), ``size``, ``kind``,
        ``byteorder``, ``itemsize``, ``readonly``, ``stream``, ``masked``, ``version``,
        ``c_contiguous``, ``f_contiguous``, ``lo`` and ``hi`` (bytes around the pointer), ... None
        for a case that should be refused.
    exporter : object
        An object with this ``__cuda_array_interface__``. Its pointer lies in memory of the host,
        which lives as long as the exporter: importers that ask the driver will not know it.
    pointer : int
        The address in it.
    """

    def __init__(self, row, mode):
        verdict = row[mode]
        self.id, self.why, self.mode = row["id"], row["why"], mode
        self.accepted = "ok" in verdict
        self.facts, self.entry = verdict.get("ok"), verdict.get("reject")
        self._row = row

    @functools.cached_property
    def _made(self):
        memory = ctypes.create_string_buffer(self._row["alloc"]["bytes"])
        pointer = ctypes.addressof(memory) + self._row["alloc"]["offset"]
        return pointer, _Exporter(_value(self._row["interface"], pointer, memory), memory)

    @property
    def pointer(self):
        return self._made[0]

    @property
    def exporter(self):
        return self._made[1]

    @property
    def interface(self):
        """The value of the attribute; in some cases not even a dict."""
        return self.exporter.__cuda_array_interface__

    def __repr__(self):
        return f"<Case {self.id} {self.mode}>"


def _value(made, pointer, memory):
    """A value of the file: JSON, but for what JSON has not."""

    def convert(value):
        if value == "$ptr":
            return pointer
        if isinstance(value, list):
            return [convert(item) for item in value]
        if not isinstance(value, dict):
            return value
        if "$tuple" in value:
            return tuple(map(convert, value["$tuple"]))
        if "$npint" in value:
            import numpy as np

            return np.int64(value["$npint"])
        if "$float" in value:
            return float(value["$float"])
        if "$bytes" in value:
            return value["$bytes"].encode()
        if "$object" in value:
            return _Exporter(convert(value["$object"]), memory)
        return {key: convert(item) for key, item in value.items()}

    return convert(made)


@functools.cache
def _rows():
    return json.loads(Path(__file__).with_name("import.json").read_text("utf-8"))


def cases(mode="lenient"):
    """Returns the shared cases of the interface: dicts, right and wrong, with a verdict on each.

    They follow the text of version 3, `CUDA Array Interface
    <https://nvidia.github.io/numba-cuda/user/cuda_array_interface.html>`_, and what NumPy says of
    the entries that it was made after. libcai itself is tested with the same ones.

    Parameters
    ----------
    mode : str
        ``"strict"``: exactly the text, for a lint. ``"lenient"``: all whose meaning is certain, for
        an importer: lists for tuples, older versions, NumPy's integers, ...

    Returns
    -------
    list of Case

    Raises
    ------
    ValueError
        If there is no such mode.
    """
    if mode not in ("lenient", "strict"):
        raise ValueError(f"mode {mode!r} is neither 'lenient' nor 'strict'")
    return [Case(row, mode) for row in _rows()]


def conformance_cases(argument="case", *, mode="lenient", skip=()):
    """A decorator that runs a pytest test once for each of the `cases`.

    ::

        @libcai.testing.conformance_cases
        def test_import(case):
            if case.accepted:
                assert my_import(case.exporter).shape == tuple(case.facts["shape"])
            else:
                with pytest.raises((TypeError, ValueError), match=case.entry):
                    my_import(case.exporter)

    Parameters
    ----------
    argument : str or callable
        The name of the test's argument; or the test itself, when used without parentheses.
    mode : str
        As for `cases`.
    skip : collection of str
        Ids that are left out: what the importer is not meant to do.

    Raises
    ------
    ValueError
        If there is no such mode, or no case has an id that is to be left out.
    """
    import pytest

    if callable(argument):
        return conformance_cases(mode=mode, skip=skip)(argument)
    found, skip = cases(mode), set(skip)
    unknown = skip - {case.id for case in found}
    if unknown:
        raise ValueError(f"no case has the id {sorted(unknown)[0]!r}")
    return pytest.mark.parametrize(
        argument, [pytest.param(case, id=case.id) for case in found if case.id not in skip]
    )
