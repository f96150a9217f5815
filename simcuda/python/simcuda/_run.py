# SPDX-License-Identifier: BSD-3-Clause
"""``simcuda run PROGRAM...``: a program on the simulated driver."""

import argparse
import os
import shlex
import sys
from pathlib import Path
from time import monotonic

from simcuda import _library
from simcuda._arguments import add_parser

TEXT = """Runs a program with simcuda as its CUDA driver: no GPU, no CUDA. Device memory is real,
copies, memsets, streams and events work, and so do kernels that the program hands over as PTX. Two
accesses to the same memory that nothing orders are a race: each is reported on standard error, with
the wait that is missing, and so is what is wrong inside a kernel."""

EXAMPLES = (
    "simcuda run python program.py",
    "simcuda run --schedule=eager ./program --its --own=options",
    "simcuda run --seeds=100 ./program            in 100 random orders, until it races",
    "simcuda run --seed=17 ./program              again as seed 17 was",
    "simcuda run --report=race.html ./program     a page of what ran and what raced",
    "simcuda run --fail=cuMemAlloc:1:2 ./program  its first allocation runs out of memory",
)

STATUS = """Exit status: the program's own; if that is 0, 66 if the program or a child process of
it raced, something was found inside a kernel, or a destroyed stream or event was used, and 67 if
they made no call of the driver, but to load it; 127 if there is no program of that name, and 126 if
it cannot be run, as in a shell; 2 for a wrong option, and where the program's would be 0 and the
page or the trace cannot be written. Other settings are environment variables:
SIMCUDA_CHECK, SIMCUDA_CALL_SITES, SIMCUDA_KERNEL_LIMIT, SIMCUDA_KERNEL_THREADS, SIMCUDA_QUIET_MS,
SIMCUDA_DEVICE_MIB, SIMCUDA_DRIVER_VERSION, SIMCUDA_LOG, SIMCUDA_REUSE_HANDLES,
SIMCUDA_STALE_HANDLES, SIMCUDA_GIL, SIMCUDA_BANNER."""

NOT_STARTED = (126, 127)
SECONDS = 2  # what takes longer says how far it is


