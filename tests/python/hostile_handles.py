# SPDX-License-Identifier: BSD-3-Clause
"""Handles of another process's memory, given to Memory.open() and IpcHandle: whatever became of
their bytes on the way, and whatever object claims to be one. On simcuda.

usage: hostile_handles.py FIRST COUNT | hostile_handles.py NUMBER

What is opened is as many bytes as the handle says, those that the other process has there. Else the
error is one of a kind of fault that the handle has, as tests/fuzz/fuzz_ipc.cpp knows them, or what
a method of the object's raised; nothing stays open, and the descriptor stays the caller's.
"""

import array
import os
import pickle
import random
import socket
import struct
import subprocess
import sys
from pathlib import Path

import hostile
import hostile_arguments
import numpy as np

import libcai
from libcai import IpcHandle, Memory
from libcai.cffi import lib

SIZE = 4096
FIELDS = struct.Struct("=IIQQQQ16siiiI64sQQQ")  # of cai_ipc_handle
NAMES = ("struct_size", "kind", "size", "offset", "process", "pool", "uuid", "domain", "bus",
         "slot", "reserved", "data", "process_start", "reserved1", "reserved2")  # fmt: skip
EDGES = (0, 1, 100, 2048, 4095, 4096, 4097, 2**31, 2**32 - 1, 2**63, 2**64 - 1, 2**64 - 100)
assert FIELDS.size == 160


