# SPDX-License-Identifier: BSD-3-Clause
"""Frames of a GPU from a pool, for any library: by __cuda_array_interface__ and DLPack."""

from libcai import Array  # first: it loads the library that _framepool is linked with

from ._framepool import Pool

__all__ = ["Array", "Pool"]
