# SPDX-License-Identifier: BSD-3-Clause
"""Writes a run in the Trace Event Format, which Perfetto and chrome://tracing open.

A microsecond stands for one place in the order of submission: time is logical.
"""

import json

from simcuda import _call_sites

FIRST_STREAM = 1 << 30  # so that a stream's track never has the number of a thread
LONG = 0.9


def text(processes):
    """Returns the trace as JSON."""
    events = []
    for process in processes:
        events += _of(process, len(events))
    return json.dumps({"traceEvents": events, "displayTimeUnit": "ns"}, separators=(",", ":"))


def _of(process, flow):
    pid = process.number
    tracks = {}
    for n, lane in enumerate(process.lanes):
        tracks[id(lane)] = FIRST_STREAM + n if lane.device is not None else lane.number
        where = f"device {lane.device}: " if lane.device is not None else ""
        yield _named("thread_name", pid, tracks[id(lane)], where + lane.name)
        sort = {"name": "thread_sort_index", "ph": "M", "pid": pid, "tid": tracks[id(lane)]}
        yield {**sort, "args": {"sort_index": n}}
    yield _named("process_name", pid, 0, process.command)
    times = {id(item): n for n, item in enumerate(process.items)}

    def at(item, **more):
        return {"pid": pid, "tid": tracks[id(item.lane)], "ts": times[id(item)], **more}

    def arrow(name, before, after):
        nonlocal flow
        flow += 1
        what = {"name": name, "cat": name, "id": flow}
        yield at(before, ph="s", **what)
        yield at(after, ph="f", bp="e", **what)

    for item in process.items:
        details = {
            "operation": item.number,
            "details": "\n".join(item.notes),
            "called from": _call_sites.own(process.sites.get(item.site, [])),
            "node made at": _call_sites.own(process.sites.get(item.made_at, [])),
        }
        told = {name: value for name, value in details.items() if value}
        yield at(item, ph="X", dur=LONG, name=item.name, cat=item.kind, args=told)
        for before in item.after:
            if before.lane is not item.lane:
                yield from arrow("wait", before, item)
    for race in process.races:
        told = {"ph": "i", "s": "t", "args": {"report": race.report}}
        if race.is_of_one:
            yield at(race.later, name="finding", cat="finding", **told)
            continue
        yield from arrow("race", race.earlier, race.later)
        for item in (race.earlier, race.later):
            yield at(item, name="race", cat="race", **told)


def _named(name, pid, tid, value):
    return {"name": name, "ph": "M", "pid": pid, "tid": tid, "args": {"name": value}}
