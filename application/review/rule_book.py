"""The permission rules in force: those of the settings, those saved before, and those made in this session."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime

from msgspec import Struct

from quorum.application.ports.rules import RuleHistory, RuleStore
from quorum.domain.calls.access import EXCLUSIVE, Access
from quorum.domain.calls.server_tools import format_tool_name
from quorum.domain.calls.tool import RiskLevel
from quorum.domain.errors import ConfigError
from quorum.domain.replacing import replace
from quorum.domain.review.decision import Decision, decide
from quorum.domain.review.guards import GuardSettings, find_objections
from quorum.domain.review.mode import Mode
from quorum.domain.review.path_policy import PathPolicy
from quorum.domain.review.permission_rules import (
    ARGUMENT,
    COMMAND_TOOL,
    READERS,
    WRITERS,
    Answer,
    BadRule,
    Rule,
    SavedRule,
    Subject,
    covers_hosts,
    find_matching_rules,
    list_closed_hosts,
    matches_path,
)
from quorum.domain.review.questions import RuleOffer, RulePreview, RuleScope
from quorum.domain.review.rule_offers import (
    ApprovedCall,
    ReadCommand,
    covers,
    describe_rule,
    generate_candidates,
    generate_near_misses,
    judge_by_words,
    learn_rules,
    list_matching_examples,
    relate_to_root,
)
from quorum.domain.review.rule_replay import RuleReplay
from quorum.domain.shell.command_line import CommandLine, ShellVerdict
from quorum.domain.shell.script import ReadScript, split_coarsely

_MOST_NOTED = 50
_MOST_SHOWN_CALLS = 8
_MOST_SHOWN_FILES = 5
_LONGEST_NOTED = 1_000
_NO_PATHS = PathPolicy(roots=())
_USUAL_GUARDS = GuardSettings()
_SOURCES = {
    RuleScope.SESSION: "made in this session",
    RuleScope.PROJECT: "saved for this folder",
    RuleScope.USER: "saved for every folder",
}


def _parse_nothing(_text: str) -> CommandLine:
    return CommandLine((), "nothing here can read commands")


class FileListing(Struct, frozen=True):
    """The files of the workspace by their canonical paths, or the first of them where there are too many."""

    paths: tuple[str, ...] = ()
    complete: bool = True


class RuleBook:
    """Holds the rules, proposes new ones, and shows beforehand what one would do.

    `fixed` are the rules of the settings, `saved` those of earlier sessions; `list_plan_rules` gives those of
    the approved plan, from any thread. `paths` and `guards` are what decisions are made with; the first root is
    the folder that a rule for the project holds in. `read_command` takes a command apart, `read_script` finds
    every command in a text for the guards; `list_files` gives a bounded listing of the workspace and takes
    milliseconds.
    """

    def __init__(  # noqa: PLR0913 - all that rules are made and tried with meets here
        self,
        fixed: Sequence[Rule] = (),
        *,
        saved: Sequence[Rule] = (),
        store: RuleStore | None = None,
        paths: PathPolicy = _NO_PATHS,
        guards: GuardSettings = _USUAL_GUARDS,
        read_command: ReadCommand = _parse_nothing,
        read_script: ReadScript = split_coarsely,
        list_files: Callable[[], FileListing] = FileListing,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        list_plan_rules: Callable[[], tuple[Rule, ...]] = tuple,
        history: RuleHistory | None = None,
    ) -> None:
        self._history = history
        self._list_plan_rules = list_plan_rules
        self._fixed = tuple(fixed)
        self._saved = tuple(saved)
        self._made: tuple[Rule, ...] = ()
        self._store = store
        self._paths = paths
        self._guards = guards
        self._read_command = read_command
        self._read_script = read_script
        self._list_files = list_files
        self._now = now
        self._noted: deque[Subject] = deque(maxlen=_MOST_NOTED)
        self._recalled: Mapping[str, ShellVerdict] = {}

    @property
    def read_script(self) -> ReadScript:
        """Finds every command in a text, for the guards."""
        return self._read_script

    @property
    def rules(self) -> tuple[Rule, ...]:
        """All rules in force now."""
        return (*self._fixed, *self._saved, *self._made, *self._list_plan_rules())

    @property
    def of_plan(self) -> tuple[Rule, ...]:
        """Those of the approved plan, which hold as long as it does."""
        return self._list_plan_rules()

    @property
    def fixed(self) -> tuple[Rule, ...]:
        """Those of the settings."""
        return self._fixed

    def note(self, subject: Subject) -> None:
        """Remember a call that was decided about, so that previews can tell what else a rule would let run."""
        if subject.risk is RiskLevel.LOW:
            return
        short = {
            name: value
            for name, value in subject.arguments.items()
            if not isinstance(value, str) or len(value) <= _LONGEST_NOTED
        }
        noted = replace(subject, arguments=short)
        if describe_call(noted) not in map(describe_call, self._noted):
            self._noted.append(noted)

    def propose(self, subject: Subject) -> tuple[str, ...]:
        """Rules, as text, that would let this call and its like run; the narrowest first.

        There is none where a rule cannot help: where another rule, a path or a guard has it asked about.
        """
        if subject.shell is not None and subject.shell.asked_hosts:
            closed = list_closed_hosts(self.rules, subject)
            subject = replace(subject, shell=replace(subject.shell, asked_hosts=closed))
        return tuple(
            text
            for text in generate_candidates(subject, self._paths.roots)
            if (rule := _read(text)) is not None and self._would_run((rule,), subject)
        )

    def offer(self, subject: Subject, approved: Sequence[ApprovedCall]) -> RuleOffer | None:
        """Rules that would let this call run and cover enough `approved` ones; None where there are none.

        It may be called in a thread.
        """
        learnt = learn_rules(subject, self._recall(approved), self.rules, self._paths.roots)
        if learnt is None or not self._would_run(learnt.rules, subject):
            return None
        others = [noted for noted in tuple(self._noted) if describe_call(noted) != describe_call(subject)]
        newly = [self._name(noted) for noted in others if self._would_newly_run(learnt.rules, noted)]
        covered = _shorten(newly, _MOST_SHOWN_CALLS, "calls of this session")
        more = [
            text
            for rule in learnt.rules
            for text in (*self._list_examples(rule, subject)[2], *self._sample_files(rule, subject))
        ]
        return RuleOffer(
            rules=tuple(rule.text for rule in learnt.rules),
            approvals=learnt.approvals,
            families=learnt.families,
            covers=tuple(dict.fromkeys((*covered, *more))),
        )

    def _recall(self, approved: Sequence[ApprovedCall]) -> tuple[Subject, ...]:
        """Approved calls as rules see them; nothing that their commands name is looked at."""
        known, recalled = self._recalled, dict[str, ShellVerdict]()
        for text in {call.command for call in approved if call.command is not None}:
            recalled[text] = known[text] if text in known else judge_by_words(self._read_command(text))
        self._recalled = recalled
        return tuple(
            Subject(
                tool=call.tool,
                risk=RiskLevel.HIGH,
                access=Access.of(writes=call.written) if call.command is None else EXCLUSIVE,
                command=call.command,
                shell=recalled[call.command] if call.command is not None else None,
            )
            for call in approved
        )

    def preview(self, text: str, subject: Subject) -> RulePreview:
        """What a rule that allows, as text, would do; the examples are those it would be saved with."""
        try:
            rule = _make_rule(text, RuleScope.SESSION)
        except BadRule as problem:
            return RulePreview(problem=f"this is not a rule: {problem}")
        matching, missed, hit = self._list_examples(rule, subject)
        others = [other for other in self._noted if describe_call(other) != describe_call(subject)]
        newly = [self._name(other) for other in others if self._would_newly_run((rule,), other)]
        return RulePreview(
            covers_this=self._would_run((rule,), subject),
            covers=(
                *_shorten(newly, _MOST_SHOWN_CALLS, "calls of this session"),
                *hit,
                *self._sample_files(rule, subject),
            ),
            family=describe_rule(rule),
            must_match=matching,
            must_not_match=missed,
        )

    async def add(self, text: str, scope: RuleScope, subject: Subject) -> Rule:
        """Put a rule that allows in force, and keep it as its scope says.

        Raises ConfigError: for a text that is not a rule; and where it could not be saved, in which case it
        holds for this session all the same.
        """
        try:
            rule = _make_rule(text, scope)
        except BadRule as problem:
            raise ConfigError(f"this is not a rule: {problem}") from problem
        if rule.id not in {made.id for made in self._made}:
            self._made = (*self._made, rule)
        if scope is not RuleScope.SESSION:
            await self._save(rule, scope, subject)
        return rule

    def preview_rule(self, text: str, answer: Answer) -> RulePreview:
        """What a rule, as text, would change for the calls of this session, and which files it is about.

        Of one that allows, `covers` are those it would let run; of another those that it would hold up.
        """
        try:
            rule = _make_rule(text, RuleScope.SESSION, answer)
        except BadRule as problem:
            return RulePreview(problem=f"this is not a rule: {problem}")
        changed = [
            self._name(noted)
            for noted in self._noted
            if rule in find_matching_rules((rule,), noted, self._paths.roots)
            and self._decide((*self.rules, rule), noted).answer is not self._decide(self.rules, noted).answer
        ]
        covered = _shorten(changed, _MOST_SHOWN_CALLS, "calls of this session")
        return RulePreview(covers_this=True, covers=(*covered, *self._sample_files(rule)))

    async def establish(self, text: str, answer: Answer, scope: RuleScope) -> Rule:
        """Put a rule in force that is about no call in particular, and keep it as its scope says.

        Raises ConfigError as `add` does.
        """
        try:
            rule = _make_rule(text, scope, answer)
        except BadRule as problem:
            raise ConfigError(f"this is not a rule: {problem}") from problem
        self._made = (*(made for made in self._made if made.id != rule.id), rule)
        if scope is not RuleScope.SESSION:
            await self._save(rule, scope, None)
        return rule

    def drop(self, rule: Rule) -> None:
        """Have a rule in force no more that was made in this session, or saved before it."""
        self._made = tuple(made for made in self._made if made != rule)
        self._saved = tuple(saved for saved in self._saved if saved != rule)

    async def _save(self, rule: Rule, scope: RuleScope, subject: Subject | None) -> None:
        project = next(iter(self._paths.roots), None)
        if self._store is None or (scope is RuleScope.PROJECT and project is None):
            raise ConfigError("there is no place to save it in, so it holds in this session only")
        matching: tuple[str, ...] = ()
        missed: tuple[str, ...] = ()
        if subject is not None:
            matching, missed, _ = self._list_examples(rule, subject)
        saved = SavedRule(
            rule=rule,
            project=project if scope is RuleScope.PROJECT else None,
            saved=self._now().isoformat(timespec="seconds").replace("+00:00", "Z"),
            must_match=matching,
            must_not_match=missed,
        )
        try:
            await self._store.save(saved)
        except ConfigError as error:
            raise ConfigError(f"{error}; it holds in this session only") from error

    # ---------------------------------------------------------------- what a rule would do

    def _would_run(self, added: Sequence[Rule], subject: Subject) -> bool:
        """Whether the call would run because of these rules."""
        rules = (*self.rules, *added)
        if subject.shell is not None and subject.shell.asked_hosts:
            # Such a rule opens hosts, and leaves to the mode whether the command runs.
            opens = any(covers_hosts(rule, subject) for rule in added)
            return opens and self._decide(rules, subject, mode=Mode.SANDBOXED).answer is Answer.ALLOW
        matching = find_matching_rules(rules, subject, self._paths.roots)
        if not any(rule in matching for rule in added):  # most calls, and quick to find out
            return False
        return self._decide(rules, subject).answer is Answer.ALLOW

    def _would_newly_run(self, added: Sequence[Rule], subject: Subject) -> bool:
        return self._would_run(added, subject) and self._decide(self.rules, subject).answer is not Answer.ALLOW

    @property
    def has_history(self) -> bool:
        """Whether rules can be replayed on past calls."""
        return self._history is not None

    async def replay(self, texts: Sequence[str], answer: Answer = Answer.ALLOW) -> RuleReplay | None:
        """What these rules would have decided about past calls; None where nobody knows of any, or one is none.

        Raises LedgerError.
        """
        if self._history is None:
            return None
        try:
            tried = [_make_rule(text, RuleScope.SESSION, answer) for text in texts]
        except BadRule:
            return None
        return await self._history.replay(self.rules, tried)

    def _name(self, subject: Subject) -> str:
        """A call in a list that the person reads."""
        folder = next(iter(self._paths.roots), "")
        return describe_call(subject, folder, verb=format_tool_name(subject.tool))

    def _decide(self, rules: Sequence[Rule], subject: Subject, *, mode: Mode = Mode.ASK) -> Decision:
        objected = find_objections(
            subject.arguments,
            subject.access,
            subject.command,
            paths=self._paths,
            settings=self._guards,
            read_script=self._read_script,
            tool=subject.tool,
        )
        return decide(subject, mode=mode, paths=self._paths, rules=rules, objections=objected)

    def _list_examples(
        self, rule: Rule, subject: Subject
    ) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
        """What the rule must cover, the near misses that it does not cover, and those that it does."""
        root = next(iter(self._paths.roots), "/")

        def is_covered(example: str) -> bool:
            return covers(rule, example, self._read_command, root)

        examples = list_matching_examples(rule, subject, root)
        matching = tuple(example for example in examples if is_covered(example))
        if examples[:1] == matching[:1]:
            matching = matching[:1]  # the whole call says all that its parts could
        near = generate_near_misses(rule, matching[0]) if matching else ()
        missed = tuple(miss for miss in near if not is_covered(miss))
        return matching, missed, tuple(miss for miss in near if miss not in missed)

    def _sample_files(self, rule: Rule, subject: Subject | None = None) -> tuple[str, ...]:
        """Some files of the workspace that a rule about paths covers, and how many there are; those of the call
        in question are none of them."""
        if not _is_about_paths(rule) or rule.pattern is None:
            return ()
        roots, listing = self._paths.roots, self._list_files()
        own = frozenset[str]() if subject is None else subject.read | subject.written
        found = [
            path
            for path in listing.paths
            if path not in own and matches_path(rule.pattern, path, roots, strict=True)
        ]
        kind = "files" if listing.complete else f"files among the first {len(listing.paths):,}"
        return _shorten([relate_to_root(path, roots) for path in found], _MOST_SHOWN_FILES, kind)


def _make_rule(text: str, scope: RuleScope, answer: Answer = Answer.ALLOW) -> Rule:
    """The rule that a text in a dialog stands for. Raises BadRule."""
    if not text.strip().isprintable():
        raise BadRule("it has characters that cannot be seen, so that nobody can tell what it says")
    return Rule.parse(text, answer, _SOURCES[scope])


def _read(text: str) -> Rule | None:
    try:
        return _make_rule(text, RuleScope.SESSION)
    except BadRule:
        return None  # a call whose words a rule cannot express


def _is_about_paths(rule: Rule) -> bool:
    if rule.tool in WRITERS | READERS:
        return True
    return rule.tool != COMMAND_TOOL and not ARGUMENT.fullmatch(rule.pattern or "")


def describe_call(subject: Subject, folder: str = "", *, verb: str = "") -> str:
    """A call in one line, for the person; files below `folder` are named from there. `verb` stands in the place
    of the tool."""
    if subject.command is not None:
        return subject.command.strip()
    touched = sorted(subject.written or subject.read)
    if touched:
        below = folder.rstrip("/") + "/" if folder else ""
        return " ".join((verb or subject.tool, *(path.removeprefix(below) for path in touched)))
    given = (f"{name}={value}" for name, value in subject.arguments.items() if isinstance(value, str))
    return " ".join((verb or subject.tool, *given))


def _shorten(texts: Sequence[str], most: int, kind: str) -> tuple[str, ...]:
    if len(texts) <= most:
        return tuple(texts)
    return (*texts[:most], f"… and {len(texts) - most:,} more {kind}")
