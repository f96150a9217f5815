# SPDX-License-Identifier: BSD-3-Clause
import subprocess
import sys

from setuptools import Extension, setup

config = [sys.executable, "-m", "libcai", "config", "--includedir"]
include = subprocess.run(config, check=True, capture_output=True, text=True).stdout.strip()

setup(ext_modules=[Extension("clear_c", ["clear_c.c"], include_dirs=[include])])
