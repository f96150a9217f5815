# SPDX-License-Identifier: BSD-3-Clause
"""Turns tests/cases/import.json into a C table, so that the C test parses no JSON.

usage: generate_cases.py import.json cases.inc

Beside the table's own verdicts it knows, for each rejection, the offending value as it prints and
whether its form (T) or its value (V) is wrong; '?' where the header leaves that open.
"""

import json
import sys

PTR = 0x7F5500000400  # ADDRESS in make.h

MISSING, NONE, INT, INDEX, BOOL, FLOAT, TEXT = 0, 1, 2, 3, 4, 5, 6
BYTES, TUPLE, LIST, DICT, INTERFACE = 8, 9, 11, 12, 15
INT64, UINT64, BEYOND = 0, 1, 2

ENTRIES = [
    "",
    "interface",
    "version",
    "shape",
    "strides",
    "typestr",
    "descr",
    "data",
    "stream",
    "mask",
]

# id: (what the message must show, T or V or ?)
OFFENCES = {
    "shape-65d": ("65", "V"),
    "strides-too-few": ("(4,)", "V"),
    "strides-too-many": ("(12, 4, 4)", "V"),
    "strides-extent-overflow": ("4611686018427387904", "V"),
    "strides-out-of-range": ("9223372036854775808", "V"),
    "strides-list": ("[12, 4]", "T"),
    "strides-scalar": ("4", "T"),
    "shape-list": ("[2, 3]", "T"),
    "shape-scalar": ("6", "T"),
    "shape-npint": ("2", "T"),
    "shape-bool": ("True", "T"),
    "shape-float": ("2.0", "T"),
    "shape-str": ("'2'", "T"),
    "shape-negative": ("-1", "V"),
    "shape-negative-twice": ("-1", "V"),
    "shape-overflow": ("4294967296", "V"),
    "shape-out-of-range": ("9223372036854775808", "V"),
    "shape-missing": ("", "?"),
    "shape-none": ("None", "T"),
    "zero-size-pointer": ("233492480", "V"),
    "zero-size-none": ("None", "T"),
    "typestr-native": ("=f4", "V"),
    "typestr-no-order": ("f4", "V"),
    "typestr-irrelevant": ("|f4", "V"),
    "typestr-bad-at": ("@f4", "V"),
    "typestr-bad-hash": ("#f4", "V"),
    "typestr-bad-empty": ("''", "V"),
    "typestr-bad-letter": ("'X'", "V"),
    "typestr-bad-order-only": ("'<'", "V"),
    "typestr-bad-no-size": ("'<f'", "V"),
    "typestr-bad-zero": ("<f0", "V"),
    "typestr-bad-f3": ("<f3", "V"),
    "typestr-bad-i3": ("<i3", "V"),
    "typestr-bad-b2": ("<b2", "V"),
    "typestr-bad-c4": ("<c4", "V"),
    "typestr-bad-trailing": ("'<f4 '", "V"),
    "typestr-bad-object": ("|O8", "V"),
    "typestr-bad-unit": ("<M8[xx]", "V"),
    "typestr-bad-unit-on-float": ("<f4[ns]", "V"),
    "typestr-bad-huge": ("<f99999999999", "V"),
    "typestr-bad-bits": ("|t1", "V"),
    "typestr-bytes": ("b'<f4'", "T"),
    "typestr-zero-before-size": ("<i04", "V"),
    "typestr-zero-before-step": ("<m8[025us]", "V"),
    "typestr-missing": ("", "?"),
    "descr-size": ("12", "V"),
    "descr-dict": ("{}", "T"),
    "descr-str": ("<f4", "T"),
    "descr-bad-field": ("<q4", "V"),
    "descr-float-bytes-differ": ("'<i2'", "V"),
    "descr-name-twice": ("'x'", "V"),
    "descr-dim-not-a-tuple": ("3", "T"),
    "data-list": (f"[{PTR}, False]", "T"),
    "data-one": (f"({PTR},)", "?"),
    "data-three": (f"({PTR}, False, 0)", "?"),
    "data-int": ("4096", "T"),
    "data-missing": ("", "?"),
    "data-null": ("0", "V"),
    "data-none": ("None", "?"),
    "data-negative": ("-1", "V"),
    "data-too-large": ("18446744073709551616", "V"),
    "data-str": ("'0x1000'", "T"),
    "data-float": ("4096.0", "T"),
    "data-flag-int": ("1", "T"),
    "data-flag-none": ("None", "T"),
    "data-wraps": ("18446744073709551608", "V"),
    "data-wraps-below": ("4096", "V"),
    "version-missing": ("", "?"),
    "version-none": ("None", "T"),
    "version-str": ("'3'", "T"),
    "version-float": ("3.0", "T"),
    "version-bool": ("True", "T"),
    "version-0": ("0", "V"),
    "version-1": ("1", "V"),
    "version-2": ("2", "V"),
    "version-2-stream": ("2", "V"),
    "version-4": ("4", "V"),
    "version-negative": ("-1", "V"),
    "stream-zero": ("0", "V"),
    "stream-negative": ("-1", "V"),
    "stream-too-large": ("18446744073709551616", "V"),
    "stream-str": ("'1'", "T"),
    "stream-float": ("1.0", "T"),
    "stream-bool": ("True", "T"),
    "stream-npint": ("1", "T"),
    "mask-shape": ("4", "V"),
    "mask-masked": ("", "V"),
    "mask-dict": ("{'shape': (2, 3)}", "T"),
    "mask-true": ("True", "T"),
    "mask-broken": ("-1", "V"),
    "interface-list": ("[1, 2]", "T"),
    "interface-none": ("None", "T"),
    "interface-empty": ("", "?"),
}


