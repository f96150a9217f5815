# SPDX-License-Identifier: BSD-3-Clause
"""Sphinx: pages in docs/; the C and C++ references from include/, Python's from the package; the
tables of docs/reference/interop.rst from a run of the interoperation matrix."""

import subprocess
import sys
from pathlib import Path

from sphinx.ext.napoleon import NumpyDocstring

import libcai

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "_ext"))
XML = HERE.parent / "build-docs" / "xml"
XML.parent.mkdir(exist_ok=True)
subprocess.run(["doxygen", "Doxyfile"], cwd=HERE, check=True)
MATRIX = [sys.executable, HERE.parent / "tests/interop/matrix.py"]
subprocess.run([*MATRIX, "--rst", XML.parent / "interop.rst"], check=True)

project = "libcai"
author = "libcai developers"
copyright = author
version = release = libcai.__version__
html_title = f"libcai {release}"
extensions = ["accessible", "breathe", "headers", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["_ext", "design"]
breathe_projects = {"libcai": str(XML)}
breathe_default_project = "libcai"
breathe_domain_by_extension = {"h": "c"}
breathe_domain_by_file_pattern = {"*/nanobind.h": "cpp", "*/pybind11.h": "cpp"}
header_xml = str(XML)
header_include = str(HERE.parent / "include")
autodoc_mock_imports = ["cupy", "rmm", "torch"]
html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["libcai.css"]
nitpicky = False
default_role = "py:obj"  # as docstrings have it
suppress_warnings = ["ref.python"]  # bytes is a type, and a field of two classes


def skip_fields(app, what, name, member, skip, options):
    """A named tuple's fields: the signature has them, and Python documents them by number."""
    text = getattr(member, "__doc__", None) or ""
    return True if text.startswith("Alias for field number") else None


ATTRIBUTES = {}


def keep_attribute(app, what, name, member, options, lines):
    if what in ("attribute", "data", "property"):
        ATTRIBUTES[name] = list(lines)


def restore_attribute(app, what, name, member, options, lines):
    """Napoleon takes what is before an attribute's first colon for its type."""
    if name in ATTRIBUTES:
        text = NumpyDocstring(
            ATTRIBUTES.pop(name), app.config, app, "method", name, member, options
        )
        lines[:] = text.lines()


def setup(app):
    app.connect("autodoc-skip-member", skip_fields)
    app.connect("autodoc-process-docstring", keep_attribute, priority=400)
    app.connect("autodoc-process-docstring", restore_attribute, priority=600)
