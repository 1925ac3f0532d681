"""The Markdown files of one kind, such as commands: the folders that have them, and their
frontmatter.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, field

from quorum.domain.instructions.instruction import InstructionScope
from quorum.domain.text.fuzzy import find_nearest_word
from quorum.domain.text.pattern import compile_once
from quorum.infrastructure.config.paths import list_folders_up_to_repository, locate_user_file
from quorum.infrastructure.files.opened_path import read_opened_path, refuse_held

if TYPE_CHECKING:
    import yaml


def read_bytes(
    path: Path,
    *,
    inside: Path | None,
    limit: int,
    is_sensitive: Callable[[str], bool] = lambda _path: False,
) -> bytes | None:
    """The first `limit` bytes of a regular file. Blocks, and never waits for a pipe.

    None where there is none, it cannot be read, or it is sensitive or lies elsewhere than `inside` once links
    are followed.
    """

    def may_be_read(found: str) -> bool:
        return (inside is None or Path(found).is_relative_to(inside)) and not is_sensitive(found)

    try:
        canonical = Path(os.path.realpath(path))  # raises where a link is changed while it is followed
        if not may_be_read(str(canonical)):
            return None
        refuse_held(canonical)
        descriptor = os.open(canonical, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return None
    try:
        # A link may have been put into the way since it was resolved.
        opened = read_opened_path(descriptor)
        if not stat.S_ISREG(os.fstat(descriptor).st_mode) or not may_be_read(opened or str(canonical)):
            return None
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            return file.read(limit)
    except OSError:
        return None
    finally:
        os.close(descriptor)


def decode_text(data: bytes) -> str:
    """Bytes as text, whatever they are; lines end in a newline alone."""
    return data.decode("utf-8-sig", "replace").replace("\r\n", "\n")


class ContentPlaces:
    """Those that hold in a working directory: `names` in each folder from the project's root to there, then the
    person's own, the same names in their home and `own` beside their settings; none at all if `is_off`."""

    def __init__(
        self, cwd: Path, environ: Mapping[str, str], names: Sequence[str], *, own: str, is_off: bool = False
    ) -> None:
        chain = list_folders_up_to_repository(Path(os.path.realpath(cwd)))[::-1]
        self.project = chain[0]
        self._home = Path(environ["HOME"]) if Path(environ.get("HOME", "")).is_absolute() else None
        own_folders = [self._home / name for name in names] if self._home is not None else []
        if (settings := locate_user_file(environ)) is not None:
            own_folders.append(settings.parent / own)
        # Where the project is the home folder, what is in it is the person's own.
        folders = [folder / name for folder in chain for name in names if folder / name not in own_folders]
        found = (
            *((folder, InstructionScope.PROJECT) for folder in folders),
            *((folder, InstructionScope.USER) for folder in own_folders),
        )
        self.folders = () if is_off else found

    def find_limit(self, scope: InstructionScope) -> Path | None:
        """The folder outside of which nothing of this scope is read; None where there is none."""
        return self.project if scope is InstructionScope.PROJECT else None

    def label(self, path: Path, scope: InstructionScope) -> str:
        """The short form of a path in one of the folders."""
        base = self.project if scope is InstructionScope.PROJECT else self._home
        if base is None or not path.is_relative_to(base):
            return str(path)
        relative = str(path.relative_to(base))
        return relative if scope is InstructionScope.PROJECT else f"~/{relative}"


_SUFFIX = ".md"
_MOST_FILES = 500  # of one folder
_MOST_ENTRIES = 5_000  # that are looked at in it
_DEEPEST = 4


def list_markdown_files(folder: Path) -> Iterator[Path]:
    """The Markdown files below a folder, in order, as many as are read. Linked folders are not entered."""
    waiting, looked_at, given = [folder], 0, 0
    while waiting:
        here = waiting.pop()
        try:
            with os.scandir(here) as listing:
                entries = sorted(
                    (entry for entry, _ in zip(listing, range(_MOST_ENTRIES), strict=False)), key=_derive_name
                )
        except OSError:
            continue
        looked_at += len(entries)
        deeper = []
        for entry in entries:
            if entry.name.startswith("."):
                continue
            if entry.is_dir(follow_symlinks=False):
                deeper.append(here / entry.name)
            elif entry.name.endswith(_SUFFIX):
                if given == _MOST_FILES:
                    return
                given += 1
                yield here / entry.name
        if looked_at > _MOST_ENTRIES:
            return
        if len(here.relative_to(folder).parts) < _DEEPEST:
            waiting += reversed(deeper)


def _derive_name(entry: os.DirEntry[str]) -> str:
    return entry.name


_FENCE = r"(?m)^---[ \t]*$"
_LARGEST = 65_536  # characters
_DEEPEST_VALUE = 32
# One line of a key and a value that is neither quoted nor the beginning of a block.
_PLAIN_LINE = r"(?m)^(?P<key>[A-Za-z][\w-]*):[ \t]+(?P<value>[^\s'\"|>&*!#].*?)[ \t]*$"


class BadFrontmatter(ValueError):
    """It cannot be read; the message says what is wrong. `line` counts from 1, in the whole file."""

    def __init__(self, line: int, problem: str) -> None:
        super().__init__(problem)
        self.line = line


