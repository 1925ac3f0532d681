"""What a shell text starts besides its plain commands, for rules that forbid or ask.

Plain commands are known word by word. Where a text is more than that, a rule may still be sure to fit: words
that nothing expands stand as written, and a text that a shell is given is one to look through like any other.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from quorum.domain.review.command_pattern import SHELLS, list_evaluations
from quorum.domain.shell.command_line import UNKNOWN_WORDS, StartedCommands
from quorum.domain.shell.script import ReadScript, Script, ScriptCommand

_DEEPEST = 8  # texts that run texts
_MOST_TEXTS = 50
_EXPANDED = re.compile(r"[$`*?\0]|\[[^\]]*\]|\{[^}]*(?:,|\.\.)[^}]*\}|[<>]\(")
_SUBSTITUTED = re.compile(r"[$`\0]")
_BRACES = re.compile(r"\{([A-Za-z0-9_./-]+(?:,[A-Za-z0-9_./-]+)+)\}")
_VARIABLE = re.compile(r"\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)\})")
# What may give a variable another value, and what changes the folder.
_ASSIGNS = re.compile(
    r"=|\b(?:read|readarray|mapfile|getopts|printf|eval|source|for|select|unset)\b|(?:^|\s)\.\s"
)
_PLAIN_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=(?:[\w./,:@%+-]+|'[\w./,:@%+-]+'|\"[\w./,:@%+-]+\")")
_FIRST_ASSIGNMENTS = re.compile(
    r"\s*(?:[A-Za-z_]\w*=(?:[\w./,:@%+-]+|'[\w./,:@%+-]+'|\"[\w./,:@%+-]+\")\s*(?:;|\n|&&)\s*)+"
)
_CHANGES = re.compile(
    r"\b(?:read|readarray|mapfile|getopts|printf|eval|source|for|select|unset|coproc|IFS)\b|(?:^|[\s;&|(])\.\s"
)
_CHANGES_FOLDER = re.compile(r"\b(?:cd|pushd|popd)\b")
_ONE_WORD = re.compile(r"/[A-Za-z0-9_./,:=@%+-]*")
_COMMAND_OPTION = re.compile(r"-[a-zA-Z]*c[a-zA-Z]*")
_STREAMS = ("<(", "/dev/stdin", "/dev/fd/", "/proc/self/fd/")
_FORMATS = frozenset({"%s", "%s\\n", "%s\n"})


def list_started_commands(
    text: str, read_script: ReadScript, paths: Mapping[str, str], *, is_exact: bool
) -> StartedCommands:
    """The commands of a text, and of the texts that these run.

    `paths` are the variables that hold a path, such as HOME. `is_exact` says that programs get all words as
    they are written in the text itself; its own commands are then left out.
    """
    if _ASSIGNS.search(text):
        paths = {}
    elif _CHANGES_FOLDER.search(text):
        paths = {name: path for name, path in paths.items() if name != "PWD"}
    values = {name: path for name, path in paths.items() if _ONE_WORD.fullmatch(path)} or _find_values(text)
    return _Reading(read_script, values).read(text, is_exact=is_exact)


def _find_values(text: str) -> Mapping[str, str]:
    """The values that a text gives variables before all else, each a plain word, if nothing changes them later.

    An assignment further on may not happen, and then the variable holds what it did before.
    """
    begun = _FIRST_ASSIGNMENTS.match(text)
    pairs = [each.split("=", 1) for each in _PLAIN_ASSIGNMENT.findall(begun[0])] if begun else []
    values = {name: value.strip("'\"") for name, value in pairs}
    rest = text[begun.end() :] if begun else ""
    is_changed = _CHANGES.search(rest) or any(
        re.search(rf"\b{name}\b(?:\[[^\]]*\])?\+?=|(?<!\$)\{{{name}\}}", rest) for name in values
    )
    return {} if is_changed or len(values) < len(pairs) or "IFS" in values else values


class _Reading:
    """The commands met so far, and the first reason for which there may be others."""

    def __init__(self, read_script: ReadScript, paths: Mapping[str, str]) -> None:
        self._read_script, self._paths = read_script, paths
        self._commands: dict[tuple[str, ...], None] = {}
        self._doubt = ""
        self._texts = 0

    def read(self, text: str, *, is_exact: bool) -> StartedCommands:
        self._read(text, is_exact=is_exact, depth=0)
        return StartedCommands(tuple(self._commands), self._doubt)

    def _read(self, text: str, *, is_exact: bool, depth: int) -> None:
        self._texts += 1
        if depth > _DEEPEST or self._texts > _MOST_TEXTS:
            self._add_doubt("it holds texts that run texts, too many to be looked through")
            return
        script = self._read_script(text)
        if script.problem is not None:
            self._add_doubt(script.problem)
        self._read_commands(script, is_exact=is_exact, depth=depth)

    def _read_commands(self, script: Script, *, is_exact: bool, depth: int) -> None:
        streams: dict[int, str | None] = {}
        for command in script.commands:
            words = tuple(command.words if is_exact else map(self._resolve, command.words))
            if words and not (is_exact and depth == 0):
                self._commands.setdefault(tuple(mark_unknown_words(words)))
            read = _find_input(command, streams)
            for run in list_evaluations(words):
                self._read_evaluated(run, read, is_exact=is_exact, depth=depth)
            if command.writes is not None:
                printed = _find_output(words, read, is_exact=is_exact)
                before = streams.get(command.writes, "")
                streams[command.writes] = None if printed is None or before is None else before + printed

    def _read_evaluated(self, run: Sequence[str], read: str | None, *, is_exact: bool, depth: int) -> None:
        text = _find_evaluated_text(run, read)
        if text is None or "\0" in text or (not is_exact and _SUBSTITUTED.search(text)):
            self._add_doubt(f"{run[0]} runs what is not known here")
        if text is not None:
            self._read(text, is_exact=False, depth=depth + 1)

    def _add_doubt(self, doubt: str) -> None:
        self._doubt = self._doubt or doubt

    def _resolve(self, word: str) -> str:
        """The word with the paths in it that are known."""
        home = self._paths.get("HOME")
        if home is not None and (word == "~" or word.startswith("~/")):
            word = home + word[1:]
        return _VARIABLE.sub(lambda found: self._paths.get(found[1] or found[2], found[0]), word)


def mark_unknown_words(words: Sequence[str]) -> Iterator[str]:
    """The words as programs get them: what the shell would expand is marked, with all that stands behind it."""
    for word in words:
        if (braces := _BRACES.fullmatch(word)) is not None:
            yield from braces[1].split(",")
        elif word.startswith("~"):
            yield f"/{UNKNOWN_WORDS}"
        elif word == "{}":  # what a program such as find puts a name for
            yield UNKNOWN_WORDS
        elif (found := _EXPANDED.search(word)) is not None:
            yield word[: found.start()] + UNKNOWN_WORDS
        else:
            yield word


def _find_input(command: ScriptCommand, streams: Mapping[int, str | None]) -> str | None:
    """The text that a command reads; None where it is not known."""
    if any(redirect.operator.startswith("<") for redirect in command.redirects):
        return None
    if command.text is not None:
        return command.text
    texts = [streams.get(stream) for stream in command.reads]
    known = [text for text in texts if text is not None]
    return "".join(known) if known and len(known) == len(texts) else None


def _find_output(words: Sequence[str], read: str | None, *, is_exact: bool) -> str | None:
    """The text that a command prints; None where it is not known."""
    if any("\\" in word or (not is_exact and _EXPANDED.search(word)) for word in words if word not in _FORMATS):
        return None
    match words:
        case ("cat",):
            return read
        case ("echo", *texts):
            while texts and re.fullmatch(r"-[neE]+", texts[0]):
                texts = texts[1:]
            return " ".join(texts) + "\n"
        case ("printf", form, *texts) if form in _FORMATS:
            return "\n".join((*texts, ""))
        case ("printf", text) if "%" not in text:
            return text
        case _:
            return None


def _find_evaluated_text(run: Sequence[str], read: str | None) -> str | None:
    """What a command runs that is given a text to run; None where that is not known."""
    name, words = run[0], run[1:]
    match name:
        case "eval":
            return " ".join(words)
        case "trap":
            return words[0] if words else ""
        case "." | "source":
            return read if words and words[0].startswith(_STREAMS) else None
    if name not in SHELLS:
        return None
    for place, word in enumerate(words):
        if _COMMAND_OPTION.fullmatch(word):
            behind = [each for each in words[place + 1 :] if not each.startswith(("-", "+"))]
            return behind[0] if behind else None
    return read
