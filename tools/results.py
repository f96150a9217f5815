# SPDX-License-Identifier: BSD-3-Clause
"""The results of the suites of a tier."""

import hashlib
import json
import os
import subprocess
import xml.etree.ElementTree as ElementTree
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def headline(text):
    print(f"\n== {text}", flush=True)


def run(command, folder=ROOT, **environment):
    environment = {**os.environ, **{name: str(value) for name, value in environment.items()}}
    return subprocess.run(list(map(str, command)), cwd=folder, env=environment).returncode


def fingerprint():
    """Over all files that git knows and all new ones, so that a result belongs to these sources."""
    digest = hashlib.sha256()
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    files = subprocess.run(listed, cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout
    for name in sorted(files.decode().split("\0")):
        path = ROOT / name
        if name and path.is_file():
            digest.update(f"{name}\0".encode() + path.read_bytes())
    return digest.hexdigest()


class Results:
    def __init__(self):
        self.passed = 0
        self.failures = []
        self.said = {}  # by what failed: the end of its output
        self.skipped = {}  # each with its reason
        self.ran = set()
        self.left = set()  # left to a later tier
        self.open_parts = []  # of the longest one

    def ok(self, what):
        self.passed += 1
        self.ran.add(what)

    def fail(self, what, said=""):
        self.failures.append(what)
        self.ran.add(what)
        self.said[what] = "\n".join(said.strip().splitlines()[-30:])

    def add_cases(self, cases, where, said=""):
        """Cases of JUnit's XML; returns how many of them failed. Their program printed `said`."""
        before = len(self.failures)
        for case in cases:
            name = f"{where}: {case.get('name')}"
            if where == "pytest":  # many of its tests have the same name
                name = f"{where}: {case.get('classname')}::{case.get('name')}"
            kinds = {child.tag: child for child in case}
            if "failure" in kinds or "error" in kinds:
                failure = kinds.get("failure", kinds.get("error"))
                self.fail(name, failure.text or failure.get("message") or said)
            elif "skipped" in kinds:
                # GoogleTest's message is the place in the source, then the reason.
                reason = (kinds["skipped"].get("message") or "").strip().splitlines()
                self.skipped[name] = reason[-1] if reason else ""
            else:
                self.ok(name)
        return len(self.failures) - before

    def add_junit(self, report, where, returncode):
        """A report that a runner wrote, and the status that it ended with."""
        cases = []
        if report.exists():
            cases = list(ElementTree.parse(report).getroot().iter("testcase"))
        failed = self.add_cases(cases, where)
        if not cases:
            self.fail(f"{where}: no test ran")
        elif returncode != 0 and not failed:
            self.fail(f"{where}: the runner exited {returncode}")

    def add(self, other):
        self.passed += other.passed
        self.failures += other.failures
        self.said |= other.said
        self.skipped |= other.skipped
        self.ran |= other.ran
        self.left |= other.left

    def tell(self, tier):
        """The tests that were left, skipped and failed, and the count."""
        nowhere = sorted(self.left - self.ran) if tier == "long" else []
        lists = {
            "parts that have not passed": self.open_parts,
            "ran nowhere": [] if self.open_parts else nowhere,
            "skipped": [f"{name}: {reason}" for name, reason in self.skipped.items()],
            "failed": self.failures,
        }
        for title, lines in lists.items():
            if lines:
                headline(title)
                print("\n".join(f"  {line}" for line in lines))
        # Again at the end, since that may be all that is kept of a long run's output.
        for what, said in self.said.items():
            if said:
                headline(what)
                print(said)
        if tier != "long":
            print(f"\nleft to `make test-long`: {len(self.left)} (build/results/{tier}.json)")
        elif not self.open_parts and not nowhere:
            print("\nran nowhere: none")
        skipped = f", {len(self.skipped)} skipped" if self.skipped else ""
        print(f"\n{self.passed} passed, {len(self.failures)} failed{skipped}")

    def write(self, path, sources):
        path.parent.mkdir(parents=True, exist_ok=True)
        kept = {"sources": sources, "passed": self.passed, "failures": self.failures}
        kept |= {"skipped": self.skipped, "ran": sorted(self.ran), "left": sorted(self.left)}
        path.write_text(json.dumps(kept, indent=1))

    @classmethod
    def read(cls, path, sources):
        """The results that write() kept for the same sources, or None."""
        kept = json.loads(path.read_text()) if path.exists() else {}
        if kept.get("sources") != sources:
            return None
        results = cls()
        results.passed, results.failures = kept["passed"], kept["failures"]
        results.skipped = kept["skipped"]
        results.ran, results.left = set(kept["ran"]), set(kept["left"])
        return results
