# SPDX-License-Identifier: BSD-3-Clause
"""Where the files of the package are. As text: pathlib alone takes longer to import than this."""

import os

_PACKAGE = os.path.dirname(os.path.realpath(__file__))

INCLUDE_DIR = os.path.join(_PACKAGE, "include")
LIBRARY_DIR = os.path.join(_PACKAGE, "lib")
LIBRARY = os.path.join(LIBRARY_DIR, "libcai.so.1")
PKG_CONFIG_DIR = os.path.join(LIBRARY_DIR, "pkgconfig")
CMAKE_DIR = os.path.join(LIBRARY_DIR, "cmake", "libcai")