def byte_at(of_pool, places):
    return ((places * 7 + places // 256 + 100 * of_pool) % 256).astype("u1")


# ---- The other process


def share(number):
    link = socket.socket(fileno=number)
    kept, told, files = [], [], []
    for of_pool in (False, True):
        manager = libcai.memory_manager("pool", exportable=True) if of_pool else None
        memory = Memory(SIZE, "async" if of_pool else "default", manager=manager)
        libcai.copy(byte_at(of_pool, np.arange(SIZE)), memory.array(SIZE, "|u1"))
        libcai.Device("gpu:0").synchronize()
        for each in (memory, memory[1000:3000]):
            handle = each.share()
            kept += [each, handle]
            told.append((bytes(handle), handle.fd is not None))
            files += [handle.fd] if handle.fd is not None else []
    socket.send_fds(link, [pickle.dumps(told)], files)
    link.recv(1)  # until the other end is closed


def ask_other():
    here, there = socket.socketpair()
    command = [sys.executable, str(Path(__file__)), "share", str(there.fileno())]
    other = subprocess.Popen(command, pass_fds=[there.fileno()])
    there.close()
    data, files, _, _ = socket.recv_fds(here, 1 << 16, 8)
    files = iter(files)
    shared = [(made, next(files) if has_file else None) for made, has_file in pickle.loads(data)]
    return other, here, shared


# ---- What is given


class Claims:
    """Says that it is a handle."""

    __class__ = IpcHandle

    def __init__(self, data):
        self.data = data

    def __bytes__(self):
        case.act()
        return self.data


class Lying(IpcHandle):
    """A handle with methods of its own."""

    @property
    def fd(self):
        return case.lie()

    def __len__(self):
        return case.lie()

    def __bytes__(self):
        case.act()
        return case.bytes_of_it


class Bytes(bytes):
    """By their contents, whatever the methods say."""

    def __len__(self):
        return 3

    def __getitem__(self, _):
        return case.lie()

    def __bytes__(self):
        return b"other"


class Case(hostile_arguments.Case):
    def __init__(self, number):
        super().__init__(number)
        self.random = random.Random(number)
        self.good, self.file = self.any_of(shared)
        self.fields = dict(zip(NAMES, FIELDS.unpack(self.good), strict=True))
        self.fd = self.file
        self.of = "gpu:0"
        self.how = self.any_of(("direct", "staged", "auto"))
        for _ in range(self.any_of((0, 0, 1, 1, 2))):
            self.forge()
        self.bytes_of_it = FIELDS.pack(*self.fields.values())

    def forge(self):
        kind, fields = self.random.randrange(12), self.fields
        if kind < 4:
            name = self.any_of(("size", "offset"))
            fields[name] = (self.any_of((0, 0, fields[name])) + self.any_of(EDGES)) % 2**64
        elif kind == 4:
            name = self.any_of(("struct_size", "kind"))
            fields[name] = self.any_of((0, 1, 2, 3, 4, 159, 161, 2**31, 2**32 - 1))
        elif kind == 5:
            name = self.any_of(("process", "process_start", "pool"))
            fields[name] = self.any_of((0, 1, os.getpid(), os.getppid(), 2**64 - 1))
        elif kind == 6:
            name = self.any_of(("uuid", "data"))
            changed = bytearray(fields[name])
            changed[self.random.randrange(len(changed))] ^= 1 << self.random.randrange(8)
            fields[name] = bytes(changed)
        elif kind == 7:
            fields[self.any_of(("reserved1", "reserved2"))] = 1
        elif kind == 8:
            self.fd = self.any_of((None, other_file, 987654))
        elif kind == 9:
            self.how = self.any_of(("", "direct ", "copy"))
        elif kind == 10:
            self.of = self.any_of(("cpu", "gpu:1", "gpu:7"))
        else:
            fields["domain"] = self.any_of((0, -1, 5))  # for people alone

    def statuses(self):
        """Those of the faults that there are; empty if it must be opened."""
        good = dict(zip(NAMES, FIELDS.unpack(self.good), strict=True))
        fields, found = self.fields, set()
        if self.of in ("cpu", "gpu:7") or fields["uuid"] != good["uuid"]:
            found.add(lib.CAI_ERR_DEVICE)
        self.unsure |= fields["uuid"] == b"simcuda-device-1"  # which the driver may not compare
        self.unsure |= self.of == "gpu:1" and self.how == "direct"  # as the GPUs are connected
        wrong = self.of == "cpu" or self.how not in ("direct", "staged", "auto")
        wrong |= fields["struct_size"] < FIELDS.size or fields["kind"] not in (1, 2)
        wrong |= not fields["size"] or not fields["process"]
        wrong |= bool(fields["reserved1"] or fields["reserved2"])
        wrong |= (fields["kind"] == 2) != (self.fd is not None)
        wrong |= fields["offset"] + fields["size"] > SIZE
        if wrong:
            found |= {lib.CAI_ERR_VALUE, 0}  # 0: of what Python found
        if any(fields[name] != good[name] for name in ("process", "process_start")):
            found.add(lib.CAI_ERR_STATE)
        same = all(fields[name] == good[name] for name in ("kind", "pool", "data"))
        if not same or self.fd != self.file:
            found.add(lib.CAI_ERR_CUDA)
        return found

    def handle(self):
        """The bytes as some object; or what has other bytes, or none."""
        data, kind = self.bytes_of_it, self.random.randrange(16)
        if kind < 5:
            return IpcHandle(data)
        if kind == 5:
            return self.any_of((bytearray, memoryview, Bytes))(data)
        if kind == 6:
            return self.any_of((array.array("Q", data), np.frombuffer(data, "<u4")))
        if kind == 7:
            twice = bytes(each for byte in data for each in (byte, 0))
            return memoryview(twice)[::2]
        if kind == 8:
            return pickle.loads(pickle.dumps(IpcHandle(data), self.random.randrange(6)))
        if kind == 9:
            return self.any_of((Lying(bytes(160)), IpcHandle.__new__(Lying)))
        if kind == 10:
            return Claims(data)
        self.wrong = True
        if kind == 11:
            length = self.any_of((0, 1, 159, 161, 320, 1 << 20))
            data = self.bytes_of_it = (data * (length // 160 + 1))[:length]
            return self.any_of((data, bytearray(data), Lying(bytes(160)), Claims(data)))
        if kind == 12:
            made = IpcHandle(data)
            made._data = self.any_of((b"", data[:-1], None, 5, "x" * 160, [0] * 160))
            return made
        if kind == 13:
            return IpcHandle.__new__(IpcHandle)
        if kind == 14:
            return self.any_of((None, 160, 5, "x" * 160, [0] * 160, object(), IpcHandle))
        return self.any_of((Bytes(data[:5]), memoryview(data)[:80], np.zeros(160)))


case = last = None  # the one that is played; and the last one
shared, other, other_file = (), None, -1


def play(number):
    """None, or what is wrong."""
    global case, last
    last = case = hostile_arguments.case = hostile.case = Case(number)
    case.verdict = "nothing"
    statuses = case.statuses()
    handle = case.handle()
    fd, how = case.fd, case.text(case.how, 0.03)
    if fd is not None and case.chance(0.2):
        fd = case.integer(fd, odd=0.2, true=False)
    if fd is None and case.file is not None and not statuses:
        case.unsure = True
    of = case.text(case.of)
    case.reading = True
    try:
        memory = Memory.open(handle, fd, device=of, how=how)
    except BaseException as error:
        case.reading = False
        case.verdict = f"refused: {type(error).__name__} {getattr(error, 'status', '')}"
        said = judged_error(error, statuses)
    else:
        case.reading = False
        case.verdict = "opened"
        said = judged_memory(memory, statuses)
        del memory
    if lib.CAI_ERR_CUDA in statuses:
        case.verdict = "as the driver finds it"  # which need not look at all, what is open already
    if said is None and isinstance(handle, IpcHandle) and type(handle) is not Claims:
        said = judged_handle(handle)
    return said and (*said, str(case.fields))


def judged_error(error, statuses):
    if any(error is mine for mine in case.raised) or any(hostile_arguments.chain_of(error)):
        return None
    if not isinstance(error, (libcai.Error, TypeError)):
        return f"{type(error).__name__} is nobody's: {error}", f"raised: {case.raised}"
    is_sure = not (case.wrong or case.unsure or case.raised)
    if not is_sure or getattr(error, "status", None) in statuses:
        return None
    return f"libcai refuses: {type(error).__name__}: {error}", f"the model: {statuses or 'opened'}"


def judged_memory(memory, statuses):
    if case.raised or case.unsure:
        return None
    if case.wrong or statuses - {lib.CAI_ERR_CUDA}:  # which the driver may not look at
        return "libcai opens it", f"the model: {statuses or case.wrongs or 'no handle'}"
    size, offset = case.fields["size"], case.fields["offset"]
    if memory.size != size:
        return repr(memory), f"wanted: {size} bytes"
    got = np.asarray(libcai.to(memory.array(size, "|u1"), "cpu"))
    wanted = byte_at(case.fields["kind"] == 2, np.arange(offset, offset + size))
    return None if np.array_equal(got, wanted) else ("the bytes", got, wanted)


def judged_handle(handle):
    """Whatever it is, it says what it is, and can be compared and kept."""
    for ask in (repr, hash, lambda it: it.kind, lambda it: it.size, lambda it: it == handle):
        try:
            ask(handle)
        except (TypeError, libcai.StateError, struct.error):
            if not case.wrong and hasattr(handle, "_data"):
                raise
    return None


def left():
    if case is None and other.poll() is not None:
        return 1 << 20  # the other process has died
    return hostile_arguments.left()


def clean_up():
    global case, last
    case = last = None
    hostile_arguments.clean_up()


def begin():
    """Starts the other process; returns the end of the link to it, which is its life."""
    global other, shared, other_file
    other, link, shared = ask_other()
    other_file = os.open(os.devnull, os.O_RDWR)
    libcai.Device("gpu:0").set_current()
    return link


def main(first, count=None):
    with begin():
        if count is None:
            print(play(first), case.verdict, "raised:", case.raised)
            status = 0
        else:
            status = hostile.play_many(first, count, play, clean_up, left)
    return status or other.wait()


if __name__ == "__main__":
    if sys.argv[1] == "share":
        share(int(sys.argv[2]))
    else:
        sys.exit(main(*map(int, sys.argv[1:])))
