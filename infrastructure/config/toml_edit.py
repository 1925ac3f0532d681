"""Setting or taking out one key in the text of a TOML file, with everything else left as it stands.

tomlkit is no substitute: it drops the comments within a list and beside a key that goes, puts a new key behind
the comments on the next table, and takes five times as long on the reference file.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence

from quorum.domain.errors import ConfigError
from quorum.infrastructure.config.toml_statements import Statement, find_innermost, parse_statements
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
