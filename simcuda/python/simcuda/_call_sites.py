# SPDX-License-Identifier: BSD-3-Clause
"""Says where calls came from: lines of Python, or of C as far as its debug information goes."""

import re
import shutil
import subprocess
from collections import defaultdict

LIMIT = 60  # seconds for one module's debug information
# Frames that do not help a user who looks for a line of theirs, if there are others. The same as in
# driver/call_site.cpp.
LIBRARIES = re.compile(
    r"^<frozen |^/(usr/(local/)?)?lib(64)?/|^/usr/(local/)?include/"
    r"|/(site|dist)-packages/|/lib/python3|/include/c\+\+/"
    r"|/lib(c-|c\.so|python|stdc\+\+\.so)"
)
# Where threads and programs begin.
BEGINNINGS = re.compile(r" in (__libc_start\w*|_start|start_thread|clone3?)$")


def described(sites):
    """Returns a list of lines for each site: its frames, the innermost first."""
    places = _resolved(sites)
    found = {}
    for number, (language, frames) in sites.items():
        if language == "python":
            found[number] = [f"{file}:{line} in {function}" for file, line, function in frames]
        else:
            lines = [text for frame in frames for text in places[tuple(frame)]]
            begins = (n for n, line in enumerate(lines) if n and BEGINNINGS.search(line))
            found[number] = lines[: next(begins, None)]
    return found


def own(lines):
    """The innermost line that is not a library's, if there is one."""
    return next((line for line in lines if not LIBRARIES.search(line)), lines[0] if lines else "")


def _resolved(sites):
    """The lines that each native frame stands for: several, where calls were inlined."""
    by_module = defaultdict(set)
    for language, frames in sites.values():
        if language == "native":
            for module, offset, symbol in frames:
                by_module[module].add((module, offset, symbol))
    found = {}
    for module, frames in by_module.items():
        lines = _lines_of(module, sorted({offset for _, offset, _ in frames}))
        for frame in frames:
            _, offset, symbol = frame
            plain = f"{module}+{offset:#x}" + (f" in {symbol}" if symbol else "")
            found[frame] = lines.get(offset) or [plain]
    return found


def _lines_of(module, offsets):
    """Lines by offset, where binutils are there and the module has debug information."""
    program = shutil.which("addr2line")
    if program is None or not module.startswith("/"):
        return {}
    command = [program, "-a", "-f", "-C", "-i", "-e", module]
    asked = "".join(f"{offset:#x}\n" for offset in offsets)
    try:
        done = subprocess.run(command, input=asked, capture_output=True, text=True, timeout=LIMIT)
    except (OSError, subprocess.TimeoutExpired):
        return {}
    found = {}
    for answer in re.split(r"^0x(?=[0-9a-f]+$)", done.stdout, flags=re.MULTILINE)[1:]:
        offset, *lines = answer.splitlines()
        functions, places = lines[::2], [line.partition(" (")[0] for line in lines[1::2]]
        known = [
            f"{place} in {function}"
            for function, place in zip(functions, places, strict=False)
            if re.search(r":[1-9]\d*$", place)
        ]
        if not known and functions and functions[0] != "??":  # only its name is known
            known = [f"{module}+0x{offset.lstrip('0')} in {functions[0]}"]
        found[int(offset, 16)] = known
    return found
