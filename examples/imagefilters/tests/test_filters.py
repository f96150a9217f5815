# SPDX-License-Identifier: BSD-3-Clause
"""Run by pytest; simcuda is in the place of a GPU."""

import imagefilters
import numpy as np
import pytest
from numba import cuda

import libcai
from libcai.testing import check_consumer, consumer_cases

RANDOM = np.random.default_rng(1)
PICTURE = RANDOM.integers(0, 256, (9, 13), np.uint8)
VOLUME = RANDOM.random((4, 5, 6), np.float32)
IMAGES = {
    "uint8": PICTURE,
    "float32": VOLUME,
    "strided": PICTURE[1::2, ::3],
    "turned around": VOLUME[::-1, :, ::-2],
    "columns first": VOLUME.T,
    "one row": PICTURE[:1],
    "empty": PICTURE[:, :0],
}
images = pytest.mark.parametrize("image", IMAGES.values(), ids=list(IMAGES))
# What blur() refuses of the arrays that check_consumer() gives it.
REFUSED = {"complex", "dimensions", "masked", "scalar", "structured", "swapped", "time", "types"}
# Work as late as it may be, as early, and in two random orders: a wait that is missing is reported.
simulated = pytest.mark.simcuda(schedules=["lazy", "eager"], seeds=2)


def blurred(image, radius):
    """What blur() gives, in the words of NumPy."""
    out = np.empty(image.shape, image.dtype)
    for index in np.ndindex(image.shape):
        mean = image[tuple(slice(max(i - radius, 0), i + radius + 1) for i in index)].mean()
        out[index] = mean if image.dtype == np.float32 else mean + 0.5
    return out


def upload(values, stream=None):
    """An array of numba-cuda's, while the copy is under way: its dict names the stream."""
    stream = stream or cuda.stream()
    array = cuda.device_array(values.shape, values.dtype, stream=stream)
    array.copy_to_device(np.ascontiguousarray(values), stream=stream)
    return array


def download(array):
    """The values of an array of any library's on a GPU: numba-cuda waits for the dict's stream."""
    return cuda.as_cuda_array(array).copy_to_host()


# ---- On the CPU ---------------------------------------------------------------------------------


@images
def test_blur(image):
    for radius in (0, 1, 20):
        made = np.asarray(imagefilters.blur(image, radius))
        assert made.dtype == image.dtype
        np.testing.assert_allclose(made, blurred(image, radius), rtol=1e-5)


@images
def test_threshold(image):
    white = image.dtype.type(255 if image.dtype == np.uint8 else 1)
    made = np.asarray(imagefilters.threshold(image, 0.5 * float(white)))
    np.testing.assert_array_equal(made, np.where(image >= 0.5 * float(white), white, 0))


def test_out():
    wide = np.zeros((9, 26), np.uint8)
    out = wide[:, ::2]
    assert imagefilters.blur(PICTURE, 1, out=out) is out
    np.testing.assert_array_equal(out, blurred(PICTURE, 1))
    assert not wide[:, 1::2].any()
    image = PICTURE.copy()
    imagefilters.threshold(image, 100, out=image)
    np.testing.assert_array_equal(image, np.where(PICTURE >= 100, 255, 0))


def test_what_is_made_is_libcais():
    assert type(imagefilters.blur(PICTURE, 1)) is libcai.Array


class Masked:
    """An array with a mask, as the interface has it."""

    def __init__(self, values, mask):
        self.__array_interface__ = {**values.__array_interface__, "mask": mask}


def read_only():
    out = np.empty_like(PICTURE)
    out.flags.writeable = False
    return out


