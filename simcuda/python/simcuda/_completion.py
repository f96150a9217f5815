# SPDX-License-Identifier: BSD-3-Clause
"""``simcuda completion SHELL``: a script by which a shell completes commands and options."""

import sys

from simcuda._arguments import add_parser

TEXT = """Prints a script by which a shell completes the commands, their options and files. It is
made by the package shtab from the commands themselves: pip install 'simcuda[completion]'."""

EXAMPLES = (
    "simcuda completion bash > ~/.local/share/bash-completion/completions/simcuda",
    'simcuda completion zsh > "${fpath[1]}/_simcuda"',
    "simcuda completion fish > ~/.config/fish/completions/simcuda.fish",
)

STATUS = """Exit status: 0; 2 if shtab is not installed."""

SHELLS = "bash", "zsh", "fish"
FILES = "program", "report", "trace"  # the arguments that are files


def add_to(commands):
    parser = add_parser(
        commands,
        "completion",
        help="print a script for the shell, which completes commands and options",
        description=TEXT,
        examples=EXAMPLES,
        status=STATUS,
    )
    parser.add_argument("shell", choices=SHELLS, help="the shell that will read it")
    parser.set_defaults(run=run, parser=parser)


def run(options):
    try:
        import shtab
    except ModuleNotFoundError:
        print(
            "simcuda completion: shtab is not installed: pip install 'simcuda[completion]'",
            file=sys.stderr,
        )
        return 2
    from simcuda._command import parser_of

    parser, commands = parser_of()
    for command in commands.choices.values():
        for action in command._actions:
            if action.dest in FILES:
                action.complete = shtab.FILE
    print(shtab.complete(parser, options.shell))
    return 0
