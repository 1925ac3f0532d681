"""A configuration file that is changed for the person: one key at a time, whole or not at all."""

from __future__ import annotations

import codecs
import difflib
import os
import re
import secrets
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from quorum.application.whole_file import sync_names
from quorum.domain.errors import ConfigError
from quorum.infrastructure.config.loading import LoadedSettings
from quorum.infrastructure.config.paths import is_present
from quorum.infrastructure.config.toml_file import (
    Statement,
    TomlFile,
    escape_path,
    find_innermost,
    parse_statements,
)
from quorum.infrastructure.config.toml_text import KeyPath, Position, format_key, format_literal

_TOKENS = re.compile(
    r'"""(?:\\.|[^\\])*?"""|' + r"'''.*?'''|" + r'"(?:\\.|[^"\\\n])*"|' + r"'[^'\n]*'|(?P<comment>#[^\n]*)",
    re.DOTALL,
)


def set_toml_value(text: str, path: KeyPath, value: object) -> str:
    """The text with this value at a path of tables. Comments stay; those within a former value stand above it.

    Raises ConfigError where the text cannot be edited so that this alone is another.
    """
    data = tomllib.loads(text)
    _merge(data, path, value)
    return _require_same_meaning(_set(text, path, value), data, path)


def append_toml_table(text: str, name: str, values: Mapping[str, object]) -> str:
    """The text with one more table in an array of tables, as its last.

    Raises ConfigError as `set_toml_value` does.
    """
    data = tomllib.loads(text)
    tables = data.setdefault(name, [])
    if not isinstance(tables, list):
        raise _build_too_odd_error((name,))
    tables.append({key: list(value) if isinstance(value, tuple) else value for key, value in values.items()})
    lines = _TomlLines(text)
    rows = [f"{format_key((key,))} = {format_literal(value)}" for key, value in values.items()]
    lines.insert(lines.end, [*([""] if text.strip() else []), f"[[{format_key((name,))}]]", *rows])
    return _require_same_meaning(lines.text, data, (name,))


def remove_toml_value(text: str, path: KeyPath) -> str:
    """The text without what it sets at a path of tables; its comments stay.

    Raises ConfigError where nothing is set there, and as `set_toml_value` does.
    """
    data = tomllib.loads(text)
    _pop(data, path)
    lines = _TomlLines(text)
    found = lines.find_setting(path)
    if found is None:
        raise _build_too_odd_error(path)
    statement, own = found
    if own == path:
        lines.replace(statement, lines.read_comments(statement))
    else:
        lines.set_value(statement, _get_value(data, own))
    return _require_same_meaning(lines.text, data, path)


def remove_toml_table(text: str, path: KeyPath) -> str:
    """The text without a table and all that is set in it, however it is written; comments stay.

    Raises ConfigError where there is no such table, and as `set_toml_value` does.
    """
    data = tomllib.loads(text)
    _pop(data, path)
    lines = _TomlLines(text)
    for statement, own in reversed(lines.find_statements_below(path)):
        if len(own) < len(path):
            lines.set_value(statement, _get_value(data, own))
        else:
            lines.replace(statement, lines.read_comments(statement))
            lines.close_gap(statement.first)
    return _require_same_meaning(lines.text, data, path)


def _set(text: str, path: KeyPath, value: object) -> str:
    lines = _TomlLines(text)
    if (found := lines.find_setting(path)) is not None:
        statement, own = found
        table = lines.read_value(statement, own)
        if own != path and isinstance(table, dict):
            _merge(table, path[len(own) :], value)
            value = table
        lines.set_value(statement, value)
    elif (place := lines.find_place(path)) is not None:
        line, header = place
        lines.insert(line, [f"{format_key(path[len(header) :])} = {format_literal(value)}"])
    else:
        gap = [""] if text.strip() else []
        lines.insert(lines.end, [*gap, f"[{format_key(path[:-1])}]", f"{path[-1]} = {format_literal(value)}"])
    return lines.text


