# SPDX-License-Identifier: BSD-3-Clause
from libcai import Array  # loads the library that _linked needs

from ._linked import identity

__all__ = ["Array", "identity"]
