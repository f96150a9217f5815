# SPDX-License-Identifier: BSD-3-Clause
"""A driver for the commands that need one: the machine's, or else simcuda."""

import os
import sys

from libcai import Device, _simcuda
from libcai._cli.info import driver


class Missing(RuntimeError):
    """There is neither a GPU nor simcuda."""


def kind(**settings):
    """Returns ``"real"`` or ``"simulated"`` if this process has a device. Else it starts the same
    command again on simcuda, with `settings` for its environment, and does not return.

    Raises
    ------
    Missing
        If that is not possible.
    """
    if Device.count() > 0:
        return "simulated" if driver()["simulated"] else "real"
    if "SIMCUDA" in os.environ:
        raise Missing("the simulated driver has no device")
    try:
        command = _simcuda.command(*sys.orig_argv)
    except _simcuda.Missing as error:
        raise Missing(f"there is no GPU, and {error}") from None
    os.execve(command[0], command, {**_simcuda.environment(os.environ), **settings})
