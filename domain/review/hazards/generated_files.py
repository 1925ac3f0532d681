"""Deletion of folders in the workspace that tools generate from other files."""

from __future__ import annotations

import re
from collections.abc import Sequence

from quorum.domain.replacing import replace
from quorum.domain.review.hazards.invocation import Invocation
from quorum.domain.review.hazards.places import is_remade
from quorum.domain.review.hazards.selection import is_plain_find
from quorum.domain.shell.script import Script

# A folder named build often holds scripts that people write, and is asked about.
_FOLDERS = frozenset(
    {
        *("node_modules", "bower_components", "target", "out", "coverage", "__pycache__"),
        *(".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis", ".tox", ".nox", ".eggs", "htmlcov"),
        *(".next", ".nuxt", ".turbo", ".parcel-cache", ".svelte-kit", ".angular", ".gradle", ".dart_tool"),
    }
)
_NAME = re.compile(r"[\w@.+][\w@.+-]*")
_FLAGS = re.compile(r"-[rRfv]+|--(?:recursive|force|verbose)")
_SEARCHERS = frozenset({"find", "gfind", "bfs"})
# What may lead a later relative path out of the workspace.
_LEADS_AWAY = frozenset(
    {"pushd", "popd", "chdir", "source", ".", "eval", "ln", "mv", "mount", "alias", "shopt", "sudo"}
)
_STARTERS = frozenset({"command", "builtin", "exec", "time", "!"})


def deletes_only_generated(run: Invocation, script: Script) -> bool:
    """Whether a command deletes nothing but generated folders below the folder that its script begins in.

    The names are relative and stand there in full.
    """
    if run.program == "rm":
        names = [word for word in run.arguments if not _FLAGS.fullmatch(word)]
        is_spared = (
            bool(names)
            and not (run.wrappers or run.in_loop)
            and all(is_remade(name) if "*" in name else _is_generated(name) for name in names)
        )
    else:
        is_spared = run.program in _SEARCHERS and "-delete" in run.arguments and _finds_only_generated(run)
    return is_spared and all(_stays(each.words, each.assignments) for each in script.commands)


def fill_in_generated(run: Invocation, whole: Invocation) -> Invocation:
    """A deletion with a name in place of `{}`, where the search that starts it finds generated files alone."""
    starts = run.program == "rm" and run.in_loop and whole.program in _SEARCHERS
    if not (starts and "{}" in run.arguments and _finds_only_generated(whole)):
        return run
    name = next(whole.find_values("-name", "-iname"))
    return replace(
        run, arguments=tuple(name if word == "{}" else word for word in run.arguments), in_loop=False
    )


def _finds_only_generated(search: Invocation) -> bool:
    words = [word for word in search.arguments if word != "-prune"]
    start = next((place for place, word in enumerate(words) if word.startswith("-")), len(words))
    names = (*search.find_values("-name", "-iname"),)
    # Folders named target or out may be written by hand deep in a source tree.
    is_known = bool(names) and all(is_remade(name) or name == "node_modules" for name in names)
    return is_known and all(map(_is_inside, words[:start])) and is_plain_find(words)


def _is_generated(path: str) -> bool:
    return _is_inside(path) and path.rstrip("/").rpartition("/")[2] in _FOLDERS


def _is_inside(path: str) -> bool:
    parts = path.rstrip("/").split("/") if path != "/" else [""]
    return all(part != ".." and _NAME.fullmatch(part) for part in parts)


def _stays(words: Sequence[str], assignments: Sequence[str]) -> bool:
    """Whether relative paths behind a command are still those of the same workspace."""
    while words and words[0] in _STARTERS:
        words = words[1:]
    if any(each.startswith("CDPATH") for each in assignments):
        return False
    match words:
        case ():
            return True
        case ("cd", folder):
            return _is_inside(folder)
        case (program, *_):
            return program not in (*_LEADS_AWAY, "cd") and not program.startswith(("$", "`"))
        case _:
            return False
