# SPDX-License-Identifier: BSD-3-Clause
"""A driver for the commands that need one: the machine's, or else simcuda."""

import os
import sys


class MissingError(RuntimeError):
    """There is neither a GPU nor simcuda."""


def simcuda():
    """Returns the package.

    Raises
    ------
    MissingError
        If it is not installed, or cannot be used; the message says what to do.
    """
    try:
        import simcuda
    except ModuleNotFoundError:
        raise MissingError(
            "simcuda, the simulated driver, is not installed: pip install 'libcai[testing]'"
        ) from None
    return simcuda


def kind(**settings):
    """Returns ``"real"`` or ``"simulated"`` if this process has a device. Else it starts the same
    command again on simcuda, with `settings` for its environment, and does not return.

    Raises
    ------
    MissingError
        If that is not possible.
    """
    from libcai import Device
    from libcai._cli.doctor import driver

    if Device.count() > 0:
        return "simulated" if driver()["simulated"] else "real"
    if "SIMCUDA" in os.environ:
        raise MissingError("the simulated driver has no device")
    try:
        package = simcuda()
        command = package.command(*sys.orig_argv)
    except RuntimeError as error:  # both packages' MissingError
        raise MissingError(f"there is no GPU, and {error}") from None
    os.execve(command[0], command, {**package.environment(os.environ), **settings})
