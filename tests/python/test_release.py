# SPDX-License-Identifier: BSD-3-Clause
"""What a release is made of agrees: versions, the repository's address, metadata."""

import os
import re
import shutil
import subprocess
import sys

import pytest
import yaml
from helpers import LIMIT, ROOT

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

# Each, and what changes it to disagree.
SAID = {
    "meson.build": ("  version: '0.", "  version: '9."),
    "CHANGELOG.md": ("## 0.", "## 9."),
    "CITATION.cff": ("version: 0.", "version: 9."),
    "README.md": ("| version | 0.", "| version | 9."),
    "bindings/rust/Cargo.toml": ('\nversion = "0.', '\nversion = "9.'),
    "bindings/rust/libcai/Cargo.toml": ('version = "=0.', 'version = "=9.'),
    "simcuda/CHANGELOG.md": ("## 0.", "## 9."),
}
OTHERS = [
    *("pyproject.toml", "simcuda/pyproject.toml", "simcuda/meson.build", "simcuda/README.md"),
    "bindings/rust/libcai-sys/Cargo.toml",
]
ADDRESS = "https://example.org/group/libcai"


@pytest.fixture
def tree(tmp_path):
    """A copy of the files that tools/release compares."""
    for file in ["tools/release", *SAID, *OTHERS]:
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / file, tmp_path / file)
    return tmp_path


def release(tree, *arguments, **environment):
    """Its exit status, and what it says."""
    done = subprocess.run(
        [sys.executable, tree / "tools/release", *arguments],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=LIMIT,
    )
    return done.returncode, done.stdout + done.stderr


def change(file, old, new):
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new, 1))


def test_the_files_agree():
    assert release(ROOT, "check") == (0, "")


@pytest.mark.parametrize("name", SAID)
def test_a_file_that_disagrees_is_named(tree, name):
    assert release(tree, "check") == (0, "")
    change(tree / name, *SAID[name])
    status, out = release(tree, "check")
    assert status == 1
    assert name in out


def test_the_address_is_written_wherever_it_belongs(tree):
    assert release(tree, "address", ADDRESS) == (0, "")
    assert release(tree, "check") == (0, "")
    for name in ("pyproject.toml", "simcuda/pyproject.toml"):
        project = tomllib.loads((tree / name).read_text())["project"]
        assert project["urls"] == {"Repository": ADDRESS}
    assert yaml.safe_load((tree / "CITATION.cff").read_text())["repository-code"] == ADDRESS
    crates = tree / "bindings/rust"
    workspace = tomllib.loads((crates / "Cargo.toml").read_text())["workspace"]
    assert workspace["package"]["repository"] == ADDRESS
    for crate in ("libcai", "libcai-sys"):
        package = tomllib.loads((crates / crate / "Cargo.toml").read_text())["package"]
        assert package["repository"] == {"workspace": True}
    for name, target in (
        ("README.md", "docs/reference/order.rst"),
        ("simcuda/README.md", "docs/races.md"),
    ):
        folder = name.removesuffix("README.md")
        text = (tree / name).read_text()
        assert f"]({ADDRESS}/blob/HEAD/{folder}{target})" in text
        assert f"]({target})" not in text
        assert text.count(f"({ADDRESS}/raw/HEAD/") == text.count("![")
    change(tree / "CITATION.cff", ADDRESS, ADDRESS + "2")
    status, out = release(tree, "check")
    assert (status, "CITATION.cff" in out) == (1, True)
    status, out = release(tree, "address", ADDRESS)
    assert (status, f"{ADDRESS} already" in out) == (1, True)


@pytest.mark.parametrize("address", ["", "libcai", "http://example.org/a/b", "https://a/b c"])
def test_no_other_text_is_an_address(tree, address):
    before = (tree / "pyproject.toml").read_text()
    assert release(tree, "address", address)[0] == 1
    assert (tree / "pyproject.toml").read_text() == before


def test_what_is_built_is_named_and_nothing_is_uploaded(tree):
    """With programs in the place of those that build and upload."""
    assert release(tree, "address", ADDRESS)[0] == 0
    change(tree / "README.md", "**not released**", "")
    for name in ("CHANGELOG.md", "simcuda/CHANGELOG.md"):
        change(tree / name, "(not yet released)", "(2027-01-31)")
    programs = tree / "programs"
    programs.mkdir()
    for name in ("make", "twine", "cargo"):
        program = programs / name
        program.write_text(f'#!/bin/sh\necho "$(basename $0) $*" >> {programs}/log\n')
        program.chmod(0o755)
    (tree / ".gitignore").write_text("dist\nprograms\n")
    (tree / "dist").mkdir()
    for name in ("libcai-0.1.0-x-manylinux_y.whl", "libcai-9.0-x-manylinux_y.whl"):
        (tree / "dist" / name).touch()
    git = ["git", "-C", tree, "-c", "user.name=x", "-c", "user.email=x@example.org"]
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "add", "."], check=True)
    subprocess.run([*git, "commit", "-q", "-m", "x"], check=True)

    status, out = release(tree, PATH=f"{programs}:{os.environ['PATH']}")
    assert status == 0, out
    made = ["lint", "test", "test-long", "test-long PART=wheels"]
    assert (programs / "log").read_text().splitlines() == [f"make {targets}" for targets in made]
    assert "dist/libcai-0.1.0-x" in out
    assert "dist/libcai-9.0" not in out
    assert "git tag -a v0.1.0" in out

    (programs / "make").write_text("#!/bin/sh\nexit 3\n")
    status, out = release(tree, PATH=f"{programs}:{os.environ['PATH']}")
    assert status == 1
    assert "make lint failed" in out
    assert "twine" not in out


def test_nothing_is_built_before_a_release_may_be_made(tree):
    """Of a tree with changes, without an address or dates."""
    subprocess.run(["git", "init", "-q", tree], check=True)
    status, out = release(tree)
    assert status == 1
    for reason in ("not clean", "address is not known", "relative link", "has no date"):
        assert reason in out
    assert "make " not in out


def test_the_citation_is_valid():
    """By the keys that the Citation File Format 1.2 requires, and its list of types."""
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["cff-version"] == "1.2.0"
    assert citation["message"]
    assert citation["title"].startswith("libcai: ")
    assert citation["type"] == "software"
    assert all({"name"} == author.keys() for author in citation["authors"])
    assert citation["license"] == "BSD-3-Clause"


def test_templates_of_issues_have_a_name_and_a_purpose():
    templates = sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("*.md"))
    assert templates
    for template in templates:
        head = yaml.safe_load(re.match(r"---\n(.*?)---\n", template.read_text(), re.DOTALL)[1])
        assert head["name"]
        assert head["about"]