@pytest.mark.parametrize(
    ("image", "more", "kind", "message"),
    [
        (PICTURE, {"out": read_only()}, ValueError, "read-only"),
        (Masked(PICTURE, PICTURE > 9), {}, ValueError, "image has a mask"),
        (PICTURE, {"out": Masked(PICTURE.copy(), PICTURE > 9)}, ValueError, "out has a mask"),
        (VOLUME.astype(">f4"), {}, ValueError, "byte order"),
        (VOLUME.astype("f8"), {}, TypeError, "uint8 or float32"),
        (PICTURE[0], {}, ValueError, "1 axes, not 2 or 3"),
        (PICTURE, {"out": np.empty((3, 3), np.uint8)}, ValueError, "the image's shape"),
        (PICTURE, {"out": np.empty((9, 13), np.float32)}, TypeError, "the image's dtype"),
        (PICTURE, {"out": PICTURE}, ValueError, "overlaps"),
        (PICTURE[:-1], {"out": PICTURE[:0:-1]}, ValueError, "overlaps"),
        (PICTURE, {"stream": -1}, ValueError, "-1"),
        (3, {}, TypeError, "image is not an array"),
    ],
)
def test_what_is_refused(image, more, kind, message):
    before = PICTURE.copy()
    with pytest.raises(kind, match=message):
        imagefilters.blur(image, 1, **more)
    np.testing.assert_array_equal(PICTURE, before)


# ---- On a GPU -----------------------------------------------------------------------------------


@simulated
def test_the_same_on_a_gpu():
    mine = cuda.stream()
    for image in IMAGES.values():
        given = upload(image)
        made = imagefilters.threshold(imagefilters.blur(given, 1, stream=mine), 0.25)
        on_cpu = imagefilters.threshold(imagefilters.blur(image, 1), 0.25)
        np.testing.assert_array_equal(download(made), np.asarray(on_cpu))
        made, on_cpu = imagefilters.blur(given, 2), imagefilters.blur(image, 2)
        np.testing.assert_array_equal(download(made), np.asarray(on_cpu))


@simulated
def test_strides_on_a_gpu():
    given, out = upload(VOLUME), upload(np.zeros_like(VOLUME))
    imagefilters.blur(given[1:, ::2], 1, out=out[1:, ::2])
    expected = np.zeros_like(VOLUME)
    expected[1:, ::2] = np.asarray(imagefilters.blur(VOLUME[1:, ::2], 1))
    np.testing.assert_array_equal(download(out), expected)


@simulated
def test_order():
    """Three streams: theirs, which writes again as soon as it may; out's; and ours."""
    theirs, mine = cuda.stream(), cuda.stream()
    given, out = upload(PICTURE, theirs), upload(np.zeros_like(PICTURE))
    assert imagefilters.blur(given, 1, out, mine) is out
    given.copy_to_device(np.zeros_like(PICTURE), stream=theirs)
    np.testing.assert_array_equal(download(out), blurred(PICTURE, 1))


@simulated
def test_in_place_on_a_gpu():
    given, mine = upload(PICTURE), cuda.stream()
    imagefilters.threshold(given, 100, out=given, stream=mine)
    np.testing.assert_array_equal(download(given), np.where(PICTURE >= 100, 255, 0))


@simulated
def test_a_result_outlives_what_it_is_made_of():
    mine = cuda.stream()
    made = imagefilters.blur(upload(PICTURE), 1, stream=mine)
    others = [upload(np.zeros_like(PICTURE)) for _ in range(3)]  # may get the image's memory
    np.testing.assert_array_equal(download(made), blurred(PICTURE, 1))
    del others


@pytest.mark.simcuda
def test_every_kind_of_array():
    """By libcai's own check of functions that read arrays. A blur by radius 0 is a copy."""

    def copied(array):
        return download(imagefilters.blur(array, 0))

    cases = [case for case in consumer_cases() if case.id != "1-d"]
    check_consumer(copied, refuses=REFUSED, cases=cases)


@pytest.mark.simcuda
def test_a_wait_that_is_missing_is_found(simcuda):
    """So the tests above would fail if blur() did not wait: a dict that says None asks for that."""

    class WithoutStream:
        def __init__(self, array):
            self.array = array
            self.__cuda_array_interface__ = {**array.__cuda_array_interface__, "stream": None}

    given, mine = upload(PICTURE), cuda.stream()
    imagefilters.blur(WithoutStream(given), 1, stream=mine)
    cuda.synchronize()
    assert simcuda.races() > 0
    simcuda.forget()
