"""Permission rules: what the person settled beforehand, as patterns of calls.

Patterns of paths are written `src/**`, `*.md`, `/etc/hosts`, `~/notes/**`.

    write_file(src/**)        a tool and the paths it touches
    run_command(git log *)    the words of every part of a shell command
    run_command(read-only)    every command that is proved to change nothing
    web_fetch(url=https://docs.example.org/*)     one argument of any other tool
    deploy_*                  every call of the tools of these names

A rule that forbids or asks binds wherever it may apply; one that allows binds only where it surely does. The
tools that a custom command allows its turn (`AllowedTools`) can only withhold what could run otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from fnmatch import fnmatchcase
from functools import lru_cache
from os.path import expanduser, realpath

from msgspec import Struct, field

from quorum.domain.calls.access import Access
from quorum.domain.calls.tool import RiskLevel
from quorum.domain.calls.tool_traits import translate_tool_name
from quorum.domain.review.command_pattern import (
    BadPattern,
    Match,
    covers_part,
    find_word_in_the_way,
    fits,
    match_command,
    split_pattern,
)
from quorum.domain.review.questions import RuleScope
from quorum.domain.shell.command_line import JudgedCommand, ShellVerdict
from quorum.domain.shell.network_hosts import HOST_RULE, BadHost, HostList, HostPattern, read_hosts
from quorum.domain.text.json_value import JsonObject
from quorum.domain.text.pattern import compile_once


def matches_path(pattern: str, path: str, roots: Sequence[str], *, strict: bool) -> bool:
    """Whether a canonical path fits a pattern.

    `*` and `?` stay within one name, `**` crosses folders. A pattern that begins with a slash is a whole path,
    one that begins with `~/` lies in the home folder of the person, and any other begins at a root of the
    workspace. Strict matching is for rules that allow: exactly this path, and below the first root only, since
    such a rule was made before others were added. Other matching is for rules that forbid: without regard to
    case, at any depth where the pattern is a single name, and with all that lies below. `folder/**` is then the
    folder, too: a search of it reads all that.
    """
    if not path.startswith("/"):
        return False
    if pattern.startswith("/"):
        return bool(_compile(pattern.strip("/"), strict).fullmatch(path.strip("/")))
    if is_at_home(pattern):
        return _matches_at_home(pattern[2:].strip("/"), path, expanduser("~"), strict=strict)
    inner = pattern.strip("/").removeprefix("./")
    counting = roots[:1] if strict else roots
    below = [path[len(root.rstrip("/")) + 1 :] for root in counting if path.startswith(root.rstrip("/") + "/")]
    if any(_compile(inner, strict).fullmatch(name) for name in below):
        return True
    return not strict and "/" not in inner and bool(_compile(f"**/{inner}", strict).fullmatch(path.strip("/")))


def _matches_at_home(inner: str, path: str, home: str, *, strict: bool) -> bool:
    if not home.startswith("/"):  # it is not known: what forbids binds everywhere
        return not strict and bool(_compile(f"**/{inner or '**'}", strict).fullmatch(path.strip("/")))
    folder = _resolve(home).rstrip("/")
    is_below = path.startswith(f"{folder}/") or (
        not strict and f"{path}/".casefold().startswith(f"{folder}/".casefold())
    )
    if not is_below:
        return False
    rest = path[len(folder) :].strip("/")
    return bool(_compile(inner, strict).fullmatch(rest)) or (not strict and inner in ("", "**"))


@lru_cache(maxsize=8)
def _resolve(folder: str) -> str:
    return realpath(folder)


@lru_cache(maxsize=1024)
def _compile(pattern: str, strict: bool) -> re.Pattern[str]:
    if not strict:
        pattern = pattern.removesuffix("/**")
    first, *others = _build_expressions_between_folders(pattern.split("/"))
    text = first
    if others:
        # Where a part is found first is as good as anywhere later, and so nothing is tried twice: a strange
        # folder may bring both the rule and the name.
        text += "".join(f"(?>{_FOLDERS}?{part})" for part in others[:-1] if part) + _FOLDERS + others[-1]
    text = text[:-1] if text.endswith("/") else f"{text}[^/]+"
    return re.compile(text if strict else f"{text}(?:/.*)?", re.DOTALL if strict else re.DOTALL | re.IGNORECASE)


_FOLDERS = "(?:[^/]+/)*"


def _build_expressions_between_folders(names: Sequence[str]) -> list[str]:
    """The expressions for what stands before, between and behind each `**`."""
    parts = [""]
    for name in names:
        if name == "**":
            parts.append("")
        else:
            parts[-1] += _translate_name(name) + "/"
    return parts


def _translate_name(name: str) -> str:
    first, *others = ("".join(map(_translate_character, piece)) for piece in name.split("*"))
    if not others:
        return first
    return first + "".join(f"(?>[^/]*?{piece})" for piece in others[:-1] if piece) + "[^/]*" + others[-1]


def never_matches(pattern: str) -> bool:
    """Whether a pattern is written in a way that fits no canonical path: with `.` and `..`."""
    return bool({".", ".."} & set(pattern.removeprefix("./").split("/")))


def expand_home(path: str) -> str:
    """The path with the home folder in place of `~`, where that is known."""
    home = expanduser("~")
    return _resolve(home) + path[1:] if is_at_home(path) and home.startswith("/") else path


def is_at_home(pattern: str) -> bool:
    """Whether a pattern lies in the home folder."""
    return pattern == "~" or pattern.startswith("~/")


def _translate_character(character: str) -> str:
    return "[^/]" if character == "?" else re.escape(character)


_ADDRESS = r"(?s)(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://(?P<host>[^/?#\\]*)(?P<rest>.*)"
_UPWARDS = r"(?i)(^|[/\\])(\.|%2e){1,2}($|[/\\?#])"

READ_ONLY = "read-only"
COMMAND_TOOL = "run_command"
READERS = frozenset({"read_file", "list_directory", "glob_search", "grep_search"})
WRITERS = frozenset({"write_file", "edit_file", "apply_patch"})
_RULE = r"(?s)(?P<tool>[A-Za-z0-9_*?-]{1,128})(?:\((?P<pattern>.*)\))?"
ARGUMENT = re.compile(r"(?P<name>[A-Za-z0-9_]+)=(?P<glob>.*)", re.DOTALL)


class Answer(StrEnum):
    """The three answers, from weakest to strictest."""

    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"


class BadRule(ValueError):
    """The text is not a rule; the message says what is wrong with it."""


class Subject(Struct, frozen=True, kw_only=True):
    """A call, as far as a decision depends on it. `command` is the shell text it would run, if it runs any, and
    `shell` what was found out about that. `diff` is what it changes in files, once that is measured, and
    `hook_asks` why hooks have the person asked, empty where none does. `own_files` are files that the session
    made and that hold what it wrote, as far as anybody has looked."""

    tool: str
    risk: RiskLevel
    access: Access
    arguments: JsonObject = field(default_factory=dict)
    command: str | None = None
    shell: ShellVerdict | None = None
    diff: str | None = None
    hook_asks: str = ""
    own_files: frozenset[str] = frozenset()

    @property
    def read(self) -> frozenset[str]:
        """The paths it reads, as far as that is known, those of its command included."""
        return self.access.reads | frozenset(self.shell.paths_read if self.shell else ())

    @property
    def written(self) -> frozenset[str]:
        """The paths it writes, as far as that is known, those of its command included."""
        return self.access.writes | frozenset(self.shell.paths_written if self.shell else ())


class Rule(Struct, frozen=True, kw_only=True):
    """One rule. `source` says where it stands, for the person."""

    answer: Answer
    tool: str
    pattern: str | None
    source: str

    @classmethod
    def parse(cls, text: str, answer: Answer, source: str) -> Rule:
        """Read `tool` or `tool(pattern)`. Raises BadRule."""
        found = compile_once(_RULE).fullmatch(text.strip())
        if found is None:
            raise BadRule("a rule is written TOOL or TOOL(PATTERN)")
        pattern = found["pattern"]
        if pattern is not None and not pattern.strip():
            raise BadRule(f"nothing stands between the parentheses; write {found['tool']} alone for every call")
        if found["tool"] == HOST_RULE:
            try:
                read_hosts(pattern or "")
            except BadHost as problem:
                raise BadRule(str(problem)) from problem
        if pattern is not None and fnmatchcase(COMMAND_TOOL, found["tool"]):
            try:
                split_pattern(pattern)
            except BadPattern as problem:
                raise BadRule(str(problem)) from problem
        if pattern is not None and found["tool"] in READERS | WRITERS and never_matches(pattern):
            raise BadRule(f"{pattern!r} fits no path: write it from the workspace, ~/ or /, without . and ..")
        return cls(answer=answer, tool=found["tool"], pattern=pattern, source=source)

    @property
    def text(self) -> str:
        """The rule as it is written."""
        return self.tool if self.pattern is None else f"{self.tool}({self.pattern})"

    @property
    def about_files(self) -> str:
        """What it is about where its tool stands for all that edit or read (`edits of src/**`); else empty."""
        if self.pattern is None or self.tool not in READERS | WRITERS:
            return ""
        return f"{'edits' if self.tool in WRITERS else 'reads'} of {self.pattern}"

    @property
    def id(self) -> str:
        """What it is called in reasons and records."""
        return f"{self.answer} {self.text}"


def find_matching_rules(rules: Iterable[Rule], subject: Subject, roots: Sequence[str]) -> tuple[Rule, ...]:
    """The rules that have something to say about a call: those that forbid, ask, and, where it is covered as
    a whole, those that allow it."""
    restricting: list[Rule] = []
    allowing: list[Rule] = []
    for rule in rules:
        (allowing if rule.answer is Answer.ALLOW else restricting).append(rule)
    return (
        *(rule for rule in restricting if _may_bind(rule, subject, roots)),
        *_list_covering_rules(allowing, subject, roots),
    )


def is_covered(rules: Sequence[Rule], subject: Subject, roots: Sequence[str]) -> bool:
    """Whether rules that allow cover a call as a whole."""
    return bool(_list_covering_rules(rules, subject, roots))


def find_uncovered_parts(rules: Iterable[Rule], subject: Subject) -> tuple[JudgedCommand, ...]:
    """The parts of a command that are not known only to read, and that no rule allows."""
    allowing = [rule for rule in rules if rule.answer is Answer.ALLOW and fnmatchcase(subject.tool, rule.tool)]
    return tuple(
        part
        for part in (subject.shell.parts if subject.shell is not None else ())
        if part.objection is not None and not any(_allows_part(rule, part) for rule in allowing)
    )


def explain_uncovered_word(rules: Iterable[Rule], subject: Subject) -> str:
    """The word for which a rule does not cover a command, as a clause; empty where no rule fits the others."""
    allowing = [rule for rule in rules if rule.answer is Answer.ALLOW and fnmatchcase(subject.tool, rule.tool)]
    for part in find_uncovered_parts(allowing, subject):
        for rule in allowing:
            if rule.pattern is not None and (word := find_word_in_the_way(rule.pattern, part)) is not None:
                return f"the * of {rule.text} does not cover {word}"
    return ""


# ---------------------------------------------------------------- rules that restrict: wherever they may apply


def _may_bind(rule: Rule, subject: Subject, roots: Sequence[str]) -> bool:
    if rule.pattern is None:
        return fnmatchcase(subject.tool, rule.tool)
    if rule.tool in WRITERS:
        changed = subject.written.union(subject.shell.paths_changed if subject.shell else ())
        return any(matches_path(rule.pattern, path, roots, strict=False) for path in changed)
    if rule.tool in READERS:
        touched = subject.read | subject.written
        return any(matches_path(rule.pattern, path, roots, strict=False) for path in touched)
    if not fnmatchcase(subject.tool, rule.tool):
        return False
    if subject.command is not None:
        return _match_command(rule.pattern, subject.shell) is not Match.NONE
    return _other_binds(rule.pattern, subject, roots, strict=False)


def _match_command(pattern: str, shell: ShellVerdict | None) -> Match:
    if shell is None:
        return Match.POSSIBLE
    if pattern.strip() == READ_ONLY:
        return Match.SURE if shell.is_read_only else Match.NONE
    return match_command(pattern, shell)


def explain_doubt(rule: Rule, subject: Subject) -> str:
    """Why a rule that binds a command may be about it and need not, as a clause; empty where it surely is."""
    is_about_commands = rule.pattern is not None and rule.tool not in WRITERS | READERS
    if rule.pattern is None or not is_about_commands or subject.command is None:
        return ""
    if _match_command(rule.pattern, subject.shell) is Match.SURE:
        return ""
    shell = subject.shell
    if shell is None:
        return "the command was not looked at"
    if shell.started is not None and shell.started.doubt:
        return shell.started.doubt
    return shell.unclear or "its words are not all known, or stand behind options"


# ---------------------------------------------------------------- rules that allow: only where they surely do


def _list_covering_rules(rules: Sequence[Rule], subject: Subject, roots: Sequence[str]) -> tuple[Rule, ...]:
    if subject.command is not None:
        named = [rule for rule in rules if fnmatchcase(subject.tool, rule.tool)]
        return _list_rules_covering_command(named, subject.command, subject.shell)
    return tuple(rule for rule in rules if _surely_binds(rule, subject, roots))


def _surely_binds(rule: Rule, subject: Subject, roots: Sequence[str]) -> bool:
    access = subject.access
    if rule.pattern is None:
        return fnmatchcase(subject.tool, rule.tool)
    for family, touched in ((WRITERS, access.writes), (READERS, access.reads)):
        if rule.tool in family:
            return (
                subject.tool in family
                and bool(touched)
                and not access.exclusive
                and all(matches_path(rule.pattern, path, roots, strict=True) for path in touched)
            )
    return fnmatchcase(subject.tool, rule.tool) and _other_binds(rule.pattern, subject, roots, strict=True)


def _list_rules_covering_command(
    rules: Sequence[Rule], command: str, shell: ShellVerdict | None
) -> tuple[Rule, ...]:
    """The rules that together cover every part of a command; none where a part is left over."""
    literal = command.strip()
    if whole := [rule for rule in rules if _names_whole(rule, literal)]:
        return (whole[0],)
    if shell is None:
        return ()
    if shell.is_read_only and (proved := [rule for rule in rules if _is_about_reading(rule)]):
        return (proved[0],)
    if shell.unclear is not None or not shell.parts:
        return ()
    used: list[Rule] = []
    for part in shell.parts:
        rule = next((rule for rule in rules if _allows_part(rule, part)), None)
        if rule is None:
            return ()
        used.append(rule)
    return tuple(dict.fromkeys(used))


def _names_whole(rule: Rule, literal: str) -> bool:
    """Whether a rule is about all commands, or about exactly this text."""
    return rule.pattern is None or (rule.pattern.strip() == literal and not _is_about_reading(rule))


def _is_about_reading(rule: Rule) -> bool:
    return rule.pattern is not None and rule.pattern.strip() == READ_ONLY


def _allows_part(rule: Rule, part: JudgedCommand) -> bool:
    if rule.pattern is None or _is_about_reading(rule):
        return rule.pattern is None or part.objection is None
    return covers_part(rule.pattern, part)


# ---------------------------------------------------------------- patterns


def _other_binds(pattern: str, subject: Subject, roots: Sequence[str], *, strict: bool) -> bool:
    """A pattern for a tool of any other kind: of one argument by name, else of the paths it touches."""
    if found := ARGUMENT.fullmatch(pattern):
        given = subject.arguments.get(found["name"])
        return isinstance(given, str) and matches_argument(found["glob"], given, strict=strict)
    touched = subject.access.reads | subject.access.writes
    hits = [matches_path(pattern, path, roots, strict=strict) for path in touched]
    return bool(hits) and (all(hits) and not subject.access.exclusive if strict else any(hits))


def matches_argument(pattern: str, value: str, *, strict: bool) -> bool:
    """Whether a value fits a pattern. `strict` is for rules that allow; others match without regard to case."""
    if not strict:
        wanted = pattern.lower()
        return any(fits(each.lower(), wanted) for each in (value, f"{value}/"))
    if (wanted_address := compile_once(_ADDRESS).fullmatch(pattern)) is None:
        return fits(value, pattern)
    address = compile_once(_ADDRESS).fullmatch(value)
    return (
        address is not None
        and address["scheme"].lower() == wanted_address["scheme"].lower()
        and not set(address["host"]) & set("@ \t\r\n")
        and fits(address["host"].lower(), wanted_address["host"].lower())
        and not compile_once(_UPWARDS).search(address["rest"])
        and fits(address["rest"], wanted_address["rest"])
    )


class SavedRule(Struct, frozen=True, kw_only=True):
    """A rule with its scope, PROJECT or USER, and the examples that it is checked against when it is loaded.

    `project` is the canonical path of the folder it holds in, None for one that holds everywhere. `saved` is
    when it was made, in UTC, as ISO 8601. `must_not_match` are calls that it must not cover.
    """

    rule: Rule
    project: str | None
    saved: str
    must_match: tuple[str, ...] = ()
    must_not_match: tuple[str, ...] = ()

    @property
    def scope(self) -> RuleScope:
        """How far it holds."""
        return RuleScope.USER if self.project is None else RuleScope.PROJECT

    def is_like(self, other: SavedRule) -> bool:
        """Whether both say the same about the same calls."""
        return (self.rule.id, self.project) == (other.rule.id, other.project)


class HeldRule(Struct, frozen=True, kw_only=True):
    """A rule as the person looks at it: how far it holds, and where it stands.

    `scope` is None for one of the settings, which is changed there. `saved` is what is kept of it, if it is.
    `unused` says why it is not in force though it is there; it is empty where it is.
    """

    rule: Rule
    place: str
    scope: RuleScope | None = None
    saved: SavedRule | None = None
    unused: str = ""


_ENTRY = r"(?s)(?P<tool>[^()]+)(?:\((?P<pattern>.*)\))?"
_EVERYTHING = frozenset({"*", ":*", "**"})


class AllowedTools(Struct, frozen=True):
    """What a command allows besides what only reads. `command` is its name, without the slash."""

    command: str
    rules: tuple[Rule, ...]

    @classmethod
    def parse(cls, command: str, entries: Sequence[str]) -> AllowedTools:
        """Read entries such as `Bash(git log:*)`, `Write` and `run_command(make *)`.

        An entry that cannot be understood allows nothing.
        """
        rules = (rule for entry in entries if (rule := _parse_rule(entry, command)) is not None)
        return cls(command, tuple(rules))

    def withholds(self, subject: Subject, roots: Sequence[str]) -> bool:
        """Whether the command does not allow a call, which it does of all that only reads."""
        if subject.risk is RiskLevel.LOW or (subject.shell is not None and subject.shell.is_read_only):
            return False
        return not is_covered(self.rules, subject, roots)

    @property
    def reason(self) -> str:
        """Why a call is withheld."""
        listed = ", ".join(rule.text for rule in self.rules) or "nothing"
        return f"the command /{self.command} allows {listed} besides what only reads (its allowed-tools)"


def _parse_rule(entry: str, command: str) -> Rule | None:
    found = compile_once(_ENTRY).fullmatch(entry.strip())
    if found is None:
        return None
    tool = translate_tool_name(found["tool"].strip())
    pattern = (found["pattern"] or "").strip()
    text = tool if not pattern or pattern in _EVERYTHING else f"{tool}({pattern})"
    try:
        return Rule.parse(text, Answer.ALLOW, f"allowed-tools of /{command}")
    except BadRule:
        return None


def collect_hosts(rules: Iterable[Rule]) -> HostList:
    """What rules let commands reach. One that asks or denies withholds its hosts from all that allow them."""
    allowed: list[HostPattern] = []
    withheld: list[HostPattern] = []
    for rule, hosts in _list_host_rules(rules):
        (allowed if rule.answer is Answer.ALLOW else withheld).extend(hosts)
    return HostList(allowed=tuple(allowed), withheld=tuple(withheld))


def find_rules_on_host(rules: Iterable[Rule], host: str) -> tuple[Rule, ...]:
    """The rules that speak of a host that a call asks for: those that restrict where they may, those that allow
    where they stand for all of it."""
    asked = HostPattern.parse(host)
    return tuple(
        rule
        for rule, hosts in _list_host_rules(rules)
        if any(each.includes(asked) if rule.answer is Answer.ALLOW else each.overlaps(asked) for each in hosts)
    )


def list_closed_hosts(rules: Sequence[Rule], subject: Subject) -> tuple[str, ...]:
    """The hosts that a call asks for and that no rule has anything to say about."""
    asked = subject.shell.asked_hosts if subject.shell is not None else ()
    return tuple(host for host in asked if not find_rules_on_host(rules, host))


def covers_hosts(rule: Rule, subject: Subject) -> bool:
    """Whether a rule speaks of a host that a call asks for."""
    asked = subject.shell.asked_hosts if subject.shell is not None else ()
    return any(find_rules_on_host((rule,), host) for host in asked)


def _list_host_rules(rules: Iterable[Rule]) -> Iterator[tuple[Rule, tuple[HostPattern, ...]]]:
    for rule in rules:
        if rule.tool == HOST_RULE and rule.pattern is not None:
            yield rule, read_hosts(rule.pattern)
