"""Files that have other programs start something: what a layer plants there runs later, where no layer is."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase

from quorum.domain.text.pattern import compile_once

# By the run of names that ends a path, or that stands anywhere in it where it ends in a slash.
_RUN_BY: Mapping[str, tuple[str, ...]] = {
    "git": (
        *(".git/hooks/", ".githooks/", ".husky/", ".lefthook/", "lefthook.*", ".lefthook.*"),
        *(".pre-commit-config.yaml", ".pre-commit-config.yml", ".overcommit.yml", ".simple-git-hooks.*"),
    ),
    "direnv": (".envrc",),
    "mise": ("mise.toml", ".mise.toml", ".mise/"),
    "make": ("Makefile", "makefile", "GNUmakefile", "*.mk"),
    "just": ("justfile", "Justfile", ".justfile"),
    "task": ("Taskfile.yml", "Taskfile.yaml"),
    "rake": ("Rakefile",),
    "cmake": ("CMakeLists.txt",),
    "cargo": ("build.rs", ".cargo/"),
    "gradle": ("build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts", "gradlew"),
    "python": ("sitecustomize.py", "usercustomize.py", "*.pth", "setup.py"),
    "pytest": ("conftest.py",),
    "nox": ("noxfile.py",),
    "npm": (".npmrc", ".pnpmfile.cjs", ".yarnrc.yml", ".yarn/plugins/", ".yarn/releases/"),
    "an editor": (
        *(".vscode/tasks.json", ".vscode/settings.json", ".vscode/launch.json", ".idea/", ".zed/"),
        *(".devcontainer/", ".devcontainer.json", ".exrc", ".nvim.lua", ".nvimrc", ".dir-locals.el"),
    ),
}
_PLACES = tuple((place, runner) for runner, places in _RUN_BY.items() for place in places)
_BY_NAME = {place: runner for place, runner in _PLACES if not {*place} & {*"*/"}}
_OTHERS = tuple((place, runner) for place, runner in _PLACES if place not in _BY_NAME)
_SECTION = r'\[\s*([\w.-]+)(?:\s+"((?:[^"\\]|\\.)*)")?\s*\]\s*(.*)'
_SETTING = r"([A-Za-z][\w-]*)\s*(?:=\s*(.*))?"
# Of git, all in small letters; `*` stands for the name of a section.
_STARTING_KEYS = (
    *("core.fsmonitor", "core.hookspath", "core.editor", "core.pager", "core.sshcommand", "core.askpass"),
    *("core.gitproxy", "core.alternaterefscommand", "sequence.editor", "diff.external", "diff.*.command"),
    *("diff.*.textconv", "filter.*.clean", "filter.*.smudge", "filter.*.process", "merge.*.driver", "alias.*"),
    *("credential.helper", "credential.*.helper", "gpg.program", "gpg.*.program", "pager.*", "include.path"),
    *("includeif.*.path", "interactive.difffilter", "mergetool.*.cmd", "difftool.*.cmd", "remote.*.uploadpack"),
    *("remote.*.receivepack", "uploadpack.packobjectshook", "submodule.*.update", "browser.*.cmd", "man.*.cmd"),
)
_UNREADABLE = (
    "git may not be able to read it, and later commits of subagents wait then: leave it out, or have it mended "
    "before you apply"
)


def may_plant(path: str) -> bool:
    """Whether a file of this name, relative to the workspace, may have others start something."""
    return (
        bool(_find_runner(path))
        or path.rpartition("/")[2] in ("package.json", ".gitattributes")
        or _is_git(path)
    )


def describe_planted(path: str, before: bytes, after: bytes) -> tuple[str, ...]:
    """What the new content of a file, relative to the workspace, has other programs start that the former one
    does not, a clause each."""
    if after == before or not may_plant(path):
        return ()
    name = path.rpartition("/")[2]
    if _is_git(path):
        return tuple(_describe_git_settings(before, after))
    if name == "package.json":
        old, new = _read_scripts(before), _read_scripts(after)
        changed = sorted(key for key, text in new.items() if old.get(key) != text)
        return (f"adds what npm runs: {', '.join(changed)}",) if changed else ()
    if name == ".gitattributes":
        drives = any(f"{word}=" in after.decode("utf-8", "replace") for word in ("filter", "diff", "merge"))
        return ("has git drive files through programs of its settings",) if drives else ()
    runner = _find_runner(path)
    return (f"{'changes' if before else 'adds'} a program that {runner} runs",)


def _find_runner(path: str) -> str:
    names = path.split("/")
    if path.startswith(".git/hooks/") and path.endswith(".sample"):
        return ""
    if runner := _BY_NAME.get(names[-1]):
        return runner
    return next((runner for place, runner in _OTHERS if _fits(names, place)), "")


def _fits(names: list[str], place: str) -> bool:
    wanted = place.rstrip("/").split("/")
    places = range(len(names) - len(wanted) + 1) if place.endswith("/") else (len(names) - len(wanted),)
    return any(
        at >= 0 and all(map(fnmatchcase, names[at : at + len(wanted)], wanted))
        for at in places
        if not place.endswith("/") or at + len(wanted) < len(names)
    )


def _is_git(path: str) -> bool:
    return path in (".git/config", ".git/config.worktree") or path.rpartition("/")[2] == ".gitconfig"


def _describe_git_settings(before: bytes, after: bytes) -> Iterator[str]:
    old, _ = _read_settings(before)
    new, is_whole = _read_settings(after)
    changed = dict.fromkeys(key for key, value in new if (key, value) not in old and _starts_something(key))
    if changed:
        yield f"has git run programs: {', '.join(changed)}"
    if not is_whole:
        yield _UNREADABLE


def _read_settings(content: bytes) -> tuple[list[tuple[str, str]], bool]:
    """The settings of a file of git, each with its whole name, and whether every line could be read."""
    found: list[tuple[str, str]] = []
    section, is_whole = "", True
    text = content.decode("utf-8", "replace").replace("\\\n", " ")
    for line in map(str.strip, text.split("\n")):
        rest = line
        if heading := compile_once(_SECTION).fullmatch(rest):
            section, rest = ".".join(filter(None, (heading[1].lower(), heading[2]))), heading[3]
        if not rest or rest[0] in "#;":
            continue
        setting = compile_once(_SETTING).fullmatch(rest)
        if setting is None or not section:
            is_whole = False
            continue
        found.append((f"{section}.{setting[1].lower()}", setting[2] or ""))
    return found, is_whole


def _starts_something(key: str) -> bool:
    return any(fnmatchcase(key.lower(), pattern) for pattern in _STARTING_KEYS)


def _read_scripts(content: bytes) -> Mapping[str, object]:
    try:
        scripts = json.loads(content).get("scripts")
    except (ValueError, AttributeError, RecursionError):
        return {}
    return scripts if isinstance(scripts, dict) else {}
