# SPDX-License-Identifier: BSD-3-Clause
import subprocess
import sys

from Cython.Build import cythonize
from setuptools import Extension, setup

config = [sys.executable, "-m", "libcai", "config", "--includedir"]
include = subprocess.run(config, check=True, capture_output=True, text=True).stdout.strip()

extension = Extension("clear_cython", ["clear_cython.pyx"], include_dirs=[include])
setup(ext_modules=cythonize([extension]))
