# SPDX-License-Identifier: BSD-3-Clause
"""``python -m libcai`` and the command ``libcai``."""

import sys

from libcai._cli import main  # also the entry point of the script

if __name__ == "__main__":
    sys.exit(main())
