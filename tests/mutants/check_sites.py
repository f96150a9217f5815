# SPDX-License-Identifier: BSD-3-Clause
"""Each call of libcai that orders work is needed by a program that the explorers find themselves.

usage: check_sites.py BUILD_ROOT SOURCE_ROOT LIBRARY

A site is a call of the driver's with the places in src/order, and in ROOMS, that lead to it, as
far as it matters who comes there: ALIKE.
LIBRARY has sites.cpp in it: the explorers run once with all sites written down, and once more for
each of them, whose calls are dropped, until they report a fault. Prints for each site which
explorer found it, among how many programs, and the size of the shrunk one. A site that is not
found must be in NEEDLESS below, with its reason, and must not be found if it is there; or it must
be in SELDOM. A place that check_mutants.py knows, and no explorer reaches, must be in UNREACHED.
"""

import os
import re
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "abi"))
import hunt
from check_mutants import PLACE, Sources
from tap import Tap, program_environment, tool

# Those that have frames in LIBRARY, beside src/order and src/driver.
ROOMS = ["managers", "memory", "transfer", "ipc"]
IN_ROOM = re.compile(rf"src/(?:order/({PLACE})|(?:{'|'.join(ROOMS)})/(\w+\.cpp:\d+))")
RECORDED = [
    hunt.explore(2, 20000, 1),
    hunt.wide(600000, 6),
    hunt.wide(60000, 8),
    hunt.wide(300000, 2, "wide, random schedule", **hunt.RANDOM),
]
EXPLORE = [hunt.explore(2, 20000, 1)]
WIDE = [hunt.wide(40000, 1), hunt.wide(150000, 2), hunt.wide(600000, 6)]

# Code that serves all callers alike: the callers make no other site of it.
ALIKE = [
    "prune(session, stream.context, stream.context_id, Ask::in_passing);",
    "settle_some(session, stream, std::min(count, asked_in_passing), looked_at_in_passing,",
    "uses->keep_marked(session, 0);",
    "return give_back_in_order(memory, error);",
    "return give_back_once_unused(memory, which, error);",
]
# Sites by the driver's functions and what the code on their stacks says, the innermost first.
# What no program needs, as the explorers' parties keep the rules:
CAPTURED = "Event captured = Event::record(session, from);"
WAITS = "wait(session, to, captured.handle());"
BEFORE = "order::order(session, before, stream, edge, event);"
FORMER = "for (const FreeStream &it : memory.former_streams) keep(it);"
KEPT = "what was pending there was kept as the stream was set; this is for who works there later"
NEEDLESS = [
    (
        "cuStreamQuery",
        ["is_idle(session, from)", "!order::publish(*array, streams"],
        "refuses a capture that would leave pending work out; but a launch is a use, which waits",
    ),
    ("cuEventQuery", ["require_complete(session"], "likewise"),
    (
        "cuEventRecord",
        ["Event outside"],
        "each launch waits for what was pending at the capture; but a launch is a use, which waits",
    ),
    ("cuStreamWaitEvent", ["event_wait_external"], "likewise"),
    (
        "cuEventRecord",
        ["    event = Event::record(session, stream);", "event_after_all(array, value, before)"],
        "an owner with functions of its own is told of the stream as well, and has everybody wait",
    ),
    (
        "cuEventRecord",
        ["keep(session, uses, stream, write)", "tell_keeper(keeper, target", "Way::told"],
        "a stream that a dict or a tensor says has everybody wait by itself",
    ),
    ("cuEventRecord", [BEFORE], KEPT),
    ("cuStreamWaitEvent", [BEFORE], "likewise"),
    (
        "cuEventRecord",
        ["keep_marked(session, freed_on)", "if (!keep_streams_of_copies("],
        "memory is marked with streams that it had, or that others were told, which it waits for",
    ),
    (
        "cuEventRecord",
        [CAPTURED, "Edge::within", "finish(use, false"],
        "a stream that has joined, and failed after that, has nothing in the graph to be joined",
    ),
    ("cuStreamWaitEvent", [WAITS, "Edge::within", "finish(use, false"], "likewise"),
]
# Sites that few programs reach, or need, so that hunts of this size may miss them. Scenarios of
# mutants.cpp cover them.
SELDOM = [
    ("cuStreamUpdateCaptureDependencies", ["after_all("], "who has what is published asks again"),
    ("cuStreamWaitEvent", ["order::wait_for_all(", "after_all("], "likewise, of the keeper"),
    ("cuEventQuery cuEventRecord cuEventSynchronize cuStreamQuery", [FORMER], KEPT),
    (
        "cuEventRecord",
        ["if (is_abandoned) cai_use_abandon(&use);"],
        "the use of an array's memory cannot be ended, and is given up",
    ),
    (
        "cuEventRecord",
        ["if (memory.free_stream.stream.get()) keep_streams_of_copies("],
        "memory with views cannot be put in order as it is freed",
    ),
    (
        "cuEventRecord",
        ["uses.keep_marked(session, 0, order::Uses::Owner::held)", "cai_owner_pending(&memory"],
        "what is pending on the memory's own streams was kept just before, or as they were left",
    ),
    (
        "cuEventRecord cuStreamQuery",
        ["leave_own_streams(memory);"],
        "work is pending on the own stream of memory whose end a capture puts off",
    ),
]
# Places that no explorer reaches, by their code.
UNREACHED = {
    "settle_some(session, stream, count, count, ending);": "nobody asks libcai's own streams",
    "order(session, stream, origin, Edge::within": "no second failure after a fork",
    "await_keepers(demand, 0);": "no memory is used by streams of the CPU",
    "return event_after_all(array, value, nothing_more);": "no array is exported to Arrow",
}


