"""Rules that would let a call and its like run, made from the call, the narrowest first.

A pattern with a `*` is proposed only for programs that have a table of what a `*` covers (`star_tables`), and
for scripts of the project that a runner starts by name. All others are proposed word for word.
"""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Iterator, Sequence

from quorum.domain.review.permissions import COMMAND_TOOL, READ_ONLY, WRITERS, Subject
from quorum.domain.shell.command_line import SimpleCommand
from quorum.domain.shell.star_words import propose_prefix

_GLOB = frozenset("*?[")
_LONGEST = 300
_SUBCOMMAND = re.compile(r"[a-z][a-z0-9:_-]{0,60}")
_ADDRESS = re.compile(r"(https?://[^/?#\\@\s]+)/.*", re.DOTALL)

# What runs another program or a script of the project by name: one more word belongs to the pattern. `bun run`
# and `yarn run` are none: where no script has the name, they run a program that does, such as `node` or `bash`.
_RUNNERS = frozenset(
    {
        ("npm", "run"),
        ("pnpm", "run"),
        ("composer", "run"),
        ("just",),
        ("task",),
    }
)


def generate_candidates(subject: Subject, roots: Sequence[str]) -> tuple[str, ...]:
    """Rules as text. Whether one of them really lets the call run is for the decision to say."""
    if subject.command is not None:
        found = _propose_for_command(subject, subject.command.strip())
    elif touched := sorted(path for path in subject.access.reads | subject.access.writes if path[:1] == "/"):
        found = _propose_for_paths(subject.tool, touched, roots)
    else:
        found = _propose_for_arguments(subject)
    return tuple(dict.fromkeys(rule for rule in found if len(rule) <= _LONGEST and rule.isprintable()))


def _propose_for_command(subject: Subject, command: str) -> Iterator[str]:
    if not _GLOB & set(command) and command != READ_ONLY:
        yield f"{COMMAND_TOOL}({command})"
    shell = subject.shell
    if shell is not None and shell.unclear is None:
        for part in shell.commands:
            if (pattern := find_starred_prefix(part)) is not None:
                yield f"{COMMAND_TOOL}({shlex.join(pattern)} *)"
    if shell is not None and shell.is_read_only:
        yield f"{COMMAND_TOOL}({READ_ONLY})"


def find_starred_prefix(command: SimpleCommand) -> tuple[str, ...] | None:
    """The first words of a command that may be followed by any others; None where there are none."""
    words = command.words
    if (prefix := propose_prefix(words)) is not None:
        return prefix
    for length in (1, 2):
        if len(words) > length and words[:length] in _RUNNERS and _SUBCOMMAND.fullmatch(words[length]):
            return words[: length + 1]
    return None


def build_literal_pattern(command: SimpleCommand) -> str | None:
    """The pattern that fits exactly the words of a plain command; None where no pattern can."""
    text = shlex.join(command.words)
    is_fit = bool(command.words) and not _GLOB & set(text) and text != READ_ONLY and text.isprintable()
    return text if is_fit else None


def _propose_for_paths(tool: str, paths: Sequence[str], roots: Sequence[str]) -> Iterator[str]:
    """The file, then its folder with all below it. The whole workspace and the root of the disk never."""
    if any(_GLOB & set(path) for path in paths):
        return
    own = tool if tool not in WRITERS else "write_file"
    written = [_relate_to_root(path, roots) for path in paths]
    if len(set(written)) == 1:
        yield f"{own}({written[0]})"
    folder = posixpath.commonpath([posixpath.dirname(path) for path in paths])
    if folder != "/" and folder not in roots:
        yield f"{own}({_relate_to_root(folder, roots)}/**)"
    if tool not in WRITERS:
        yield tool


def _relate_to_root(path: str, roots: Sequence[str]) -> str:
    root = next((root for root in roots[:1] if path.startswith(root.rstrip("/") + "/")), None)
    return path if root is None else path[len(root.rstrip("/")) + 1 :]


def _propose_for_arguments(subject: Subject) -> Iterator[str]:
    for name, value in subject.arguments.items():
        if not isinstance(value, str) or not value:
            continue
        if not _GLOB & set(value):
            yield f"{subject.tool}({name}={value})"
        if (found := _ADDRESS.fullmatch(value)) and not _GLOB & set(found[1]):
            yield f"{subject.tool}({name}={found[1]}/*)"
    yield subject.tool
