# SPDX-License-Identifier: BSD-3-Clause
"""Judge what `mutants` found: each call of libcai that orders work is needed, and is tested.

usage: check_mutants.py MUTANTS SOURCE_ROOT

A scenario without a dropped call must be free of races; with any one of its ordering calls dropped
it must not be, under the lazy schedule. A place in src/order that makes such a call, directly or
through a function that does, must be on the stack of one of them. CAI_TEST_LONG=1: under
200 random ones, too.
"""

import os
import pathlib
import re
import subprocess
import sys
from collections import defaultdict

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "abi"))
from tap import Tap, program_environment, tool

# The driver's functions that order work, which intercept.cpp knows.
DRIVER = {
    "cuCtxSynchronize",
    "cuEventQuery",
    "cuEventRecord",
    "cuEventSynchronize",
    "cuStreamQuery",
    "cuStreamSynchronize",
    "cuStreamUpdateCaptureDependencies",
    "cuStreamWaitEvent",
}
# Calls in src/order that lead to one of them: each such call is a place, too.
ORDERING = re.compile(
    r"(?<![\w:.>])(?:order::begin|order::end|order::finish|order::abandon|order::lend|order::publish|order::publish_event|order::reclaim"
    r"|order::release_on|order::sync_host|order::used_on|order::adopt_all|order::hand_to_dict"
    r"|order::end_after_uses|driver::add_dependencies|uses(?:->|\.)keep_marked|uses->settle|uses(?:->|\.)prune|uses\.find_lost_in|uses\.untell|prune|back\.hand"
    r"|Event::record"
    r"|(?:order::)?(?:after_all|keep_marked|keep_pending|order_for_dict|await_keepers|await_marked|event_after|event_after_all|is_complete|is_idle|is_pending|keep|look"
    r"|await_lost|drain|end_all|find_lost_in|follow_captured|follow_nodes|wait_for_context|join_back|keep_abandoned|order|order_back|order_for|publish|record_own_behind_legacy|record_published|require_complete|settle|settle_all|settle_some|settle_complete|await_some|(?:try_)?synchronize|tell_keepers?|forget_stream|wait|wait_for_all"
    r"|wait_on_host))\("
)
# Those that lead to one for some callers only, or run a callback: no place, but on the stacks.
PASSING = re.compile(
    r"\b(?:End|add_host_work|attempt|await_host_work|await_keeper|await_uses|begin|body|edge_between|erase_if|find_lost|finish|for_array|for_each_part|forward<Before|forward<Body|guard|in|in_each|is_over|on_host"
    r"|keep|keep_event|settle_in|used_on|with)\b"
)
EXPECTED = ["a race", "nothing", "a refusal"]  # by watch.hpp's numbers
DEFINITION = re.compile(r"\s*(?!return|else)(?:[\w:]+[ *&]+)+")


# In src/order, blocks and views order nothing by themselves: the functions that they call do.
PLACE = r"(?!owned|views)\w+\.cpp:\d+"


class Sources:
    """The lines of src/order."""

    def __init__(self, root):
        self.lines = {
            place: line.split("//")[0]
            for path in sorted((root / "src/order").glob("*.cpp"))
            for number, line in enumerate(path.read_text().splitlines(), 1)
            if re.fullmatch(PLACE, place := f"{path.name}:{number}")
        }
        driver = re.compile(rf"\b(?:{'|'.join(DRIVER)})\b(?!\.name)")
        self.places = {
            place
            for place, code in self.lines.items()
            if driver.search(code)
            or any(
                not DEFINITION.fullmatch(code[: match.start()]) for match in ORDERING.finditer(code)
            )
        }

    def unnamed(self, reached):
        """Places on a stack that have none of the names above."""
        return [place for place in reached - self.places if not PASSING.search(self.lines[place])]


class Frames:
    """The places in src/order that offsets in the program stand for."""

    def __init__(self, program, offsets):
        said = subprocess.run(
            [tool("addr2line"), "-e", program],
            input="\n".join(offsets),
            capture_output=True,
            text=True,
            check=True,
            env=program_environment(),
        ).stdout.splitlines()
        self.of = {}
        for offset, line in zip(offsets, said, strict=True):
            if place := re.search(rf"src/order/({PLACE})", line):
                self.of[offset] = place[1]

    def stack(self, offsets):
        return [self.of[offset] for offset in offsets if offset in self.of]


class Trial:
    """A scenario under one schedule."""

    def __init__(self, schedule):
        self.schedule = schedule
        self.calls = []  # (function, what is expected, offsets)
        self.runs = []  # (races, refused, finished)


def run(program, seeds):
    done = subprocess.run([program, str(seeds)], stdout=subprocess.PIPE, text=True)
    scenarios = defaultdict(list)
    for line in done.stdout.splitlines():
        kind, *words = line.split()
        if kind == "scenario":
            trial = Trial(words[1])
            scenarios[words[0]].append(trial)
        elif kind == "call":
            trial.calls.append((words[0], EXPECTED[int(words[1])], words[2:]))
        else:
            trial.runs.append(tuple(map(int, words)))
    return scenarios, done.returncode


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    program, root = sys.argv[1], pathlib.Path(sys.argv[2])
    tap = Tap()
    long = os.environ.get("CAI_TEST_LONG") == "1"
    scenarios, status = run(program, 200 if long else 0)
    tap.check(status == 0 and scenarios, "the scenarios ran", f"exit status {status}")
    trials = [trial for found in scenarios.values() for trial in found]
    frames = Frames(program, sorted({o for t in trials for *_, stack in t.calls for o in stack}))

    reached = set()
    for name, found in scenarios.items():
        wrong = [f"under {t.schedule}: {t.runs[0]}" for t in found if t.runs[0] != (0, 0, 1)]
        tap.check(
            not wrong, f"{name} has no race", "(races, what was refused, whether it ended)", *wrong
        )
        # The results of dropped calls that are not what the scenario says; and when.
        wrong = defaultdict(list)
        for trial in found:
            for index, (function, expected, offsets) in enumerate(trial.calls):
                stack = frames.stack(offsets)
                reached.update(stack)
                races, refused, _ = trial.runs[1 + index]
                found_out = "a race" if races else "a refusal" if refused else "nothing"
                if found_out != expected:
                    what = f"call {index}, {function} in {' < '.join(stack)}"
                    wrong[f"{what}: {found_out} instead of {expected}"].append(trial.schedule)
        tap.check(
            not wrong,
            f"{name} needs its calls",
            *(f"{k}: {', '.join(v)}" for k, v in wrong.items()),
        )
    sources = Sources(root)
    missed = sorted(sources.places - reached)
    tap.check(not missed, "every place that orders is reached", *missed)
    unnamed = sorted(sources.unnamed(reached))
    tap.check(not unnamed, "what orders is named in this file", *unnamed)
    functions = "".join(file.read_text() for file in (root / "src/driver").glob("*functions.inc"))
    names = r"\((cu\w*(?:Query|Record|Synchronize|WaitEvent|UpdateCaptureDependencies))\b"
    orders = set(re.findall(names, functions))
    tap.check(orders == DRIVER, "the driver's functions that order are watched", *orders ^ DRIVER)
    tap.finish()


if __name__ == "__main__":
    main()
