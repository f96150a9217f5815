# SPDX-License-Identifier: BSD-3-Clause
"""Runs a test under random schedules of simcuda: 3 seeds, or 200 with CAI_TEST_LONG=1."""

import os
import subprocess
import sys

seeds = 200 if os.environ.get("CAI_TEST_LONG") == "1" else 3
failed = []
for seed in range(1, seeds + 1):
    schedule = f"random:{seed}"
    command = [sys.argv[1], "--gtest_brief=1"]
    result = subprocess.run(command, env=os.environ | {"SIMCUDA_SCHEDULE": schedule}, timeout=60)
    if result.returncode != 0:
        failed.append(schedule)
if failed:
    sys.exit(f"failed with SIMCUDA_SCHEDULE={', '.join(failed)}")
