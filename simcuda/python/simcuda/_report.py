# SPDX-License-Identifier: BSD-3-Clause
"""Makes one page of a run: all that it needs is in it, and it loads nothing else."""

import html
import json
from pathlib import Path

from simcuda import _call_sites

TEMPLATES = Path(__file__).with_name("report")


def page(processes, title):
    """Returns the page as text."""
    data = _Data()
    for process in processes:
        data.add(process)
    races = data.found["races"]
    values = {
        "title": html.escape(title),
        "summary": html.escape(_summary(processes)),
        "race_count": _counted(race for process in processes for race in process.races),
        "races": "\n".join(map(_race, range(len(races)), races)),
        "css": (TEMPLATES / "page.css").read_text("utf-8"),
        "js": "".join((TEMPLATES / name).read_text("utf-8") for name in ("draw.js", "page.js")),
        # In a script element, only its own end tag, or a comment's, would be parsed as markup.
        "data": json.dumps(data.found, separators=(",", ":")).replace("<", "\\u003c"),
    }
    head, *parts = (TEMPLATES / "page.html").read_text("utf-8").split("{{")
    filled = (f"{values[name]}{text}" for name, _, text in (part.partition("}}") for part in parts))
    return head + "".join(filled)


def _summary(processes):
    operations = sum(item.is_operation for process in processes for item in process.items)
    streams = sum(lane.device is not None for process in processes for lane in process.lanes)
    return (
        f"{_many(operations, 'operation')} on {_many(streams, 'stream')} of "
        f"{_many(len(processes), 'process', 'es')}"
    )


def _counted(races):
    of_one = [race.is_of_one for race in races]
    counts = {"race": of_one.count(False), "finding": of_one.count(True)}
    told = [_many(number, what) for what, number in counts.items() if number]
    return " and ".join(told) or "No race"


def _many(number, what, ending="s"):
    return f"{number} {what}{ending * (number != 1)}"


def _race(number, race):
    first, *rest = race["report"].splitlines()
    return (
        f'<li><button data-race="{number}">{html.escape(first)}</button>'
        f"<details><summary>more</summary><pre>{html.escape(chr(10).join(rest))}</pre></details>"
        "</li>"
    )


class _Data:
    """The data of the page: columns of numbers, and each text once."""

    COLUMNS = (
        *("lane", "kind", "name", "number", "site", "made", "branch", "group", "call"),
        *("until", "notes"),
    )

    def __init__(self):
        self._strings, self._kinds = {}, {}
        self._sites = {None: 0}
        self.found = {
            "processes": [],
            "lanes": [],
            "groups": [],
            "items": {name: [] for name in self.COLUMNS},
            "edges": {"from": [], "to": []},
            "races": [],
            "sites": [[]],
            "own": [-1],
            "strings": [],
            "kinds": [],
            "kindStrings": [],
        }

    def add(self, process):
        found = self.found
        number, first = len(found["processes"]), len(found["items"]["lane"])
        found["processes"].append(f"process {process.number}: {process.command}")
        # Threads come first, then the streams of each device.
        lanes = sorted(process.lanes, key=lambda lane: -1 if lane.device is None else lane.device)
        places = {id(lane): len(found["lanes"]) + n for n, lane in enumerate(lanes)}
        for lane in lanes:
            about = {"name": lane.name, "about": lane.about, "device": lane.device}
            found["lanes"].append({**about, "process": number})
        groups = len(found["groups"])
        found["groups"] += process.groups
        index = {id(item): first + n for n, item in enumerate(process.items)}
        calls = {i.call: index[id(i)] for i in process.items if i.call and not i.is_operation}
        for item in process.items:
            column = {
                "lane": places[id(item.lane)],
                "kind": self._kind(item.kind),
                "name": self._string(item.name),
                "number": item.number,
                "site": self._site(process, item.site),
                "made": self._site(process, item.made_at),
                "branch": item.branch,
                "group": -1 if item.group is None else groups + item.group,
                "call": calls.get(item.call, -1) if item.is_operation else -1,
                "until": -1,
                "notes": [self._string(note) for note in item.notes],
            }
            for name, value in column.items():
                found["items"][name].append(value)
        until = found["items"]["until"]
        for item in process.items:
            after = index[id(item)]
            for other in item.after:
                before = index[id(other)]
                until[before] = after if until[before] < 0 else min(until[before], after)
                if other.lane is not item.lane or other.branch != item.branch:
                    found["edges"]["from"].append(before)
                    found["edges"]["to"].append(after)
        for race in process.races:
            ends = {"earlier": index[id(race.earlier)], "later": index[id(race.later)]}
            found["races"].append({**ends, "report": _plain(race.report)})

    def _string(self, text):
        if text not in self._strings:
            self._strings[text] = len(self.found["strings"])
            self.found["strings"].append(text)
        return self._strings[text]

    def _kind(self, kind):
        if kind not in self._kinds:
            self._kinds[kind] = len(self.found["kinds"])
            self.found["kinds"].append(kind)
            self.found["kindStrings"].append(self._string(kind))
        return self._kinds[kind]

    def _site(self, process, site):
        lines = process.sites.get(site)
        if not lines:
            return 0
        key = tuple(lines)
        if key not in self._sites:
            self._sites[key] = len(self.found["sites"])
            self.found["sites"].append([self._string(line) for line in lines])
            self.found["own"].append(self._string(_call_sites.own(lines)))
        return self._sites[key]


def _plain(report):
    """The output on standard error, without the name before each line."""
    return "\n".join(line.removeprefix("simcuda:").strip() for line in report.splitlines())
