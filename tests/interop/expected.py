# SPDX-License-Identifier: BSD-3-Clause
"""What is expected of every cell of the matrix, beforehand. A cell that is not named here is 'ok':
the same memory, shape, strides, type, marks, mask and values.

  refused(words)       an exception says so, with these words
  absent(words)        there is no such array on that side: making one fails, with these words
  changed(what, why)   it arrives, and of all that is compared exactly this is otherwise
"""

from typing import NamedTuple


class Expected(NamedTuple):
    outcome: str
    words: str  # in what was said; of `changed`, all of it
    why: str


OK = Expected("ok", "", "")


def refused(words, why=None):
    return Expected("refused", words, why or words)


def absent(words, why=None):
    return Expected("absent", words, why or words)


def changed(what, why):
    return Expected("changed", what, why)


def cells(*tables):
    """One table of several, the later first; a key may name many rows."""
    made = {}
    for table in tables:
        for rows, expected in table.items():
            for row in rows if isinstance(rows, tuple) else (rows,):
                made[row] = expected
    return made


FLOAT8 = (
    "float8_e3m4",
    "float8_e4m3",
    "float8_e4m3b11fnuz",
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e5m2",
    "float8_e5m2fnuz",
    "float8_e8m0fnu",
)
SMALL_FLOATS = ("bfloat16", *FLOAT8)
SUB_BYTE = ("int4", "float4_e2m1fn")
OF_ML_DTYPES = (*SMALL_FLOATS, *SUB_BYTE)
COMPLEX = ("complex64", "complex128")
MASKED = ("masked by bytes", "masked by bits")
NO_NUMBERS = ("bytes", "text", "date", "structured", "objects")
STRIDED_ROWS = ("packed field", "4 GiB apart")
AXES = (
    "0-d",
    "empty and strided",
    "one element",
    "negative strides",
    "broadcast",
    "Fortran order",
    "slice",
    "33 axes",
    "64 axes",
    "stride 2**40",
)
LAYOUTS = ("empty", "offset start", "read-only", "misaligned", *AXES, *STRIDED_ROWS)

# ---- What libcai says

NO_OBJECTS = {"objects": absent("got '|O'", "libcai has no arrays of Python's objects")}
# A dict has no name for these: as the text wants it, they cross as bytes.
AS_BYTES = changed("type", "the dict has no name for the type: it says bytes")
DICT_OUT = cells(NO_OBJECTS, {OF_ML_DTYPES: AS_BYTES})
MASK_LEFT_OUT = refused("leaves its mask out of what it exports")

DLPACK_OUT = cells(
    NO_OBJECTS,
    {
        "packed field": refused("strides[0] is 7 bytes, no multiple of the item size, 4"),
        "big-endian": refused("has the byte order '>', and DLPack has this machine's only"),
        ("long double", "bytes", "text", "date", "structured", *SUB_BYTE): refused(
            "a type that DLPack lacks"
        ),
        MASKED: refused("mask: a tensor cannot have one"),
    },
)
LEGACY_DLPACK_OUT = cells(
    DLPACK_OUT,
    {"read-only": refused("data is read-only, which a tensor of this form cannot express")},
)
ARROW_OUT = cells(
    NO_OBJECTS,
    {
        AXES: refused("dimensions, and a column has one"),
        STRIDED_ROWS: refused("bytes, but the items of a column are contiguous"),
        "big-endian": refused("has the byte order '>', and Arrow has this machine's only"),
        ("bool", "long double", *COMPLEX, *OF_ML_DTYPES): refused(
            "which is not written as a column"
        ),
        ("bytes", "text", "date", "structured"): refused("which is not written as a column"),
        "masked by bytes": refused("its elements are bytes, and a validity bitmap is of bits"),
    },
)

# ---- What the others say

NUMPY_DLPACK = {
    "packed field": refused("only supports strides which are a multiple of itemsize"),
    "big-endian": refused("only supports native byte order"),
    "long double": refused("only supports IEEE floating point types without padding"),
    (*NO_NUMBERS, *OF_ML_DTYPES): refused("only supports signed/unsigned integers, float and"),
}
ML_DTYPES_DLPACK = cells(
    {LAYOUTS: NUMPY_DLPACK[(*NO_NUMBERS, *OF_ML_DTYPES)]},
    {"packed field": NUMPY_DLPACK["packed field"]},
)
NUMPY_BUFFER = {("date", *OF_ML_DTYPES): refused("cannot include dtype")}
IN_ELEMENTS = absent("DLPack's strides are in elements")
NO_MASKS = {MASKED: absent("has no mask")}

