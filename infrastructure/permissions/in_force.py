"""What decides by itself about the calls of a session: rules of the settings, saved rules, and guards.

The person looks at the rules, changes them and tries them out through `SessionRuleService`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from types import MappingProxyType

from msgspec import Struct

from quorum.application.event_bus import EventBus
from quorum.application.ports.rules import SampleStore
from quorum.application.ports.storage import SessionArchive, Storage
from quorum.application.ports.tools import CommandTool, Tool, ToolSchemaPort
from quorum.application.review.review import Review
from quorum.application.review.rule_book import FileListing, RuleBook
from quorum.domain.calls.tool import RiskLevel
from quorum.domain.errors import ConfigError
from quorum.domain.replacing import replace
from quorum.domain.review.guards import GuardSettings
from quorum.domain.review.path_policy import PathPolicy
from quorum.domain.review.permission_rules import (
    COMMAND_TOOL,
    Answer,
    HeldRule,
    Rule,
    Subject,
    find_matching_rules,
)
from quorum.domain.review.questions import RulePreview, RuleScope
from quorum.domain.review.rule_replay import PastAnswer, PastCall, RuleReplay
from quorum.domain.sessions.past_calls import CALL_EVENTS, list_past_calls
from quorum.domain.sessions.session_facts import escape_surrogates
from quorum.domain.sessions.session_summary import SessionSummary
from quorum.domain.shell.network_hosts import HOST_RULE, sort_entries
from quorum.domain.text.fuzzy import find_nearest_word
from quorum.domain.text.json_value import JsonObject
from quorum.domain.text.pattern import compile_once
from quorum.infrastructure.blocking import Stop, run_in_thread
from quorum.infrastructure.config.loading import LoadedSettings
from quorum.infrastructure.config.paths import locate_user_file
from quorum.infrastructure.config.schema import Settings
from quorum.infrastructure.config.session_tables import PermissionTable
from quorum.infrastructure.config.toml_text import escape_unprintable
from quorum.infrastructure.execution.shell.parsing import parse
from quorum.infrastructure.execution.shell.script import read_script
from quorum.infrastructure.permissions.rule_file import FILE_NAME, LoadedRules, PlacedRule, RuleFile

_CALL = r"(?s)\s*(?P<tool>[A-Za-z0-9_-]+)\s*(?P<arguments>\{.*)"
_STRICTEST_FIRST = (Answer.DENY, Answer.ASK, Answer.ALLOW)


class SessionRuleService:
    """Implements `RuleService`. Of the saved rules in `file` those of `folder` and of everywhere count."""

    def __init__(
        self,
        book: RuleBook,
        *,
        file: RuleFile | None,
        folder: Path,
        tools: Mapping[str, Tool],
        schema: ToolSchemaPort,
        review: Review,
        roots: Sequence[str],
    ) -> None:
        self._book, self._file, self._folder = book, file, folder
        self._tools, self._schema, self._review, self._roots = tools, schema, review, roots

    async def list_rules(self) -> tuple[HeldRule, ...]:
        """All that hold in this session's folder, the strictest first. Raises ConfigError."""
        placed = await run_in_thread(lambda _stop: self._file.read_rules() if self._file is not None else ())
        held = list(self._list_held([one for one in placed if one.saved.project in (None, str(self._folder))]))
        return tuple(sorted(held, key=lambda one: _STRICTEST_FIRST.index(one.rule.answer)))

    def _list_held(self, placed: Sequence[PlacedRule]) -> Iterator[HeldRule]:
        for rule in self._book.fixed:
            yield HeldRule(rule=rule, place=rule.source)
        others = [rule for rule in self._book.rules if rule not in self._book.fixed]
        kept, ids = {one.saved.rule.id for one in placed}, {rule.id for rule in others}
        for rule in others:
            if rule.id not in kept:
                yield HeldRule(rule=rule, place=rule.source, scope=RuleScope.SESSION)
        for one in placed:
            rule = one.saved.rule
            unused = "" if rule.id in ids else "not in force in this session"
            yield HeldRule(rule=rule, place=one.place, scope=one.saved.scope, saved=one.saved, unused=unused)

    @property
    def samples(self) -> SampleStore | None:
        """Calls that a mode let run, for a verdict."""
        return self._review.samples

    @property
    def last_word(self) -> str:
        mode = self._review.mode
        asked = " and ".join(self._review.list_asked())
        held = f"{asked} are asked about; else " if asked else ""
        return f"the mode is {mode}: {held}{mode.traits.last_word}"

    def preview_rule(self, rule: str, answer: Answer) -> RulePreview:
        return self._book.preview_rule(rule, answer)

    async def replay_rule(self, rule: str, answer: Answer) -> RuleReplay | None:
        """What it would have decided about past calls. Raises LedgerError."""
        return await self._book.replay([rule], answer)

    async def add(self, rule: str, answer: Answer, scope: RuleScope) -> None:
        """Put a rule in force. Raises ConfigError."""
        await self._book.establish(rule, answer, scope)

    async def remove(self, held: HeldRule) -> None:
        """Have it in force no more, and take it out of the saved ones. Raises ConfigError."""
        if held.scope is None:
            raise ConfigError(
                f"{held.rule.id} is a rule of the settings ({held.place}); take it out there: /config"
            )
        if held.rule in self._book.of_plan:
            raise ConfigError(f"{held.rule.id} is part of the approved plan; /plan drop withdraws the plan")
        if held.saved is not None and self._file is not None:
            await self._file.remove(held.saved)
        for rule in self._book.rules:
            if rule.id == held.rule.id:
                self._book.drop(rule)

    async def try_call(self, text: str) -> tuple[Answer, tuple[str, ...]]:
        """What would be decided about a call. Raises ConfigError for what is no call."""
        found = compile_once(_CALL).fullmatch(text)
        tool = found["tool"] if found is not None else COMMAND_TOOL
        answer, account = await try_call(
            tool,
            found["arguments"] if found is not None else json.dumps({"command": text.strip()}),
            tools=self._tools,
            schema=self._schema,
            review=self._review,
            rules=self._book.rules,
            roots=self._roots,
        )
        return answer, tuple(account.split("\n"))


