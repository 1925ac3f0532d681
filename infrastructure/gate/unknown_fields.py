"""What agents send beside their calls of which nothing is known, kept for whoever asks how gated they are."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

import msgspec

from quorum.domain.errors import ConfigError
from quorum.infrastructure.config.paths import locate_state_folder
from quorum.infrastructure.config.toml_file import escape_path

_FILE = "gate-unknown-fields"
_MOST_BYTES = 1 << 16
"""An agent that makes up names does not fill the disk."""


def keep_unknown_fields(caller: str, names: Collection[str], environ: Mapping[str, str]) -> None:
    """Add those that are not there yet. Raises OSError, and ConfigError where the file is not ours."""
    if not names or (path := _locate(environ)) is None:
        return
    known = list_unknown_fields(environ).get(caller, ())
    lines = b"".join(msgspec.json.encode((caller, name)) + b"\n" for name in names if name not in known)
    if not lines or (path.exists() and path.stat().st_size > _MOST_BYTES):
        return
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    with os.fdopen(file, "wb") as stream:
        stream.write(lines)


def list_unknown_fields(environ: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """The names that each caller sent. Raises ConfigError, with the place and the remedy."""
    path = _locate(environ)
    found: dict[str, list[str]] = {}
    try:
        for line in path.read_bytes().splitlines() if path is not None else ():
            caller, name = msgspec.json.decode(line, type=tuple[str, str])
            found.setdefault(caller, []).append(name)
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        place = escape_path(path or Path(_FILE))
        raise ConfigError(f"{place} cannot be read ({error}): delete it, it is made anew") from error
    return {caller: tuple(dict.fromkeys(names)) for caller, names in found.items()}


def describe_unknown_fields(environ: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """What each caller sends, and what to do about it. Raises ConfigError."""
    for caller, names in sorted(list_unknown_fields(environ).items()):
        place = escape_path(_locate(environ) or Path(_FILE))
        named = ", ".join(map(repr, names))
        what = f"{caller} also sends {named} beside its calls, of which nothing is known here"
        yield what, f"update quorum, or look what they say; {place} holds their names: delete it to forget them"


def _locate(environ: Mapping[str, str]) -> Path | None:
    state = locate_state_folder(environ)
    return state / _FILE if state is not None else None