def add_to(commands):
    parser = add_parser(
        commands,
        "run",
        help="run a program on the simulated driver, and find its races",
        usage="simcuda run [OPTION...] PROGRAM [ARGUMENT...]",
        description=TEXT,
        examples=EXAMPLES,
        status=STATUS,
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
        help=f"how many devices there are (2; from 0, for a driver that finds none, to "
        f"{_library.MOST_DEVICES})",
    )
    parser.add_argument(
        "--fail",
        type=checked(_library.known_faults),
        metavar="NAME:NTH:STATUS",
        help="the NTH call of a function returns STATUS and does nothing; several with commas",
    )
    parser.add_argument(
        "--report",
        type=Path,
        metavar="FILE.html",
        help="write a page that shows what ran, what waited for what, and what raced",
    )
    parser.add_argument(
        "--trace",
        type=Path,
        metavar="FILE.json",
        help="write the same for Perfetto and chrome://tracing",
    )
    parser.add_argument(
        "--allow-none",
        action="store_true",
        help="do not end with 67 if nothing calls the driver",
    )
    parser.add_argument(
        "--quiet",
        action="store_true",
        help="without the lines on standard error at the start and at the end, as SIMCUDA_BANNER=0",
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
            raise ValueError(f"expected a number from {least} to {most}, got {text!r}")
        return int(text)

    return checked(convert)


def run(options):
    if options.program[:1] == ["--"]:
        del options.program[0]
    program = options.program
    if not program:
        options.parser.error("there is no PROGRAM to run")
    if program[0].startswith("-"):
        options.parser.error(f"{program[0]!r} is an option, and no PROGRAM")
    if not program[0]:
        print("simcuda run: the PROGRAM has no name", file=sys.stderr)
        return 127
    try:
        command = _library.command(*program)
    except _library.MissingError as error:
        print(f"simcuda run: {error}", file=sys.stderr)
        return 2
    try:
        _check_outputs(options)
    except (OSError, ValueError) as error:
        print(f"simcuda run: {error}", file=sys.stderr)
        return 2
    sys.stdout.flush()
    return _run_seeds(command, options) if options.seeds else _run_once(command, options)


def _check_outputs(options):
    """Raises OSError or ValueError, before the program runs, if nothing could be shown of it."""
    begins = {options.report: b"<!doctype html", options.trace: b"{"}
    begins.pop(None, None)
    if begins and (options.races or os.environ.get("SIMCUDA_RACES")) == "off":
        raise ValueError("--report and --trace show order, which --races=off does not look for")
    if options.report and options.trace and options.report.resolve() == options.trace.resolve():
        raise ValueError(f"--report and --trace are one file: {options.report}")
    made = []
    try:
        for path, begin in begins.items():
            if not path.exists():
                made.append(path)
            with path.open("a+b") as file:
                file.seek(0)
                found = file.read(len(begin))
            if found and not found.startswith(begin):
                raise ValueError(f"{path} is another file already: it is not overwritten")
    except (OSError, ValueError):
        for path in made:
            path.unlink(missing_ok=True)
        raise


def _run_once(command, options):
    schedule = options.schedule
    if options.seed is not None:
        schedule = f"random:{options.seed}"
    status, tally, _ = _start(command, options, schedule)
    if status not in NOT_STARTED:
        _say_tally(options, tally, status)
    return _judged(status, tally, options)


def _run_seeds(command, options):
    from simcuda import _tally

    total, said = _tally.Tally(), monotonic()
    for seed in range(1, options.seeds + 1):
        is_last = seed == options.seeds
        if monotonic() - said > SECONDS and sys.stderr and sys.stderr.isatty():
            said = monotonic()
            print(f"simcuda run: seed {seed} of {options.seeds}", file=sys.stderr)
        status, tally, interrupted = _start(command, options, f"random:{seed}", is_last=is_last)
        total += tally
        if interrupted:
            return status
        status = _judged(status, tally, options)
        if status == 0:
            continue
        if status not in NOT_STARTED:
            _say_tally(options, total, status)
        raced = "raced, went wrong inside a kernel, or used a destroyed stream or event"
        what = raced if status == _library.RACED else f"ended with {status}"
        again = ["simcuda", "run", f"--seed={seed}", *_repeated(options), *options.program]
        print(
            f"simcuda run: seed {seed}: the program {what}; again: {shlex.join(again)}",
            file=sys.stderr,
        )
        return status
    races = options.races or os.environ.get("SIMCUDA_RACES", "log")
    found = "no race, no failure" if races in ("log", "abort") else f"no failure (races: {races})"
    _say_tally(options, total, 0)
    print(f"simcuda run: {options.seeds} seeds: {found}", file=sys.stderr)
    return 0


def _start(command, options, schedule, *, is_last=True):
    """Runs the program once; returns its status, its tally, and whether it was interrupted. If it
    failed, or is the last one, it is shown."""
    import tempfile

    from simcuda import _events, _program, _tally

    with tempfile.TemporaryDirectory(prefix="simcuda-", ignore_cleanup_errors=True) as folder:
        environment = _library.environment(
            os.environ,
            schedule=schedule,
            races=options.races,
            strict=options.strict,
            devices=options.devices,
            fail=options.fail,
        )
        environment[_tally.VARIABLE] = folder
        if options.report or options.trace:
            environment[_events.VARIABLE] = folder
        if options.quiet:
            environment["SIMCUDA_BANNER"] = "0"
        status, interrupted = _program.run(command, environment)
        if (status != 0 or is_last) and not _show(folder, options):
            status = status or 2
        tally = _tally.read(folder)
        _tally.pass_on(tally, Path(folder).name)
    return status, tally, interrupted


def _show(folder, options):
    """Writes the page and the trace of a run, if they are wanted; whether that went well."""
    if not (options.report or options.trace):
        return True
    from simcuda import _events, _report, _trace_events

    processes = _events.read(folder)
    try:
        if options.report:
            options.report.write_text(_report.page(processes, shlex.join(options.program)), "utf-8")
        if options.trace:
            options.trace.write_text(_trace_events.text(processes), "utf-8")
    except OSError as error:
        print(f"simcuda run: {error}", file=sys.stderr)
        return False
    return True


def _judged(status, tally, options):
    """The exit status of a run that ended with `status`: one that proves nothing has failed."""
    if status != 0 or tally.calls or options.allow_none:
        return status
    print(
        "simcuda run: nothing has called the driver, but to load it: this run proves nothing "
        "(--allow-none allows that)",
        file=sys.stderr,
    )
    return _library.PROVED_NOTHING


def _say_tally(options, tally, status):
    if not options.quiet and os.environ.get("SIMCUDA_BANNER") != "0":
        failed = status not in (0, _library.RACED)
        print(f"simcuda: {tally.text(failed=failed)}", file=sys.stderr)


def _repeated(options):
    """The options of this run, except the seeds."""
    for name in ("races", "devices", "fail", "report", "trace"):
        value = getattr(options, name)
        if value is not None:
            yield f"--{name}={value}"
    for name in ("strict", "allow_none", "quiet"):
        if getattr(options, name):
            yield f"--{name.replace('_', '-')}"
