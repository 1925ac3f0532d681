"""The hooks of Claude Code: those that run here are taken over as the commands they are, the others named.

A command that may run a file of whatever folder is open is never taken over: a hook has the person's rights,
and the folder may be a stranger's.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping

from quorum.domain.importing.takeover_item import TakeoverItem, TakeoverKind
from quorum.infrastructure.config.foreign.foreign_file import ForeignFile, read_table
from quorum.infrastructure.config.toml_text import escape_unprintable, shorten_text
from quorum.infrastructure.hooks.claude_dialect import CLAUDE_EVENTS, find_matcher_problem
from quorum.infrastructure.importing.places import ImportPlaces

_KNOWN_KEYS = frozenset({"type", "command", "args", "timeout", "statusMessage", "async"})
_MEANINGS: Mapping[str, str] = {
    "PreToolUse": "it can deny and change calls; what it allows is decided on as any other",
    "PermissionRequest": "it can deny, and what it would allow is asked",
    "Stop": "it can make a turn go on, also one of a subagent",
}
_GATE = "quorum gate "
_IS_OWN = "it is quorum's own, for the calls of Claude Code"
_USUAL_TIMEOUT, _MOST_TIMEOUT = 60.0, 3600.0
_PLAIN = re.compile(r"""[\w@%+=:,./ ~'"-]+""", re.ASCII)
_SEPARATORS = re.compile(r"[\s;&|<>()`\"'={}]+")
_FIXED = ("/", "~/", "$HOME/", "${HOME}/")
_SCRIPT = re.compile(r".+\.(py|sh|bash|zsh|fish|js|cjs|mjs|ts|rb|pl|php|lua|ps1)", re.IGNORECASE)
_SHELLS = ("sh", "bash", "dash", "zsh", "fish")
# Programs that read what the working directory holds as code: scripts, modules, recipes, settings.
_RUNNERS = frozenset(
    {
        *_SHELLS,
        *("env", "source", ".", "exec", "nohup", "sudo", "xargs", "time", "timeout", "nice"),
        *("python", "node", "deno", "bun", "ruby", "perl", "php", "lua", "tsx", "ts-node", "pwsh"),
        *(
            "uv",
            "uvx",
            "pipx",
            "pipenv",
            "poetry",
            "npm",
            "npx",
            "pnpm",
            "pnpx",
            "yarn",
            "bunx",
            "bundle",
            "rake",
        ),
        *(
            "make",
            "cmake",
            "ninja",
            "just",
            "task",
            "cargo",
            "go",
            "mvn",
            "gradle",
            "docker",
            "git",
            "hg",
            "svn",
        ),
    }
)


def find_claude_hooks(file: ForeignFile, places: ImportPlaces) -> Iterator[TakeoverItem]:
    """All hooks of a file of settings, each with what it becomes here."""
    are_off = file.data.get("disableAllHooks") is True
    for event, groups in read_table(file.data, "hooks").items():
        place, named = file.locate(event), escape_unprintable(str(event))[:60]
        if isinstance(groups, list) and groups and all(map(_is_gate, groups)):
            there = f"{named}: {_GATE.strip()}"
            yield TakeoverItem(kind=TakeoverKind.HOOK, there=there, place=place, why=_IS_OWN)
            continue
        if event not in CLAUDE_EVENTS or are_off:
            count = len(groups) if isinstance(groups, list) else 1
            why = (
                "hooks are switched off there"
                if are_off
                else "hooks of this event do not run here; write your own: docs/hooks.md"
            )
            yield TakeoverItem(kind=TakeoverKind.HOOK, there=f"{named} ({count})", place=place, why=why)
            continue
        for group in groups if isinstance(groups, list) else (groups,):
            matcher = group.get("matcher", "") if isinstance(group, dict) else ""
            entries = group.get("hooks") if isinstance(group, dict) else None
            for entry in entries if isinstance(entries, list) else (entries,):
                yield _translate(str(event), matcher, entry, place, places)


def _is_gate(group: object) -> bool:
    """Whether all hooks of a group ask quorum."""
    entries = group.get("hooks") if isinstance(group, dict) else None
    return (
        isinstance(entries, list)
        and bool(entries)
        and all(isinstance(entry, dict) and _GATE in str(entry.get("command", "")) for entry in entries)
    )


def _translate(event: str, matcher: object, entry: object, place: str, places: ImportPlaces) -> TakeoverItem:
    given = entry if isinstance(entry, Mapping) else {}
    text = given.get("command")
    there = f"{event}: {shorten_text(escape_unprintable(text)) if isinstance(text, str) else '-'}"

    def name(why: str) -> TakeoverItem:
        return TakeoverItem(kind=TakeoverKind.HOOK, there=there, place=place, why=why)

    if given.get("type", "command") != "command" or not isinstance(text, str) or not text.strip():
        return name("only commands run here")
    if unknown := sorted(set(map(str, given)) - _KNOWN_KEYS):
        return name(f"quorum does not know its {escape_unprintable(unknown[0])[:60]}")
    if not isinstance(matcher, str) or find_matcher_problem(matcher):
        return name("its matcher is not understood")
    args = given.get("args", [])
    if not isinstance(args, list) or not all(isinstance(each, str) for each in args):
        return name("its args are not understood")
    if _GATE in text:
        return name(_IS_OWN)
    if may_run_open_folder(" ".join([text, *args])):
        return name("it may run a file of whatever folder is open; write your own: docs/hooks.md")
    command = [text, *args] if "args" in given else _split_command(text)
    table: dict[str, object] = {
        "event": CLAUDE_EVENTS[event].value,
        "command": command,
        "dialect": "claude",
        **({"matcher": matcher} if matcher not in ("", "*") else {}),
        "timeout_secs": _read_timeout(given.get("timeout")),
    }
    here = f"[[hooks]] {table['event']}: {shorten_text(escape_unprintable(shlex.join(command)), 200)}"
    if any(all(_as_list(known.get(key)) == value for key, value in table.items()) for known in places.hooks):
        return TakeoverItem(kind=TakeoverKind.HOOK, there=there, place=place, here=here, why="is here already")
    why = f"runs with your rights; {_MEANINGS.get(event, 'in its own form')}"
    return TakeoverItem(kind=TakeoverKind.HOOK, there=there, place=place, here=here, why=why, hook=table)


def may_run_open_folder(text: str) -> bool:
    """Whether a command line may run what the working directory holds: by a relative path, by the variable of
    the project's folder, or as the script of an interpreter."""
    if "CLAUDE_PROJECT_DIR" in text or "CLAUDE_PLUGIN_ROOT" in text or "$PWD" in text or "$(" in text:
        return True
    words = [word for word in _SEPARATORS.split(text) if word]
    for before, word in zip(["", *words], words, strict=False):
        if word.startswith(_FIXED) or "://" in word:
            continue
        runner = before.rpartition("/")[2].rstrip(".0123456789")
        is_shell_text = word == "-c" and runner in _SHELLS
        if "/" in word or _SCRIPT.fullmatch(word) or (runner in _RUNNERS and not is_shell_text):
            return True
    return False


def _as_list(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value


def _split_command(text: str) -> list[str]:
    """The words of a command; of one that needs a shell, the shell and it."""
    if _PLAIN.fullmatch(text):
        try:
            words = shlex.split(text)
        except ValueError:
            words = []
        if words and not any(word.startswith("~") for word in words[1:]) and "=" not in words[0]:
            return words
    return ["sh", "-c", text]


def _read_timeout(given: object) -> float:
    if isinstance(given, int | float) and not isinstance(given, bool) and given > 0:
        return min(float(given), _MOST_TIMEOUT)
    return _USUAL_TIMEOUT
