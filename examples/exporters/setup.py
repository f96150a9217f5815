# SPDX-License-Identifier: BSD-3-Clause
# Builds against the installed package's headers: `python setup.py build_ext --inplace`, or pip.
import subprocess
import sys

from setuptools import Extension, setup

include = subprocess.run(
    [sys.executable, "-m", "libcai", "config", "--includedir"],
    check=True,
    capture_output=True,
    text=True,
).stdout.strip()

setup(ext_modules=[Extension("exporters", ["exporters.c"], include_dirs=[include])])
