"""What giving one file back would change, to be read by a person."""

from __future__ import annotations

from quorum.domain.calls.effects import FileKind, FileState
from quorum.domain.sessions.restoration import RestoreStep
from quorum.infrastructure.files.diff import render_unified_diff
from quorum.infrastructure.files.workspace import escape_path

MOST_LINES = 2_000
MOST_CHARS = 200_000
_KINDS = {FileKind.FILE: "a file", FileKind.LINK: "a link", FileKind.OTHER: "neither file nor link"}


def render_step_diff(step: RestoreStep, name: str, now: bytes | None, wanted: bytes | None) -> str:
    """The step in words, and the diff of the contents as far as they are known."""
    lines = []
    if step.trouble is not None:
        lines.append(f"cannot be given back: {step.trouble}")
    if step.is_final and step.now is not None and step.trouble is None:
        lines.append(f"what is there now cannot be brought back afterwards: {step.now.unkept}")
    lines += _list_words(step.now, step.wanted)
    text = "".join(f"{line}\n" for line in lines)
    if step.trouble is None and (now is not None or wanted is not None):
        text += _render_content_diff(name, now, wanted)
    return cut_long_text(text)


def cut_long_text(text: str) -> str:
    """The beginning of a long text, and how many lines are left out."""
    lines = text.splitlines(keepends=True)
    cut = "".join(lines[:MOST_LINES])[:MOST_CHARS]
    if len(cut) == len(text):
        return text
    left = len(lines) - cut.count("\n")
    return f"{cut.rstrip(chr(10))}\n… {left} more lines\n"


def _list_words(now: FileState | None, wanted: FileState | None) -> list[str]:
    if now is None or wanted is None:
        state = now or wanted
        assert state is not None
        verb = "would be made again" if now is None else "would be deleted"
        detail = f" to {escape_path(state.target)}" if state.target is not None else ""
        size = f", {state.size} bytes" if state.kind is FileKind.FILE else ""
        return [f"{_KINDS[state.kind]}{detail} {verb}{size}"]
    lines = []
    if now.kind is not wanted.kind:
        lines.append(f"{_KINDS[now.kind]} would become {_KINDS[wanted.kind]}")
    if now.target != wanted.target:
        lines.append(f"leads to: {_read_target(now)} → {_read_target(wanted)}")
    if now.kind is wanted.kind and now.mode != wanted.mode:
        lines.append(f"mode: {now.mode:04o} → {wanted.mode:04o}")
    return lines


def _read_target(state: FileState) -> str:
    return escape_path(state.target) if state.target is not None else "nowhere"


def _render_content_diff(name: str, now: bytes | None, wanted: bytes | None) -> str:
    diff = render_unified_diff(now, wanted if wanted is not None else b"", name)
    return diff if wanted is not None else diff.replace(f"\n+++ b/{name}\n", "\n+++ /dev/null\n", 1)