TVM_GIVES = cells(
    {row: absent(said.words) for row, said in cells(NUMPY_DLPACK).items()},
    {SMALL_FLOATS: OK, "read-only": absent("signalling readonly is unsupported")},
    NO_MASKS,
)
TVM_NAMES = {COMPLEX: refused("unknown type_code=5", "tvm-ffi has no name for the type")}
TVM_FORGETS = {"read-only": changed("read-only", "tvm-ffi's tensors have no such mark")}

ARROW_HAS_NONE = absent("Unsupported numpy type", "Arrow has no such type, or pyarrow no such way")
PYARROW_GIVES = {
    AXES: absent("a column has one axis"),
    STRIDED_ROWS: absent("a column is contiguous"),
    "bool": absent("pyarrow makes a copy"),
    "big-endian": absent("Byte-swapped arrays not supported"),
    ("bytes", "text"): absent("is none of numbers"),
    ("long double", "structured", *COMPLEX, *OF_ML_DTYPES): ARROW_HAS_NONE,
    "objects": absent("Could not convert"),
}
NANOARROW_GIVES = cells(
    {
        AXES: absent("a column has one axis"),
        STRIDED_ROWS: absent("a column is contiguous"),
        "big-endian": absent("Arrow has this machine's byte order alone"),
        ("bool", "long double", *COMPLEX, *OF_ML_DTYPES): absent("that is laid out so"),
        NO_NUMBERS: absent("that is laid out so"),
        MASKED: absent("nanoarrow knows nothing of NumPy's masks"),
    }
)
ARROW_TENSOR = cells(
    {
        ("empty and strided", "negative strides"): absent("Negative ndarray strides not supported"),
        ("bool", "big-endian"): absent("pyarrow takes it for"),
        ("long double", *COMPLEX, *OF_ML_DTYPES, *NO_NUMBERS): ARROW_HAS_NONE,
    },
    NO_MASKS,
)

NO_WORD = "incompatible function arguments"
NANOBIND_GIVES = cells(
    {
        "packed field": IN_ELEMENTS,
        "big-endian": absent("DLPack has this machine's byte order alone"),
        (*SUB_BYTE, *NO_NUMBERS): absent("DLPack has no "),
    },
    NO_MASKS,
)
NANOBIND_TAKES = {
    row: expected if expected.outcome == "absent" else refused(NO_WORD, expected.why)
    for row, expected in DLPACK_OUT.items()
}

TOO_FAR = {"4 GiB apart": absent("cuMemAlloc_v2 returns 2", "simcuda's GPUs have 4 GiB")}
NUMBA_FORGETS = {"read-only": changed("read-only", "numba-cuda's arrays have no such mark")}
VOID = {"structured": changed("type", "it says the size of a record, and not its fields")}
CORE_GIVES = cells(
    TOO_FAR, {"packed field": absent("strides are in elements")}, {MASKED: absent("has no mask")}
)
CORE_HAS_NONE = ("big-endian", "long double", *OF_ML_DTYPES, *NO_NUMBERS)
CORE_DICT = cells(
    DICT_OUT,
    VOID,
    {
        "packed field": refused("strides must be divisible by itemsize"),
        MASKED: refused("mask is not supported"),
    },
)

