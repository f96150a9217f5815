# SPDX-License-Identifier: BSD-3-Clause
"""Runs the cells of a group of partners, and prints each as a line of JSON.

usage: worker.py GROUP    (a module of this folder)
"""

import importlib
import json
import sys

import cells


def main():
    group = importlib.import_module(sys.argv[1])
    for way in group.WAYS:
        for row in way.rows:
            outcome, said = cells.run(way, row)
            print(json.dumps([way.partner, way.direction, way.name, row, outcome, said]))
    sys.exit("; ".join(group.end()) or 0)


if __name__ == "__main__":
    main()
