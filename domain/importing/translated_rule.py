"""A permission rule of another agent in our words: never narrower where it restricts, never wider where it
allows."""

from __future__ import annotations

import posixpath
import re

from msgspec import Struct

from quorum.domain.review.permissions import COMMAND_TOOL, READ_ONLY, READERS, WRITERS, Answer, BadRule, Rule
from quorum.domain.secrets.patterns import find_pattern_spans

ALL_READERS = tuple(sorted(READERS))
ALL_WRITERS = tuple(sorted(WRITERS))
EVERY_TOOL = "*"

# What a shell, or a pattern of another agent, may read as something else than itself ends the part that is
# plain.
_PLAIN_TEXT = re.compile(r"[^*?\[\]{}()<>|&;$`\\\"'~#!\x00-\x1f]*+")
_ALLOWED_TEXT = re.compile(r"[A-Za-z0-9_.,/:@%+=-]+(?: [A-Za-z0-9_.,/:@%+=-]+)*")
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=.*")
_WILD_NAME = re.compile(r"[\[\]{}\\]")
_UNFIT_IN_NAME = re.compile(r"[^A-Za-z0-9_*?-]")
_DEEPEST = 64


class TranslatedRule(Struct, frozen=True, kw_only=True):
    """What a rule of another agent becomes: `rules` of ours that give `answer`, none where there is no
    counterpart.

    `sensitive` and `protected` are the same paths as `[review]` has them, where searches, and commands in the
    sandbox, are to be kept from them as well. `why` says how the meaning differs, or why there is nothing;
    empty where it is the same.
    """

    answer: Answer
    rules: tuple[str, ...] = ()
    sensitive: tuple[str, ...] = ()
    protected: tuple[str, ...] = ()
    why: str = ""

    @property
    def is_refused(self) -> bool:
        """Whether nothing here stands for it."""
        return not self.rules


def translate_command(text: str, answer: Answer, *, is_exact: bool = False) -> TranslatedRule:
    """A pattern of commands in which `*` stands for any text, and `:*` or ` *` at the end for any words.

    `is_exact`: there are no such signs in it.
    """
    if answer is not Answer.ALLOW:
        return _restrict_command(text, answer)
    begin = text if is_exact else text.removesuffix(":*").removesuffix(" *")
    if find_pattern_spans(begin):
        return TranslatedRule(answer=answer, why="it seems to hold a secret, which is not copied, so it asks")
    if not _ALLOWED_TEXT.fullmatch(begin) or _ASSIGNMENT.fullmatch(begin.split(" ")[0]) or begin == READ_ONLY:
        return TranslatedRule(answer=answer, why="it cannot be allowed here with the same meaning, so it asks")
    return TranslatedRule(answer=answer, rules=(f"{COMMAND_TOOL}({begin if begin == text else f'{begin} *'})",))


def _restrict_command(text: str, answer: Answer) -> TranslatedRule:
    text = text.strip()
    if text.endswith(":*"):
        text = f"{text[:-2]} *"
    plain = _match_plain(text)
    words = plain.split()
    while words and _ASSIGNMENT.fullmatch(words[0]):
        del words[0]
    if words and plain == text and " ".join(words) != READ_ONLY:
        return TranslatedRule(answer=answer, rules=(f"{COMMAND_TOOL}({' '.join(words)})",))
    rest = text[len(plain) :]
    is_same = rest == "*" and plain[-1:].isspace()
    if words and rest and not plain[-1:].isspace():
        words[-1] += "*"
    if not words:
        is_all = not text.strip("*")
        return restrict_all((COMMAND_TOOL,), answer, "" if is_all else "command")
    rule = f"{COMMAND_TOOL}({' '.join(words)} *)"
    return TranslatedRule(answer=answer, rules=(rule,), why="" if is_same else "wider: all that begins so")


def restrict_all(rules: tuple[str, ...], answer: Answer, some_of: str = "") -> TranslatedRule:
    """Rules about every call of tools. They stand for some of these calls alone where `some_of` says of what,
    and ask then rather than deny all of them."""
    if answer is Answer.DENY and some_of:
        why = f"it denies only some and cannot be written exactly, so every {some_of} asks"
        return TranslatedRule(answer=Answer.ASK, rules=rules, why=why)
    return TranslatedRule(answer=answer, rules=rules, why=f"wider: every {some_of}" if some_of else "")


def _match_plain(text: str) -> str:
    """The part that means itself, up to what seems to be a secret."""
    found = _PLAIN_TEXT.match(text)
    secrets = [span.start for span in find_pattern_spans(text)]
    return (found[0] if found is not None else "")[: min(secrets, default=None)]