MPI_CONTIGUOUS = {
    "negative strides": refused("dlpack: strides item is negative"),
    ("broadcast", "slice", "4 GiB apart"): refused("dlpack: buffer is not contiguous"),
}
MPI_BUFFER = {  # which is asked for what DLPack cannot say
    "big-endian": refused("with non-native byte order"),
    "long double": OK,
    ("bytes", "text", "structured"): refused("to MPI datatype"),
}
MPI_DICT = cells(
    DICT_OUT,
    {
        ("negative strides", "broadcast", "slice", *STRIDED_ROWS): refused(
            "buffer is not contiguous"
        ),
        "big-endian": refused("with non-native byte order"),
        "float8_e5m2": absent(
            "got '<f1', which has a kind and size that", "NumPy's typestr for it is no type's"
        ),
        "date": refused("invalid literal for int()", "mpi4py reads no times"),
        "structured": refused("ignoring 'descr' key", "mpi4py warns that it takes no notice of it"),
        MASKED: refused("cannot handle masked arrays"),
    },
)
TENSORS = {
    "conjugate view": refused("conjugation is not in its memory: resolve_conj()"),
    ("negative view", "negative view of a subclass"): refused("not in its memory: resolve_neg()"),
    "requires grad": refused("requires grad is not handed over: detach() it"),
    ("fake tensor", "wrapper tensor"): refused("data is NULL, but there are elements"),
}
TORCH_HAS_NONE = ("float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz")
TORCH_FORGETS = {"read-only": changed("read-only", "PyTorch's tensors have no such mark")}
TORCH_GIVES = cells(
    TENSORS,
    TORCH_FORGETS,
    {
        ("empty and strided", "negative strides"): absent("negative strides are not currently"),
        "packed field": absent("strides not a multiple of the element byte size"),
        "big-endian": absent("byte order different from the native byte order"),
        ("long double", *NO_NUMBERS, *SUB_BYTE): absent("can't convert np.ndarray of type"),
        TORCH_HAS_NONE: absent("module 'torch' has no attribute"),
    },
    NO_MASKS,
)
TORCH_TAKES = cells(
    DLPACK_OUT,
    TORCH_FORGETS,
    {
        "negative strides": refused("Storage size calculation overflowed", "PyTorch has none"),
        TORCH_HAS_NONE: refused("Unsupported code"),
    },
)
# It asks for a buffer before a tensor, and takes what it gets for one axis.
TORCH_READS_BYTES = cells(
    NO_OBJECTS,
    {
        ("0-d", "one element", "33 axes", "64 axes", "stride 2**40"): changed(
            "shape", "a buffer is one axis to PyTorch"
        ),
        ("empty", "empty and strided"): refused("both buffer length (0) and count"),
        (
            *("negative strides", "broadcast", "Fortran order", "slice", "read-only"),
            *STRIDED_ROWS,
        ): refused("could not retrieve a contiguous buffer"),
        "big-endian": refused("buffer has non-native byte order"),
        ("long double", "bytes", "text", "structured"): refused(
            "could not infer a dtype from buffer format"
        ),
        (*OF_ML_DTYPES, "date", *MASKED): refused(
            "could not infer a dtype from the buffer's format"
        ),
    },
)
NO_TABLE = ("subclass", "parameter", "fake tensor", "wrapper tensor")
PADDLE_HAS_NONE = (*TORCH_HAS_NONE, "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu")
PADDLE_FORGETS = {"read-only": changed("read-only", "Paddle's tensors have no such mark")}
PADDLE_GIVES = cells(
    {row: absent(said.words) for row, said in cells(NUMPY_DLPACK).items()},
    {SMALL_FLOATS: OK, PADDLE_HAS_NONE: absent("is illegal when DLDataType.bits is")},
    {("33 axes", "64 axes"): absent("only supports access to dimension 0 to 9")},
    PADDLE_FORGETS,
    NO_MASKS,
)

OF_BYTES = {
    (*LAYOUTS, "bool", "int64", "float16", "float32", "big-endian", "long double"): absent(
        "MPI's memory is of bytes"
    ),
    (*COMPLEX, *OF_ML_DTYPES, *NO_NUMBERS, *MASKED): absent("MPI's memory is of bytes"),
}

# ---- The columns, by group

