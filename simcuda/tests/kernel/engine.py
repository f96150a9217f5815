# SPDX-License-Identifier: BSD-3-Clause
"""The engine for PTX, from Python: texts are loaded, kernels run on bytearrays."""

import ctypes
import json
import os
import pathlib
import struct

BY_PTXAS = False
_room = 1 << 22


def _library():
    path = os.environ.get("SIMCUDA_KERNEL_HARNESS")
    if not path:
        raise SystemExit("SIMCUDA_KERNEL_HARNESS must name the harness's library")
    found = ctypes.CDLL(str(pathlib.Path(path)))
    pointer, number, text = ctypes.c_void_p, ctypes.c_uint64, ctypes.c_char_p
    found.harness_load.restype = pointer
    found.harness_load.argtypes = [pointer, ctypes.c_uint32, text, number]
    found.harness_unload.argtypes = [pointer]
    found.harness_describe.argtypes = [pointer, text, number]
    found.harness_add_window.argtypes = [pointer, pointer, number, ctypes.c_int, ctypes.c_int]
    found.harness_drop_windows.argtypes = [pointer]
    found.harness_add_texels.argtypes = [pointer, number, pointer, pointer]
    found.harness_run.argtypes = [pointer, text, pointer, text, number, text, number]
    return found


library = _library()


class Refused(Exception):
    """The text is invalid, or the launch is."""


class Buffer:
    """Device memory, aligned to 256."""

    def __init__(self, data, writable=True, written=True):
        data = bytes(data)
        self.size = len(data)
        self._raw = ctypes.create_string_buffer(self.size + 256)
        base = ctypes.addressof(self._raw)
        self.address = (base + 255) // 256 * 256
        ctypes.memmove(self.address, data, self.size)
        self.writable, self.written = writable, written

    def parameter(self):
        """What a kernel is passed."""
        return struct.pack("<Q", self.address)

    def bytes(self):
        return ctypes.string_at(self.address, self.size)

    def array(self, code):
        """The contents as numbers, by struct's code of one."""
        return list(struct.unpack(f"<{self.size // struct.calcsize(code)}{code}", self.bytes()))


FORMATS = {"u8": 0, "u16": 1, "u32": 2, "s8": 3, "s16": 4, "s32": 5, "f16": 6, "f32": 7}
MODES = {"wrap": 0, "clamp": 1, "mirror": 2, "border": 3}


class Texels(Buffer):
    """A texture, or a surface. `data` are the levels, one after the other, without gaps; `size` has
    a number for each dimension."""

    last_handle = 0x7E0000000000

    def __init__(
        self,
        data,
        form,
        channels,
        size,
        layers=0,
        levels=1,
        surface=False,
        linear_memory=False,
        modes=("clamp",) * 3,
        filtered=False,
        normalized=False,
        integers=False,
        srgb=False,
        between_levels=False,
        border=(0, 0, 0, 0),
        bias=0,
        least=0,
        most=0,
        cube=False,
        gather=False,
        written=True,
    ):
        super().__init__(data, written=written)
        Texels.last_handle += 1
        self.handle = Texels.last_handle
        del cube, gather  # which the driver must know
        texel = int(form[1:]) // 8 * channels
        promoted = not surface and not integers and form in ("u8", "u16", "s8", "s16")
        self.numbers = [FORMATS[form], channels, layers, levels, surface, linear_memory]
        self.numbers += [*(MODES[each] for each in modes), filtered, normalized, promoted]
        self.numbers += [srgb, between_levels]
        self.reals = [*border, bias, least, most]
        offset = 0
        for level in range(levels):
            width, height, depth = (max(each >> level, 1) for each in (*size, 1, 1)[:3])
            slice_bytes = width * height * texel
            self.numbers += [offset, width, height, depth, width * texel, slice_bytes]
            offset += slice_bytes * max(depth, layers)

    def parameter(self):
        return struct.pack("<Q", self.handle)

    def add_to(self, module):
        numbers = (ctypes.c_uint64 * (1 + len(self.numbers)))(self.address, *self.numbers)
        reals = (ctypes.c_float * len(self.reals))(*self.reals)
        library.harness_add_texels(module.handle, self.handle, numbers, reals)


class Module:
    def __init__(self, *texts):
        error = ctypes.create_string_buffer(4096)
        array = (ctypes.c_char_p * len(texts))(*(text.encode() for text in texts))
        self.handle = library.harness_load(array, len(texts), error, len(error))
        if not self.handle:
            raise Refused(error.value.decode())
        out = ctypes.create_string_buffer(_room)
        library.harness_describe(self.handle, out, len(out))
        self.about = json.loads(out.value.decode())

    def __del__(self):
        if getattr(self, "handle", None):
            library.harness_unload(self.handle)

    def run(
        self,
        name,
        grid,
        block,
        *arguments,
        shared=0,
        cooperative=False,
        limit=50_000_000,
        threads=1,
        races=True,
        written=True,
        barriers=True,
        accesses=True,
    ):
        """Arguments are buffers, or the bytes of the parameter."""
        library.harness_drop_windows(self.handle)
        parameters = bytearray()
        declared = self.about["kernels"][name]["parameters"]
        for argument, (_, offset, size) in zip(arguments, declared, strict=True):
            if isinstance(argument, Buffer):
                library.harness_add_window(
                    self.handle,
                    argument.address,
                    argument.size,
                    argument.writable,
                    not argument.written,
                )
                if isinstance(argument, Texels):
                    argument.add_to(self)
                argument = argument.parameter()
            parameters.extend(bytes(offset - len(parameters)))
            parameters.extend(argument.ljust(size, b"\0"))
        grid, block = (
            ((*tuple(x), 1, 1))[:3] if isinstance(x, tuple) else (x, 1, 1) for x in (grid, block)
        )
        numbers = (ctypes.c_uint64 * 14)(
            *grid, *block, shared, cooperative, limit, threads, races, written, barriers, accesses
        )
        out = ctypes.create_string_buffer(_room)
        failed = library.harness_run(
            self.handle, name.encode(), numbers, bytes(parameters), len(parameters), out, len(out)
        )
        text = out.value.decode(errors="replace")
        if failed:
            raise Refused(text)
        return json.loads(text)
