# SPDX-License-Identifier: BSD-3-Clause
"""Partners whose arrays are on the host: NumPy and ml_dtypes, tvm-ffi, pyarrow, nanoarrow and
nanobind."""

import dataclasses
import functools
import importlib.util
import os
import subprocess
import sysconfig
import tempfile
from pathlib import Path

import nanoarrow
import nanoarrow.device
import nanobind
import numpy as np
import pyarrow
import tvm_ffi
from tvm_ffi.core import DLTensorTestWrapper

import awkward
import libcai
from cells import Seen, Way, bits_of, on_host, read, seen_by_libcai

DLPACK = ("__dlpack__", "__dlpack_device__")


class Only:
    """An object with some methods of another one, and nothing else."""

    def __new__(cls, obj, *names):
        members = {name: staticmethod(getattr(obj, name)) for name in names}
        return type("Only", (), {**members, "__init__": lambda self: None})()


def by_route(route):
    return lambda obj: seen_by_libcai(libcai.asarray(obj, route=route))


def by_dlpack(obj):
    return seen_by_libcai(libcai.from_dlpack(obj))


def by_arrow(obj):
    return seen_by_libcai(libcai.from_arrow(obj))


def seen_by_numpy(array):
    return Seen(
        array.ctypes.data,
        array.shape,
        array.strides,
        array.dtype,
        not array.flags.writeable,
        array.tobytes(),
    )


def same(array):
    return array


# ---- NumPy, and ml_dtypes, whose types NumPy's arrays have

NUMPY = [
    Way("NumPy", "gives", "its dict", same, by_route("numpy")),
    Way("NumPy", "gives", "`__dlpack__`", same, by_route("dlpack")),
    Way("NumPy", "gives", "`libcai.from_dlpack`", same, by_dlpack),
    Way("NumPy", "gives", "a buffer", same, by_route("buffer")),
    Way("NumPy", "takes", "`np.asarray`", on_host, lambda x: seen_by_numpy(np.asarray(x))),
    Way("NumPy", "takes", "`np.from_dlpack`", on_host, lambda x: seen_by_numpy(np.from_dlpack(x))),
]


def seen_by_ml_dtypes(x):
    """NumPy's dict has no name for its types: they come as bytes, and libcai says what they are."""
    return seen_by_numpy(np.asarray(x).view(x.dtype))


ML_DTYPES = [
    *(
        Way("ml_dtypes", "gives", way.name, way.make, way.take, awkward.ML_ROWS)
        for way in NUMPY
        if way.direction == "gives"
    ),
    Way(
        "ml_dtypes",
        "takes",
        "`np.asarray(x).view(x.dtype)`",
        on_host,
        seen_by_ml_dtypes,
        awkward.ML_ROWS,
    ),
]

# ---- tvm-ffi


def tensor_of(array):
    """tvm-ffi's own tensor. What NumPy's DLPack cannot say of ml_dtypes' types, libcai's does."""
    assert not isinstance(array, np.ma.MaskedArray), "a tensor has no mask"
    made = tvm_ffi.from_dlpack(on_host(array) if awkward.has_code(array.dtype) else array)
    return made, made.data_ptr()


def wrapper_of(array):
    """DLPack's table is not on its tensors, but on a class around them."""
    made, address = tensor_of(array)
    return DLTensorTestWrapper(made), address


def seen_by_tvm(tensor):
    dtype = np.dtype(str(tensor.dtype))
    address, shape = tensor.data_ptr(), tuple(tensor.shape)
    strides = tuple(step * dtype.itemsize for step in tensor.strides)
    # Its tensors have no mark for read-only memory.
    return Seen(
        address, shape, strides, dtype, False, read(address, shape, strides, dtype.itemsize)
    )


echo = tvm_ffi.get_global_func("testing.echo")
TVM_FFI = [
    Way("tvm-ffi", "gives", "DLPack's table", wrapper_of, by_route("dlpack_table")),
    Way("tvm-ffi", "gives", "`__dlpack__`", tensor_of, by_route("dlpack")),
    Way(
        "tvm-ffi",
        "takes",
        "`from_dlpack`, by our table",
        on_host,
        lambda x: seen_by_tvm(tvm_ffi.from_dlpack(x)),
    ),
    Way(
        "tvm-ffi",
        "takes",
        "`from_dlpack`, by `__dlpack__`",
        on_host,
        lambda x: seen_by_tvm(tvm_ffi.from_dlpack(Only(x, *DLPACK))),
    ),
    # A function's result is made an Array again, by our table.
    Way("tvm-ffi", "takes", "an argument, and back", on_host, lambda x: seen_by_libcai(echo(x))),
]

