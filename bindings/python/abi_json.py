# SPDX-License-Identifier: BSD-3-Clause
"""The C API as facts for other languages: constants, structs with their layout, functions with
their types, and what the headers say of each. generate.py writes packaging/abi.json with it."""

import json
import re

from pycparser import c_ast

# The version node that the functions of a header are of; see src/*.map.
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


def documentation(text):
    """{name: the comment before its declaration, or after its line}."""
    found = {}
    for comment, after in re.findall(r"/\*\*(?!<)((?:(?!\*/).)*)\*/\s*([^;{]*[;{])", text, re.S):
        code = re.sub(r"/\*.*?\*/", " ", after, flags=re.S)
        name = re.search(r"\(\*(\w+)\)|(\w+)\(|typedef struct (\w+)|(\w+)\s*;", code)
        if name:
            found.setdefault(next(filter(None, name.groups())), comment)
    # Of a member or a value: what stands behind it, with the name of its struct before it.
    for struct, body in re.findall(r"typedef struct (\w+) \{(.*?)\n\}", text, re.S):
        for name, comment in re.findall(r"(\w+)(?:\[\w+\])?;\s*/\*\*<(.*?)\*/", body, re.S):
            found[f"{struct}.{name}"] = comment
        for comment, name in re.findall(
            r"/\*\*(?!<)((?:(?!\*/).)*)\*/\s*[^;]*?\(\*(\w+)\)\(", body, re.S
        ):
            found[f"{struct}.{name}"] = comment
        for comment, name in re.findall(
            r"/\*\*(?!<)((?:(?!\*/).)*)\*/\s*[\w \*]*?(\w+);", body, re.S
        ):
            found.setdefault(f"{struct}.{name}", comment)
    for body in re.findall(r"enum(?: \w+)? \{(.*?)\}", text, re.S):
        for name, comment in re.findall(r"(\w+)(?: = [^,/]*?)?,?\s*/\*\*<(.*?)\*/", body, re.S):
            found[name] = comment
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


def facts(include, declarations, spell, version):
    """The text of abi.json; `declarations` are those of each header, in order."""
    layout, headers = Layout(), {}
    for header, nodes in declarations.items():
        documented = documentation((include / header).read_text(encoding="utf-8"))
        constants, structs, types, functions = [], [], [], []
        for node in nodes:
            kind = node.type.type if isinstance(node, c_ast.Typedef) else node.type
            if isinstance(kind, c_ast.Enum):
                value = -1
                for item in kind.values.enumerators:
                    value = layout.value(item.value) if item.value else value + 1
                    layout.values[item.name] = value
                    constants.append(entry(item.name, documented, value=value)[0])
                if node.name:
                    layout.types[node.name] = 4, 4
            elif isinstance(kind, c_ast.Struct) and isinstance(node, c_ast.Typedef):
                if kind.decls is None:
                    types.append(entry(node.name, documented, type="opaque")[0])
                    continue
                places = layout.add_struct(node.name, kind.decls)
                members = [
                    entry(
                        f"{node.name}.{field.name}",
                        documented,
                        type=spell(field.type),
                        offset=offset,
                        size=size,
                    )[0]
                    for field, (offset, size) in zip(kind.decls, places, strict=True)
                ]
                size, alignment = layout.types[node.name]
                shape = {"size": size, "alignment": alignment, "members": members}
                structs.append(entry(node.name, documented, **shape)[0])
            elif isinstance(node, c_ast.Typedef):
                if not isinstance(node.type, c_ast.PtrDecl):
                    layout.types[node.name] = layout.of(node.type)
                else:
                    layout.types[node.name] = POINTER, POINTER
                types.append(entry(node.name, documented, type=spell(node.type))[0])
            else:
                function, parameters = entry(
                    node.name, documented, result=spell(node.type.type), arguments=[]
                )
                for argument in node.type.args.params:
                    if argument.name:
                        one = {"name": argument.name, "type": spell(argument.type)}
                        if argument.name in parameters:
                            one["text"] = parameters[argument.name]
                        function["arguments"].append(one)
                functions.append(function)
        headers[header] = {
            "node": NODES.get(header, "CAI_1"),
            "constants": constants,
            "types": types,
            "structs": structs,
            "functions": functions,
        }
    rules = (include / "cai.h").read_text(encoding="utf-8")
    rules = re.search(
        r"These rules hold for every function.*?(?=\n \*\n \* The lines)", rules, re.S
    )
    return (
        json.dumps(
            {
                "libcai": version,
                "hosts": "of 64 bits, little-endian; sizes and offsets in bytes",
                "rules": said(rules[0])[0],
                "headers": headers,
            },
            indent=1,
            ensure_ascii=False,
        )
        + "\n"
    )
