-- SPDX-License-Identifier: BSD-3-Clause
local ffi = require("ffi")
local includedir, libdir = arg[1], arg[2]
for _, name in ipairs({"cai/array.h", "cai.h"}) do -- between two marks each is plain C
  local text = assert(io.open(includedir .. "/" .. name)):read("*a")
  ffi.cdef(text:match("declarations begin %*/(.-)/%*[^*]*declarations end %*/"))
end
ffi.cdef("void *malloc(size_t size); void free(void *memory);")
local cai, C, err = ffi.load(libdir .. "/libcai.so.1"), ffi.C, ffi.new("cai_error")

local function check(status)
  if status ~= C.CAI_OK then error(ffi.string(err.message), 2) end
end

-- A producer: an array that owns its memory. The last release calls free().
local function matrix(rows, columns)
  local memory = ffi.cast("float *", C.malloc(rows * columns * 4))
  for i = 0, rows * columns - 1 do memory[i] = i end
  local shape, strides = ffi.new("int64_t[2]", rows, columns), ffi.new("int64_t[2]", columns * 4, 4)
  local x = ffi.new("cai_array", {
    abi_major = C.CAI_ABI_MAJOR, version = 3, data = ffi.cast("uintptr_t", memory), ndim = 2,
    shape = shape, strides = strides, stream_kind = C.CAI_STREAM_NONE,
    device_type = C.CAI_DEVICE_CPU, -- or CAI_DEVICE_CUDA, with an address and a stream of the GPU
    dtype = {kind = ("f"):byte(), byteorder = ("<"):byte(), itemsize = 4},
  })
  local owned = ffi.new("cai_array *[1]")
  check(cai.cai_array_own(x, C.free, memory, owned, err))
  return owned[0]
end

-- A consumer: takes an array of any library, and works on a stream of its own.
local function work(x, stream)
  local use = ffi.new("cai_use")
  check(cai.cai_use_begin(use, ffi.new("const cai_array *[1]", x), 1, stream, nil, err))
  print("launch: " .. tonumber(x.shape[0]) .. " x " .. tonumber(x.shape[1]) .. " float32")
  if cai.cai_use_end(use, err) ~= C.CAI_OK then cai.cai_use_abandon(use) end
end

local x = matrix(3, 4)
local view = ffi.new("cai_array *[1]")
check(cai.cai_array_transpose(x, nil, view, err))
cai.cai_array_release(x) -- the view holds the memory
work(view[0], 1)
cai.cai_array_release(view[0])
