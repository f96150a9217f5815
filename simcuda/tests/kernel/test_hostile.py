# SPDX-License-Identifier: BSD-3-Clause
"""Collects the texts of the other tests, and gives them to `hostile`, which breaks them.

test_hostile.py HOSTILE [--first N] [--count N]"""

import argparse
import contextlib
import io
import pathlib
import subprocess
import sys
import tempfile

import all_cases
import engine
import test_checks
import test_instructions
import test_language
import test_launches
import test_mbarriers
import test_programs
import test_surfaces
import test_textures


def texts():
    """The tests' small programs, random programs, and instructions, ten to a kernel."""
    kept = []
    load = engine.Module.__init__

    def keep(self, *given):
        load(self, *given)
        kept.extend(given)

    engine.Module.__init__ = keep
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            sys.argv[1:] = []
            test_checks.main(vars(test_checks))
            test_language.main(vars(test_language))
            test_launches.main(vars(test_launches))
            test_mbarriers.main(vars(test_mbarriers))
            test_surfaces.main(vars(test_surfaces))
            for test in (test_textures.test_random, test_textures.test_levels):
                test()
    finally:
        engine.Module.__init__ = load
    kept += [test_programs.Writer(seed).text() for seed in range(40)]
    kept += [
        test_instructions.kernel(case) for i, case in enumerate(all_cases.all_cases()) if i % 9 == 0
    ]
    return sorted(set(kept))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("hostile")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=3000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for number, text in enumerate(texts()):
            paths.append(pathlib.Path(folder) / f"{number}.ptx")
            paths[-1].write_text(text)
        return subprocess.run(
            [options.hostile, str(options.first), str(options.count), *map(str, paths)], check=False
        ).returncode


if __name__ == "__main__":
    sys.exit(main())
