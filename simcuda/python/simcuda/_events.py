# SPDX-License-Identifier: BSD-3-Clause
"""Reads what the library has written of a run (driver/trace.h), process by process."""

import contextlib
import json
import re
from dataclasses import dataclass, field
from pathlib import Path

from simcuda import _call_sites

VARIABLE = "SIMCUDA_TRACE_DIR"
VERSION = 1
NOT_READY = 600

# Calls that are shown only if they did something: queries, and calls that set what is current.
ASKING = re.compile(r"Get|Query|IsCapturing|ThreadExchange|CtxSetCurrent|CtxPush|CtxPop")
# Boxes that can be opened: the first contains operations, the second calls.
LAUNCH = "cuGraphLaunch"
BEGIN_CAPTURE, END_CAPTURE = "cuStreamBeginCapture", "cuStreamEndCapture"


@dataclass
class Lane:
    """A thread of the host, or a stream."""

    name: str
    about: str
    device: "int | None" = None  # of a stream
    number: int = 0  # the system's, of a thread


@dataclass
class Item:
    """A call, an operation, or an access of the host's, at its place in its process."""

    lane: Lane
    kind: str  # "call", "failed call", "host", or the driver's name for an operation: "copy", ...
    name: str
    call: "int | None" = None
    number: int = 0  # of an operation
    site: int = 0
    made_at: int = 0  # the site of the call that made a graph's node
    branch: int = 0
    group: "int | None" = None
    notes: list = field(default_factory=list)  # arguments, accesses, the result
    after: list = field(default_factory=list)  # operations that it comes after

    @property
    def is_operation(self):
        return self.number > 0


@dataclass
class Race:
    """Two that race; or what is wrong with one: with a call, or inside a kernel."""

    earlier: Item
    later: Item
    report: str

    @property
    def is_of_one(self):
        return self.earlier is self.later


@dataclass
class Process:
    number: int
    command: str
    items: list = field(default_factory=list)
    lanes: list = field(default_factory=list)
    groups: list = field(default_factory=list)  # what each is, by its number
    races: list = field(default_factory=list)
    sites: dict = field(default_factory=dict)  # lines of text, the innermost first


def read(folder):
    """Returns the processes of a run that have begun to use the driver, in order of their start."""
    paths = sorted(Path(folder).glob("*.trace"), key=lambda path: int(path.stem.split("-")[1]))
    found = [_Reader(_lines(path)).process for path in paths]
    return [process for process in found if process is not None and process.items]


def _lines(path):
    with path.open(encoding="utf-8", errors="replace") as file:
        for line in file:
            try:
                parts = json.loads(line)
            except ValueError:
                continue  # the process was killed while it wrote, or the disk was full
            if isinstance(parts, list) and parts:
                yield parts


