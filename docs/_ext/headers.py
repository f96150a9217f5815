# SPDX-License-Identifier: BSD-3-Clause
"""The directive `header`: all that one C header declares, from Doxygen's XML.

Breathe renders functions, structs and types. This file lays the page out: in the sections of the
header, and functions first. It also renders the enums: most have no name, and their first sentence
("Values of cai_status") stands for it.
"""

import re
import textwrap
from pathlib import Path
from xml.etree import ElementTree

from sphinx.util.docutils import SphinxDirective

BANNER = re.compile(r"/\* -{4} (.*?) -+ \*/")
CONSTANT = re.compile(r'\d+|"[^"]*"|\([^()]+\)')  # the value of a macro
# In this order within a section.
KINDS = ("function", "struct", "typedef", "enum", "variable", "define")


def plain(text):
    return re.sub(r"([\\*`|]|(?<=\w)_(?!\w))", r"\\\1", text or "")


def words_of(element):
    """The text of an element as reST, on one line."""
    parts = [plain(element.text)]
    for child in element:
        inside = "".join(child.itertext()).strip()
        if child.tag == "ref":
            words = reference(inside)
        elif child.tag == "computeroutput":
            words = f"``{inside}``" if inside else ""
        else:
            words = words_of(child)
        parts += [words, plain(child.tail)]
    return " ".join("".join(parts).split())


def reference(name):
    if name.endswith((".h", ".hpp")):
        return f"``{name}``"
    role = "func" if name.endswith("()") else "data"
    return f":c:{role}:`{name.removesuffix('()')}`"


def blocks_of(description, indent=""):
    """The paragraphs, lists and code of a description, as lines of reST."""
    for para in description.findall("para"):
        words = ElementTree.Element("para")
        words.text = para.text
        for child in para:
            if child.tag not in ("itemizedlist", "programlisting", "verbatim"):
                words.append(child)
                continue
            yield from text_of(words, indent)
            yield from (
                items_of(child, indent) if child.tag == "itemizedlist" else code_of(child, indent)
            )
            words = ElementTree.Element("para")
            words.text = child.tail
        yield from text_of(words, indent)


def items_of(element, indent):
    for item in element.findall("listitem"):
        yield f"{indent}* {' '.join(words_of(para) for para in item.findall('para'))}"
    yield ""


def code_of(element, indent):
    """Code that is marked as such, or indented."""
    if element.tag == "verbatim":
        lines = textwrap.dedent(element.text.strip("\n")).splitlines()
    else:
        lines = ["".join(spaced(line)) for line in element.iter("codeline")]
    yield from [f"{indent}.. code-block:: c", ""]
    yield from (f"{indent}   {line}".rstrip() for line in lines)
    yield ""


def spaced(element):
    yield " " if element.tag == "sp" else element.text or ""
    for child in element:
        yield from spaced(child)
        yield child.tail or ""


def text_of(para, indent):
    if words := words_of(para):
        yield from [indent + words, ""]


def described(member, indent=""):
    lines = []
    for tag in ("briefdescription", "detaileddescription"):
        if (found := member.find(tag)) is not None:
            lines += blocks_of(found, indent)
    return lines


def enum_lines(member):
    """An enum: its first sentence ("Values of cai_status") as a rubric, then its values."""
    title = words_of(member.find("briefdescription/para")).removesuffix(".")
    yield from [f".. rubric:: {title}", ""]
    yield from blocks_of(member.find("detaileddescription"))
    for value in member.findall("enumvalue"):
        declared = f"{value.findtext('name')} {value.findtext('initializer', '')}".rstrip()
        yield from [f".. c:enumerator:: {declared}", ""]
        yield from described(value, "   ")


class Header:
    def __init__(self, xml, include, name):
        self.source = (include / name).read_text(encoding="utf-8")
        stem = Path(name).name.replace("_", "__").replace(".", "_8")
        self.compound = ElementTree.parse(xml / f"{stem}.xml").find("compounddef")
        self.xml = xml

    def sections(self):
        """(title, [(kind, line, member)]): the first one, before any banner, has no title."""
        lines = self.source.splitlines()
        banners = [(0, None)]
        banners += [(n, m[1]) for n, line in enumerate(lines, 1) if (m := BANNER.fullmatch(line))]
        found = [(title, []) for _, title in banners]
        for kind, line, member in self.members():
            at = max(i for i, (start, _) in enumerate(banners) if start <= line)
            found[at][1].append((kind, line, member))
        for title, members in found:
            if members:
                yield title, sorted(members, key=lambda it: (KINDS.index(it[0]), it[1]))

    def members(self):
        for inner in self.compound.findall("innerclass"):
            struct = ElementTree.parse(self.xml / f"{inner.get('refid')}.xml").find("compounddef")
            if any(described(it) for it in [struct, *struct.iter("memberdef")]):
                yield "struct", int(struct.find("location").get("line")), inner.text
        for member in self.compound.findall("sectiondef/memberdef"):
            kind, name = member.get("kind"), member.findtext("name")
            shown = kind == "enum" or "".join(described(member)).strip()
            if shown or CONSTANT.fullmatch(member.findtext("initializer", "")):
                line = int(member.find("location").get("line"))
                yield kind, line, member if kind == "enum" else name

    def lines(self):
        yield from described(self.compound)
        for title, members in self.sections():
            if title:
                yield from [title, "-" * len(title), ""]
            for kind, _, member in members:
                if kind == "enum":
                    yield from enum_lines(member)
                    continue
                yield f".. doxygen{kind}:: {member}"
                if kind == "struct":
                    yield from ["   :members:", "   :undoc-members:"]
                yield ""


class HeaderDirective(SphinxDirective):
    required_arguments = 1

    def run(self):
        xml, include = Path(self.config.header_xml), Path(self.config.header_include)
        header = Header(xml, include, self.arguments[0])
        self.env.note_dependency(str(include / self.arguments[0]))
        return self.parse_text_to_nodes("\n".join(header.lines()), allow_section_headings=True)


def setup(app):
    app.add_config_value("header_xml", "", "env")
    app.add_config_value("header_include", "", "env")
    app.add_directive("header", HeaderDirective)
    return {"parallel_read_safe": True}