# ---- pyarrow


def as_column(array):
    assert array.ndim == 1, "a column has one axis"
    assert array.flags.c_contiguous, "a column is contiguous"


def column_of(array):
    as_column(array)
    made = pyarrow.array(array)
    assert made.type.num_buffers == 2, f"a column of type {made.type} is none of numbers"
    data = made.buffers()[1]
    if isinstance(array, np.ma.MaskedArray):
        return made, data.address
    assert not array.size or data.address == array.ctypes.data, "pyarrow makes a copy"
    return made


def arrow_tensor_of(array):
    assert not isinstance(array, np.ma.MaskedArray), "a tensor has no mask"
    made = pyarrow.Tensor.from_numpy(array)
    assert made.to_numpy().dtype == array.dtype, f"pyarrow takes it for {made.type}"
    return made


def seen_by_arrow_tensor(tensor):
    """Its own to_numpy() forgets the mark for read-only memory, which the tensor has."""
    return dataclasses.replace(seen_by_numpy(tensor.to_numpy()), readonly=not tensor.is_mutable)


def seen_by_pyarrow(column):
    dtype = np.dtype(column.type.to_pandas_dtype())
    validity, data = column.buffers()
    start, count = column.offset * dtype.itemsize, len(column)
    return Seen(
        data.address + start if count else 0,
        (count,),
        (dtype.itemsize,),
        dtype,
        True,
        data.to_pybytes()[start:][: count * dtype.itemsize] if count else b"",
        validity and bits_of(validity)[column.offset :][:count],
    )


PYARROW = [
    Way("pyarrow", "gives", "`__arrow_c_device_array__`", column_of, by_arrow),
    Way(
        "pyarrow",
        "gives",
        "`__arrow_c_array__`",
        column_of,
        lambda column: by_arrow(Only(column, "__arrow_c_array__")),
    ),
    Way("pyarrow", "gives", "a column, by `__dlpack__`", column_of, by_route("dlpack")),
    Way("pyarrow", "gives", "a `Tensor`, by `__dlpack__`", arrow_tensor_of, by_route("dlpack")),
    Way("pyarrow", "gives", "a `Tensor`, by its buffer", arrow_tensor_of, by_route("buffer")),
    Way(
        "pyarrow", "takes", "`pyarrow.array`", on_host, lambda x: seen_by_pyarrow(pyarrow.array(x))
    ),
    Way(
        "pyarrow",
        "takes",
        "`Tensor.from_dlpack`",
        on_host,
        lambda x: seen_by_arrow_tensor(pyarrow.Tensor.from_dlpack(x)),
    ),
]

# ---- nanoarrow


def nano_column_of(array):
    as_column(array)
    assert not isinstance(array, np.ma.MaskedArray), "nanoarrow knows nothing of NumPy's masks"
    assert array.dtype.isnative, "Arrow has this machine's byte order alone"
    numbers = {"uint8", "int64", "float16", "float32"}
    assert array.dtype.name in numbers, f"Arrow has no {array.dtype.name} that is laid out so"
    kind, data = getattr(nanoarrow, array.dtype.name)(), nanoarrow.c_buffer(array)
    return nanoarrow.c_array_from_buffers(kind, len(array), [None, data])


def nano_view_of(array):
    return nano_column_of(array).view().buffer(1)


class ByDlpack:
    """An array with nothing else, where a buffer would come first."""

    def __init__(self, array):
        self.__dlpack__, self.__dlpack_device__ = array.__dlpack__, array.__dlpack_device__


def seen_by_nanoarrow(column):
    view = column.view()
    validity, data = view.buffer(0), view.buffer(1)
    values = np.asarray(data)[view.offset :][: view.length]
    valid = bits_of(validity)[view.offset :][: view.length] if len(bytes(validity)) else None
    return dataclasses.replace(seen_by_numpy(values), readonly=True, valid=valid)


