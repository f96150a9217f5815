# SPDX-License-Identifier: BSD-3-Clause
"""Compares what the rooms of src/ use with rooms.txt: by includes, and by symbols of the objects.

check_rooms.py rooms.txt SRC OBJECTS
"""

import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

from tap import Tap


def read_table(path):
    table = {}
    for line in Path(path).read_text().splitlines():
        if not line or line.startswith("#"):
            continue
        room, _, uses = line.partition(":")
        table[room] = uses.split()
    return table


def includes_of(source, rooms):
    """Each (file, room, included) where a file of a room includes one of another room."""
    for path in sorted(source.glob("*/*.[chi]*")):
        room = path.parent.name
        for other in re.findall(r'^#include "(\w+)/', path.read_text(), re.MULTILINE):
            if room in rooms and other in rooms and other != room:
                yield path.name, room, other


def symbols_of(path):
    """The symbols that an object defines once, and those that it needs."""
    listing = subprocess.run(["nm", "-P", path], check=True, capture_output=True, text=True)
    defined, needed = set(), set()
    for line in listing.stdout.splitlines():
        name, kind, *_ = line.split()
        if kind in "TDBRi":
            defined.add(name)
        elif kind == "U":
            needed.add(name)
    return defined, needed


def needs_of(objects, rooms):
    """Each (symbol, room, other) where an object of a room needs a symbol of another room's."""
    found = {path: symbols_of(path) for path in sorted(objects.glob("*.o"))}
    room_of = {path: path.name.partition("_")[0] for path in found}
    home = {name: room_of[path] for path in found for name in found[path][0]}
    for path, (_, needed) in found.items():
        for name in sorted(needed):
            if (other := home.get(name, room_of[path])) != room_of[path] and other in rooms:
                yield name, room_of[path], other


tap = Tap()
table = read_table(sys.argv[1])
source, objects = Path(sys.argv[2]), Path(sys.argv[3])
rooms = list(table)

folders = {path.name for path in source.iterdir() if path.is_dir()} - {"pch"}
tap.check(folders == set(rooms), "each folder of src/ is a room of the table", folders ^ set(rooms))
for place, (room, uses) in enumerate(table.items()):
    tap.check(
        set(uses) <= set(rooms[:place]), f"{room} uses what stands above it in the table", uses
    )

used = defaultdict(set)
for kind, edges in (
    ("includes", list(includes_of(source, rooms))),
    ("symbols", list(needs_of(objects, rooms))),
):
    tap.check(len(edges) > 50, f"{kind}: there are some", len(edges))
    wrong = [edge for edge in edges if edge[2] not in table[edge[1]]]
    tap.check(not wrong, f"{kind}: no room uses one that the table does not allow", *wrong)
    for _, room, other in edges:
        used[room].add(other)
unused = {room: set(uses) - used[room] for room, uses in table.items() if set(uses) - used[room]}
tap.check(not unused, "the table allows nothing that is not used", unused)

# The simulated driver is a product of its own: neither built from libcai nor only for it.
simcuda = source.parent / "simcuda"
files = [path for path in simcuda.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
tap.check(len(files) > 300, "simcuda has its files", len(files))
named = [
    path.relative_to(simcuda)
    for path in files
    if re.search(r"libcai|cai[_/]|\bcai\.h|CAI_", path.read_text(errors="replace"))
]
tap.check(not named, "nothing in simcuda/ names libcai", *named)
tap.finish()