MOST_ENTRIES = 2_000
_SKIPPED = frozenset({".git", "node_modules", ".venv", "__pycache__"})


def open_rule_file(environ: Mapping[str, str]) -> RuleFile | None:
    """The file of the saved rules, beside the person's own settings; None where there is no home folder."""
    own = locate_user_file(environ)
    return RuleFile(own.with_name(FILE_NAME)) if own is not None else None


def build_permission_rules(
    settings: Settings, origins: Mapping[str, str] = MappingProxyType({})
) -> tuple[Rule, ...]:
    """The rules of the settings. `origins` says of a key where its value came from, for the person.

    The rules that allow by default hold beside those that the settings list: a rule that asks or denies is
    stricter, and so switches them off.
    """
    table = settings.permissions
    usual = (
        Rule.parse(text, Answer.ALLOW, "permissions.allow, default")
        for text in PermissionTable().allow
        if text not in table.allow
    )
    listed = ((Answer.ALLOW, table.allow), (Answer.ASK, table.ask), (Answer.DENY, table.deny))
    own = (
        Rule.parse(text, answer, f"permissions.{answer}, {origins.get(f'permissions.{answer}', 'settings')}")
        for answer, texts in listed
        for text in texts
    )
    return (*usual, *own, *_build_host_rules(settings, origins))


def _build_host_rules(settings: Settings, origins: Mapping[str, str]) -> Iterator[Rule]:
    network = settings.tools.run_command.network
    source = f"tools.run_command.network, {origins.get('tools.run_command.network', 'settings')}"
    for host in () if isinstance(network, str) else sort_entries(network)[0]:
        yield Rule(answer=Answer.ALLOW, tool=HOST_RULE, pattern=host.text, source=source)