NANOARROW = [
    Way("nanoarrow", "gives", "`__arrow_c_array__`", nano_column_of, by_arrow),
    Way(
        "nanoarrow",
        "gives",
        "`__arrow_c_device_array__`",
        lambda array: nanoarrow.device.c_device_array(nano_column_of(array)),
        by_arrow,
    ),
    Way("nanoarrow", "gives", "a `CBufferView`, by `__dlpack__`", nano_view_of, by_route("dlpack")),
    Way("nanoarrow", "gives", "a `CBufferView`, by its buffer", nano_view_of, by_route("buffer")),
    Way(
        "nanoarrow",
        "takes",
        "`c_array`",
        on_host,
        lambda x: seen_by_nanoarrow(nanoarrow.c_array(x)),
    ),
    Way(
        "nanoarrow",
        "takes",
        "`c_device_array`",
        on_host,
        lambda x: seen_by_nanoarrow(nanoarrow.device.c_device_array(x)),
    ),
    Way(
        "nanoarrow",
        "takes",
        "`c_buffer`, by `__dlpack__`",
        on_host,
        lambda x: seen_by_numpy(np.asarray(nanoarrow.c_buffer(ByDlpack(x)))),
    ),
]

# ---- nanobind: a module that is built with it


@functools.cache
def nanobind_arrays():
    """arrays.cpp, with nanobind's sources, or with these as the caller has compiled them."""
    source, include = Path(nanobind.source_dir()), Path(nanobind.include_dir())
    folders = [include, source.parent / "ext/robin_map/include", sysconfig.get_path("include")]
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "nanobind_arrays.so"
        command = [os.environ.get("CXX", "g++"), "-std=c++17", "-O0", "-fPIC", "-shared"]
        command += ["-fvisibility=hidden", "-fno-strict-aliasing", "-o", library]
        command += [f"-I{folder}" for folder in folders]
        command.append(os.environ.get("NANOBIND_OBJECT", source / "nb_combined.cpp"))
        subprocess.run([*command, Path(__file__).with_name("arrays.cpp")], check=True)
        spec = importlib.util.spec_from_file_location("nanobind_arrays", library)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return module


CODES = {0: "i", 1: "u", 2: "f", 5: "c", 6: "b"}
ML_CODES = {
    4: "bfloat16",
    7: "float8_e3m4",
    8: "float8_e4m3",
    9: "float8_e4m3b11fnuz",
    10: "float8_e4m3fn",
    11: "float8_e4m3fnuz",
    12: "float8_e5m2",
    13: "float8_e5m2fnuz",
    14: "float8_e8m0fnu",
}


def code_of(dtype):
    names = {name: code for code, name in ML_CODES.items()}
    kinds = {kind: code for code, kind in CODES.items()}
    assert dtype.isnative, "DLPack has this machine's byte order alone"
    assert dtype.name in names or dtype.kind in kinds, f"DLPack has no {dtype.name}"
    return names.get(dtype.name) or kinds[dtype.kind]


def nanobind_array_of(array):
    assert not isinstance(array, np.ma.MaskedArray), "a tensor has no mask"
    whole = all(step % array.itemsize == 0 for step in array.strides)
    assert whole, "DLPack's strides are in elements"
    module = nanobind_arrays()
    make = module.make if array.flags.writeable else module.make_read_only
    steps = [step // array.itemsize for step in array.strides]
    made = make(
        array.ctypes.data,
        array.shape,
        steps,
        code_of(array.dtype),
        8 * array.itemsize,
        array,
    )
    return made, array.ctypes.data


def seen_by_nanobind(told):
    address, shape, steps, code, bits, values = told
    size = bits // 8
    dtype = np.dtype(ML_CODES[code] if code in ML_CODES else f"{CODES[code]}{size}")
    return Seen(address, shape, tuple(step * size for step in steps), dtype, False, values)


NANOBIND = [
    Way("nanobind", "gives", "`__dlpack__`", nanobind_array_of, by_route("dlpack")),
    Way("nanobind", "gives", "a buffer", nanobind_array_of, by_route("buffer")),
    Way(
        "nanobind",
        "takes",
        "`nb::ndarray<>`",
        on_host,
        lambda x: seen_by_nanobind(nanobind_arrays().take(x)),
    ),
    Way(
        "nanobind",
        "takes",
        "`nb::ndarray<nb::ro>`",
        on_host,
        lambda x: dataclasses.replace(
            seen_by_nanobind(nanobind_arrays().take_to_read(x)), readonly=True
        ),
    ),
]

WAYS = [*NUMPY, *ML_DTYPES, *TVM_FFI, *PYARROW, *NANOARROW, *NANOBIND]


def end():
    return []
