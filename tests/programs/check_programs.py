# SPDX-License-Identifier: BSD-3-Clause
"""Runs the programs that docs/reference/order.rst shows, on simcuda, strictly.

usage: check_programs.py (once | seeds) ROOT BUILT

once   Each ends well and without a race, lazily and eagerly, with the records and waits that its
       third line says; and races where libcai orders nothing (CAI_SYNC=0), or any one of its calls
       is left out. The page shows each program, and in its table what `table` counts.
seeds  Each ends as well, with the same counts, under many random schedules.
"""

import re
import sys
from pathlib import Path
from subprocess import run

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "abi"))
from tap import Tap, program_environment

SEEDS = 300
SECONDS = 120
ROW = re.compile(r"^(\S.*?)  +(\d \+ \d)  (\d \+ \d)  ", re.MULTILINE)
RACE = "simcuda: race:"
# These show nothing: nothing is pending, and no use is kept.
NEEDLESS = {("none", 1), ("graph", 1), ("graph", 2)}


def start(program, **more):
    environment = {**program_environment(), "SIMCUDA_STRICT": "1", **more}
    return run([program], env=environment, capture_output=True, text=True, timeout=SECONDS)


def ends_well(program, counts, schedule):
    done = start(program, SIMCUDA_SCHEDULE=schedule)
    return (done.returncode, done.stdout, done.stderr) == (0, counts, ""), done


def check_calls(tap, program, leave_out):
    """Leaves out the first call that orders work, then the second, and so on."""
    number = 1
    while True:
        done = start(program, LD_PRELOAD=str(leave_out), LEAVE_OUT=str(number))
        left_out = [line for line in done.stderr.splitlines() if line.startswith("left out: ")]
        if not left_out:
            return tap.check(number > 1, f"{program.name}: has calls", done.stderr)
        races = RACE in done.stderr
        needed = (program.name, number) not in NEEDLESS
        name = f"{program.name}: call {number}, {left_out[0]}"
        tap.check(races == needed, name, f"it {'races' if races else 'does not race'}")
        number += 1


def check_once(tap, sources, built):
    for source in sources:
        program = built / source.stem
        counts = counts_of(source)
        for schedule in ("lazy", "eager"):
            well, done = ends_well(program, counts, schedule)
            tap.check(well, f"{source.stem}: {schedule}", done.stdout, done.stderr)
        done = start(program, CAI_SYNC="0")
        tap.check(RACE in done.stderr, f"{source.stem}: without order it races", done.stderr)
        check_calls(tap, program, built / "libleave_out.so")


def check_seeds(tap, sources, built):
    for source in sources:
        counts = counts_of(source)
        failed = []
        for seed in range(1, SEEDS + 1):
            if not ends_well(built / source.stem, counts, f"random:{seed}")[0]:
                failed.append(f"random:{seed}")
        tap.check(not failed, f"{source.stem}: {SEEDS} random schedules", *failed)


def counts_of(source):
    """The output that the program must print, from its third line."""
    return source.read_text().splitlines()[2].removeprefix("// ") + "\n"


def check_page(tap, page, sources, built):
    text = page.read_text()
    for source in sources:
        shown = f".. literalinclude:: ../../examples/order/{source.name}\n"
        tap.check(text.count(shown) == 1, f"the page shows {source.name}")
    tap.check(text.count("../../examples/order/") == len(sources), "and no other")
    counted = set(start(built / "table").stdout.splitlines())
    told = {f"{what}: {begin}, {end}" for what, begin, end in ROW.findall(text)}
    tap.check(
        counted and told == counted, "the table has what was counted", *sorted(told ^ counted)
    )


def main():
    which, root, built = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    sources = sorted((root / "examples/order").glob("*.c"))
    tap = Tap()
    if which == "once":
        check_once(tap, sources, built)
        check_page(tap, root / "docs/reference/order.rst", sources, built)
    else:
        check_seeds(tap, sources, built)
    tap.finish()


main()