HOST = {
    ("NumPy", "gives", "its dict"): cells(
        {
            SUB_BYTE: AS_BYTES,
            MASKED: MASK_LEFT_OUT,
            "objects": refused("got '|O'"),
        }
    ),
    ("NumPy", "gives", "`__dlpack__`"): cells(NUMPY_DLPACK, {MASKED: MASK_LEFT_OUT}),
    ("NumPy", "gives", "`libcai.from_dlpack`"): cells(
        NUMPY_DLPACK,
        {("packed field", "long double"): OK, MASKED: MASK_LEFT_OUT},
    ),
    ("NumPy", "gives", "a buffer"): cells(
        NUMPY_BUFFER,
        {("structured", "objects"): refused("which is no type of an array's")},
        {MASKED: MASK_LEFT_OUT},
    ),
    ("NumPy", "takes", "`np.asarray`"): cells(
        DICT_OUT, {MASKED: refused("mask: NumPy ignores it")}
    ),
    ("NumPy", "takes", "`np.from_dlpack`"): cells(
        DLPACK_OUT, {SMALL_FLOATS: refused("Unsupported dtype in DLTensor")}
    ),
    ("ml_dtypes", "gives", "its dict"): {},
    ("ml_dtypes", "gives", "`__dlpack__`"): ML_DTYPES_DLPACK,
    ("ml_dtypes", "gives", "`libcai.from_dlpack`"): ML_DTYPES_DLPACK,
    ("ml_dtypes", "gives", "a buffer"): cells({LAYOUTS: refused("cannot include dtype")}),
    ("ml_dtypes", "takes", "`np.asarray(x).view(x.dtype)`"): {},
    ("tvm-ffi", "gives", "DLPack's table"): TVM_GIVES,
    ("tvm-ffi", "gives", "`__dlpack__`"): TVM_GIVES,
    ("tvm-ffi", "takes", "`from_dlpack`, by our table"): cells(DLPACK_OUT, TVM_NAMES, TVM_FORGETS),
    ("tvm-ffi", "takes", "`from_dlpack`, by `__dlpack__`"): cells(LEGACY_DLPACK_OUT, TVM_NAMES),
    ("tvm-ffi", "takes", "an argument, and back"): cells(DLPACK_OUT, TVM_FORGETS),
    ("pyarrow", "gives", "`__arrow_c_device_array__`"): cells(
        PYARROW_GIVES,
        {"date": refused("the column has format 'tss:', which is not a numeric format")},
    ),
    ("pyarrow", "gives", "`__arrow_c_array__`"): cells(
        PYARROW_GIVES,
        {"date": refused("the column has format 'tss:', which is not a numeric format")},
    ),
    ("pyarrow", "gives", "a column, by `__dlpack__`"): cells(
        PYARROW_GIVES, {("date", *MASKED): refused("Can only use DLPack on")}
    ),
    ("pyarrow", "gives", "a `Tensor`, by `__dlpack__`"): cells(
        ARROW_TENSOR,
        {"packed field": changed("strides, values", "pyarrow rounds strides to whole elements")},
    ),
    ("pyarrow", "gives", "a `Tensor`, by its buffer"): ARROW_TENSOR,
    ("pyarrow", "takes", "`pyarrow.array`"): ARROW_OUT,
    ("pyarrow", "takes", "`Tensor.from_dlpack`"): cells(
        DLPACK_OUT,
        {
            "negative strides": refused("negative strides not supported"),
            ("bool", *COMPLEX, *SMALL_FLOATS): refused("unsupported DLPack type"),
        },
    ),
    ("nanoarrow", "gives", "`__arrow_c_array__`"): NANOARROW_GIVES,
    ("nanoarrow", "gives", "`__arrow_c_device_array__`"): NANOARROW_GIVES,
    ("nanoarrow", "gives", "a `CBufferView`, by `__dlpack__`"): cells(
        NANOARROW_GIVES,
        {"read-only": changed("read-only", "nanoarrow's tensors have no such mark")},
    ),
    ("nanoarrow", "gives", "a `CBufferView`, by its buffer"): NANOARROW_GIVES,
    ("nanoarrow", "takes", "`c_array`"): ARROW_OUT,
    ("nanoarrow", "takes", "`c_device_array`"): ARROW_OUT,
    ("nanoarrow", "takes", "`c_buffer`, by `__dlpack__`"): cells(
        {AXES: refused("Contiguous stride check not implemented for ndim != 1")},
        LEGACY_DLPACK_OUT,
        {
            "4 GiB apart": refused("Non-contiguous dlpack strides not supported"),
            ("bool", *COMPLEX, *SMALL_FLOATS): refused("Can't convert dlpack data type"),
        },
    ),
    ("nanobind", "gives", "`__dlpack__`"): cells(
        NANOBIND_GIVES, {"long double": refused("type of code 2, 128 bits and 1 lanes")}
    ),
    ("nanobind", "gives", "a buffer"): cells(
        NANOBIND_GIVES,
        {("long double", *SMALL_FLOATS): refused("Cannot convert DLPack dtype into buffer")},
    ),
    ("nanobind", "takes", "`nb::ndarray<>`"): cells(
        NANOBIND_TAKES, {"read-only": refused(NO_WORD, "it wants to write")}
    ),
    ("nanobind", "takes", "`nb::ndarray<nb::ro>`"): NANOBIND_TAKES,
}

