"""Reads a settings file of another agent, and completes its rules about paths that lead over links.

A file is JSON, also with comments and trailing commas, or TOML. In quorum a rule is held against where a path
leads.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Mapping
from itertools import takewhile
from pathlib import Path

from msgspec import Struct

from quorum.domain.errors import ConfigError
from quorum.domain.importing.foreign_rules import TranslatedRule, list_name_runs
from quorum.domain.replacing import replace
from quorum.domain.review.permission_rules import Answer
from quorum.infrastructure.config.toml_file import TomlFile, escape_path
from quorum.infrastructure.config.toml_text import escape_unprintable

_FAMILIES = ("read_file(", "write_file(")


def add_linked_paths(rule: TranslatedRule, folder: str) -> TranslatedRule:
    """The rule, and the same about where the paths that it names lead by links. A relative one begins at
    `folder`. Blocks."""
    if rule.answer is Answer.ALLOW:
        return rule
    found: dict[str, None] = {}
    for text in rule.rules:
        family = next((each for each in _FAMILIES if text.startswith(each)), "")
        if family and (led := _follow(text[len(family) : -1], folder)):
            found[f"{family}{led})"] = None
    if not (added := [text for text in found if text not in rule.rules]):
        return rule
    begin = f"{folder.rstrip('/')}/" if folder else ""
    runs = list_name_runs(tuple(text.partition("(")[2][:-1].removeprefix(begin) for text in added))
    return replace(
        rule,
        rules=(*rule.rules, *added),
        sensitive=(*rule.sensitive, *runs) if rule.sensitive else (),
        protected=(*rule.protected, *runs) if rule.protected else (),
    )


def _follow(pattern: str, folder: str) -> str:
    """The pattern from where its plain beginning leads; empty where that leads nowhere else."""
    if not pattern.startswith("/") and not folder:
        return ""
    names = [name for name in pattern.split("/") if name]
    plain = list(takewhile(lambda name: not set("*?") & set(name), names))
    begin = os.path.join(folder, "/" if pattern.startswith("/") else "", *plain)
    try:
        led = os.path.realpath(begin)
    except (OSError, ValueError):
        return ""
    return "" if led == os.path.normpath(begin) else "/".join((led.rstrip("/"), *names[len(plain) :]))


_LARGEST_BYTES = 8_000_000
# A text, which stays as it is, a comment, or a comma before the end of a list.
_EXTRA = re.compile(
    r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|/\*.*?\*/|,(?=\s*(?:(?://[^\n]*|/\*.*?\*/)\s*)*[}\]])', re.DOTALL
)


class ForeignFile(Struct, frozen=True):
    """A file that was read. `data` is what it holds."""

    path: Path
    text: str
    data: Mapping[str, object]

    def locate(self, word: str) -> str:
        """Where a text first stands in the file, as "file:line"; the file alone where it does not."""
        places = (
            self.text.find(each) for each in (json.dumps(word), json.dumps(word, ensure_ascii=False), word)
        )
        place = next((place for place in places if place >= 0), -1)
        line = f":{self.text.count(chr(10), 0, place) + 1}" if place >= 0 else ""
        return f"{escape_path(self.path)}{line}"


def read_json_file(path: Path) -> ForeignFile | None:
    """The object in a file; None where there is no file. Raises ConfigError with the place of what is no
    JSON."""
    if (text := read_foreign_text(path)) is None:
        return None
    return ForeignFile(path, text, parse_json_text(text, path))


def parse_json_text(text: str, path: Path) -> Mapping[str, object]:
    """The object in the text of a file. Raises ConfigError with the place of what is no JSON."""
    place = escape_path(path)
    try:
        data: object = json.loads(text)
    except RecursionError as error:
        raise ConfigError(f"{place} is nested too deeply to be settings") from error
    except ValueError:
        data = _parse_with_comments(text, place)
    if not isinstance(data, dict):
        raise ConfigError(f"{place} holds no JSON object")
    return data


def _parse_with_comments(text: str, place: str) -> object:
    plain = _EXTRA.sub(lambda found: found[0] if found[0].startswith('"') else _blank(found[0]), text)
    try:
        return json.loads(plain) if plain.strip() else {}
    except json.JSONDecodeError as error:
        raise ConfigError(f"{place}:{error.lineno}: this is no JSON: {error.msg}") from error
    except RecursionError as error:
        raise ConfigError(f"{place} is nested too deeply to be settings") from error
    except ValueError as error:
        raise ConfigError(f"{place} is no JSON: {escape_unprintable(str(error)[:200])}") from error


def _blank(text: str) -> str:
    """As many lines of nothing."""
    return " " + "\n" * text.count("\n")


def read_toml_file(path: Path) -> ForeignFile | None:
    """The tables in a file; None where there is no file. Raises ConfigError with the place of what is no
    TOML."""
    import tomli  # Codex reads TOML 1.1, tomllib 1.0

    if (text := read_foreign_text(path)) is None:
        return None
    return ForeignFile(
        path, text, TomlFile.parse(path, text.encode("utf-8", "surrogatepass"), tomli.loads).data
    )


def read_foreign_text(path: Path) -> str | None:
    """The text of a regular file; None where there is no file. Never waits for a pipe. Raises ConfigError."""
    place = escape_path(path)
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        raise ConfigError(f"{place} cannot be read: {getattr(error, 'strerror', None) or error}") from error
    try:
        with open(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise ConfigError(f"{place} is not a regular file")
            content = file.read(_LARGEST_BYTES + 1)
    except OSError as error:
        raise ConfigError(f"{place} cannot be read: {error.strerror}") from error
    if len(content) > _LARGEST_BYTES:
        raise ConfigError(f"{place} is larger than {_LARGEST_BYTES:,} bytes, too large for settings")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{place}:{line}: the file is not UTF-8") from error


def read_table(data: Mapping[str, object], *names: str) -> Mapping[str, object]:
    """The table at a path of names; an empty one where there is none."""
    value: object = data
    for name in names:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value if isinstance(value, Mapping) else {}
