# SPDX-License-Identifier: BSD-3-Clause
"""How much the processes of a run used the driver: what the library has left in a folder."""

import os
import struct
from dataclasses import dataclass
from pathlib import Path

VARIABLE = "SIMCUDA_COUNT_DIR"
# Any program that loads the CUDA runtime asks for its tables, and most use nothing of them.
HARMLESS = {"cuGetExportTable"}
COUNTS = struct.Struct("=QQ")  # as in driver/tally.h


@dataclass
class Tally:
    """Calls, except those that merely load the driver; kernels launched; the names of functions
    that were called and are not implemented."""

    calls: int = 0
    kernels: int = 0
    unsupported: tuple = ()

    def missing(self, *, failed):
        """Returns the names of functions that are not implemented and may have been needed."""
        return [name for name in self.unsupported if failed or name not in HARMLESS]

    def text(self, *, failed):
        calls, kernels = ("s" if n != 1 else "" for n in (self.calls, self.kernels))
        text = f"{self.calls} driver call{calls}, {self.kernels} kernel{kernels}"
        if missing := self.missing(failed=failed):
            text += f"; not implemented: {', '.join(missing)}"
        return text

    def __add__(self, other):
        names = sorted({*self.unsupported, *other.unsupported})
        return Tally(self.calls + other.calls, self.kernels + other.kernels, tuple(names))


def read(folder, process="*"):
    """Returns the tally of all processes, or of the one with this number."""
    total = Tally()
    for path in Path(folder).glob(f"{process}-*.counts"):
        counts = path.read_bytes()
        if len(counts) == COUNTS.size:
            total += Tally(*COUNTS.unpack(counts))
    for path in Path(folder).glob(f"{process}-*.unsupported"):
        total += Tally(unsupported=tuple(path.read_text().split()))
    return total


def pass_on(tally, name):
    """Lets a run that this one is a part of count it, too, under a name that no other has."""
    folder = os.environ.get(VARIABLE)
    if not folder or not Path(folder).is_dir():
        return
    path = Path(folder) / f"{os.getpid()}-{name}"
    path.with_suffix(".counts").write_bytes(COUNTS.pack(tally.calls, tally.kernels))
    path.with_suffix(".unsupported").write_text("\n".join(tally.unsupported))
