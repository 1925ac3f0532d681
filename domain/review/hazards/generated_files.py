"""Deletions that lose nothing that cannot be made again: what tools generate, what is empty, what is temporary.

Changes of rights below the current folder are here too: they lose nothing, and can be taken back.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from quorum.domain.replacing import replace
from quorum.domain.review.hazards.invocation import Invocation
from quorum.domain.review.hazards.places import is_remade, is_temporary
from quorum.domain.review.hazards.selection import is_plain_find, is_selected_by_words
from quorum.domain.shell.script import Script
from quorum.domain.text.paths import is_below_any

_UNMISTAKABLE = frozenset(
    {
        *("node_modules", "bower_components", "target", "coverage", "__pycache__", ".venv", "venv"),
        *(".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis", ".tox", ".nox", ".eggs", "htmlcov"),
        *(".next", ".nuxt", ".turbo", ".parcel-cache", ".svelte-kit", ".angular", ".gradle", ".dart_tool"),
        *(".nyc_output", ".vite", ".output"),
    }
)
_FOLDERS = _UNMISTAKABLE | {"out"}
_BUILT = frozenset({"build", "dist"})
"""Often these hold what people write, unless the script itself makes them again."""
_BUILDERS = re.compile(
    r"(mkdir|make|gmake|cmake|meson|ninja|tsc|vite|webpack|rollup|esbuild|parcel|hatch|mvnw?|gradlew?)"
    r"|(npm|pnpm|yarn|bun|npx|poetry|uv|cargo|go|python3?|docker|mkdocs|dotnet|swift|flutter) .*build.*"
)
_FILES = re.compile(r"(\*|[\w.+-]+)\.(egg-info|tsbuildinfo|pyc|pyo)|\*\.(o|obj|class)|\*~|(?i:\.ds_store)")
_EMPTY_SIZES = re.compile(r"0[bckMG]?")
_REVERSIBLE = frozenset({"chmod", "chown", "chgrp"})
_TOP = re.compile(r"tmp/[^/]+/?$")
_NEGATIONS = frozenset({"!", "-not"})
_NAME = re.compile(r"[\w@.+][\w@.+-]*")
_FLAGS = re.compile(r"-[rRfv]+|--(?:recursive|force|verbose)")
_CLEANS = re.compile(r"-[dfqxX]+|--quiet")
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
    if run.program in ("rm", "git"):
        words = run.arguments if run.program == "rm" else _find_cleaned(run)
        names = [word for word in words if not _FLAGS.fullmatch(word)]
        is_spared = (
            bool(names)
            and not (run.wrappers or run.in_loop)
            and all(
                is_generated(name) or (name.rstrip("/").removeprefix("./") in _BUILT and _builds(script))
                for name in names
            )
        )
    else:
        is_spared = run.program in _SEARCHERS and "-delete" in run.arguments and _finds_only_generated(run)
    return is_spared and stays_in_workspace(script)


def _builds(script: Script) -> bool:
    started = (each.words for each in script.commands if each.words)
    return any(
        _BUILDERS.fullmatch(words[0].rpartition("/")[2]) or _BUILDERS.fullmatch(" ".join(words))
        for words in started
    )


def deletes_only_empty(run: Invocation, script: Script) -> bool:
    """Whether a command deletes nothing but what is empty, which a find below the current folder lists."""
    if run.program in _SEARCHERS:
        return "-delete" in run.arguments and _finds_only_empty(run.arguments) and stays_in_workspace(script)
    words = [word for word in run.arguments if word not in ("{}", "--")]
    return (
        run.program in ("rm", "rmdir", "unlink")
        and run.in_loop
        and all(word in ("-f", "-v", "-d") for word in words)
        and all(
            (command.words[0] == "xargs" and "-0" in command.words and _prints_nulls(script))
            or _finds_only_empty(command.words[1:])
            for command in script.commands
        )
        and is_selected_by_words(
            [replace(command, words=_drop_negated(command.words)) for command in script.commands]
        )
    )


def _prints_nulls(script: Script) -> bool:
    """Whether no name that is found can be read as two."""
    return all("-print0" in command.words for command in script.commands if command.words[:1] == ("find",))


def deletes_only_temporary(run: Invocation, roots: Sequence[str]) -> bool:
    """Whether `rm` deletes nothing but what it names in full below the folder for temporary files.

    Workspaces may lie there too. What a link in that folder leads to has further parts in its name.
    """
    names = [word for word in run.arguments if not _FLAGS.fullmatch(word)]
    return (
        run.program == "rm"
        and bool(names)
        and not run.in_loop
        and all(is_temporary(name, roots) and _TOP.search(name) for name in names)
        and not any(is_below_any(root, [name.rstrip("/") for name in names]) for root in roots)
    )


def changes_rights_inside(run: Invocation, script: Script, roots: Sequence[str]) -> bool:
    """Whether a command changes the rights of named files and folders alone that are below the current one, or
    are temporary."""
    if run.program not in _REVERSIBLE or run.wrappers or run.in_loop:
        return False
    names = [word for word in run.arguments if not word.startswith("-")][1:]
    return (
        bool(names)
        and all(_is_inside(name) or is_temporary(name, roots) for name in names)
        and stays_in_workspace(script)
    )


def changes_only_folders(run: Invocation, script: Script) -> bool:
    """Whether `chmod` changes folders alone, which a find lists: their special bits give nobody any rights."""
    if run.program != "chmod" or not run.in_loop:
        return False
    searches = [command.words for command in script.commands if command.words[:1] == ("find",)]
    is_of_folders = all(" -type d " in f"{' '.join(words)} " for words in searches)
    return bool(searches) and is_of_folders and is_selected_by_words(script.commands)


def deletes_only_what_is_remade(run: Invocation) -> bool:
    """Whether a use of `rm` deletes caches alone; xargs and the like give it further names."""
    is_given_names = bool({"xargs", "parallel"}.intersection(run.wrappers))
    return (
        run.program == "rm"
        and bool(run.operands)
        and not is_given_names
        and all(is_remade(word) for word in run.operands)
    )


def fill_in_generated(run: Invocation, whole: Invocation) -> Invocation:
    """A deletion with a name in place of `{}`, where the search that starts it finds generated files alone."""
    starts = run.program == "rm" and run.in_loop and whole.program in _SEARCHERS
    if not (starts and "{}" in run.arguments and _finds_only_generated(whole)):
        return run
    name = next(whole.find_values("-name", "-iname"))
    return replace(
        run, arguments=tuple(name if word == "{}" else word for word in run.arguments), in_loop=False
    )


def _find_cleaned(run: Invocation) -> Sequence[str]:
    """The flags and paths of `git clean`, which without paths deletes what nobody can make again: .env."""
    return (
        [word for word in run.arguments[1:] if not _CLEANS.fullmatch(word)]
        if run.arguments[:1] == ("clean",)
        else ()
    )


def _finds_only_generated(search: Invocation) -> bool:
    words = [word for word in search.arguments if word != "-prune"]
    start = next((place for place, word in enumerate(words) if word.startswith("-")), len(words))
    names = (*search.find_values("-name", "-iname"),)
    # Folders named target or out may be written by hand deep in a source tree.
    is_known = bool(names) and all(
        is_remade(name) or name == "node_modules" or _FILES.fullmatch(name) for name in names
    )
    return is_known and all(map(_is_inside, words[:start])) and is_plain_find(words)


def _finds_only_empty(words: Sequence[str]) -> bool:
    plain = _drop_negated(words)
    start = next((place for place, word in enumerate(words) if word.startswith(("-", "!"))), len(words))
    sizes = (plain[place + 1] for place, word in enumerate(plain[:-1]) if word == "-size")
    is_empty = "-empty" in plain or any(map(_EMPTY_SIZES.fullmatch, sizes))
    return is_empty and all(map(_is_inside, words[:start])) and is_plain_find(plain)


def _drop_negated(words: Sequence[str]) -> tuple[str, ...]:
    """The words of a find without its negated tests of names, which only make the selection smaller."""
    kept: list[str] = []
    place = 0
    while place < len(words):
        if words[place] in _NEGATIONS and words[place + 1 : place + 2] in (("-path",), ("-name",)):
            place += 3
        else:
            kept.append(words[place])
            place += 1
    return tuple(kept)


def is_generated(path: str) -> bool:
    """Whether a relative path is that of something that tools make from other files."""
    *folders, name = path.rstrip("/").split("/")
    if "*" in name:
        is_known = is_remade(name) or _FILES.fullmatch(name) is not None
        return is_known and (not folders or _is_inside("/".join(folders)))
    is_made = name in _FOLDERS or not _UNMISTAKABLE.isdisjoint(folders) or is_remade(path)
    return (is_made or _FILES.fullmatch(name) is not None) and _is_inside(path)


def stays_in_workspace(script: Script) -> bool:
    """Whether relative paths in a script are those of the folder that it begins in, or of one below."""
    return all(_stays(each.words, each.assignments) for each in script.commands)


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
        case ("cd" | "pushd", folder):
            return _is_inside(folder)
        case ("popd",):  # without a folder that was pushed it fails
            return True
        case (program, *_):
            return program not in (*_LEADS_AWAY, "cd") and not program.startswith(("$", "`"))
        case _:
            return False
