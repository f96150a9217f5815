# SPDX-License-Identifier: BSD-3-Clause
"""Tests for those who give or take GPU arrays: on a laptop, without a GPU.

`check_producer` judges what a library exports, `check_consumer` how one reads what others export,
`cases` and `conformance_cases` are the shared cases of the interface, for importers. The first two
need a CUDA driver: a real one, or the simulated one of the package simcuda, which also finds the
waits that are missing. Run a test on it with its pytest marker ``simcuda``, or a program with
``simcuda run PROGRAM``.

NumPy is needed here, and pytest for `conformance_cases`; CUDA is not.
"""

# Loaded at first use: not every user has NumPy.
_HOME = {
    "Case": "libcai.testing._cases",
    "ConsumerCase": "libcai.testing._consumer",
    "cases": "libcai.testing._cases",
    "check_consumer": "libcai.testing._consumer",
    "check_producer": "libcai.testing._producer",
    "conformance_cases": "libcai.testing._cases",
    "consumer_cases": "libcai.testing._consumer",
}

__all__ = [
    "Case",
    "ConsumerCase",
    "cases",
    "check_consumer",
    "check_producer",
    "conformance_cases",
    "consumer_cases",
]


def __getattr__(name):
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'libcai.testing' has no attribute {name!r}")
    from importlib import import_module

    value = globals()[name] = getattr(import_module(home), name)
    return value


def __dir__():
    return sorted({*globals(), *__all__})
