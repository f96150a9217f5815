# SPDX-License-Identifier: BSD-3-Clause
from setuptools import setup

setup(py_modules=["blank"], cffi_modules=["build_blank.py:ffi"])
