"""One thing that the doctor looked at, and how all of them are printed."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from msgspec import Struct

from quorum.infrastructure.config.toml_text import escape_unprintable


class FindingState(StrEnum):
    """How bad it is: fail means that something asked for cannot work."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


class Finding(Struct, frozen=True):
    """One thing looked at. `remedy` says what to do, where there is something to do."""

    name: str
    state: FindingState
    text: str
    remedy: str | None = None


def report_ok(name: str, text: str) -> Finding:
    """Something that works."""
    return Finding(name, FindingState.OK, text)


def warn(name: str, text: str, remedy: str | None = None) -> Finding:
    """Something to know about."""
    return Finding(name, FindingState.WARN, text, remedy)


def fail(name: str, text: str, remedy: str) -> Finding:
    """Something that was asked for and cannot work."""
    return Finding(name, FindingState.FAIL, text, remedy)


def render_findings(findings: Sequence[Finding]) -> str:
    """One line per finding, its remedy below it, and a last line that sums up."""
    width = max((len(finding.name) for finding in findings), default=0)
    lines = []
    for finding in findings:
        first, *rest = (escape_unprintable(line) for line in finding.text.split("\n"))
        lines.append(f"{finding.state:<5} {finding.name:<{width}}  {first}")
        lines += (f"{'':<5} {'':<{width}}  {line}" for line in rest)
        if finding.remedy is not None:
            lines.append(f"{'':<5} {'':<{width}}  → {escape_unprintable(finding.remedy)}")
    failed = sum(finding.state is FindingState.FAIL for finding in findings)
    warned = sum(finding.state is FindingState.WARN for finding in findings)
    lines.append(f"{len(findings) - failed - warned} ok, {warned} to know about, {failed} to repair")
    return "\n".join(lines)