def restrict_paths(pattern: str, *, folder: str, home: str) -> tuple[str, ...]:
    """The patterns of paths that cover at least what a pattern as in ignore files covers.

    `//x` is a path from the root, `~/x` one of the home folder, `/x` one of `folder`, in which the settings
    stand, and any other one of the working directory. Empty for every path.
    """
    if pattern.startswith("//"):
        return _widen(posixpath.normpath(pattern[1:]))
    if pattern == "~" or pattern.startswith("~/"):
        return _widen(posixpath.normpath(f"{home}/{pattern[2:]}")) if home else _widen(pattern[2:])
    inner = pattern.lstrip("/")
    inner = inner if pattern.startswith("/") else inner.removeprefix("./")
    names = [name for name in inner.split("/") if name not in ("", ".")]
    if ".." in names:  # seen from the folder of the settings; the working directory may lie deeper
        last = [name for name in names[names.index("..") + 1 :] if name != ".."]
        return _widen("/".join(("/**", *last)))
    relative = _widen("/".join(names))
    if len(names) < 2 or not relative or not folder:
        return relative
    return (*relative, *_widen(posixpath.normpath(f"{folder}/{inner}")))


def _widen(pattern: str) -> tuple[str, ...]:
    """A pattern without the signs that ours has not; empty where all of it is wild."""
    lead, names = ("/" if pattern.startswith("/") else ""), [name for name in pattern.split("/") if name]
    kept: list[str] = []
    for name in names[:_DEEPEST]:
        if name.count("{") != name.count("}"):  # alternatives with folders in them: all that lies here
            kept.append("**")
            break
        kept.append("*" if _WILD_NAME.search(name) else name)
    if len(names) > _DEEPEST:
        kept.append("**")
    return () if all(not name.strip("*") for name in kept) else (lead + "/".join(kept),)


def is_every_path(pattern: str) -> bool:
    """Whether a pattern as in ignore files covers every path, at least of the working directory."""
    return not pattern.strip("*/.")


def list_name_runs(patterns: tuple[str, ...]) -> tuple[str, ...]:
    """The same paths as `[review]` names them: by a run of names at any depth, and all below.

    An absolute path is none of them: its names would cover other files at any depth of the workspace.
    """
    found: list[str] = []
    for pattern in patterns:
        if is_anchored(pattern):
            continue
        names = [name for name in pattern.split("/") if name]
        while names and not names[-1].strip("*"):
            del names[-1]
        places = [place for place, name in enumerate(names) if name == "**"]
        run = "/".join(names[places[-1] + 1 :] if places else names)
        if run and len(run) <= 200:
            found.append(run)
    return tuple(dict.fromkeys(found))


def is_anchored(pattern: str) -> bool:
    """Whether a pattern holds below one place of the machine alone."""
    return pattern.startswith("/") and not pattern.startswith("/**/")


def restrict_files(patterns: tuple[str, ...], answer: Answer, *, tools: tuple[str, ...]) -> TranslatedRule:
    """Rules about these paths for tools that read or write files."""
    is_read = set(tools) <= READERS
    family = "read_file" if is_read else "write_file"
    rules = tuple(f"{family}({pattern})" for pattern in patterns)
    runs = list_name_runs(patterns) if answer is Answer.DENY else ()
    is_rule_alone = answer is Answer.DENY and all(map(is_anchored, patterns))
    setting = "review.sensitive" if is_read else "review.protected"
    found = ", so searches of folders above find it" if is_read else ""
    why = f"by this rule alone: {setting} cannot hold an absolute path{found}" if is_rule_alone else ""
    return TranslatedRule(
        answer=answer,
        rules=rules,
        sensitive=runs if is_read else (),
        protected=() if is_read else runs,
        why=why,
    )


def list_server_tools(server: str, tool: str = "*") -> tuple[str, ...]:
    """The patterns of the tools of an MCP server, by its name there and by the one that it gets here."""
    servers = (server, name_server(server)) if "*" not in server else (server.lower(), server)
    is_whole = "*" in server and tool == "*"
    names = (f"mcp__{name}" if is_whole else f"mcp__{name}__{tool}" for name in servers)
    return tuple(dict.fromkeys(_UNFIT_IN_NAME.sub("?", name) for name in names))


def name_server(name: str) -> str:
    """The name that a server of another agent gets here: small letters, digits and -."""
    found = "".join(char if char.isascii() and char.isalnum() else "-" for char in name.lower())
    return found.strip("-")[:32].strip("-")


def find_flaw(translated: TranslatedRule) -> str:
    """Why the rules could not be used; empty where they can."""
    try:
        for text in translated.rules:
            Rule.parse(text, translated.answer, "")
    except BadRule as problem:
        return str(problem)
    return ""
