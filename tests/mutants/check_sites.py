# SPDX-License-Identifier: BSD-3-Clause
"""Each call of libcai that orders work is needed by a program that the explorers find themselves.

usage: check_sites.py BUILD_ROOT SOURCE_ROOT LIBRARY

A site is a call of the driver's with the places in src/order, and src/memory, that lead to it.
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
from check_mutants import Sources
from tap import Tap, program_environment, tool

RECORDED = [
    hunt.explore(2, 20000, 1),
    hunt.wide(600000, 6),
    hunt.wide(60000, 8),
    hunt.wide(300000, 2, "wide, random schedule", **hunt.RANDOM),
]
EXPLORE = [hunt.explore(2, 20000, 1)]
WIDE = [hunt.wide(40000, 1), hunt.wide(150000, 2), hunt.wide(600000, 6)]

# Sites by the driver's function and what the code on their stacks says, the innermost first.
# What no program needs, as the explorers' parties keep the rules:
NEEDLESS = [
    (
        "cuStreamQuery",
        ["is_idle(session, from)"],
        "refuses a capture that would leave pending work out; but a launch is a use, which waits",
    ),
    ("cuEventQuery", ["refuse_pending(session"], "likewise"),
    (
        "cuEventRecord",
        ["Event outside"],
        "each launch waits for what was pending at the capture; but a launch is a use, which waits",
    ),
    ("cuStreamWaitEvent", ["event_wait_external"], "likewise"),
    (
        "cuEventRecord",
        ["event = Event::record(session, stream);", "event_after(array, value)"],
        "an owner with functions of its own is told of the stream as well, and has everybody wait",
    ),
]
# What so few programs reach, or need, that hunts of this size need not find it. Scenarios of
# mutants.cpp do.
CAPTURED = "Event captured = Event::record(session, from);"
WAITS = "wait(session, to, captured.handle());"
ENDED = "order(session, consumer, *step.producer, step.edge, event);"
BEGUN = "order(session, *step.producer, stream, step.edge, event);"
MARKED = "keep_marked(session, 0)"
SELDOM = [
    ("cuEventRecord", [CAPTURED, ENDED], "an end of a use by two streams that are in one capture"),
    ("cuStreamWaitEvent", [WAITS, ENDED], "likewise"),
    ("cuEventRecord", [CAPTURED, BEGUN, "after_all("], "a publish or a reclaim within a capture"),
    ("cuStreamWaitEvent", [WAITS, BEGUN, "after_all("], "likewise"),
    ("cuEventRecord", [CAPTURED, BEGUN, "adopt("], "same_stream within a capture"),
    ("cuStreamWaitEvent", [WAITS, BEGUN, "adopt("], "likewise"),
    ("cuEventRecord", [CAPTURED, "Edge::within", "finish(use, false"], "a failure after a fork"),
    ("cuStreamWaitEvent", [WAITS, "Edge::within", "finish(use, false"], "likewise"),
    ("cuStreamUpdateCaptureDependencies", [], "two uses in one capture that no stream orders"),
    (
        "cuEventRecord",
        ["event = Event::record(session, from);", "back.hand(event)"],
        "an owner with a used_on of its own keeps the use by that, too",
    ),
    ("cuEventRecord", [MARKED, "held->release(held)"], "a holder is the last one, at its end"),
    ("cuEventRecord", [MARKED, "owner->release(owner)"], "a release by stream is the last one"),
    ("cuEventRecord", [MARKED, "root->release("], "a view is the last holder"),
    ("cuEventRecord", [MARKED, "look(session"], "no event could be recorded at the last release"),
    (
        "cuEventRecord",
        [MARKED, "order::settle_all("],
        "no event could be recorded at the last release",
    ),
    ("cuEventRecord", [CAPTURED, "back.hand(event)"], "a release by stream within a capture"),
    ("cuStreamWaitEvent", [WAITS, "back.hand(event)"], "likewise"),
    (
        "cuEventRecord",
        ["event = Event::record(session, from);", "wait_for_all(session, own"],
        "the dict of what another import has published",
    ),
    (
        "cuStreamWaitEvent",
        ["wait(session, to, event.handle());", "wait_for_all(session, own"],
        "likewise",
    ),
    ("cuCtxSynchronize", [], "no event could be recorded, by the end that was put off"),
    ("cuStreamSynchronize", ["await_marked(marked)"], "no memory at the last release"),
    ("cuStreamWaitEvent", ["order::wait_for_all(", "after_all("], "the keeper is asked once more"),
    (
        "cuEventSynchronize",
        ["order::wait_on_host(", "sync_host("],
        "an owner with its own functions",
    ),
    ("cuEventQuery", ["look(session", "Way::told"], "an end that was put off, as a dict is made"),
]
# Places that no explorer reaches, by their code.
UNREACHED = {
    "settle(session, take(stream.context, count, count)": "nobody asks libcai's own streams",
    "order(session, stream, *fork, Edge::within": "no second failure after a fork",
    "uses.find_lost_in(context": "nobody asks an owner whose stream's events cannot be recorded",
}


@dataclass(frozen=True)
class Site:
    function: str  # of the driver
    places: tuple  # the innermost first

    def __str__(self):
        return f"{self.function} in {' < '.join(self.places)}"


class Recorder:
    """Which sites there are, by what the explorers have written down."""

    def __init__(self, library):
        self.library = library
        self.stacks = defaultdict(set)  # by whom (function, offsets) was reached

    def read(self, file, each):
        for line in file.read_text().splitlines():
            function, *offsets = line.split()
            self.stacks[function, tuple(offsets)].add(each.arguments[0])

    def sites(self):
        """Each with its stacks in src/order and src/memory, and by whom it was reached."""
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
            places, depth = [], 0
            for at, offset in enumerate(stack, 1):
                if lines[offset].startswith("?"):
                    break  # the rest of libcai, which has no frames
                if place := re.search(r"src/(?:memory|order)/(\w+\.cpp:\d+)", lines[offset]):
                    places.append(place[1])
                    depth = at
            if places:
                site = Site(function, tuple(places))
                sites[site].add(stack[:depth])
                by[site] |= explorers
        return sites, by


def is_like(site, sources, function, texts):
    """Whether the texts are in the code of the site's places, in that order."""
    if site.function != function:
        return False
    code = iter(sources.lines.get(place, "") for place in site.places)  # none of src/memory
    return all(any(text in line for line in code) for text in texts)


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    build, root, library = (Path(name).resolve() for name in sys.argv[1:])
    explorers = build / "tests/explore"
    tap = Tap()
    sources = Sources(root)
    recorder = Recorder(library)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "stacks"
        for each in RECORDED:
            found = hunt.run(each, explorers, library.parent, CAI_SITES=f"record:{file}")
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
                    *(WIDE[:1] if reasons else WIDE),
                ]
                drop = f"drop:{dropped.name}"
                found = hunt.first(hunts, explorers, library.parent, CAI_SITES=drop)
            print(f"# {site}: {found}", flush=True)
            return site, reasons, seldom, found

        used, by = Counter(), Counter()
        with ThreadPoolExecutor(os.cpu_count()) as several:
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
    tap.check(not stale, "each name above is that of a site", *stale)
    reached = {place for site in sites for place in site.places}
    missed = {
        place: sources.lines[place].strip()
        for place in sorted(sources.places - reached)
        if not any(text in sources.lines[place] for text in UNREACHED)
    }
    tap.check(not missed, "every place that orders is reached", *missed.items())
    tap.finish()


if __name__ == "__main__":
    main()
