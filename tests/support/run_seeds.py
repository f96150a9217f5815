# SPDX-License-Identifier: BSD-3-Clause
"""Runs a test under random schedules of simcuda: of one seed; with CAI_TEST_LONG=1, of TEST_SEEDS.

usage: run_seeds.py PROGRAM [ARGUMENT...]
"""

import os
import subprocess
import sys

seeds = int(os.environ["TEST_SEEDS"]) if os.environ.get("CAI_TEST_LONG") == "1" else 1
failed = []
for seed in range(1, seeds + 1):
    schedule = f"random:{seed}"
    environment = {**os.environ, "SIMCUDA_SCHEDULE": schedule, "GTEST_BRIEF": "1"}
    result = subprocess.run(sys.argv[1:], env=environment)
    if result.returncode != 0:
        failed.append(schedule)
if failed:
    sys.exit(f"failed with SIMCUDA_SCHEDULE={', '.join(failed)}")
