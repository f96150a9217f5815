#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Prove that every rule_*.c states its rule and its source, and that each is run.

usage: check_rules.py REGISTERED...
"""

import sys

from rules import Malformed, read_rules


def main():
    registered = sys.argv[1:]
    if not registered:
        sys.exit(__doc__)
    try:
        rules = read_rules()
    except Malformed as problem:
        sys.exit(str(problem))
    assert registered == sorted(set(registered)), "the rules in meson.build are not in order"
    names = [rule.name for rule in rules]
    assert names == registered, f"not in meson.build, or no program: {set(names) ^ set(registered)}"
    stated = [rule.rule for rule in rules]
    twice = {rule for rule in stated if stated.count(rule) > 1}
    assert not twice, f"two programs state one rule: {twice}"


if __name__ == "__main__":
    main()
