# SPDX-License-Identifier: BSD-3-Clause
"""``libcai check MODULE:NAME``: the lint from the shell."""

import argparse
import sys

from libcai._cli import _arguments, _terminal

TEXT = """Judges the __cuda_array_interface__ of an object: by the text of version 3, to the letter,
and by what other libraries are known to do with such a dict. The object's memory is not touched,
and no driver is asked."""

EXAMPLES = (
    "libcai check mymodule:array                        by the text; and who would take it",
    "libcai check 'mymodule:make()' --as numba,torch    would these two take it, and what is lost?",
    "libcai check mymodule:array --as import --json     would libcai.asarray()?",
)

STATUS = """Exit status: 0 if all readers that were asked for (strict, if none was) take it; 1 if
one of them refuses it; 2 if there is nothing to judge."""

READERS = {
    "strict": "the text of version 3",
    "import": "libcai.asarray()",
    "numba": "numba-cuda",
    "cupy": "CuPy",
    "torch": "PyTorch",
}
_COLOURS = {"error": "red", "warning": "yellow", "advice": "dim"}


def readers(text):
    """The type of --as."""
    names = text.split(",")
    for name in names:
        if name not in READERS:
            raise argparse.ArgumentTypeError(
                f"expected readers ({', '.join(READERS)}) with commas between them, got {name!r}"
            )
    return names


def add_to(commands):
    parser = _arguments.add_parser(
        commands,
        "check",
        help="judge a producer's interface, and say who would take it",
        description=TEXT,
        examples=EXAMPLES,
        status=STATUS,
    )
    parser.add_argument(
        "target",
        metavar="MODULE:NAME",
        help="an object in a module that can be imported from here; NAME may have dots, and ends "
        "in () for a function that makes the object",
    )
    named = ", ".join(f"{name} ({what})" for name, what in READERS.items())
    parser.add_argument(
        "--as",
        dest="readers",
        action="extend",
        type=readers,
        metavar="READER",
        help=f"who is to take it, several with commas or by repeating it: {named}",
    )
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    _terminal.add_color_to(parser)
    parser.set_defaults(run=run)


def run(options):
    from libcai import check

    try:
        with _terminal.Progress() as progress:
            progress(f"importing {options.target.partition(':')[0]}")
            target = _load(options.target)
        report = check(target)
        asked = options.readers or ["strict"]
        judged = {name: _judged(name, target, report) for name in READERS if name != "strict"}
    except (Exception, SystemExit) as error:  # whatever the producer raises
        print(f"libcai check: {type(error).__name__}: {error}", file=sys.stderr)
        return 2
    takes = {"strict": report.ok, **{name: found["takes"] for name, found in judged.items()}}
    ok = all(takes[name] for name in asked)
    if options.json:
        import json

        print(json.dumps({**report.to_json(), "ok": ok, "readers": judged}, indent=2))
        return 0 if ok else 1
    paint = _terminal.Paint(options.color)
    if "strict" in asked:
        print(_painted(report, paint))
    for name in dict.fromkeys(asked):
        if name != "strict":
            print(_shown(name, report, judged[name], paint))
    if not options.readers:
        print(_summary(judged))
    return 0 if ok else 1


def _judged(name, target, report):
    """What a reader does with the object: {"by": ..., "takes": ..., "remarks": [...]}."""
    interface = getattr(target, report.protocol)
    if name == "import":
        return _imported(interface, target, report.protocol)
    from libcai._cli import _readers

    reader = _readers.READERS[name]
    if report.protocol == "__cuda_array_interface__":
        try:
            remarks = list(reader.judge(interface))
        except Exception as failure:  # of a value's own methods, which the reader calls, too
            text = f"interface: {type(failure).__name__}: {failure}"
            remarks = [_readers.Remark("error", text)]
    else:
        remarks = [
            _readers.Remark(
                "error",
                "interface: expected __cuda_array_interface__, got __array_interface__, which is "
                f"of arrays on the host: copy it to the GPU before {reader.function}()",
            )
        ]
    return {
        "by": f"{reader.function} of {reader.library} {reader.version}",
        "takes": all(remark.severity != "error" for remark in remarks),
        "remarks": [remark._asdict() for remark in remarks],
    }


def _imported(interface, target, protocol):
    import libcai

    found = {"by": f"libcai.asarray of libcai {libcai.__version__}", "takes": True, "remarks": []}
    host = protocol == "__array_interface__"
    try:
        libcai.from_interface(interface, owner=target, host=host)
    except libcai.Error as error:
        found["takes"] = False
        found["remarks"] = [{"severity": "error", "text": str(error)}]
    return found


def _painted(report, paint):
    verdict, *lines = str(report).splitlines()
    colours = ["green" if report else "red"]
    colours += [_COLOURS.get(line.strip().partition(":")[0]) for line in lines]
    lines.insert(0, verdict)
    return "\n".join(paint(*both) for both in zip(lines, colours, strict=True))


def _shown(name, report, found, paint):
    verb, colour = ("takes", "green") if found["takes"] else ("refuses", "red")
    lines = [paint(f"{name} {verb} {report.subject}.{report.protocol}", colour)]
    lines[0] += paint(f" ({found['by']})", "dim")
    for remark in found["remarks"]:
        severity = remark["severity"]
        lines.append(paint(f"  {severity}: {remark['text']}", _COLOURS[severity]))
    return "\n".join(lines)


def _summary(judged):
    names = {
        name: f"{name} (with warnings)" if found["takes"] and found["remarks"] else name
        for name, found in judged.items()
    }
    took, refused = (
        ", ".join(names[name] for name, found in judged.items() if found["takes"] is want)
        for want in (True, False)
    )
    text = f"taken by: {took or 'nobody'}; refused by: {refused or 'nobody'}"
    return f"{text} (--as NAME says more)"


def _load(target):
    from importlib import import_module
    from operator import attrgetter
    from pathlib import Path

    module, colon, name = target.partition(":")
    if not (module and colon and name):
        raise ValueError(f"expected MODULE:NAME, got {target!r}: write mymodule:my_array")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    call = name.endswith("()")
    found = attrgetter(name.removesuffix("()"))(import_module(module))
    return found() if call else found