class _Reader:
    """Takes each line by the method of its name."""

    def __init__(self, lines):
        self.process = None
        self._threads, self._streams, self._memory, self._sites = {}, {}, {}, {}
        self._calls, self._operations, self._by_moment, self._by_tick = {}, {}, {}, {}
        self._shown = {}  # the items of calls
        self._unplaced = []  # races whose later part has not been read yet
        self._captures, self._launches = {}, {}  # groups: of threads, of calls
        for kind, *parts in lines:
            # Data about an item whose own line was lost is dropped.
            with contextlib.suppress(LookupError, AttributeError, TypeError):
                getattr(self, f"take_{kind}")(*parts)
        self._end()

    def take_process(self, version, pid, _parent, arguments):
        if version == VERSION:  # else it is another simcuda's, and not read
            self.process = Process(pid, " ".join(arguments))

    def take_thread(self, number, tid, name, of_driver):
        name = "the driver's thread" if of_driver else f"thread {number} ({name})"
        self._threads[number] = Lane(name, f"thread {tid} of the system", number=tid)
        self.process.lanes.append(self._threads[number])

    def take_stream(self, number, kind, handle, context, context_handle, device):
        name = f"{kind} stream" + (f" {number}" if kind != "legacy" else "")
        about = f"{kind} stream {handle} of context {context_handle} (device {device})"
        if kind == "legacy":
            about = f"the legacy stream of context {context_handle} (device {device})"
        self._streams[number] = Lane(name, about, device)
        self.process.lanes.append(self._streams[number])

    def take_memory(self, number, kind, address, size, device):
        where = f" of device {device}" if kind == "device" else ""
        self._memory[number] = f"{size} bytes of {kind} memory{where} at {address}"

    def take_site(self, number, language, frames):
        self._sites[number] = (language, frames)

    def take_call(self, number, thread, name, site, arguments):
        self._calls[number] = call = Item(
            self._threads[thread], "call", name, number, site=site, notes=[_shown(arguments)]
        )
        if name.startswith(BEGIN_CAPTURE) and thread not in self._captures:
            self._captures[thread] = (self._group("capture"), arguments[0])
        if thread in self._captures:
            call.group = self._captures[thread][0]
        if name.startswith(END_CAPTURE):  # perhaps by another thread
            open_ones = self._captures.items()
            self._captures = {t: each for t, each in open_ones if each[1] != arguments[0]}
        if not ASKING.search(name):
            self._show(number)

    def take_result(self, number, result):
        if result != NOT_READY:
            call = self._show(number)
            call.kind = "failed call"
            call.notes.append(f"returned {result}")
            if call.name.startswith(BEGIN_CAPTURE):  # it has begun no capture
                own = [t for t, (group, _) in self._captures.items() if group == call.group]
                for thread in own:
                    del self._captures[thread]
                    call.group = None

    def take_operation(
        self, number, call, what, name, stream, branch, made_at, before, accesses, lane, tick
    ):
        caller = self._show(call).name if call else what
        item = Item(self._streams[stream], what, name or caller, call or None, number)
        if caller.startswith(LAUNCH):
            item.name = name or what
            if call not in self._launches:
                self._launches[call] = self._group("graph")
            item.group = self._launches[call]
        item.branch = branch
        item.site = self._calls[call].site if call else 0
        item.made_at = made_at
        item.after = [self._operations[n] for n in before if n in self._operations]
        item.notes = [self._access(*access) for access in accesses]
        self._operations[number] = self._by_moment[lane, tick] = item
        self.process.items.append(item)

    def take_used(self, number, effect, memory, begin, size, how):
        note = self._access(effect, memory, begin, size)
        self._operations[number].notes.append(f"{note}, {how.strip()}" if how else note)

    def take_saw(self, thread, call, lane, tick):
        if operation := self._by_moment.get((lane, tick)):
            waiting = (
                self._show(call) if call else self._host_item(thread, "learns that it is done")
            )
            waiting.after.append(operation)

    def take_host(self, thread, call, tick, name):
        self._by_tick[tick] = self._show(call) if call else self._host_item(thread, name)

    def take_race(self, earlier, later, memory, begin, end, report):
        self._unplaced.append((earlier, later, report))

    def take_found(self, number, report):
        """Inside a kernel: one operation is both ends of what is wrong."""
        self._unplaced.append((("operation", number), ("operation", number), report))

    def take_wrong(self, call, report):
        self._show(call)
        self._unplaced.append((("call", call), ("call", call), report))

    def take_forget(self):
        self._unplaced.clear()

    def _end(self):
        if self.process is None:
            return
        for earlier, later, report in self._unplaced:
            first, second = self._place(*earlier), self._place(*later)
            if first and second:
                self.process.races.append(Race(first, second, report))
        self.process.sites = _call_sites.described(self._sites)

    def _place(self, kind, number):
        by_kind = {"call": self._shown, "operation": self._operations}
        return by_kind.get(kind, self._by_tick).get(number)

    def _group(self, what):
        self.process.groups.append(what)
        return len(self.process.groups) - 1

    def _show(self, number):
        """The item of a call, which shows from now on."""
        if number not in self._shown:
            self._shown[number] = self._calls[number]
            self.process.items.append(self._calls[number])
        return self._calls[number]

    def _host_item(self, thread, name):
        item = Item(self._threads[thread], "host", name)
        self.process.items.append(item)
        return item

    def _access(self, effect, memory, begin, size):
        if not memory:
            return f"{effect} {size} bytes at {begin}, pageable host memory"
        return f"{effect} {size} bytes at {begin}, of {self._memory.get(memory, 'memory')}"


def _shown(arguments):
    return f"({', '.join(map(str, arguments))})"
