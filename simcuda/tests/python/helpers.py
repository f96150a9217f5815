# SPDX-License-Identifier: BSD-3-Clause
import os
import time
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
LONG = os.environ.get("SIM_TEST_LONG") == "1"
LIMIT = 3600  # seconds, for what hangs: a test asks of a busy machine only that it ends

# Reads a word at a given address.
LOOK = """.version 7.0
.target sm_70
.address_size 64
.visible .entry look(.param .u64 p) {
  .reg .b64 %a;
  .reg .b32 %b;
  ld.param.u64 %a, [p];
  ld.global.u32 %b, [%a];
  ret;
}
"""


def eventually(condition):
    """Whether a condition comes true, however long a busy machine takes."""
    end = time.monotonic() + LIMIT
    while not (found := condition()) and time.monotonic() < end:
        time.sleep(0.005)
    return found
