# SPDX-License-Identifier: BSD-3-Clause
"""Errors about values that cannot be written: integers whose digits Python refuses, and objects
whose own ``__repr__`` fails."""

import pytest

import libcai

HUGE = 10**5000
BITS = "an integer of 16610 bits"
UNSHOWN = "that cannot be shown"


class Unshown:
    def __repr__(self):
        raise RuntimeError("nobody sees me")


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda a: a.__dlpack__(stream=HUGE), BufferError, BITS),
        (lambda a: a.__dlpack__(dl_device=(HUGE, 0)), BufferError, UNSHOWN),
        (lambda a: a.__dlpack__(dl_device=(2, HUGE)), BufferError, UNSHOWN),
        (lambda a: a.__dlpack__(dl_device=(2**40, 0)), BufferError, str(2**40)),
        (lambda a: a.to_interface(version=HUGE), libcai.UseError, BITS),
        (lambda a: a.to_interface(version=Unshown()), libcai.UseError, UNSHOWN),
        (lambda a: libcai.fill(libcai.empty(4, "|u1"), HUGE), libcai.UseError, BITS),
        (lambda a: libcai.use(a, stream=1, order=Unshown()), libcai.UseError, UNSHOWN),
        (lambda a: libcai.use(a, stream=1, access=Unshown()), libcai.UseError, UNSHOWN),
        (lambda a: libcai.from_dlpack(a, copy=Unshown()), TypeError, UNSHOWN),
        (lambda a: libcai.provide_stream(Unshown(), len), TypeError, UNSHOWN),
        (lambda a: libcai.Device(HUGE), TypeError, BITS),
        (lambda a: libcai.Device(Unshown()), TypeError, UNSHOWN),
        (lambda a: libcai.empty(4, "|u1", device=(1, HUGE)), libcai.UseError, UNSHOWN),
        (lambda a: libcai.Memory(HUGE), libcai.UseError, BITS),
        (lambda a: libcai.Memory.find(HUGE), libcai.UseError, BITS),
        (lambda a: libcai.Memory.wrap(HUGE, 1, device="cpu"), libcai.UseError, BITS),
        (lambda a: libcai.Array.from_ptr(HUGE), libcai.ViewError, BITS),
        (lambda a: libcai.Array.from_ptr(-8), libcai.ViewError, "-8"),
        (lambda a: libcai.Array.from_ptr(2**64), libcai.ViewError, str(2**64)),
        (lambda a: libcai.defer_releases(HUGE), libcai.UseError, BITS),
    ],
)
def test_the_error_is_the_one_of_any_other_value(call, error, says):
    with pytest.raises(error) as caught:
        call(libcai.asarray(bytearray(4)))
    assert says in str(caught.value)
