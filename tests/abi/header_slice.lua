-- SPDX-License-Identifier: BSD-3-Clause
-- LuaJIT takes the text between each header's two markers as it is, and sees the layout of
-- layout.def. Speaks TAP.
--
-- usage: luajit header_slice.lua layout.def libcai.so HEADER...
local ffi = require("ffi")

local function read(path)
  local file = assert(io.open(path))
  local text = file:read("*a")
  file:close()
  return text
end

local points, failed = 0, 0
local function check(holds, name, detail)
  points = points + 1
  if not holds then failed = failed + 1 end
  print((holds and "ok " or "not ok ") .. points .. " - " .. name)
  if not holds and detail then print("# " .. detail) end
end

for i = 3, #arg do
  local slice = read(arg[i]):match("declarations begin %*/(.-)/%*[^*]*declarations end %*/")
  check(slice ~= nil, arg[i] .. ": the markers are there")
  check(not ("\n" .. slice):find("\n%s*#"), "no directive between them")
  local taken, message = pcall(ffi.cdef, slice)
  check(taken, "ffi.cdef takes the slice", tostring(message))
  if not taken then os.exit(1) end
end

local wrong, seen = {}, 0
for kind, list in read(arg[1]):gmatch("\n(%u+)(%b())") do
  local field = {}
  for word in list:sub(2, -2):gmatch("[^, ]+") do field[#field + 1] = word end
  local good
  if kind == "STRUCT" then
    good = ffi.sizeof(field[1]) == tonumber(field[2]) and ffi.alignof(field[1]) == tonumber(field[3])
  elseif kind == "MEMBER" then
    good = ffi.offsetof(field[1], field[2]) == tonumber(field[3])
  else
    good = ffi.C[field[1]] == tonumber(field[2])
  end
  seen = seen + 1
  if not good then wrong[#wrong + 1] = kind .. list end
end
check(seen > 200 and #wrong == 0, seen .. " lines of layout.def hold", table.concat(wrong, " "))

local lib = ffi.load(arg[2])
check(lib.cai_version() == 10000 * ffi.C.CAI_VERSION_MAJOR + 100 * ffi.C.CAI_VERSION_MINOR
  + ffi.C.CAI_VERSION_PATCH, "cai_version can be called")
local dtype, err = ffi.new("cai_dtype[1]"), ffi.new("cai_error[1]")
check(lib.cai_dtype_parse("<f4", 3, dtype, err) == 0 and dtype[0].itemsize == 4, "a struct comes back")
check(lib.cai_dtype_parse("<f3", 3, dtype, err) == ffi.C.CAI_ERR_VALUE
  and ffi.string(err[0].message):find("<f3", 1, true) ~= nil, "an error comes back")

print("1.." .. points)
os.exit(failed == 0 and 0 or 1)