def build_guard_settings(settings: Settings) -> GuardSettings:
    """Which guards look at calls, and how closely: all of them as usual, but for what the tables change."""
    guards = GuardSettings()
    for table in settings.guards:
        match table.name:
            case "path":
                guards = replace(guards, path=table.enabled)
            case "destructive":
                guards = replace(guards, destructive=table.enabled, commands=table.commands)
            case "size":
                guards = replace(
                    guards, size=table.enabled, max_bytes=table.max_bytes, max_lines=table.max_lines
                )
            case "secret":
                guards = replace(guards, secret=table.enabled)
            case "network":
                guards = replace(guards, network=table.enabled)
            case "persistence":
                guards = replace(guards, persistence=table.enabled)
    return guards


class RulesInForce(Struct, frozen=True, kw_only=True, eq=False):
    """What decides by itself about calls in a folder: rules, the file of those that are saved, and guards."""

    folder: Path
    paths: PathPolicy
    book: RuleBook
    file: RuleFile | None
    saved: LoadedRules
    guards: GuardSettings

    def serve(self, tools: Mapping[str, Tool], schema: ToolSchemaPort, review: Review) -> SessionRuleService:
        """What shows them to the person, and changes them."""
        return SessionRuleService(
            self.book,
            file=self.file,
            folder=self.folder,
            tools=tools,
            schema=schema,
            review=review,
            roots=self.paths.roots,
        )


def open_rules(
    loaded: LoadedSettings,
    environ: Mapping[str, str],
    *,
    folder: Path,
    paths: PathPolicy,
    storage: Storage,
    get_tools: Callable[[], Mapping[str, Tool]],
    events: EventBus,
) -> RulesInForce:
    """All that is in force in a folder. Raises ConfigError for a damaged file of saved rules."""
    file, guards = open_rule_file(environ), build_guard_settings(loaded.settings)
    saved = file.load(folder, parse) if file is not None else LoadedRules()
    if loaded.is_safe:
        saved = replace(saved, rules=tuple(rule for rule in saved.rules if rule.answer is not Answer.ALLOW))
    book = RuleBook(
        build_permission_rules(loaded.settings, loaded.origins),
        saved=saved.rules,
        store=file,
        paths=paths,
        guards=guards,
        list_plan_rules=lambda: events.phase.rules,
        history=WorkspaceHistory(storage, str(folder), get_tools=get_tools, paths=paths, guards=guards),
        read_command=parse,
        read_script=read_script,
        list_files=RuleFileListing(paths.roots),
    )
    return RulesInForce(folder=folder, paths=paths, book=book, file=file, saved=saved, guards=guards)


class RuleFileListing:
    """Lists the first files below some folders, in the order in which the system names them.

    It looks at no more than `most` names, folders included, which takes milliseconds.
    """

    def __init__(self, roots: Sequence[Path | str], most: int = MOST_ENTRIES) -> None:
        self._roots = roots
        self._most = most

    def __call__(self) -> FileListing:
        """The files; what cannot be read is left out. Links are not followed."""
        seen = list(islice(_walk_entries(self._roots), self._most + 1))
        files = tuple(path for path, is_folder in seen[: self._most] if not is_folder)
        return FileListing(files, complete=len(seen) <= self._most)


def _walk_entries(roots: Sequence[Path | str]) -> Iterator[tuple[str, bool]]:
    """Paths below the roots, the shallow ones first, and whether each is a folder."""
    waiting = [str(root) for root in roots]
    for folder in waiting:
        try:
            with os.scandir(folder) as found:
                for entry in found:
                    is_folder = entry.is_dir(follow_symlinks=False)
                    if is_folder and entry.name not in _SKIPPED:
                        waiting.append(entry.path)
                    yield entry.path, is_folder
        except OSError:
            continue


