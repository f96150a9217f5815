# SPDX-License-Identifier: BSD-3-Clause
"""Random programs of two warps that meet, arrive and tell each other, and a model of who knows of
whom: as many reads race as the model says.

    test_knowledge.py [--count N] [--seed N]"""

import argparse
import random
import struct
import sys

from engine import Buffer
from small_programs import run

THREADS = range(64)
FIRST, SECOND = range(32), range(32, 64)

# The words of all threads, then the flags. Nobody waits for a flag: the first warp is always done
# with its program, or waits at a barrier, before the second one begins.
BEGIN = """.shared .align 4 .b8 s[1024];
mov.u32 %r9, s; mad.lo.u32 %r8, %me, 4, %r9; setp.lt.u32 %p0, %me, 32;
mad.wide.u32 %q5, %me, 4, %q0; st.shared.u32 [%r8], %me;
"""
END = "ld.global.u32 %r1, [%q5]; mad.lo.u32 %r1, %r1, 4, %r9; ld.shared.u32 %r2, [%r1];\n"


class Program:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.body = BEGIN
        self.tables = []  # of a word for each thread: whom it reads from, then masks
        self.knows = [{thread} for thread in THREADS]  # whose writes come before what it does
        self.flags = [set() for _ in range(4)]
        self.steps = []  # what each does to what a warp knows, one warp after the other
        reads = [self.random.choice(FIRST if t in FIRST else THREADS) for t in THREADS]
        self.tables.append(reads)
        kinds = [self.meet, self.meet, self.meet_all, self.tell, self.tell]
        steps = [*self.random.choices(kinds, k=self.random.randrange(7)), self.arrive]
        for step in self.random.sample(steps, len(steps) - self.random.randrange(2)):
            step()
        for warp in FIRST, SECOND:
            for step in self.steps:
                step(warp)
        self.races = sum(reads[thread] not in self.knows[thread] for thread in THREADS)

    def label(self):
        return f"L{len(self.body)}"

    def learn(self, threads, what):
        for thread in threads:
            self.knows[thread] = self.knows[thread] | what

    def known(self, threads):
        return set().union(*(self.knows[thread] for thread in threads))

    def meet(self, parts=None):
        """The lanes of each warp fall into parts that meet; some are in no part."""
        count = self.random.randint(1, 4)
        parts = parts or [self.random.randrange(-1, count) for _ in THREADS]

        def of(thread):
            warp = FIRST if thread in FIRST else SECOND
            return [t for t in warp if parts[t] == parts[thread]] if parts[thread] >= 0 else []

        self.tables.append([sum(1 << t % 32 for t in of(thread)) for thread in THREADS])
        self.body += (
            f"ld.global.u32 %r3, [%q5+{256 * (len(self.tables) - 1)}]; setp.ne.u32 %p1, %r3, 0;\n"
            "@%p1 bar.warp.sync %r3;\n"
        )

        def step(warp):
            for part in {tuple(of(thread)) for thread in warp}:
                self.learn(part, self.known(part))

        self.steps.append(step)

    def meet_all(self):
        self.meet([0] * 64)

    def arrive(self):
        tell, end = self.label() + "T", self.label() + "E"
        self.body += (
            f"@%p0 bra {tell};\nbar.sync 1, 64;\nbra {end};\n{tell}:\nbar.arrive 1, 64;\n{end}:\n"
        )
        told = set()

        def step(warp):
            told.update(self.known(warp))
            if warp is SECOND:
                self.learn(warp, told)

        self.steps.append(step)

    def tell(self):
        """A thread of the first warp sets a flag, and one of the second looks at it."""
        sets, looks = self.random.choice(FIRST), self.random.choice(SECOND)
        flag = self.random.randrange(len(self.flags))
        place = f"[%r9+{256 + 4 * flag}]"
        with_fences = self.random.random() < 0.5
        if with_fences:
            set_, look = "membar.cta; st.volatile.shared.u32", "ld.volatile.shared.u32"
        else:
            set_, look = "st.release.cta.shared.u32", "ld.acquire.cta.shared.u32"
        after_set, after_look = self.label() + "S", self.label() + "L"
        self.body += (
            f"setp.ne.u32 %p2, %me, {sets};\n@%p2 bra {after_set};\n{set_} {place}, 1;\n"
            f"{after_set}:\nsetp.ne.u32 %p2, %me, {looks};\n@%p2 bra {after_look};\n"
            f"{look} %r5, {place};{' membar.cta;' if with_fences else ''}\n{after_look}:\n"
        )

        def step(warp):
            if warp is FIRST:
                self.flags[flag] |= self.knows[sets]
            else:
                self.learn([looks], self.flags[flag])

        self.steps.append(step)

    def check(self):
        data = b"".join(struct.pack("<64I", *table) for table in self.tables)
        outcome = run(self.body + END, Buffer(data), block=64, written=False)
        assert not outcome["fault"], outcome["fault"]["text"]
        found = outcome["findings"]
        assert {each["kind"] for each in found} <= {"race"}, found
        races = sum(each["count"] for each in found)
        # Three lanes side by side that read the same word may count as two.
        assert bool(races) == bool(self.races), f"{races} races, and not {self.races}"
        assert self.races - 3 <= races <= self.races, f"{races} races, and not {self.races}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    failed = 0
    for seed in range(arguments.seed, arguments.seed + arguments.count):
        try:
            Program(seed).check()
        except AssertionError as wrong:
            failed += 1
            print(f"program {seed}: {wrong}")
    print(f"{arguments.count - failed} passed, {failed} failed")
    return failed


if __name__ == "__main__":
    sys.exit(bool(main()))
