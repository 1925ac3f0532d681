"""The full unified diff of a change, with work bounded for large files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Literal

from quorum.domain.text.unified_diff import ChangedLines
from quorum.infrastructure.files.encoding import UTF_8, Encoding, detect

_CONTEXT = 3
# Above this product of changed line counts, comparing costs more than a shorter diff is worth.
_MOST_COMPARISONS = 4_000_000

_Opcode = tuple[Literal["replace", "delete", "insert", "equal"], int, int, int, int]


def render_unified_diff(
    before: bytes | None,
    after: bytes | None,
    name: str,
    *,
    is_text: bool = False,
    former_name: str | None = None,
) -> str:
    """What turns `before` into `after` (None: no file), complete. Empty if nothing changes.

    `is_text`: `after` was given as text, and is shown as text whatever characters it holds. A side that is
    binary is described by its size, and the other side is shown all the same. `former_name` is that of a file
    that moves.
    """
    moved = "" if former_name is None else f"rename from {former_name}\nrename to {name}\n"
    if before == after:
        return moved
    heads = (
        "/dev/null" if before is None else f"a/{name if former_name is None else former_name}",
        "/dev/null" if after is None else f"b/{name}",
    )
    head = moved + "--- {}\n+++ {}\n".format(*heads)
    if after is None:
        return _render_removal(before or b"", head)
    return _render_change(before, after, head, moved, is_text=is_text)


def count_changed_lines(before: bytes | None, after: bytes | None) -> tuple[int, int]:
    """How many lines that diff adds, and how many it removes; much cheaper than to render it."""
    if before == after:
        return 0, 0
    old = _decode_like(before or b"")
    new = None if after is None else _decode_like(after, like=old[1] if old else None)
    sides = _split_lines(old[0] if old else ""), _split_lines(new[0] if new else "")
    steps = [step for step in _Comparison(*sides).get_opcodes() if step[0] != "equal"]
    return sum(step[4] - step[3] for step in steps), sum(step[2] - step[1] for step in steps)


def list_hunks(before: bytes, after: bytes) -> list[list[ChangedLines]] | None:
    """The hunks of that diff as what changes in each; None where a side is no text."""
    old = _decode_like(before)
    new = _decode_like(after, like=old[1] if old else None)
    if old is None or new is None:
        return None
    groups = _Comparison(_split_lines(old[0]), _split_lines(new[0])).get_grouped_opcodes(_CONTEXT)
    return [
        [
            ChangedLines(range(low, high), range(new_low, new_high))
            for tag, low, high, new_low, new_high in group
            if tag != "equal"
        ]
        for group in groups
    ]


def _render_removal(before: bytes, head: str) -> str:
    if (old := _decode_like(before)) is None:
        return f"{head}binary: {len(before)} → 0 bytes\n"
    return head + "".join(_render_hunks(_split_lines(old[0]), []))


def _render_change(before: bytes | None, after: bytes, head: str, moved: str, *, is_text: bool) -> str:
    old = _decode_like(before or b"")
    new = _decode_like(after, like=old[1] if old else None) or (
        _decode_as_text(after, old) if is_text else None
    )
    if old is None and new is None:
        return f"{moved}binary: {len(before or b'')} → {len(after)} bytes\n"
    if old is None:
        head += f"binary before: {len(before or b'')} bytes, all replaced\n"
    if new is None:
        head += f"binary after: {len(after)} bytes, in place of all text\n"
    if old and new and before and old[1] != new[1]:
        head += f"encoding: {old[1].label} → {new[1].label}\n"
    elif new and not (old and before) and new[1] != UTF_8:
        head += f"encoding: {new[1].label}\n"
    return head + "".join(
        _render_hunks(_split_lines(old[0] if old else ""), _split_lines(new[0] if new else ""))
    )


def _decode_as_text(content: bytes, old: tuple[str, Encoding] | None) -> tuple[str, Encoding]:
    """The text of bytes that were encoded from text. Never fails: what decodes nowhere is read byte by byte."""
    for encoding in (UTF_8, *([old[1]] if old else [])):
        try:
            return encoding.show(content), encoding
        except UnicodeDecodeError:
            continue
    return content.decode("latin-1"), Encoding("latin-1", guessed=True)


def _decode_like(content: bytes, like: Encoding | None = None) -> tuple[str, Encoding] | None:
    encoding = detect(content, complete=True)
    if like is not None and like.guessed and (content.isascii() or (encoding is not None and encoding.guessed)):
        # One guess for both sides: else a changed word could show as a changed encoding.
        encoding = like
    if encoding is None:
        return None
    try:
        return encoding.show(content), encoding
    except UnicodeDecodeError:
        return None


def _split_lines(text: str) -> list[str]:
    """Lines with their ends; only a line feed ends a line, so that numbers agree with other programs."""
    lines = [line + "\n" for line in text.split("\n")]
    last = lines.pop()[:-1]
    return [*lines, last] if last else lines


def _render_hunks(before: Sequence[str], after: Sequence[str]) -> Iterator[str]:
    for group in _Comparison(before, after).get_grouped_opcodes(_CONTEXT):
        first, last = group[0], group[-1]
        yield f"@@ -{_format_range(first[1], last[2])} +{_format_range(first[3], last[4])} @@\n"
        for tag, low, high, new_low, new_high in group:
            if tag == "equal":
                yield from _add_sign(" ", before[low:high])
                continue
            yield from _add_sign("-", before[low:high])
            yield from _add_sign("+", after[new_low:new_high])


def _add_sign(sign: str, lines: Sequence[str]) -> Iterator[str]:
    for line in lines:
        yield f"{sign}{line}" if line.endswith("\n") else f"{sign}{line}\n\\ No newline at end of file\n"


def _format_range(start: int, stop: int) -> str:
    length = stop - start
    if length == 1:
        return str(start + 1)
    return f"{start + 1 if length else start},{length}"


class _Comparison(SequenceMatcher[str]):
    """Compares only what lies between the equal beginning and the equal end."""

    def __init__(self, before: Sequence[str], after: Sequence[str]) -> None:
        self._before, self._after = len(before), len(after)
        self._head = _count_common(before, after)
        shorter = min(self._before, self._after) - self._head
        self._tail = min(_count_common(before[::-1], after[::-1]), shorter)
        self._old = before[self._head : self._before - self._tail]
        self._new = after[self._head : self._after - self._tail]
        super().__init__(None, self._old, self._new)

    def get_opcodes(self) -> list[_Opcode]:
        """The steps over the whole of both sides."""
        head, tail = self._head, self._tail
        steps: list[_Opcode] = [
            ("equal", 0, head, 0, head),
            *((tag, a + head, b + head, c + head, d + head) for tag, a, b, c, d in self._compare_middle()),
            ("equal", self._before - tail, self._before, self._after - tail, self._after),
        ]
        return [step for step in steps if step[1] < step[2] or step[3] < step[4]]

    def _compare_middle(self) -> Sequence[_Opcode]:
        if len(self._old) * len(self._new) > _MOST_COMPARISONS:
            return [("replace", 0, len(self._old), 0, len(self._new))]
        return super().get_opcodes()


def _count_common(some: Sequence[str], others: Sequence[str]) -> int:
    for count, (one, other) in enumerate(zip(some, others, strict=False)):
        if one != other:
            return count
    return min(len(some), len(others))
