# SPDX-License-Identifier: BSD-3-Clause
# Builds against the installed package: `python setup.py build_ext --inplace`, or pip.
# Only inline functions are used here, so nothing is linked.
import subprocess
import sys

from Cython.Build import cythonize
from setuptools import Extension, setup

include = subprocess.run(
    [sys.executable, "-m", "libcai", "config", "--includedir"],
    check=True,
    capture_output=True,
    text=True,
).stdout.strip()

setup(
    name="dims",
    ext_modules=cythonize([Extension("dims", ["dims.pyx"], include_dirs=[include])]),
)