class _TomlLines:
    """The lines of a document, each with its end, and their statements."""

    def __init__(self, text: str) -> None:
        self._newline = "\r\n" if "\r\n" in text else "\n"
        self._statements = list(parse_statements(text))
        self._lines = [line for line in re.split(r"(?<=\n)", text) if line]
        if self._lines and not self._lines[-1].endswith("\n"):
            self._lines[-1] += self._newline

    @property
    def text(self) -> str:
        """The document as it is now."""
        return "".join(self._lines)

    @property
    def end(self) -> int:
        """The line after the last."""
        return len(self._lines)

    def find_setting(self, path: KeyPath) -> tuple[Statement, KeyPath] | None:
        """The statement that sets this path, or an inline table around it, and the path that it names."""
        for statement in self._statements:
            if statement.leaves and (own := self._parse_key(statement)) == path[: len(own)]:
                return statement, own
        return None

    def find_statements_below(self, path: KeyPath) -> list[tuple[Statement, KeyPath]]:
        """What opens or sets this path, something below it, or an inline table around it; each with the path
        that it names."""
        found: list[tuple[Statement, KeyPath]] = []
        for statement in self._statements:
            if not (statement.is_header or statement.leaves):
                continue
            own = statement.header if statement.is_header else self._parse_key(statement)
            is_around = not statement.is_header and own == path[: len(own)]
            if own[: len(path)] == path or is_around:
                found.append((statement, own))
        return found

    def close_gap(self, line: int) -> None:
        """Take out the empty line before this one, if another follows it or nothing does."""
        following = self._lines[line : line + 1]
        if (
            0 < line <= len(self._lines)
            and not self._lines[line - 1].strip()
            and not "".join(following).strip()
        ):
            del self._lines[line - 1]

    def find_place(self, path: KeyPath) -> tuple[int, KeyPath] | None:
        """The line before which a new key is to stand, and the table it stands in there: after its commented
        default, or else at the end of its table. None where nothing of its table is in the document."""
        table = path[:-1]
        commented = re.compile(rf"\s*#+\s*{re.escape(path[-1])}\s*=")
        last: tuple[int, KeyPath] | None = None
        for statement in self._statements:
            if statement.header == table and commented.match(self._get_lines(statement)[0]):
                return statement.end, table
            if statement.header == table and (statement.is_header or statement.leaves):
                last = statement.end, table
            elif not last and any(leaf[: len(table)] == table for leaf in statement.leaves):
                last = statement.end, statement.header
        return last

    def read_value(self, statement: Statement, own: KeyPath) -> object:
        """What a statement sets at the path it names."""
        return _get_value(tomllib.loads(self._join_source(statement)), own[len(statement.header) :])

    def read_comments(self, statement: Statement) -> list[str]:
        """The comments of a statement, one a line."""
        found = _TOKENS.finditer(self._join_source(statement))
        return [token["comment"].rstrip() for token in found if token["comment"]]

    def set_value(self, statement: Statement, value: object) -> None:
        """Have a statement set another value. A comment at its end stays there."""
        source = self._join_source(statement).rstrip()
        comments = self.read_comments(statement)
        at_end = ""
        if comments and source.endswith(comments[-1]):
            before = source[: -len(comments[-1])]
            at_end = before[len(before.rstrip()) :] + comments.pop()
        first, *more = _render_rows(value, spread=statement.end - statement.first > 1)
        new = [f"{self._read_key_text(statement).rstrip()} = {first}", *more]
        self.replace(statement, [*comments, *new[:-1], new[-1] + at_end])

    def replace(self, statement: Statement, lines: Sequence[str]) -> None:
        """Put other lines in a statement's place."""
        self._lines[statement.first : statement.end] = [line + self._newline for line in lines]

    def insert(self, line: int, lines: Sequence[str]) -> None:
        """Add lines before one."""
        self._lines[line:line] = [each + self._newline for each in lines]

    def _get_lines(self, statement: Statement) -> list[str]:
        return self._lines[statement.first : statement.end] or [""]

    def _join_source(self, statement: Statement) -> str:
        return "".join(self._get_lines(statement))

    def _read_key_text(self, statement: Statement) -> str:
        """What stands left of the equals sign."""
        source = self._join_source(statement)
        for place in _find_places(source, "="):
            try:
                tomllib.loads(f"{source[:place]} = 0")
            except ValueError:
                continue
            return source[:place]
        raise ValueError("a statement without a key")

    def _parse_key(self, statement: Statement) -> KeyPath:
        return (*statement.header, *find_innermost(tomllib.loads(f"{self._read_key_text(statement)} = 0")))


