-- SPDX-License-Identifier: BSD-3-Clause
-- usage: luajit array.lua INCLUDEDIR LIBCAI.SO.1
local ffi = require("ffi")

-- The declarations of a header stand between two markers, and need no preprocessor.
local function declare(header)
  local file = assert(io.open(arg[1] .. "/" .. header))
  ffi.cdef(file:read("*a"):match("declarations begin %*/(.-)/%*[^*]*declarations end %*/"))
  file:close()
end

declare("cai/array.h")
declare("cai.h")
ffi.cdef("void *malloc(size_t size); void free(void *memory);")
local cai, C = ffi.load(arg[2]), ffi.C

local failure = ffi.new("cai_error")
local function succeed(status)
  if status ~= C.CAI_OK then error(ffi.string(failure.message), 2) end
end

-- Gives an array: 2 x 3 numbers in memory of ours. The last release may come from any thread, where
-- Lua must not run, so it calls free(), a function in C.
local function make()
  local numbers = ffi.cast("float *", C.malloc(6 * 4))
  for i = 0, 5 do numbers[i] = i end
  local dims = ffi.new("int64_t[4]", 2, 3, 12, 4)
  local described = ffi.new("cai_array", {
    abi_major = C.CAI_ABI_MAJOR,
    data = ffi.cast("uintptr_t", numbers),
    device_type = C.CAI_DEVICE_CPU,
    dtype = { kind = string.byte("f"), byteorder = string.byte("<"), itemsize = 4 },
    ndim = 2,
    shape = dims, -- cai_array_own() copies it
    strides = dims + 2,
    stream_kind = C.CAI_STREAM_NONE,
    version = 3,
  })
  local out = ffi.new("cai_array *[1]")
  succeed(cai.cai_array_own(described, C.free, numbers, out, failure))
  return ffi.gc(out[0], cai.cai_array_release)
end

-- Takes an array: prints the rows of a float32 matrix on the host.
local function show(array)
  if cai.cai_array_refuses(array, C.CAI_FLAG_READONLY) ~= 0 then error("masked, or swapped bytes") end
  succeed(cai.cai_array_validate(array, failure))
  local at = ffi.cast("char *", array.data)
  for i = 0, tonumber(array.shape[0]) - 1 do
    local row = {}
    for j = 0, tonumber(array.shape[1]) - 1 do
      local place = at + i * array.strides[0] + j * array.strides[1]
      row[#row + 1] = ffi.cast("float *", place)[0]
    end
    print(table.concat(row, " "))
  end
end

local x = make()
local out = ffi.new("cai_array *[1]")
succeed(cai.cai_array_transpose(x, nil, out, failure))
show(ffi.gc(out[0], cai.cai_array_release)) -- a view: it holds what x holds

local axes = ffi.new("int32_t[2]", 0, 7)
print(pcall(function() succeed(cai.cai_array_transpose(x, axes, out, failure)) end))
