# SPDX-License-Identifier: BSD-3-Clause
"""Sphinx: pages in docs/; the C and C++ references from include/, Python's from the package."""

import subprocess
from pathlib import Path

import libcai

HERE = Path(__file__).resolve().parent
XML = HERE.parent / "build-docs" / "xml"
XML.parent.mkdir(exist_ok=True)
subprocess.run(["doxygen", "Doxyfile"], cwd=HERE, check=True)

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
