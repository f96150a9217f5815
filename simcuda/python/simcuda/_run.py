# SPDX-License-Identifier: BSD-3-Clause
"""``simcuda run PROGRAM...``: a program on the simulated driver."""

import argparse
import os
import shlex
import signal
import subprocess
import sys

from simcuda import _library

TEXT = """Runs a program with simcuda as its CUDA driver: no GPU, no CUDA. Device memory is real,
copies, memsets, streams and events work, and so do kernels that the program hands over as PTX. Two
accesses to the same memory that nothing orders are a race: each is reported on standard error, with
the wait that is missing, and so is what is wrong inside a kernel."""

STATUS = """Exit status: the program's own; 66 if that is 0, but the program raced, or
something was found inside a kernel; 127 if there is none of that name, and 126 if it cannot be
run, as in a shell; 2 for a wrong option. Other settings are environment variables:
SIMCUDA_CHECK, SIMCUDA_KERNEL_LIMIT, SIMCUDA_QUIET_MS, SIMCUDA_DEVICE_MIB,
SIMCUDA_DRIVER_VERSION, SIMCUDA_LOG, SIMCUDA_REUSE_HANDLES, SIMCUDA_BANNER."""


def add_to(commands):
    parser = commands.add_parser(
        "run",
        help="run a program on the simulated driver, and find its races",
        usage="simcuda run [OPTION...] PROGRAM [ARGUMENT...]",
        description=TEXT,
        epilog=STATUS,
        allow_abbrev=False,
    )
    order = parser.add_mutually_exclusive_group()
    order.add_argument(
        "--schedule",
        type=checked(_library.schedule),
        metavar="lazy|eager|random:SEED",
        help="when work runs: as late as it can (the default), at once, or by a seed",
    )
    order.add_argument(
        "--seed",
        type=number(0, 2**64 - 1),
        metavar="N",
        help="the same as --schedule random:N",
    )
    order.add_argument(
        "--seeds",
        type=number(1, 10**6),
        metavar="N",
        help="run the program N times, under the seeds 1 to N, until it races or fails",
    )
    parser.add_argument(
        "--races",
        choices=_library.RACES,
        metavar="|".join(_library.RACES),
        help="report them and end with 66 (the default), do not look for them, only count them, "
        "or abort at the first",
    )
    parser.add_argument(
        "--strict",
        action="store_true",
        help="also report what is right on most machines, though no rule promises it",
    )
    parser.add_argument(
        "--devices",
        type=number(0, _library.MOST_DEVICES),
        metavar="N",
        help=f"how many devices there are (2; at most {_library.MOST_DEVICES})",
    )
    parser.add_argument(
        "--fail",
        type=checked(_library.faults),
        metavar="NAME:NTH:STATUS",
        help="the NTH call of a function returns STATUS and does nothing; several with commas",
    )
    parser.add_argument(
        "program",
        nargs=argparse.REMAINDER,
        metavar="PROGRAM",
        help="the program, and its arguments",
    )
    parser.set_defaults(run=run, parser=parser)


def checked(check):
    """A type for argparse that says what `check` raises."""

    def convert(text):
        try:
            return check(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return convert


def number(least, most):
    def convert(text):
        if not (text.isascii() and text.isdigit() and least <= int(text) <= most):
            raise ValueError(f"{text!r} is not a number from {least} to {most}")
        return int(text)

    return checked(convert)


def run(options):
    program = options.program[1:] if options.program[:1] == ["--"] else options.program
    if not program:
        options.parser.error("there is no PROGRAM to run")
    if program[0].startswith("-"):
        options.parser.error(f"{program[0]!r} is an option, and no PROGRAM")
    try:
        command = _library.command(*program)
    except _library.MissingError as error:
        print(f"simcuda run: {error}", file=sys.stderr)
        return 2
    sys.stdout.flush()
    if options.seeds is not None:
        return _run_seeds(command, program, options)
    schedule = options.schedule
    if options.seed is not None:
        schedule = f"random:{options.seed}"
    os.execve(command[0], command, _environment(options, schedule))


def _environment(options, schedule):
    return _library.environment(
        os.environ,
        schedule=schedule,
        races=options.races,
        strict=options.strict,
        devices=options.devices,
        fail=options.fail,
    )


def _run_seeds(command, program, options):
    for seed in range(1, options.seeds + 1):
        child = subprocess.Popen(command, env=_environment(options, f"random:{seed}"))
        for number in (signal.SIGHUP, signal.SIGTERM):  # which the script passes on, and ends
            signal.signal(number, lambda number, _, child=child: child.send_signal(number))
        try:
            status = child.wait()
        except KeyboardInterrupt:
            return 128 + signal.SIGINT
        if status == 0:
            continue
        if status == _library.RACED:
            what = "the program raced"
        elif status < 0:
            what = f"the program was ended by signal {-status}"
        else:
            what = f"the program ended with {status}"
        again = ["simcuda", "run", f"--seed={seed}", *_repeated(options), *program]
        print(f"simcuda run: seed {seed}: {what}; again: {shlex.join(again)}", file=sys.stderr)
        return status if status > 0 else 128 - status
    races = options.races or os.environ.get("SIMCUDA_RACES", "log")
    found = "no race, no failure" if races in ("log", "abort") else f"no failure (races: {races})"
    print(f"simcuda run: {options.seeds} seeds: {found}", file=sys.stderr)
    return 0


def _repeated(options):
    """The options of this run but for the seeds."""
    for name in ("races", "devices", "fail"):
        value = getattr(options, name)
        if value is not None:
            yield f"--{name}={value}"
    if options.strict:
        yield "--strict"
