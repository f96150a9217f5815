# SPDX-License-Identifier: BSD-3-Clause
from setuptools import setup

setup(py_modules=["clear_cffi"], cffi_modules=["build_clear_cffi.py:ffi"])
