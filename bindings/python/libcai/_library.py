# SPDX-License-Identifier: BSD-3-Clause
"""Where the files of the package are."""

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent

INCLUDE_DIR = _PACKAGE / "include"
HEADER = INCLUDE_DIR / "cai.h"
LIBRARY_DIR = _PACKAGE / "lib"
LIBRARY = LIBRARY_DIR / "libcai.so.0"
PKG_CONFIG_DIR = LIBRARY_DIR / "pkgconfig"
CMAKE_DIR = LIBRARY_DIR / "cmake" / "libcai"
