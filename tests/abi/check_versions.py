# SPDX-License-Identifier: BSD-3-Clause
"""One version everywhere: meson.build, cai/array.h, cai.h and the newest entry of CHANGELOG.md.

usage: check_versions.py MESON_VERSION SOURCE_ROOT
"""

import re
import sys
from pathlib import Path

from tap import Tap


def main():
    version, root = sys.argv[1], Path(sys.argv[2])
    tap = Tap()
    header = (root / "include/cai/array.h").read_text()
    numbers = version.split(".")
    for part, number in zip(("MAJOR", "MINOR", "PATCH"), numbers, strict=True):
        said = re.findall(rf"^\s*CAI_VERSION_{part}\s*=\s*(\d+)", header, re.MULTILINE)
        tap.check(said == [number], f"CAI_VERSION_{part}", f"meson.build {number}, array.h {said}")
    major, minor, patch = map(int, numbers)
    packed = str(10000 * major + 100 * minor + patch)
    said = re.findall(r"^#define CAI_HEADER_VERSION (\d+)", header, re.MULTILINE)
    tap.check(said == [packed], "CAI_HEADER_VERSION", f"meson.build {packed}, array.h {said}")
    least = re.findall(
        r"^#if CAI_HEADER_VERSION < (\d+)", (root / "include/cai.h").read_text(), re.M
    )
    tap.check(
        least == [packed], "what cai.h asks of array.h", f"meson.build {packed}, cai.h {least}"
    )
    # "## [0.1.0] - unreleased" or "## 0.1.0".
    entries = re.findall(r"^## \[?(\d[\w.]*)", (root / "CHANGELOG.md").read_text(), re.MULTILINE)
    tap.check(entries[:1] == [version], "CHANGELOG.md", f"meson.build {version}, entries {entries}")
    tap.finish()


if __name__ == "__main__":
    main()