async def try_call(
    name: str,
    arguments: str,
    *,
    tools: Mapping[str, Tool],
    schema: ToolSchemaPort,
    review: Review,
    rules: Sequence[Rule],
    roots: Sequence[str],
) -> tuple[Answer, str]:
    """The answer about a call, and an account of it for the person. `arguments` is a JSON object as text.

    The call is looked at by its tool and decided about by the review as in a run; nobody is asked, no model
    votes, and nothing runs. Raises ConfigError for a tool that does not exist and arguments that do not fit.
    """
    tool = _build_tool(name, tools)
    given = _build_arguments(arguments)
    if problems := schema.find_problems(tool.definition, given):
        raise ConfigError(f"these arguments do not fit {name}: {'; '.join(problems)}")
    subject = await _build_subject(tool, given)
    decision = review.decide(subject)
    lines = [
        f"decision: {decision.answer}",
        f"mode:     {review.mode}",
        *(f"because:  {reason}" for reason in decision.reasons),
    ]
    if subject.shell is not None:
        lines.append(f"command:  {subject.shell.reason}")
    touched = (("reads", subject.read), ("writes", subject.written))
    lines += [f"{kind + ':':<9} {path}" for kind, paths in touched for path in sorted(paths)]
    lines += [
        f"rule:     {rule.id} ({rule.source})" for rule in find_matching_rules(rules, subject, roots)
    ] or ["rule:     none"]
    return decision.answer, "\n".join(map(escape_unprintable, lines))


def render_rule_list(rules: Sequence[Rule], saved: Sequence[PlacedRule]) -> str:
    """The rules in force and all saved ones, one a line, and where each stands.

    Saved rules have the number by which they are removed.
    """
    kept = [one.saved.rule for one in saved]
    lines = [f"    {rule.id}  ({rule.source})" for rule in rules if rule not in kept]
    for number, one in enumerate(saved, start=1):
        rule, where = one.saved.rule, one.saved.project or "every folder"
        unused = "" if rule in rules else "not in force here; "
        lines.append(f"{number:>3} {rule.id}  ({unused}saved for {where}; {one.place})")
    return "\n".join(map(escape_unprintable, lines or ["there are no rules; the mode decides"]))


def find_saved_rule(number: int, saved: Sequence[PlacedRule]) -> PlacedRule:
    """The saved rule of that number in the listing. Raises ConfigError."""
    if not 1 <= number <= len(saved):
        there = f"they are numbered 1 to {len(saved)}" if saved else "there are none"
        raise ConfigError(
            f"there is no saved rule {number}; {there} (quorum permissions list). Rules of the settings are "
            "taken out of the file that they stand in"
        )
    return saved[number - 1]


async def _build_subject(tool: Tool, arguments: JsonObject) -> Subject:
    command, shell = None, None
    if isinstance(tool, CommandTool):
        command, shell = tool.find_command(arguments), await tool.judge(arguments)
    return Subject(
        tool=tool.definition.name,
        risk=tool.definition.risk,
        access=tool.definition.determine_access(arguments),
        arguments=arguments,
        command=command,
        shell=shell,
    )


def _build_tool(name: str, tools: Mapping[str, Tool]) -> Tool:
    if (tool := tools.get(name)) is not None:
        return tool
    near = find_nearest_word(name, tuple(tools))
    hint = f"did you mean {near}?" if near else f"the tools are {', '.join(tools)}"
    raise ConfigError(f'there is no tool "{name}"; {hint}')


def _build_arguments(text: str) -> JsonObject:
    try:
        arguments: object = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigError(
            f'the arguments are no JSON ({error}); write an object, such as \'{{"path": "a.py"}}\''
        ) from error
    if not isinstance(arguments, dict):
        raise ConfigError('the arguments must be a JSON object, such as \'{"path": "a.py"}\'')
    return arguments


async def list_sessions_of(archive: SessionArchive, folder: str) -> tuple[SessionSummary, ...]:
    """The sessions of a folder, those of subagents too, the one used last first. Raises LedgerError."""
    spelt = escape_surrogates(folder)
    return tuple(each for each in await archive.list_sessions() if each.cwd == spelt)


