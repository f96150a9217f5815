# SPDX-License-Identifier: BSD-3-Clause
"""Those who read the headers by program can: cffi the text between the markers, pycparser what the
preprocessor prints. Both must see what layout.def says, and all of it.

usage: check_header_parsers.py layout.def libcai.so HEADER...

The headers come in such an order that each needs only those before it.
"""

import re
import subprocess
import sys
from pathlib import Path

import cffi
import pycparser
from tap import Tap, program_environment, tool

table, library, *headers = sys.argv[1:]
tap = Tap()

text = [Path(header).read_text(encoding="utf-8") for header in headers]
slices = []
for header, content in zip(headers, text, strict=True):
    found = re.findall(r"declarations begin \*/(.*?)/\*[^*]*declarations end \*/", content, re.S)
    name = Path(header).name
    tap.check(len(found) == 1, f"{name}: each marker is there once")
    slices += found
    tap.check(not re.search(r"^\s*#", found[0], re.M), f"{name}: no directive between the markers")
    tap.check("inline" not in found[0], f"{name}: no inline function between the markers")

structs, members, values = {}, {}, {}
for kind, arguments in re.findall(
    r"^(\w+)\((.*)\)$", Path(table).read_text(encoding="utf-8"), re.M
):
    fields = arguments.split(", ")
    if kind == "STRUCT":
        structs[fields[0]] = tuple(map(int, fields[1:]))
    elif kind == "MEMBER":
        members.setdefault(fields[0], {})[fields[1]] = tuple(map(int, fields[2:]))
    elif kind == "VALUE":
        values[fields[0]] = int(fields[1])

# cffi
ffi = cffi.FFI()
for sliced in slices:
    ffi.cdef(sliced)
lib = ffi.dlopen(library)
seen = {
    name
    for name in ffi.list_types()[0]
    if ffi.typeof(name).kind == "struct" and ffi.typeof(name).fields is not None  # not opaque
}
tap.check(seen == set(structs), "cffi: the same structs", *sorted(seen ^ set(structs)))
for name, (size, alignment) in structs.items():
    kind = ffi.typeof(name)
    got = {field: (ffi.offsetof(kind, field), ffi.sizeof(info.type)) for field, info in kind.fields}
    tap.check(
        (ffi.sizeof(kind), ffi.alignof(kind), got) == (size, alignment, members[name]),
        f"cffi: {name}",
        ffi.sizeof(kind),
        got,
    )
wrong = [name for name, value in values.items() if getattr(lib, name) != value]
tap.check(not wrong, "cffi: values", *wrong)

# pycparser, on the whole headers. Its own stand-ins for system headers are not installed with it;
# these typedefs are all that ours take from <stdint.h> and <stddef.h>.
stdint = "".join(
    f"typedef {base} {name};\n"
    for base, name in [
        ("signed char", "int8_t"), ("short", "int16_t"), ("int", "int32_t"), ("long", "int64_t"),
        ("unsigned char", "uint8_t"), ("unsigned short", "uint16_t"), ("unsigned", "uint32_t"),
        ("unsigned long", "uint64_t"), ("unsigned long", "size_t"),
    ]
)  # fmt: skip
bare = stdint + "#define UINT32_C(c) c##U\n" + re.sub(r"#include <.*>", "", "".join(text))
printed = subprocess.run(
    [tool("cc", "gcc", "clang"), "-E", "-P", "-U__GNUC__", "-x", "c", "-"],
    input=bare,
    capture_output=True,
    text=True,
    check=True,
    env=program_environment(),
).stdout
tree = pycparser.CParser().parse(printed)
declared = {}
functions = set()
enumerators = set()
for node in tree.ext:
    if isinstance(node, pycparser.c_ast.Typedef) and isinstance(
        node.type, pycparser.c_ast.TypeDecl
    ):
        if isinstance(node.type.type, pycparser.c_ast.Struct) and node.type.type.decls:
            declared[node.name] = [decl.name for decl in node.type.type.decls]
        elif isinstance(node.type.type, pycparser.c_ast.Enum):
            enumerators |= {item.name for item in node.type.type.values.enumerators}
    elif isinstance(node, pycparser.c_ast.FuncDef):
        functions.add(node.decl.name)
    elif isinstance(node, pycparser.c_ast.Decl):
        if isinstance(node.type, pycparser.c_ast.FuncDecl):
            functions.add(node.name)
        elif isinstance(node.type, pycparser.c_ast.Enum):
            enumerators |= {item.name for item in node.type.values.enumerators}
tap.check(
    declared == {k: list(v) for k, v in members.items()}, "pycparser: the same structs, in order"
)
tap.check(
    enumerators == set(values), "pycparser: the same values", *sorted(enumerators ^ set(values))
)
names = ("retain", "release", "refuses", "contiguous_nbytes")
inline = {f"cai_array_{name}_1" for name in names}
tap.check(inline <= functions, "pycparser: the inline functions")
missing = sorted(name for name in functions - inline if not hasattr(lib, name))
tap.check(
    len(functions) > len(inline) and not missing,
    "every function declared is in the library",
    *missing,
)

# And as the compiler really prints it, the system's <stdint.h> and attributes included.
real = subprocess.run(
    [tool("cc", "gcc", "clang"), "-E", "-P", f"-I{Path(headers[0]).parent.parent}", headers[-1]],
    capture_output=True,
    text=True,
    check=True,
    env=program_environment(),
).stdout
real = re.sub(r"^#pragma.*$", "", real, flags=re.M)
try:
    pycparser.CParser().parse(real)
    tap.check(True, "pycparser: what cc -E prints")
except Exception as error:
    tap.check(False, "pycparser: what cc -E prints", str(error))

tap.finish()