@dataclass(frozen=True)
class Site:
    function: str  # of the driver
    places: tuple  # the innermost first

    def __str__(self):
        return f"{self.function} in {' < '.join(self.places)}"


class Code(Sources):
    """The lines of ROOMS, too."""

    def __init__(self, root):
        super().__init__(root)
        for path in sorted(it for room in ROOMS for it in (root / "src" / room).glob("*.cpp")):
            for number, line in enumerate(path.read_text().splitlines(), 1):
                self.lines[f"{path.name}:{number}"] = line.split("//")[0]


class Recorder:
    """Which sites there are, by what the explorers have written down."""

    def __init__(self, library, sources):
        self.library = library
        self.sources = sources
        self.stacks = defaultdict(set)  # by whom (function, offsets) was reached
        self.reached = set()  # places

    def read(self, file, each):
        for line in file.read_text().splitlines():
            function, *offsets = line.split()
            self.stacks[function, tuple(offsets)].add(each.arguments[0])

    def sites(self):
        """Each with its stacks in src/order and ROOMS, and by whom it was reached."""
        offsets = sorted({offset for _, stack in self.stacks for offset in stack})
        said = subprocess.run(
            [tool("addr2line"), "-e", self.library],
            input="\n".join(offsets),
            capture_output=True,
            text=True,
            check=True,
            env=program_environment(),
        ).stdout.splitlines()
        lines = dict(zip(offsets, said, strict=True))
        sites, by = defaultdict(set), defaultdict(set)
        for (function, stack), explorers in self.stacks.items():
            places, depth, is_alike = [], 0, False
            for at, offset in enumerate(stack, 1):
                if lines[offset].startswith("?"):
                    break  # the rest of libcai, which has no frames
                if found := IN_ROOM.search(lines[offset]):
                    place = found[1] or found[2]
                    self.reached.add(place)
                    if is_alike:
                        continue
                    places.append(place)
                    depth = at
                    is_alike = any(text in self.sources.lines[place] for text in ALIKE)
            if places:
                site = Site(function, tuple(places))
                sites[site].add(stack[:depth])
                by[site] |= explorers
        return sites, by


def is_like(site, sources, functions, texts):
    """Whether the texts are in the code of the site's places, in order; none after a `!` is."""
    if site.function not in functions.split():
        return False
    lines = [sources.lines[place] for place in site.places]
    if any(text[1:] in line for text in texts if text[0] == "!" for line in lines):
        return False
    code = iter(lines)
    return all(any(text in line for line in code) for text in texts if text[0] != "!")


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    build, root, library = (Path(name).resolve() for name in sys.argv[1:])
    explorers = build / "tests/explore"
    tap = Tap()
    sources = Code(root)
    recorder = Recorder(library, sources)
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(os.cpu_count()) as several:

        def record(each):
            file = Path(folder) / " ".join(each.arguments)
            return file, hunt.run(each, explorers, library.parent, CAI_SITES=f"record:{file}")

        for each, (file, found) in zip(RECORDED, several.map(record, RECORDED), strict=True):
            tap.check(
                not found.is_found,
                f"nothing is wrong as it is, by {' '.join(each.arguments)}",
                str(found),
            )
            recorder.read(file, each)
        sites, reached_by = recorder.sites()

        def look_for(site):
            reasons = [it for it in NEEDLESS if is_like(site, sources, *it[:2])]
            seldom = [it for it in SELDOM if is_like(site, sources, *it[:2])]
            with tempfile.NamedTemporaryFile("w", dir=folder) as dropped:
                dropped.writelines(f"{site.function} {' '.join(it)}\n" for it in sites[site])
                dropped.flush()
                hunts = [
                    *(EXPLORE if "explore" in reached_by[site] else []),
                    *(WIDE[:1] if reasons or seldom else WIDE),
                ]
                drop = f"drop:{dropped.name}"
                found = hunt.first(hunts, explorers, library.parent, CAI_SITES=drop)
            print(f"# {site}: {found}", flush=True)
            return site, reasons, seldom, found

        used, by = Counter(), Counter()
        looked = list(several.map(look_for, sorted(sites, key=str)))
        for site, reasons, seldom, found in looked:
            used.update(str(it) for it in reasons + seldom)
            by[found.hunt.name if found.is_found else "nobody"] += 1
            if reasons:
                tap.check(not found.is_found, f"{site} is not needed: {reasons[0][2]}", str(found))
            elif not seldom:
                tap.check(found.is_found, f"{site} is needed")
    print(f"# {len(sites)} sites; found by: {dict(by)}")
    stale = [str(it) for it in [*NEEDLESS, *SELDOM] if not used[str(it)]]
    stale += [text for text in ALIKE if not any(text in it for it in sources.lines.values())]
    tap.check(not stale, "each name above is that of a site", *stale)
    missed = {
        place: sources.lines[place].strip()
        for place in sorted(sources.places - recorder.reached)
        if not any(text in sources.lines[place] for text in UNREACHED)
    }
    tap.check(not missed, "every place that orders is reached", *missed.items())
    tap.finish()


if __name__ == "__main__":
    main()