def c_text(text):
    # Octal escapes end after three digits, whatever follows.
    return (
        '"'
        + "".join(
            f"\\{b:03o}" if b < 32 or b > 126 or b in b'"\\?' else chr(b) for b in text.encode()
        )
        + '"'
    )


def python(value):
    """The Python value that the tags stand for, for printing."""
    if isinstance(value, dict):
        if "$tuple" in value:
            return tuple(python(v) for v in value["$tuple"])
        for tag in ("$npint", "$float"):
            if tag in value:
                return value[tag]
        if "$bytes" in value:
            return value["$bytes"].encode()
        return {k: python(v) for k, v in value.items()}
    if isinstance(value, list):
        return [python(v) for v in value]
    return PTR if value == "$ptr" else value


class Table:
    def __init__(self):
        self.lines = []
        self.names = 0

    def name(self):
        self.names += 1
        return f"v{self.names}"

    def value(self, form, integer=0, text=None, items="NULL", length=0, range_=0):
        text = "NULL" if text is None else c_text(text)
        return f"{{UINT64_C({integer}), {text}, {items}, {length}, {form}, {range_}, 0}}"

    def printed(self, form, text, **more):
        return self.value(form, text=text, length=len(text.encode()), **more)

    def integer(self, form, number):
        if -(2**63) <= number < 2**63:
            return self.value(form, number % 2**64)
        if 0 <= number < 2**64:
            return self.value(form, number, range_=UINT64)
        return self.printed(form, str(number), range_=BEYOND)

    def items(self, form, values):
        items = "NULL"
        if values:
            inner = [self.raw(v) for v in values]
            items = self.name()
            self.lines.append(f"static const cai_value {items}[] = {{{', '.join(inner)}}};")
        elif form in (TUPLE, LIST):
            items = "no_items"
        return self.value(form, items=items, length=len(values))

    def raw(self, value):
        """One JSON value as the initialiser of a cai_value."""
        if value is None:
            return self.value(NONE)
        if isinstance(value, bool):
            return self.value(BOOL, int(value))
        if value == "$ptr":
            return self.integer(INT, PTR)
        if isinstance(value, int):
            return self.integer(INT, value)
        if isinstance(value, str):
            return self.printed(TEXT, value)
        if isinstance(value, list):
            return self.items(LIST, value)
        assert isinstance(value, dict), value
        if "$tuple" in value:
            return self.items(TUPLE, value["$tuple"])
        if "$npint" in value:
            return self.integer(INDEX, value["$npint"])
        if "$float" in value:
            return self.printed(FLOAT, repr(value["$float"]))
        if "$bytes" in value:
            return self.printed(BYTES, value["$bytes"])
        return self.printed(DICT, repr(python(value)))

    def interface(self, value):
        """A whole dict, or what stands in its place; returns the name of the cai_interface."""
        fields = {"dict": self.raw(value) if not isinstance(value, dict) else self.value(DICT)}
        if isinstance(value, dict):
            for key in ENTRIES[2:]:
                if key not in value:
                    continue
                if key == "mask" and isinstance(value[key], dict) and "$object" in value[key]:
                    fields["mask_interface"] = "&" + self.interface(value[key]["$object"])
                    fields["mask"] = self.value(INTERFACE)
                else:
                    fields[key] = self.raw(value[key])
        name = self.name()
        inner = ", ".join(f".{key} = {text}" for key, text in fields.items())
        size = ".struct_size = sizeof(cai_interface)"
        self.lines.append(f"static const cai_interface {name} = {{{size}, {inner}}};")
        return name

    def dims(self, numbers):
        if not numbers:
            return "NULL"
        name = self.name()
        self.lines.append(f"static const int64_t {name}[] = {{{', '.join(map(str, numbers))}}};")
        return name

    def verdict(self, case, verdict):
        if "reject" in verdict:
            entry = verdict["reject"]
            shown, status = OFFENCES[case["id"]]
            status = {"T": "CAI_ERR_TYPE", "V": "CAI_ERR_VALUE", "?": "ANY"}[status]
            return (
                f"{{.status = {status}, .entry = {ENTRIES.index(entry)}, .shown = {c_text(shown)}}}"
            )
        facts = verdict["ok"]
        texts = {
            "shape": self.dims(facts["shape"]),
            "strides": self.dims(facts["strides"]),
            "kind": f"'{facts['kind']}'",
            "byteorder": f"'{facts['byteorder']}'",
            "stream": f"UINT64_C({facts['stream'] or 0})",
        }
        for key in ("ndim", "size", "itemsize", "version", "lo", "hi"):
            texts[key] = str(facts[key])
        for key in ("strides_given", "readonly", "masked", "c_contiguous", "f_contiguous"):
            texts[key] = str(int(facts[key]))
        assert set(texts) == set(facts), case["id"]
        return "{" + ", ".join(f".{key} = {text}" for key, text in texts.items()) + "}"


def main():
    source, target = sys.argv[1:]
    with open(source, encoding="utf-8") as file:
        cases = json.load(file)
    table = Table()
    rows = []
    for case in cases:
        name = table.interface(case["interface"])
        strict = table.verdict(case, case["strict"])
        lenient = table.verdict(case, case["lenient"])
        rows.append(f"  {{{c_text(case['id'])}, &{name},\n   {strict},\n   {lenient}}},")
    with open(target, "w", encoding="utf-8") as file:
        print("/* Made by generate_cases.py from tests/cases/import.json. */", file=file)
        print("static const cai_value no_items[1];", file=file)
        print(*table.lines, sep="\n", file=file)
        print("static const row rows[] = {", *rows, "};", sep="\n", file=file)


main()
