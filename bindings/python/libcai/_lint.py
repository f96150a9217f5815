# SPDX-License-Identifier: BSD-3-Clause
"""The lint for producers: judges an object strictly by the text of version 3."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

__all__ = ["Finding", "Report", "check"]

_SEVERITY = {1: "error", 2: "warning", 3: "advice"}


@dataclass(frozen=True)
class Finding:
    """One remark on an interface.

    Attributes
    ----------
    entry : str
        The dict's key; ``"interface"`` for the dict as a whole.
    value : str
        The value, printed.
    clause : str
        The rule: which text, and what it says.
    severity : str
        ``"error"``, ``"warning"`` (accepted on import, although the text forbids it) or
        ``"advice"``.
    text : str
        The remark.
    index : int or None
        The axis, item or field, from 0; None for the whole entry.
    """

    entry: str
    value: str
    clause: str
    severity: str
    text: str
    index: int | None = None

    def __str__(self) -> str:
        return f"{self.severity}: {self.text}\n    {self.clause}"


@dataclass(frozen=True)
class Report:
    """The verdict on one object. It is true if the object follows the text to the letter.

    Attributes
    ----------
    ok : bool
        The strict verdict.
    subject : str
        The type of the object.
    protocol : str
        The attribute that was read.
    findings : tuple of Finding
        Errors, warnings and advice, in the order in which they were found.
    """

    ok: bool
    subject: str
    protocol: str
    findings: tuple[Finding, ...] = ()

    def __bool__(self) -> bool:
        return self.ok

    def __str__(self) -> str:
        verdict = "follows the text" if self.ok else "does not follow the text"
        lines = [f"{self.subject}.{self.protocol} {verdict}"]
        lines += [f"  {line}" for finding in self.findings for line in str(finding).splitlines()]
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        """Returns the report as a dict that the json module can write."""
        return asdict(self)


def check(obj: object, /) -> Report:
    """Checks the interface of an object strictly, and reports every finding.

    Parameters
    ----------
    obj : object
        With ``__cuda_array_interface__``, or NumPy's ``__array_interface__``. The driver is not
        asked, so what only it knows is not checked.

    Returns
    -------
    Report

    Raises
    ------
    InterfaceTypeError
        If the object has neither attribute. Exceptions of the attribute pass unchanged.
    """
    from libcai._core import lint

    ok, protocol, raw = lint(obj)
    findings = tuple(
        Finding(
            entry=entry,
            value=value,
            clause=clause,
            severity=_SEVERITY.get(severity, "advice"),
            text=text,
            index=None if index < 0 else index,
        )
        for severity, entry, index, value, clause, text in raw
    )
    return Report(ok=ok, subject=type(obj).__qualname__, protocol=protocol, findings=findings)