GPU = {
    ("numba-cuda", "gives", "its dict"): cells(
        TOO_FAR,
        NUMBA_FORGETS,
        VOID,
        {
            "broadcast": refused(
                "leave the allocation", "it says no strides: locate() finds what that leaves"
            ),
            OF_ML_DTYPES: absent("cannot include dtype"),
            MASKED: absent("numba-cuda's arrays have no mask"),
            "objects": refused("got '|O'"),
        },
    ),
    ("numba-cuda", "takes", "`cuda.as_cuda_array`"): cells(
        DICT_OUT,
        TOO_FAR,
        NUMBA_FORGETS,
        VOID,
        {MASKED: refused("Masked arrays are not supported")},
    ),
    ("cuda.core", "gives", "DLPack's table"): cells(
        {CORE_HAS_NONE: refused("table failed, and set no exception")}, CORE_GIVES
    ),
    ("cuda.core", "gives", "`__dlpack__`"): cells(
        {
            CORE_HAS_NONE: refused("Unsupported dtype for DLPack export"),
            "big-endian": refused("Non-native-endian dtypes are not supported"),
            ("long double", "float8_e5m2"): refused("Unsupported floating dtype"),
            "structured": refused("Structured dtypes are not supported"),
        },
        CORE_GIVES,
    ),
    ("cuda.core", "takes", "`from_cuda_array_interface`"): cells(CORE_DICT, TOO_FAR),
    ("cuda.core", "takes", "`from_dlpack`"): cells(
        DLPACK_OUT, TOO_FAR, {FLOAT8: refused("Unsupported dtype. dtype code")}
    ),
    ("cuda.core", "takes", "`from_array_interface`, of the host's"): cells(
        CORE_DICT, {MASKED: refused("mask: NumPy ignores it")}
    ),
}

MPI = {
    ("mpi4py", "gives", "`MPI.Alloc_mem`, by its buffer"): cells(OF_BYTES),
    ("mpi4py", "takes", "`Isend`"): cells(DLPACK_OUT, MPI_CONTIGUOUS, MPI_BUFFER),
    ("mpi4py", "takes", "`Isend`, of the dict"): cells(
        MPI_DICT, {"text": changed("values", "mpi4py takes the characters' number for bytes")}
    ),
    ("mpi4py", "takes", "`Irecv`"): cells(
        DLPACK_OUT,
        MPI_CONTIGUOUS,
        MPI_BUFFER,
        {"read-only": refused("dlpack: buffer is not writable")},
    ),
    ("mpi4py", "takes", "`Irecv`, of the dict"): cells(
        MPI_DICT,
        {
            "read-only": refused("buffer is not writable"),
            "text": refused("Message truncated", "mpi4py takes the characters' number for bytes"),
        },
    ),
}

FRAMEWORKS = {
    ("PyTorch", "gives", "as it comes"): cells(
        TORCH_GIVES,
        {
            "meta tensor": refused("Cannot pack tensors on meta"),
            "sparse tensor": refused("Tensor that doesn't have storage"),
        },
    ),
    ("PyTorch", "gives", "DLPack's table"): cells(
        TORCH_GIVES,
        {
            NO_TABLE: refused("does not offer its array by route", "the table is PyTorch's own"),
            "meta tensor": refused("Cannot pack tensors on meta"),
            "sparse tensor": refused("Tensor that doesn't have storage"),
        },
    ),
    ("PyTorch", "gives", "`__dlpack__`"): cells(
        TORCH_GIVES,
        {
            "meta tensor": refused("Unknown device type meta"),
            "sparse tensor": refused("layout other than torch.strided"),
        },
    ),
    ("PyTorch", "takes", "`torch.from_dlpack`"): TORCH_TAKES,
    ("PyTorch", "takes", "`torch.asarray`"): TORCH_READS_BYTES,
    ("Paddle", "gives", "as it comes"): PADDLE_GIVES,
    ("Paddle", "gives", "DLPack's table"): PADDLE_GIVES,
    ("Paddle", "gives", "`__dlpack__`"): PADDLE_GIVES,
    ("Paddle", "takes", "`paddle.utils.dlpack.from_dlpack`"): cells(
        DLPACK_OUT,
        PADDLE_FORGETS,
        {
            PADDLE_HAS_NONE: refused("is illegal when DLDataType.bits is"),
            ("33 axes", "64 axes"): refused("only supports access to dimension 0 to 9"),
        },
    ),
}

EXPECTED = {"host": HOST, "gpu": GPU, "mpi": MPI, "frameworks": FRAMEWORKS}
