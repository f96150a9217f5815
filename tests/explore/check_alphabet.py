# SPDX-License-Identifier: BSD-3-Clause
"""Every function and value of order in cai/array.h and cai.h is in what the explorers do.

usage: check_alphabet.py ARRAY_H CAI_H SOURCE...
"""

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "abi"))
from tap import Tap

# Parts that their programs cannot have, and why.
LEFT_OUT = {
    "CAI_OWNER_ARRAY_FOLLOWS": "is of blocks that libcai did not make; Python's are such",
    "CAI_OWNER_FREED": "is of memory that is freed by hand, of which `lives` has programs",
    "CAI_OWNER_STREAMS_DIFFER": "is set by another copy of libcai, of which they have none",
    "CAI_ORDER_NONE": "orders nothing, and so is the caller's affair",
}


def main():
    array, header, *sources = (Path(name).read_text() for name in sys.argv[1:])
    owners = array[
        array.index("/** Flags of cai_owner.flags") : array.index("typedef struct cai_owner")
    ]
    order = header[
        header.index("/* ---- Order on the GPU") : header.index("/** Flags of cai_location")
    ]
    order = re.sub(r"/\*.*?\*/", "", owners + order, flags=re.DOTALL)
    names = set(re.findall(r"\bcai_\w+(?=\()", order)) | set(re.findall(r"\bCAI_\w+(?= =)", order))
    done = set(re.findall(r"\b(?:cai|CAI)_\w+", "\n".join(sources)))
    tap = Tap()
    tap.check(len(names) > 30, "the header has an order section", f"{len(names)} names in it")
    missing = sorted(names - done - LEFT_OUT.keys())
    tap.check(not missing, "each of its names is in the explorers' alphabet", *missing)
    stale = sorted(LEFT_OUT.keys() & done)
    tap.check(not stale, "what is left out is in none", *stale)
    tap.finish()


if __name__ == "__main__":
    main()