def _render_rows(value: object, *, spread: bool) -> list[str]:
    """A value on one line, or, of a list that was `spread` over several, each part of it on its own."""
    if spread and isinstance(value, list | tuple) and value:
        return ["[", *(f"    {format_literal(each)}," for each in value), "]"]
    return [format_literal(value)]


def _find_places(text: str, sign: str) -> Iterator[int]:
    return (place for place, char in enumerate(text) if char == sign)


def _get_value(data: object, path: KeyPath) -> object:
    for name in path:
        data = data[name] if isinstance(data, Mapping) else None
    return data


def _merge(data: dict[str, object], path: KeyPath, value: object) -> None:
    """Put a value into nested tables. Raises ConfigError where something else stands in the way."""
    *tables, name = path
    for step in tables:
        inner = data.setdefault(step, {})
        if not isinstance(inner, dict) or isinstance(step, Position):
            raise _build_too_odd_error(path)
        data = inner
    data[name] = list(value) if isinstance(value, tuple) else value


def _pop(data: object, path: KeyPath) -> None:
    *tables, name = path
    for step in tables:
        data = data.get(step) if isinstance(data, dict) else None
    if not isinstance(data, dict) or name not in data:
        raise ConfigError(f"{format_key(path)} is not set there")
    del data[name]


def _require_same_meaning(text: str, data: Mapping[str, object], path: KeyPath) -> str:
    """The text, if it says exactly what it is to say."""
    try:
        said = tomllib.loads(text)
    except ValueError as error:
        raise _build_too_odd_error(path) from error
    if repr(_drop_empty_tables(said)) != repr(_drop_empty_tables(data)):
        raise _build_too_odd_error(path)
    return text


def _drop_empty_tables(data: object) -> object:
    """The data without empty tables, in one order: a header alone says nothing."""
    if isinstance(data, Mapping):
        inner = {name: _drop_empty_tables(data[name]) for name in sorted(data)}
        return {name: value for name, value in inner.items() if value != {}}
    return [_drop_empty_tables(each) for each in data] if isinstance(data, list) else data


def _build_too_odd_error(path: KeyPath) -> ConfigError:
    return ConfigError(
        f"{format_key(path)} stands in a form that is not edited here without touching more; edit the "
        "file itself"
    )


_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class ConfigFileEdit(Struct, frozen=True):
    """The text of a file before and after a change, and the settings from then on."""

    before: str
    after: str
    loaded: LoadedSettings

    @property
    def changed_lines(self) -> tuple[str, ...]:
        """The lines that went, after `-`, and those that came, after `+`, as they are in the file."""
        compared = difflib.unified_diff(self.before.splitlines(), self.after.splitlines(), lineterm="", n=0)
        lines = list(compared)[2:]  # the first two name the files
        return tuple(line for line in lines if not line.startswith("@@"))


class _PreparedEdit(Struct, frozen=True):
    """The bytes of a file, None where there is none, those that take their place, and the same as text."""

    before: bytes | None
    after: bytes
    edit: ConfigFileEdit


