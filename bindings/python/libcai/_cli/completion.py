# SPDX-License-Identifier: BSD-3-Clause
"""``libcai completion SHELL``: a script by which a shell completes commands and options."""

import sys

from libcai._cli import _arguments

TEXT = """Prints a script by which a shell completes the commands, their options and files. It is
made by the package shtab from the commands themselves: pip install 'libcai[completion]'."""

EXAMPLES = (
    "libcai completion bash > ~/.local/share/bash-completion/completions/libcai",
    'libcai completion zsh > "${fpath[1]}/_libcai"',
    "libcai completion fish > ~/.config/fish/completions/libcai.fish",
)

STATUS = """Exit status: 0; 2 if shtab is not installed."""

SHELLS = "bash", "zsh", "fish"
FILES = "pack", "program"  # the arguments that are files


def add_to(commands):
    parser = _arguments.add_parser(
        commands,
        "completion",
        help="print a script for the shell, which completes commands and options",
        description=TEXT,
        examples=EXAMPLES,
        status=STATUS,
    )
    parser.add_argument("shell", choices=SHELLS, help="the shell that will read it")
    parser.set_defaults(run=run)


def run(options):
    try:
        import shtab
    except ModuleNotFoundError:
        print(
            "libcai completion: shtab is not installed: pip install 'libcai[completion]'",
            file=sys.stderr,
        )
        return 2
    from libcai._cli import COMMANDS, parser_of

    parser = parser_of(*COMMANDS)
    for command in parser._subparsers._group_actions[0].choices.values():
        for action in command._actions:
            if action.dest in FILES:
                action.complete = shtab.FILE
    print(shtab.complete(parser, options.shell))
    return 0
