# SPDX-License-Identifier: BSD-3-Clause
"""Runs both ends of examples/ipc: what a client writes, the server sees if it was opened direct.

usage: run_ipc_example.py PROGRAM
"""

import subprocess
import sys
import tempfile
from pathlib import Path

program = sys.argv[1]


def use(path: Path, how: str) -> list[int]:
    command = [program, "use", str(path), how]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return [int(word) for word in done.stdout.split() if word.isdigit()]


with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "numbers"
    command = [program, "serve", str(path), "3"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        server.stdout.readline()  # it listens
        staged, direct, last = use(path, "staged"), use(path, "direct"), use(path, "staged")
        seen = [int(line.split()[-1]) for line in server.communicate()[0].splitlines()]
    finally:
        server.kill()
assert server.returncode == 0, server.returncode
assert staged[0] == direct[0] == 42, (staged, direct)
assert seen == [42, direct[1], direct[1]], seen
assert last[0] == direct[1], last