class ConfigFile(Struct, frozen=True):
    """One file of settings, there or not. `load` answers the settings as if that text were in the file; it
    raises ConfigError for what the loader refuses, and then nothing is written. `follows_links`: a link in its
    place is the person's own, and the file it leads to is changed; else it is somebody else's, and refused."""

    path: Path
    load: Callable[[TomlFile], LoadedSettings]
    follows_links: bool = True

    def set(self, key: KeyPath, value: object) -> LoadedSettings:
        """Give one key this value; the settings from now on. Blocks. Raises ConfigError, and then nothing is
        changed."""
        return self._change(lambda text: set_toml_value(text, key, value)).loaded

    def unset(self, key: KeyPath) -> LoadedSettings:
        """Take one key out. Answers and raises as `set` does."""
        if not is_present(self.path):
            raise ConfigError(f"{escape_path(self.path)} does not exist, and so sets nothing")
        return self._change(lambda text: remove_toml_value(text, key)).loaded

    def preview(self, values: Mapping[KeyPath, object]) -> ConfigFileEdit:
        """What `set_all` would change; nothing is written. Blocks. Raises ConfigError as it does."""
        return self._prepare(_build_setter(values)).edit

    def set_all(self, values: Mapping[KeyPath, object], *, seen: ConfigFileEdit) -> ConfigFileEdit:
        """Give several keys their values, all or none, if that changes what was `seen`. Raises as `set`."""
        prepared = self._prepare(_build_setter(values))
        if (prepared.edit.before, prepared.edit.after) != (seen.before, seen.after):
            raise ConfigError(f"{escape_path(self.path)} was changed meanwhile and is left as it is; try again")
        return self._write(prepared)

    def append_tables(self, name: str, tables: Sequence[Mapping[str, object]]) -> LoadedSettings:
        """Add tables to an array of tables, all or none. Raises as `set` does."""

        def append(text: str) -> str:
            for table in tables:
                text = append_toml_table(text, name, table)
            return text

        return self._change(append).loaded

    def holds_table(self, table: KeyPath) -> bool:
        """Whether the file has a table of this name, whatever becomes of it. Blocks. Raises ConfigError."""
        inside: object = TomlFile.parse(self.path, _read_content(self.path) or b"").data
        for name in table:
            inside = inside.get(name) if isinstance(inside, Mapping) else None
        return isinstance(inside, Mapping)

    def remove_table(self, table: KeyPath) -> ConfigFileEdit:
        """Take a table out with all that is in it. Raises as `set` does."""
        return self._change(lambda text: remove_toml_table(text, table))

    def _change(self, edit: Callable[[str], str]) -> ConfigFileEdit:
        return self._write(self._prepare(edit))

    def _prepare(self, edit: Callable[[str], str]) -> _PreparedEdit:
        if not self.follows_links and self.path.is_symlink():
            raise ConfigError(
                f"{escape_path(self.path)} is a link, so that another file would be changed; "
                "change that one itself, or put a file in the link's place"
            )
        before = _read_content(self.path)
        present = TomlFile.parse(self.path, before or b"")
        mark = codecs.BOM_UTF8 if (before or b"").startswith(codecs.BOM_UTF8) else b""
        try:
            after = mark + edit(present.text).encode()
        except ConfigError as error:
            raise ConfigError(f"{escape_path(self.path)}: {error}") from error
        except UnicodeEncodeError as error:
            raise ConfigError("the value is not valid Unicode and cannot be written") from error
        loaded = self.load(TomlFile.parse(self.path, after))
        change = ConfigFileEdit(present.text, after.removeprefix(mark).decode(), loaded)
        return _PreparedEdit(before, after, change)

    def _write(self, prepared: _PreparedEdit) -> ConfigFileEdit:
        target = Path(os.path.realpath(self.path)) if self.follows_links else self.path
        if prepared.after != prepared.before:
            try:
                replace_content(self.path, target, prepared.before, prepared.after)
            except OSError as error:
                raise ConfigError(
                    f"{escape_path(self.path)} cannot be written ({error.strerror}); it is as it was"
                ) from error
        return prepared.edit


def _build_setter(values: Mapping[KeyPath, object]) -> Callable[[str], str]:
    def edit(text: str) -> str:
        for key, value in values.items():
            text = set_toml_value(text, key, value)
        return text

    return edit


def _read_content(path: Path) -> bytes | None:
    """What the file holds; None where there is none."""
    if not is_present(path):
        return None
    TomlFile.read(path)  # says what is wrong with it, if anything is
    try:
        return path.read_bytes()
    except OSError as error:
        raise ConfigError(f"{escape_path(path)} cannot be read: {error.strerror}") from error


def replace_content(path: Path, target: Path, before: bytes | None, after: bytes) -> None:
    """Put a content in the place of what was read, so that there is always the old one or the new one, whole.

    `target` is where that file lies: a link to it stays a link, and the mode stays. Raises ConfigError where
    the file is another by now.
    """
    if before is None:
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
    descriptor = os.open(temporary, _NEW, 0o600)
    try:
        with open(descriptor, "wb") as file:
            file.write(after)
            file.flush()
            if before is not None:
                status = target.stat()
                with suppress(PermissionError):  # a group that is not the person's own cannot be given
                    os.fchown(file.fileno(), -1, status.st_gid)
                os.fchmod(file.fileno(), status.st_mode & 0o777)
            os.fsync(file.fileno())
        if (path.read_bytes() if is_present(path) else None) != before:
            raise ConfigError(f"{escape_path(path)} was changed meanwhile and is left as it is; try again")
        os.replace(temporary, target)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise
    sync_names(target.parent)