class FrontmatterField(Struct, frozen=True, kw_only=True):
    """One value. `text` is that of a scalar or, of anything else, as it is written; `items` are those of a list
    of scalars. `line` counts from 1, in the whole file."""

    text: str
    line: int
    items: tuple[str, ...] | None = None
    is_table: bool = False


class Frontmatter(Struct, frozen=True):
    """The fields by name, and the text below."""

    body: str
    fields: Mapping[str, FrontmatterField] = field(default_factory=dict)


def parse_frontmatter(text: str) -> Frontmatter:
    """Read a file's frontmatter; a text that does not begin with one has no fields. Raises BadFrontmatter.

    What is not YAML only because a value on one line would need quotes, as in `argument-hint: [file] [name]`,
    is read as if it had them: other agents do so as well.
    """
    if not (begin := compile_once(_FENCE).match(text)):
        return Frontmatter(text)
    if (end := compile_once(_FENCE).search(text, begin.end())) is None:
        raise BadFrontmatter(1, "the frontmatter that begins here has no end; close it with a line ---")
    header, body = text[begin.end() + 1 : end.start()], text[end.end() :].lstrip("\n")
    if len(header) > _LARGEST:
        raise BadFrontmatter(1, f"the frontmatter is longer than {_LARGEST:,} characters")
    try:
        return Frontmatter(body, _parse_fields(header))
    except BadFrontmatter as problem:
        try:
            return Frontmatter(body, _parse_fields(compile_once(_PLAIN_LINE).sub(_quote, header)))
        except BadFrontmatter:
            raise problem from None


def parse_text(given: FrontmatterField | None) -> str:
    """A single value. Raises BadFrontmatter for a list or a table."""
    if given is None:
        return ""
    if given.items is not None or given.is_table:
        raise BadFrontmatter(given.line, "one text is expected here; put it between quotes")
    return given.text


def parse_words(given: FrontmatterField | None) -> tuple[str, ...] | None:
    """The entries of a list, or of a text that separates them by commas or blanks outside of parentheses."""
    if given is None:
        return None
    if given.is_table:
        raise BadFrontmatter(given.line, "a list is expected here")
    entries = given.items if given.items is not None else (given.text,)
    return tuple(part for entry in entries for part in re.findall(r"[^\s,(]+(?:\([^)]*\))?", entry))


def list_unknown_fields(
    file: str, fields: Mapping[str, FrontmatterField], *, used: Sequence[str], without_effect: Collection[str]
) -> Iterator[str]:
    """A sentence for each field that is neither used nor known to have no effect, with the nearest name."""
    for name, each in fields.items():
        if name in used or name in without_effect:
            continue
        near = find_nearest_word(name, used)
        hint = f"did you mean {near}?" if near is not None else f"it knows {', '.join(used)}"
        yield f"{file}, line {each.line}: quorum does not know {name}, and ignores it; {hint}"


def _quote(line: re.Match[str]) -> str:
    value = line["value"].replace("'", "''")
    return f"{line['key']}: '{value}'"


def _parse_fields(header: str) -> dict[str, FrontmatterField]:
    import yaml  # it takes longer to load than most sessions need it

    try:
        _refuse_depth(header)
        root = yaml.compose(header, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 2 if mark is not None else 1
        raise BadFrontmatter(line, f"no YAML: {error.problem or error.context}") from error
    except yaml.reader.ReaderError as error:
        line = header.count("\n", 0, error.position) + 2
        raise BadFrontmatter(line, "no YAML: a character that is not allowed") from error
    except (yaml.YAMLError, RecursionError) as error:
        raise BadFrontmatter(1, "no YAML: it cannot be read") from error
    if root is None:
        return {}
    if not isinstance(root, yaml.MappingNode):
        raise BadFrontmatter(2, "no list of fields; write one KEY: VALUE a line")
    fields: dict[str, FrontmatterField] = {}
    for key, value in root.value:
        line = key.start_mark.line + 2
        if not isinstance(key, yaml.ScalarNode):
            raise BadFrontmatter(line, "a key must be a word")
        if key.value in fields:
            raise BadFrontmatter(line, f"{key.value} stands there twice")
        fields[key.value] = _parse_field(value, header, line)
    return fields


def _parse_field(node: yaml.Node, header: str, line: int) -> FrontmatterField:
    import yaml

    if isinstance(node, yaml.ScalarNode):
        return FrontmatterField(text=str(node.value), line=line)
    written = header[node.start_mark.index : node.end_mark.index].strip()
    if isinstance(node, yaml.SequenceNode) and all(isinstance(item, yaml.ScalarNode) for item in node.value):
        return FrontmatterField(text=written, line=line, items=tuple(str(item.value) for item in node.value))
    return FrontmatterField(text=written, line=line, is_table=True)


def _refuse_depth(header: str) -> None:
    """Raises BadFrontmatter for what is nested so deep that reading it would exhaust the stack."""
    depth = deepest = 0
    for char in header:
        depth += (char in "[{") - (char in "]}")
        deepest = max(deepest, depth)
    blanks = max((len(line) - len(line.lstrip(" -?")) for line in header.splitlines()), default=0)
    if deepest > _DEEPEST_VALUE or blanks > 4 * _DEEPEST_VALUE:
        raise BadFrontmatter(1, f"the frontmatter is nested deeper than {_DEEPEST_VALUE} levels")