async def read_past_calls(archive: SessionArchive, session_id: str, since_ms: int = 0) -> tuple[PastCall, ...]:
    """The calls of a session since then, in milliseconds since 1970. Raises LedgerError."""
    records = await archive.read(session_id, CALL_EVENTS)
    return tuple(list_past_calls(record for record in records if record.at_ms >= since_ms))


def read_call_file(path: Path, tools: Mapping[str, Tool]) -> Iterator[PastCall]:
    """Each line a call: `tool`, `arguments` and, as `answer`, what became of it. Raises ConfigError.

    A tool that is not among `tools` is of high risk.
    """
    try:
        with path.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, start=1):
                if line.strip():
                    try:
                        yield _read_call(json.loads(line), tools)
                    except (ValueError, RecursionError) as error:
                        raise ConfigError(f"{path}:{number}: {error}") from error
    except OSError as error:
        raise ConfigError(f"{path}: it cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: it is not UTF-8: {error.reason}") from error


def _read_call(given: object, tools: Mapping[str, Tool]) -> PastCall:
    if not isinstance(given, dict):
        raise ValueError('it is not a JSON object; write {"tool": …, "arguments": {…}, "answer": …}')
    name, arguments, answer = given.get("tool"), given.get("arguments"), given.get("answer")
    if not isinstance(name, str) or not name:
        raise ValueError('"tool" must be the name of a tool')
    if not isinstance(arguments, dict):
        raise ValueError('"arguments" must be an object')
    if answer not in tuple(PastAnswer):
        raise ValueError(f'"answer" must be one of {", ".join(PastAnswer)}')
    tool = tools.get(name)
    risk = RiskLevel.HIGH if tool is None else tool.definition.risk
    return PastCall(tool=name, arguments=arguments, risk=risk, answer=PastAnswer(answer))


MOST_CALLS = 5_000


class WorkspaceHistory:
    """Implements `RuleHistory` over the sessions of a folder. A session is read again once it has more records.

    `get_tools` is asked when rules are replayed. At most `most_calls` of the newest calls are looked at.
    """

    def __init__(
        self,
        storage: Storage,
        folder: str,
        *,
        get_tools: Callable[[], Mapping[str, Tool]],
        paths: PathPolicy,
        guards: GuardSettings,
        most_calls: int = MOST_CALLS,
    ) -> None:
        self._storage = storage
        self._folder = folder
        self._get_tools = get_tools
        self._paths = paths
        self._guards = guards
        self._most_calls = most_calls
        self._read: dict[str, tuple[int, tuple[PastCall, ...]]] = {}

    async def replay(self, rules: Sequence[Rule], tried: Sequence[Rule]) -> RuleReplay:
        """What the rules in force and those that are tried would decide. Raises LedgerError."""
        from quorum.application.review.rule_replay import RuleReplayer

        sessions = await self._load()
        replayer = RuleReplayer(
            tools=self._get_tools(),
            rules=rules,
            tried=tried,
            paths=self._paths,
            guards=self._guards,
            read_command=parse,
            read_script=read_script,
        )
        calls = [call for session in sessions for call in reversed(session)]

        def run(stop: Stop) -> RuleReplay:
            for call in calls[: self._most_calls]:
                stop.check()
                replayer.add(call)
            is_cut = len(calls) >= self._most_calls
            return replayer.conclude(sessions=len(sessions), newest=self._most_calls if is_cut else None)

        return await run_in_thread(run)

    async def _load(self) -> list[tuple[PastCall, ...]]:
        """The calls by session, the one used last first, up to the first that is too many."""

        found: list[tuple[PastCall, ...]] = []
        count, archive = 0, self._storage.archive
        for session in await list_sessions_of(archive, self._folder):
            if count >= self._most_calls:
                break
            records, calls = self._read.get(session.id, (-1, ()))
            if records != session.records:
                calls = await read_past_calls(archive, session.id)
                self._read[session.id] = session.records, calls[-self._most_calls :]
            found.append(calls)
            count += len(calls)
        return found
