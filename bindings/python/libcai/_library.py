# SPDX-License-Identifier: BSD-3-Clause
"""Paths of the package's files, as text, since pathlib takes long to import."""

import os

_PACKAGE = os.path.dirname(os.path.realpath(__file__))

INCLUDE_DIR = os.path.join(_PACKAGE, "include")
LIBRARY_DIR = os.path.join(_PACKAGE, "lib")
LIBRARY = os.path.join(LIBRARY_DIR, "libcai.so.1")
PKG_CONFIG_DIR = os.path.join(LIBRARY_DIR, "pkgconfig")
CMAKE_DIR = os.path.join(LIBRARY_DIR, "cmake", "libcai")
