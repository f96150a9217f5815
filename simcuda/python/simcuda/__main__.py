# SPDX-License-Identifier: BSD-3-Clause
"""``python -m simcuda`` and the command ``simcuda``."""

import sys

from simcuda._command import main  # also the entry point of the script

if __name__ == "__main__":
    sys.exit(main())
