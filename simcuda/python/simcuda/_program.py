# SPDX-License-Identifier: BSD-3-Clause
"""Starts a program, and waits for it as if it were this process."""

import contextlib
import signal
import subprocess

PASSED_ON = (signal.SIGHUP, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2)
# A terminal sends these to the program, too: it is in the same process group.
ITS_OWN = (signal.SIGINT, signal.SIGQUIT)


def run(command, environment):
    """Returns the program's exit status, as a shell has it, and whether an interrupt came."""
    child, early, interrupts = None, [], []

    def pass_on(number, _):
        if child is None:
            early.append(number)
        else:
            child.send_signal(number)

    with _handlers(
        {**dict.fromkeys(PASSED_ON, pass_on), **dict.fromkeys(ITS_OWN, _note(interrupts))}
    ):
        child = subprocess.Popen(command, env=environment)
        for number in early:
            child.send_signal(number)
        status = child.wait()
    return (status if status >= 0 else 128 - status), bool(interrupts)


def _note(interrupts):
    return lambda number, _: interrupts.append(number)


@contextlib.contextmanager
def _handlers(wanted):
    """Handlers of signals, but for those that the parent process has ignored."""
    before = {}
    for number, handler in wanted.items():
        if signal.getsignal(number) is not signal.SIG_IGN:
            before[number] = signal.signal(number, handler)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
