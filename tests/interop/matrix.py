# SPDX-License-Identifier: BSD-3-Clause
"""The interoperation matrix: awkward arrays, given to libcai and taken from it by other libraries.

The partners are in the folder of that name, and run in processes of their own; what every cell must
be is in expected.py. `matrix.py --rst FILE` runs it all, and writes the tables of the manual.
"""

import argparse
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from expected import EXPECTED, OK
from sim_environment import ROOT, environment

SECONDS = 3600


class Cell(NamedTuple):
    partner: str
    direction: str
    way: str
    row: str
    outcome: str
    said: str

    @property
    def column(self):
        return self.partner, self.direction, self.way


# By group, which is a module of partners/: Python, and the wrapper before it. `make test-long`
# makes the environment of the last, which warns of its own code.
FRAMEWORKS = ROOT / ".venv-frameworks/bin/python"
PYTHON = [sys.executable, "-W", "error"]
GROUPS = {
    "host": PYTHON,
    "gpu": PYTHON,
    "mpi": [str(Path(sys.executable).with_name("mpiexec")), "-n", "2", *PYTHON],
    "frameworks": [str(FRAMEWORKS)],
}


def run(group, schedule="lazy", **more):
    """Runs a group of partners, with more in their environment; returns its cells."""
    command = [*GROUPS[group], str(ROOT / "tests/interop/partners/worker.py"), group]
    if group == "frameworks":
        (wheel,) = (ROOT / "dist").glob("libcai-*-linux_*.whl")  # that of tools/wheel
        install = [str(FRAMEWORKS), "-m", "pip", "install", "--quiet", "--no-deps"]
        subprocess.run([*install, "--force-reinstall", str(wheel)], check=True)
    settings = {**os.environ, **more}
    if group == "gpu":
        settings = environment(SIMCUDA_SCHEDULE=schedule, SIMCUDA_QUIET_MS="0", SIMCUDA_BANNER="0")
    done = subprocess.run(command, env=settings, capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == 0, f"exit {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr}"
    return [Cell(*json.loads(line)) for line in done.stdout.splitlines()]


def unexpected(group, cells):
    """The differences from what is expected, a line for each."""
    rows = {}
    for cell in cells:
        rows.setdefault(cell.column, set()).add(cell.row)
    if rows.keys() != EXPECTED[group].keys():
        yield f"columns: {rows.keys() ^ EXPECTED[group].keys()}"
        return
    for column, table in EXPECTED[group].items():
        if not table.keys() <= rows[column]:
            yield f"{column}: there are no rows {table.keys() - rows[column]}"
    for cell in cells:
        wanted = EXPECTED[group][cell.column].get(cell.row, OK)
        fits = wanted.words in cell.said
        if wanted.outcome == "changed":
            fits = wanted.words == cell.said
        if cell.outcome != wanted.outcome or not fits:
            yield f"{cell.column}, {cell.row}: {cell.outcome} ({cell.said}), expected {wanted}"


def told(group, cell):
    """A cell of the manual's tables."""
    wanted = EXPECTED[group][cell.column].get(cell.row, OK)
    word = {"ok": "yes", "changed": "yes, but", "refused": "refused:", "absent": "none:"}
    return re.sub(r"([*_|`])", r"\\\1", f"{word[cell.outcome]} {wanted.why}".strip())


def tables(group, cells):
    """The lines of the manual's tables: one for each partner and direction."""
    columns = {}
    for cell in cells:
        columns.setdefault(cell.column, {})[cell.row] = told(group, cell)
    for partner, direction in dict.fromkeys(column[:2] for column in columns):
        ways = {c[2]: found for c, found in columns.items() if c[:2] == (partner, direction)}
        alike = {}
        for row in next(iter(ways.values())):
            alike.setdefault(tuple(found[row] for found in ways.values()), []).append(row)
        title = f"{partner} {direction} arrays"
        yield from (title, "~" * len(title), "", ".. list-table::", "   :header-rows: 1", "")
        heads = [way.replace("`", "``") for way in ways]
        for first, *others in [("", *heads), *((", ".join(r), *t) for t, r in alike.items())]:
            yield f"   * - {first}"
            yield from (f"     - {other}" for other in others)
        yield ""


def main():
    parser = argparse.ArgumentParser(description="Runs the interoperation matrix.")
    parser.add_argument("--rst", type=Path, required=True, help="the file for the tables")
    file = parser.parse_args().rst
    lines, wrong = [], []
    for group in GROUPS if FRAMEWORKS.exists() else list(GROUPS)[:-1]:
        cells = run(group)
        wrong += unexpected(group, cells)
        lines += tables(group, cells) if not wrong else []
    file.write_text("\n".join(lines), encoding="utf-8")
    sys.exit("\n".join(wrong) or 0)


if __name__ == "__main__":
    main()
