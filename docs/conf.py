# SPDX-License-Identifier: BSD-3-Clause
"""Sphinx: pages in docs/; the C and C++ references from include/, Python's from the package; the
tables of docs/interop.rst from a run of the interoperation matrix."""

import subprocess
import sys
from pathlib import Path

import libcai

HERE = Path(__file__).resolve().parent
XML = HERE.parent / "build-docs" / "xml"
XML.parent.mkdir(exist_ok=True)
subprocess.run(["doxygen", "Doxyfile"], cwd=HERE, check=True)
MATRIX = [sys.executable, HERE.parent / "tests/interop/matrix.py"]
subprocess.run([*MATRIX, "--rst", XML.parent / "interop.rst"], check=True)

project = "libcai"
author = "libcai developers"
copyright = author
release = libcai.__version__
extensions = ["breathe", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
breathe_projects = {"libcai": str(XML)}
breathe_default_project = "libcai"
breathe_domain_by_extension = {"h": "c"}
breathe_domain_by_file_pattern = {"*/nanobind.h": "cpp", "*/pybind11.h": "cpp"}
autodoc_mock_imports = ["cupy", "rmm", "torch"]
html_theme = "furo"
nitpicky = False
suppress_warnings = ["ref.python"]  # bytes is a type, and a field of two classes
