"""The anchors of sessions in a file: one JSON object per line, added to and never changed."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from quorum.domain.errors import ConfigError
from quorum.domain.sessions.stored_session import Anchor, read_anchor
from quorum.infrastructure.config.paths import locate_state_folder
from quorum.infrastructure.config.toml_file import escape_path

FILE_NAME = "anchors.jsonl"
_LARGEST_BYTES = 50_000_000


def locate_anchors(environ: Mapping[str, str]) -> Path | None:
    """The file of the anchors on this machine; None where there is no home folder."""
    state = locate_state_folder(environ)
    return state / FILE_NAME if state is not None else None


def add_anchors(file: Path, anchors: Iterable[Anchor]) -> None:
    """Add anchors at the end. Raises ConfigError where that cannot be."""
    lines = "".join(f"{render_anchor(anchor)}\n" for anchor in anchors)
    try:
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        with open(descriptor, "w", encoding="utf-8") as opened:
            opened.write(lines)
            opened.flush()
            os.fsync(opened.fileno())
    except OSError as error:
        raise ConfigError(f"the anchors cannot be added to {escape_path(file)}: {error.strerror}") from error


def render_anchor(anchor: Anchor) -> str:
    """An anchor as its line."""
    return json.dumps(anchor.to_json())


def read_anchors(file: Path) -> tuple[Anchor, ...]:
    """The anchors in a file, in their order; none where there is no such file.

    Raises ConfigError for a line that is no anchor: with one left out, a cut tail could be missed.
    """
    try:
        if file.stat().st_size > _LARGEST_BYTES:
            raise ConfigError(f"{escape_path(file)} is too large for a file of anchors")
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return ()
    except UnicodeDecodeError:
        raise ConfigError(f"{escape_path(file)} is not UTF-8, and so no file of anchors") from None
    except OSError as error:
        raise ConfigError(f"{escape_path(file)} cannot be read: {error.strerror}") from error
    anchors: list[Anchor] = []
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                anchors.append(read_anchor(json.loads(line)))
            except (ValueError, RecursionError) as error:
                raise ConfigError(f"{escape_path(file)}:{number}: this is no anchor: {error}") from None
    return tuple(anchors)
