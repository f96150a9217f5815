# SPDX-License-Identifier: BSD-3-Clause
"""The shared cases of tests/cases, as Python's objects."""

import ctypes
import json

import numpy as np
from helpers import ROOT, Cuda

CASES = json.loads((ROOT / "tests/cases/import.json").read_text(encoding="utf-8"))


class Case:
    """A row of import.json with its values made, and its memory."""

    def __init__(self, row):
        self.row = row
        alloc = row.get("alloc", {"bytes": 4096, "offset": 0})
        self.memory = ctypes.create_string_buffer(alloc["bytes"])
        self.pointer = ctypes.addressof(self.memory) + alloc["offset"]
        self.value = self._made(row["interface"])
        self.producer = Cuda(self.value)

    def _made(self, value):
        if value == "$ptr":
            return self.pointer
        if isinstance(value, list):
            return [self._made(item) for item in value]
        if not isinstance(value, dict):
            return value
        if "$tuple" in value:
            return tuple(self._made(item) for item in value["$tuple"])
        if "$npint" in value:
            return np.int64(value["$npint"])
        if "$float" in value:
            return float(value["$float"])
        if "$bytes" in value:
            return value["$bytes"].encode()
        if "$object" in value:
            return Cuda(self._made(value["$object"]))
        return {key: self._made(item) for key, item in value.items()}


def offending(case, entry):
    """What the message must show: how the entry prints, or one of the items in it; or that it is
    missing."""
    value = case.value
    if entry != "interface":
        if not isinstance(value, dict) or entry not in value:
            return ["missing"]
        value = value[entry]
    if isinstance(value, Cuda):  # a mask: its own interface is at fault
        inner = value.__cuda_array_interface__
        return ["mask", *(printed for item in inner.values() for printed in _printed(item))]
    return list(_printed(value))


def _printed(value):
    yield repr(value)
    if isinstance(value, str):
        yield value
    if isinstance(value, np.integer):
        yield str(int(value))
    if isinstance(value, (tuple, list)):
        yield str(len(value))
        for item in value:
            yield from _printed(item)
