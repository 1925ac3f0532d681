"""The names of files that the shell puts in the place of `*` and `?`."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator

from quorum.domain.replacing import replace
from quorum.domain.review.path_policy import PathPolicy
from quorum.domain.shell.command_line import SimpleCommand
from quorum.domain.shell.command_spec import NotReadOnly
from quorum.domain.text.late_pattern import compile_late
from quorum.infrastructure.files.workspace import escape_path

_MOST_NAMES = 2_000
_MOST_ENTRIES = 20_000
_WILD = compile_late(r"[*?]")


class Globs:
    """Expands the globs of one command line. It looks at a bounded number of files in all."""

    def __init__(self, policy: PathPolicy) -> None:
        self._policy = policy
        self._left = _MOST_ENTRIES

    def expand_globs(self, command: SimpleCommand, folder: str) -> tuple[SimpleCommand, frozenset[str]]:
        """The command as it would run in a folder, and the words that came from globs.

        Raises NotReadOnly where that is not known, and OSError.
        """
        words: list[str] = []
        found: set[str] = set()
        for place, word in enumerate(command.words):
            names = self._list_names(word, folder) if place in command.globs else []
            # A glob that fits no name stays what it is.
            words.extend(names or [word])
            found.update(names)
        if option := next((word for word in sorted(found) if word.startswith("-")), None):
            raise NotReadOnly(f"it takes the file {escape_path(option)} for an option")
        return replace(command, words=tuple(words), globs=frozenset()), frozenset(found)

    def list_loop_names(self, pattern: str, folders: Iterable[str]) -> list[str]:
        """The values of a loop over a glob, in each of these folders. Raises NotReadOnly and OSError."""
        found: set[str] = set()
        for folder in folders:
            # A glob that fits no name stays what it is.
            found.update(self._list_names(pattern, folder) or [pattern])
        if odd := next((name for name in sorted(found) if name.startswith("-") or not name.isascii()), None):
            raise NotReadOnly(f"{escape_path(odd)} may be an option, or no name that {pattern} stands for")
        return sorted(found)

    def _list_names(self, pattern: str, folder: str) -> list[str]:
        fixed = _WILD.split(pattern, maxsplit=1)[0]
        start = os.path.realpath(os.path.join(folder, fixed.rpartition("/")[0]))
        if not self._policy.is_inside(start):
            raise NotReadOnly(f"{pattern} stands for names in {escape_path(start)}, outside the workspace")
        names = sorted(self._walk_below("", pattern.split("/"), folder))
        if len(names) > _MOST_NAMES:
            raise NotReadOnly(f"{pattern} stands for too many names to judge")
        return names

    def _walk_below(self, above: str, parts: list[str], folder: str) -> Iterator[str]:
        """Every path that the parts of a pattern lead to, rather one too many than one too few."""
        part, rest = parts[0], parts[1:]
        names = self._list_entries(os.path.join(folder, above), part) if _WILD.search(part) else [part]
        for name in names:
            path = above + name
            if not rest:
                if _WILD.search(part) or os.path.lexists(os.path.join(folder, path)):
                    yield path
            elif os.path.isdir(os.path.join(folder, path or "/")):
                yield from self._walk_below(f"{path}/", rest, folder)

    def _list_entries(self, folder: str, pattern: str) -> Iterator[str]:
        exact, lax = _build_expression(pattern, "."), _build_expression(pattern, ".*")
        with os.scandir(folder or "/") as entries:
            for entry in entries:
                self._left -= 1
                if self._left < 0:
                    raise NotReadOnly(f"{escape_path(folder)} has too many files to look through")
                if entry.name.startswith("."):
                    continue
                # How many letters another name has depends on the language of the system.
                if (exact if entry.name.isascii() else lax).fullmatch(entry.name):
                    yield entry.name


def _build_expression(pattern: str, one_letter: str) -> re.Pattern[str]:
    wild = {"*": ".*", "?": one_letter}
    return re.compile("".join(wild.get(each) or re.escape(each) for each in pattern), re.DOTALL)
