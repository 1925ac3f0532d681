"""The list of files that a call began with, as it is stored.

{"roots": [...], "complete": true, "base": sha256 or null, "files": {path: state or null}}

A state has only those of `kind`, `mode`, `size`, `sha256`, `target`, `unkept` that say something; null stands
for a file of the base that is gone.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import compress
from operator import is_not

import msgspec
from msgspec import Struct

from quorum.domain.calls.effects import FileKind, FileState, KeptFiles
from quorum.domain.errors import LedgerError

# A list that differs from its base in more than this part of it is stored whole.
_MOST_CHANGED = 1 / 8


class Base(Struct, frozen=True):
    """A list that was stored whole, to which later ones refer."""

    sha256: str
    states: Mapping[str, FileState]


class Manifest(Struct, frozen=True):
    """A list as it is stored; that of all files where `base` is None."""

    kept: KeptFiles
    base: str | None = None
    gone: frozenset[str] = frozenset()

    def lay_over(self, base: Manifest) -> KeptFiles:
        """All files, where this is a list of those that differ from the base."""
        states = {path: state for path, state in base.kept.states.items() if path not in self.gone}
        return KeptFiles(
            roots=self.kept.roots, states={**states, **self.kept.states}, complete=self.kept.complete
        )


def encode(kept: KeptFiles, base: Base | None, holds_secret: Callable[[bytes], bool]) -> tuple[bytes, bool]:
    """The list as bytes, and whether it was written whole. Files whose names are secrets are left out."""
    if base is not None:
        states, then = kept.states, base.states.get
        # Most states are the very same objects; there can be hundreds of thousands: no loop of ours for those.
        others = compress(states.items(), map(is_not, states.values(), map(then, states)))
        changed = {path: state for path, state in others if then(path) != state}
        gone = base.states.keys() - states.keys()
        if len(changed) + len(gone) <= len(base.states) * _MOST_CHANGED:
            return _read_bytes(kept, base.sha256, {**changed, **dict.fromkeys(gone)}, holds_secret), False
    return _read_bytes(kept, None, kept.states, holds_secret), True


def decode(content: bytes) -> Manifest:
    """The list that the bytes hold. Raises LedgerError where they hold none."""
    try:
        given = json.loads(content)
        states = {path: _read_state(fields) for path, fields in given["files"].items() if fields is not None}
        gone = frozenset(path for path, fields in given["files"].items() if fields is None)
        roots, complete, base = given["roots"], given["complete"], given["base"]
        return Manifest(KeptFiles(roots=tuple(roots), states=states, complete=complete), base, gone)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise LedgerError(
            "a stored list of files cannot be read: it is damaged, or a newer quorum wrote it; update quorum"
        ) from error


def _read_bytes(
    kept: KeptFiles,
    base: str | None,
    files: Mapping[str, FileState | None],
    holds_secret: Callable[[bytes], bool],
) -> bytes:
    def write(roots: Sequence[str], listed: Sequence[str]) -> bytes:
        head = {"roots": roots, "complete": kept.complete, "base": base}
        written = _write_states(files.values())
        try:
            return msgspec.json.encode({**head, "files": {path: written[id(files[path])] for path in listed}})
        except UnicodeEncodeError:  # some names are no UTF-8
            fields = {path: _list_fields(files[path]) for path in listed}
            return json.dumps({**head, "files": fields}, separators=(",", ":")).encode("ascii")

    def select_safe(paths: Iterable[str]) -> list[str]:
        return [path for path in paths if not holds_secret(path.encode("utf-8", "surrogateescape"))]

    listed = sorted(files)
    content = write(kept.roots, listed)
    if holds_secret(content):
        content = write(select_safe(kept.roots), select_safe(listed))
    return content


def _write_states(states: Iterable[FileState | None]) -> dict[int, msgspec.Raw]:
    """Each state by its identity, as it is stored: of files that were not read, many thousands are the same."""
    different = {id(state): state for state in states}
    return {
        number: msgspec.Raw(msgspec.json.encode(_list_fields(state))) for number, state in different.items()
    }


def _list_fields(state: FileState | None) -> dict[str, str | int] | None:
    if state is None:
        return None
    fields: dict[str, str | int] = {"kind": state.kind.value, "mode": state.mode}
    if state.size:
        fields["size"] = state.size
    if state.sha256 is not None:
        fields["sha256"] = state.sha256
    if state.target is not None:
        fields["target"] = state.target
    if state.unkept is not None:
        fields["unkept"] = state.unkept
    return fields


def _read_state(fields: Mapping[str, object]) -> FileState:
    kind, mode, size = _read_word(fields["kind"]), fields["mode"], fields.get("size", 0)
    if kind is None or not isinstance(mode, int) or not isinstance(size, int):
        raise TypeError("a kind is not a word, or a mode or size is not a number")
    return FileState(
        kind=FileKind(kind),
        mode=mode,
        size=size,
        sha256=_read_word(fields.get("sha256")),
        target=_read_word(fields.get("target")),
        unkept=_read_word(fields.get("unkept")),
    )


def _read_word(value: object) -> str | None:
    if value is not None and not isinstance(value, str):
        raise TypeError("a word is not text")
    return value
