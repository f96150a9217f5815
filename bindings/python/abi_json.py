# SPDX-License-Identifier: BSD-3-Clause
"""The C API as facts for other languages: constants, structs with their layout, functions with
their types, and what the headers say of each. generate.py writes packaging/abi.json with it."""

import json
import re

from pycparser import c_ast

# The version node of a header's functions; see src/*.map.
NODES = dict.fromkeys(["cai/device.h", "cai/memory.h", "cai/adaptors.h"], "CAI_MEMORY_0")
SIZES = {"char": 1, "short": 2, "int": 4, "long": 8, "float": 4, "double": 8, "void": 1}
POINTER = 8
BITS = (8, 16, 32, 64)


class Layout:
    """Sizes and values of what was declared so far, on hosts of 64 bits."""

    def __init__(self):
        # name: (size, alignment)
        self.types = {f"{u}int{bits}_t": (bits // 8, bits // 8) for u in ("", "u") for bits in BITS}
        self.values = {}

    def value(self, node):
        if isinstance(node, c_ast.Constant):
            return int(node.value.rstrip("uUlL"), 0)
        if isinstance(node, c_ast.ID):
            return self.values[node.name]
        if isinstance(node, c_ast.UnaryOp):
            return {"-": lambda it: -it, "~": lambda it: ~it}[node.op](self.value(node.expr))
        left, right = self.value(node.left), self.value(node.right)
        return {"<<": left << right, "|": left | right, "-": left - right}[node.op]

    def of(self, node):
        """(size, alignment) of a declarator."""
        if isinstance(node, c_ast.PtrDecl):
            return POINTER, POINTER
        if isinstance(node, c_ast.ArrayDecl):
            size, alignment = self.of(node.type)
            return size * self.value(node.dim), alignment
        kind = node.type
        if isinstance(kind, c_ast.Struct):
            return self.types[kind.name]
        if isinstance(kind, c_ast.Enum):
            return 4, 4
        if known := self.types.get(kind.names[-1]):
            return known
        size = SIZES[next((it for it in kind.names if it in SIZES), "int")]
        return size, size

    def add_struct(self, name, fields):
        """Returns each member's offset and size."""
        at, widest, places = 0, 1, []
        for field in fields:
            size, alignment = self.of(field.type)
            at = -(-at // alignment) * alignment
            places.append((at, size))
            at, widest = at + size, max(widest, alignment)
        self.types[name] = -(-at // widest) * widest, widest
        return places


def said(comment):
    """The text of a comment of Doxygen's: of the whole, of each parameter, of what is returned."""
    lines = [re.sub(r"^\s*\*? ?", "", line).rstrip() for line in comment.strip().splitlines()]
    text = re.sub(r"#(\w)", r"\1", "\n".join(lines))
    parts = re.split(r"^@(param|return)\b", text, flags=re.M)
    whole, parameters, returns = parts[0], {}, ""
    for kind, part in zip(parts[1::2], parts[2::2], strict=True):
        part, *rest = re.split(r"\n(?=The text, |NBEP 7|Since )", part.strip("\n"), maxsplit=1)
        whole += "\n" + "".join(rest)
        words = " ".join(part.split())
        if kind == "param":
            name, _, meaning = words.partition(" ")
            parameters[name] = meaning
        else:
            returns = words
    return " ".join(whole.split()), parameters, returns


def head(text):
    """What a header says of itself, as paragraphs."""
    comment = re.search(r"/\*\*\n \* @file \S+\n(.*?)\*/", text, re.S)[1]
    lines = [re.sub(r"^ \*( (?=\S)|$)?", "", line).rstrip() for line in comment.splitlines()]
    return re.sub(r"#(\w)", r"\1", "\n".join(lines)).strip()


TOKEN = re.compile(
    r"/\*\*<(?P<behind>.*?)\*/|/\*\*(?P<before>.*?)\*/|/\*.*?\*/|(?P<code>[^/;,()]+|.)", re.S
)


def parts_of(body, end):
    """(code, its comments) of each member of a struct, or value of an enum, which `end` ends."""
    found, code, comments, depth = [], "", [], 0
    for token in TOKEN.finditer(body):
        if token["before"]:
            comments.append(token["before"])
        elif token["behind"]:
            (comments if code.strip() else found[-1][1]).append(token["behind"])
        elif token["code"] == end and depth == 0:
            found.append((code.strip(), comments))
            code, comments = "", []
        elif token["code"]:
            depth += {"(": 1, ")": -1}.get(token["code"], 0)
            code += token["code"]
    return [*found, (code.strip(), comments)] if code.strip() else found


def documentation(text):
    """{name: what the comments before and behind its declaration say}. A member's name has that of
    its struct before it; an enum goes by its first value, with `enum` before it."""
    found = {}
    before = r"(?:/\*\*(?!<)((?:(?!\*/).)*)\*/\s*)?"
    for comment, after in re.findall(before + r"([^;{}/]*[;{])", text, re.S):
        name = re.search(r"\(\*(\w+)\)|(\w+)\(|struct (\w+) \{|(\w+)\s*;", after)
        if comment and name:
            found.setdefault(next(filter(None, name.groups())), comment)
    for comment, tag, body, name in re.findall(
        before + r"(?:typedef )?struct(?: (\w+))? \{(.*?)\n\} ?(\w*);", text, re.S
    ):
        struct = name or tag
        found[struct] = comment or found.get(struct, "")
        for code, comments in parts_of(body, ";"):
            member = re.search(r"\(\*(\w+)\)\(|(\w+)(?:\[\w+\])?$", code)
            found[f"{struct}.{member[1] or member[2]}"] = "\n".join(comments)
    for comment, body in re.findall(before + r"(?:typedef )?enum(?: \w+)? \{(.*?)\n\}", text, re.S):
        parts = parts_of(body, ",")
        found[f"enum {parts[0][0].split()[0]}"] = comment
        found |= {code.split()[0]: "\n".join(comments) for code, comments in parts}
    return found


def entry(name, documented, **facts):
    """What is said of a name, with its first release apart."""
    whole, parameters, returns = said(documented.get(name, ""))
    made = {"name": name.rpartition(".")[2], **facts}
    since = re.compile(r"\s*Since (\d+\.\d+)\.$")
    for key, text in (("text", whole), ("returns", returns)):
        if found := since.search(text):
            made["since"], text = found[1], text[: found.start()]
        if text:
            made[key] = text
    return made, parameters


def macros(text):
    """Constants that are macros: numbers and strings."""
    for name, value in re.findall(r"^#define (\w+) (\d+|\"[^\"]*\"|\(1UL << \d+UL\))$", text, re.M):
        shift = re.fullmatch(r"\(1UL << (\d+)UL\)", value)
        yield {"name": name, "value": 1 << int(shift[1]) if shift else json.loads(value)}


class Header:
    """What one header declares."""

    def __init__(self, layout, spell, text):
        self.layout, self.spell, self.documented = layout, spell, documentation(text)
        self.enums, self.types, self.structs, self.functions = [], [], [], []
        self.macros = list(macros(text))

    def add(self, node):
        kind = node.type.type if isinstance(node, c_ast.Typedef) else node.type
        if isinstance(kind, c_ast.Enum):
            self.add_enum(node.name, kind)
        elif isinstance(kind, c_ast.Struct) and kind.decls is not None:
            self.add_struct(node.name or kind.name, kind)
        elif isinstance(kind, c_ast.Struct):
            self.types.append(entry(node.name, self.documented, type="opaque")[0])
        elif isinstance(node, c_ast.Typedef):
            pointer = isinstance(node.type, c_ast.PtrDecl)
            size = (POINTER, POINTER) if pointer else self.layout.of(node.type)
            self.layout.types[node.name] = size
            self.types.append(self.callable(node.name, node.type, type=self.spell(node.type)))
        else:
            result = self.spell(node.type.type)
            self.functions.append(self.callable(node.name, node.type, result=result))

    def callable(self, name, node, **facts):
        """An entry: with arguments, if it is a function or points to one."""
        made, parameters = entry(name, self.documented, **facts)
        function = node.type if isinstance(node, c_ast.PtrDecl) else node
        if isinstance(function, c_ast.FuncDecl):
            made["arguments"] = []
            for argument in filter(lambda it: it.name, function.args.params):
                one = {"name": argument.name, "type": self.spell(argument.type)}
                if argument.name in parameters:
                    one["text"] = parameters[argument.name]
                made["arguments"].append(one)
        return made

    def add_enum(self, name, enum):
        value, values = -1, []
        for item in enum.values.enumerators:
            value = self.layout.value(item.value) if item.value else value + 1
            self.layout.values[item.name] = value
            values.append(entry(item.name, self.documented, value=value)[0])
        made, _ = entry(f"enum {values[0]['name']}", self.documented)
        made["name"], made["values"] = name, values
        if name:
            self.layout.types[name] = 4, 4
        self.enums.append({key: value for key, value in made.items() if value is not None})

    def add_struct(self, name, struct):
        places = self.layout.add_struct(name, struct.decls)
        members = [
            self.callable(
                f"{name}.{field.name}",
                field.type,
                type=self.spell(field.type),
                offset=offset,
                size=size,
            )
            for field, (offset, size) in zip(struct.decls, places, strict=True)
        ]
        size, alignment = self.layout.types[name]
        shape = {"size": size, "alignment": alignment, "members": members}
        self.structs.append(entry(name, self.documented, **shape)[0])


READING = """\
The C API of libcai, as its headers declare it; cai/python.h is for modules of Python's alone, and \
not here. `format` is the version of this form: what a reader does not know may be added without \
another. By header, in the order in which they may be read: `node`, the version node of the \
library that has its functions (CAI_MEMORY_0 is provisional, and not in a library that was built \
without memory); `text`, what the header says of itself: cai.h, the rules that hold for every \
function; `macros`, constants that are macros; `enums`, groups of constants, with a name where it \
is a type, of 4 bytes; `types`, which are opaque or stand for another one; `structs`, with sizes, \
alignments and offsets in bytes, for hosts of 64 bits; `functions`. A type is spelt as in C, but \
without a name and without `struct`: `void (*)(cai_owner *self)`. What can be called has \
`arguments`. `text` and `returns` are the header's words; `since` is the first release that has \
it."""


def facts(include, declarations, spell, version):
    """The text of abi.json; `declarations` are those of each header, in order."""
    layout, headers = Layout(), {}
    for name, nodes in declarations.items():
        text = (include / name).read_text(encoding="utf-8")
        header = Header(layout, spell, text)
        for node in nodes:
            header.add(node)
        headers[name] = {
            "node": NODES.get(name, "CAI_1"),
            "text": head(text),
            "macros": header.macros,
            "enums": header.enums,
            "types": header.types,
            "structs": header.structs,
            "functions": header.functions,
        }
    made = {"libcai": version, "format": 1, "reading": READING, "headers": headers}
    return json.dumps(made, indent=1, ensure_ascii=False) + "\n"
