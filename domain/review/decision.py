"""The one decision function: whether a call may run, must be asked about, or may not run. Pure.

The strictest answer wins. An explicit rule that denies or asks, a protected or sensitive path and a guard's
objection hold in every mode, and so does the question about a command that would leave the sandbox; the mode
resolves what they leave open. What no rule allows is asked about as well where the sandbox has a gap, where it
may carry data to the web, and where it lies outside of the approved plan: no mode stands in for that. While a
plan is made nothing is changed.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from quorum.domain.calls.tool import RiskLevel
from quorum.domain.goal import PROPOSE_CHECKS
from quorum.domain.replacing import replace
from quorum.domain.review.ballot import Tally, Verdict
from quorum.domain.review.mode import Mode
from quorum.domain.review.objection import Objection, describe_write_outside
from quorum.domain.review.path_policy import PathPolicy
from quorum.domain.review.permission_rules import (
    AllowedTools,
    Answer,
    Rule,
    Subject,
    explain_doubt,
    explain_uncovered_word,
    find_matching_rules,
    find_rules_on_host,
)
from quorum.domain.review.person_question import ASK_PERSON
from quorum.domain.review.plain_request import Asked
from quorum.domain.review.plan_terms import CREATE_PLAN, NO_PLAN, PlanTerms
from quorum.domain.shell.command_line import ShellVerdict


class Decision(Struct, frozen=True, kw_only=True):
    """An answer and why, in words for the person; `spoke` are the ids of what gave it.

    `by_mode` tells that nothing but the mode speaks for it: in the mode `quorum` votes may then change it.
    """

    answer: Answer
    reasons: tuple[str, ...]
    spoke: tuple[str, ...] = ()
    by_mode: bool = False

    @property
    def routine_reasons(self) -> tuple[str, ...]:
        """The reasons that say no more than that the mode asks about such calls."""
        return tuple(reason for id, reason in zip(self.spoke, self.reasons, strict=False) if id in _ROUTINE)

    @property
    def is_objected_to(self) -> bool:
        """Whether anything speaks against the call but its mode, and that no plan or rule covers it."""
        return not all(id in _PLAIN or id.startswith("mode ") for id in self.spoke)

    def with_notes(self, notes: Sequence[str]) -> Decision:
        """The same, with what the person is told first."""
        return replace(self, reasons=(*notes, *self.reasons), spoke=(*("note" for _ in notes), *self.spoke))

    @property
    def notices(self) -> tuple[str, ...]:
        """The reasons that the person has to know of, although they speak of no harm."""
        return tuple(reason for id, reason in zip(self.spoke, self.reasons, strict=False) if _is_notice(id))


class _Voice(Struct, frozen=True):
    answer: Answer
    id: str
    reason: str


# In `sandboxed` and `staged` most calls run unasked: what is asked there is no routine.
_ROUTINE = frozenset(
    ("note", "plan", "question", *(f"mode {mode}" for mode in (Mode.ASK, Mode.ACCEPT_EDITS, Mode.QUORUM)))
)
_PLAIN = frozenset(("note", "outside the plan", "word that no rule covers"))
_ASKED_FOR = ", asked for"
UNUSABLE_EDIT = "edit"
_NOTICES = frozenset(
    (
        f"mode {Mode.SANDBOXED}",
        f"mode {Mode.STAGED}",
        "opens .git",
        "closed .git",
        "host",
        "hook",
        "outside the plan",
        "word that no rule covers",
        UNUSABLE_EDIT,
    )
)
_OPENED_GIT = (
    "commands write to .git in this session: they can commit, and also change or delete branches and commits; "
    "git's settings and hooks stay closed"
)


def _is_notice(id: str) -> bool:
    """A rule that asks is the person's own wish, and so is what they plainly asked for."""
    return id in _NOTICES or id.startswith("rule ") or id.endswith(_ASKED_FOR)


_STRICTNESS = {Answer.ALLOW: 0, Answer.ASK: 1, Answer.DENY: 2}


def decide(
    subject: Subject,
    *,
    mode: Mode,
    paths: PathPolicy,
    rules: Sequence[Rule] = (),
    objections: Sequence[Objection] = (),
    votes: Tally | None = None,
    allowed_tools: AllowedTools | None = None,
    plan: PlanTerms = NO_PLAN,
    web_doubt: str = "",
) -> Decision:
    """Decide about one call. `votes` is the count of a finished voting; None where there was none.

    `allowed_tools` are those of the custom command whose turn it is; None where it names none. `web_doubt` says
    why the call may carry data to the web, empty where it does not.
    """
    decision = _decide(
        subject,
        mode=mode,
        paths=paths,
        rules=rules,
        objections=objections,
        votes=votes,
        allowed_tools=allowed_tools,
        plan=plan,
        web_doubt=web_doubt,
    )
    if decision.answer is Answer.ASK and subject.shell is not None and subject.shell.offers_git:
        return replace(
            decision,
            reasons=(*decision.reasons, f"your yes also lets {_OPENED_GIT}"),
            spoke=(*decision.spoke, "opens .git"),
        )
    return decision


def _decide(
    subject: Subject,
    *,
    mode: Mode,
    paths: PathPolicy,
    rules: Sequence[Rule],
    objections: Sequence[Objection],
    votes: Tally | None,
    allowed_tools: AllowedTools | None,
    plan: PlanTerms,
    web_doubt: str,
) -> Decision:
    said = find_matching_rules(rules, subject, paths.roots)
    has_rule = any(rule.answer is Answer.ALLOW for rule in said)
    is_looked_at = mode is not Mode.STAGED or not is_held_by_layer(subject, paths) or _reaches_hosts(subject)
    standing = _list_standing(objections, mode, has_rule=has_rule) if is_looked_at else []
    restricting = [
        *(_judge_restricting_rule(rule, subject) for rule in said if rule.answer is not Answer.ALLOW),
        *_judge_paths(subject, paths),
        *_judge_outside(subject, paths, standing),
        *_judge_leaving(subject),
        *_judge_hosts(subject, rules),
        *_judge_planning(subject, plan, said),
        *_judge_question(subject),
        *([_Voice(Answer.ASK, "hook", subject.hook_asks)] if subject.hook_asks else ()),
        *(_Voice(Answer.ASK, f"guard {o.guard}", f"{o.reason} (guard {o.guard})") for o in standing),
    ]
    if allowed_tools is not None and allowed_tools.withholds(subject, paths.roots):
        restricting.append(_Voice(Answer.DENY, "rule allowed-tools", allowed_tools.reason))
    by_mode = _judge_mode(subject, mode, paths, votes)
    if by_mode.answer is Answer.DENY and not _is_proved_read_only(subject, said):
        restricting.append(by_mode)
    if restricting:
        return _select_strictest(restricting)
    if allowing := [_judge_rule(rule) for rule in said if rule.answer is Answer.ALLOW]:
        return _select_strictest([*allowing, *_judge_closed_git(subject)])
    beside_mode = _judge_beside_mode(subject, plan, web_doubt)
    if beside_mode:
        return _select_strictest([by_mode, *beside_mode, *_judge_words(subject, rules)])
    if by_mode.answer is Answer.ASK and (words := _judge_words(subject, rules)):
        return replace(_select_strictest([by_mode, *words]), by_mode=True)
    answered = [o for o in objections if o.asked is not Asked.NOT]
    return Decision(
        answer=by_mode.answer,
        reasons=(
            by_mode.reason,
            *(f"{o.reason} (you asked for it)" for o in answered),
        ),
        spoke=(by_mode.id, *(f"guard {o.guard}{_ASKED_FOR}" for o in answered)),
        by_mode=True,
    )


def _select_strictest(voices: Sequence[_Voice]) -> Decision:
    answer = max((voice.answer for voice in voices), key=_STRICTNESS.__getitem__)
    matching = [voice for voice in voices if voice.answer is answer]
    return Decision(
        answer=answer,
        reasons=tuple(voice.reason for voice in matching),
        spoke=tuple(voice.id for voice in matching),
    )


def _judge_rule(rule: Rule) -> _Voice:
    verb = {Answer.ALLOW: "allows it", Answer.ASK: "asks about it", Answer.DENY: "denies it"}[rule.answer]
    return _Voice(rule.answer, f"rule {rule.id}", f"the rule {rule.text} {verb} ({rule.source})")


def _judge_restricting_rule(rule: Rule, subject: Subject) -> _Voice:
    """A rule that may be about a call and need not leaves the decision to the person."""
    if not (doubt := explain_doubt(rule, subject)):
        return _judge_rule(rule)
    verb = "forbid it" if rule.answer is Answer.DENY else "ask about it"
    reason = f"the rule {rule.text} may {verb} ({rule.source}): {doubt}"
    return _Voice(Answer.ASK, f"rule {rule.id}", reason)


def _judge_paths(subject: Subject, paths: PathPolicy) -> list[_Voice]:
    protected = sorted(path for path in subject.written if paths.is_protected(path))
    sensitive = sorted(path for path in subject.read | subject.written if paths.is_sensitive(path))
    return [
        *(_Voice(Answer.ASK, "protected path", _explain_protection(path, paths)) for path in protected),
        *(_Voice(Answer.ASK, "sensitive path", f"{path} is a sensitive file") for path in sensitive),
        *(
            _Voice(Answer.ASK, "sensitive path", f"a token may stand in {path}")
            for path in sorted(subject.access.secret.difference(sensitive))
        ),
    ]


def _explain_protection(path: str, paths: PathPolicy) -> str:
    if paths.code.covers(path):
        return f"{path} is a protected path: quorum itself loads or starts it, outside the sandbox"
    if paths.places.is_protected(path):
        return f"{path} is a protected path: a protected file was here or leads here, or git obeys what is here"
    return f"{path} is a protected path"


def _list_standing(objections: Sequence[Objection], mode: Mode, *, has_rule: bool) -> list[Objection]:
    """The objections that stand. A request for each target by name answers one in every mode; a request for the
    effect does so only where reviewers or the person look at the call all the same, and no rule stands in for
    them."""
    is_looked_at = (mode.traits.asks_first or mode.traits.votes_decide) and not has_rule
    return [o for o in objections if o.asked is Asked.NOT or (o.asked is Asked.EFFECT and not is_looked_at)]


def _judge_outside(subject: Subject, paths: PathPolicy, standing: Sequence[Objection]) -> list[_Voice]:
    """No rule and no mode lets a file tool out of the workspace. A folder may have been added since; of a path
    that it writes the guard may have said so."""
    said = {objection.reason for objection in standing}
    outside = sorted(path for path in subject.access.outside if not paths.is_inside(path))
    return [
        _Voice(Answer.ASK, "outside the workspace", f"{path} lies outside the workspace")
        for path in outside
        if describe_write_outside(path) not in said
    ]


def _judge_leaving(subject: Subject) -> list[_Voice]:
    """No rule and no mode lets a command out of the sandbox, or opens more of it."""
    voices: list[_Voice] = []
    if subject.shell is not None and subject.shell.leaves_sandbox:
        reason = "it asks to run outside the sandbox, where it can do all that you can"
        voices.append(_Voice(Answer.ASK, "outside the sandbox", reason))
        planted = (f"it may start what was written in the layer: {each}" for each in subject.shell.planted)
        voices += [_Voice(Answer.ASK, "planted in the layer", reason) for reason in planted]
    if subject.shell is not None and subject.shell.opens_git:
        voices.append(_Voice(Answer.ASK, "opens .git", f"it also lets {_OPENED_GIT}"))
    return voices


def _judge_hosts(subject: Subject, rules: Sequence[Rule]) -> list[_Voice]:
    """No mode and no rule about commands opens a host, and a rule about the host opens nothing else."""
    voices: list[_Voice] = []
    for host in subject.shell.asked_hosts if subject.shell is not None else ():
        said = find_rules_on_host(rules, host)
        voices += [_judge_rule(rule) for rule in said if rule.answer is not Answer.ALLOW]
        if not said:
            reason = f"it asks to reach {host}, to which it can then send what it has read"
            voices.append(_Voice(Answer.ASK, "host", reason))
    return voices


def _reaches_hosts(subject: Subject) -> bool:
    """Whether it can reach anybody: what it sends stands in no layer."""
    return subject.shell is not None and bool(subject.shell.asked_hosts or subject.shell.reached_hosts)


def _judge_closed_git(subject: Subject) -> list[_Voice]:
    """A rule from another session allows a command, and not what it needs in this one."""
    if subject.shell is None or not subject.shell.offers_git:
        return []
    reason = "a rule allows it, but .git is closed in this session until you approve a command that changes it"
    return [_Voice(Answer.ASK, "closed .git", reason)]


def _judge_planning(subject: Subject, plan: PlanTerms, said: Sequence[Rule]) -> list[_Voice]:
    """A plan takes an approval, whatever allows it; until then nothing runs that may change something."""
    voices: list[_Voice] = []
    if subject.tool == CREATE_PLAN and plan.asks:
        voices.append(_Voice(Answer.ASK, "plan", "your yes lets what its tasks declare run unasked"))
    if plan.is_planning and subject.risk is RiskLevel.HIGH and not _is_proved_read_only(subject, said):
        reason = f"nothing is changed while a plan is made: propose the plan with {CREATE_PLAN}"
        voices.append(_Voice(Answer.DENY, "plan mode", reason))
    return voices


def _judge_question(subject: Subject) -> list[_Voice]:
    """A question to the person is answered by them, whatever else is allowed; so is what counts as reached."""
    match subject.tool:
        case tool if tool == ASK_PERSON:
            return [_Voice(Answer.ASK, "question", "the model asks you")]
        case tool if tool == PROPOSE_CHECKS:
            reason = "your yes has these commands run after each attempt, and say whether the goal is reached"
            return [_Voice(Answer.ASK, "question", reason)]
        case _:
            return []


def _judge_beside_mode(subject: Subject, plan: PlanTerms, web_doubt: str) -> list[_Voice]:
    """What only a rule may allow: the mode does not."""
    voices = [_Voice(Answer.ASK, "web address", web_doubt)] if web_doubt else []
    if subject.shell is not None and subject.shell.sandbox_gap is not None:
        voices.append(_Voice(Answer.ASK, "sandbox", subject.shell.sandbox_gap))
    if plan.is_bound and subject.risk is RiskLevel.HIGH:
        declared = f"what the task {plan.task_id} declares" if plan.task_id else "the approved plan"
        voices.append(_Voice(Answer.ASK, "outside the plan", f"it lies outside of {declared}"))
    return voices


def _judge_words(subject: Subject, rules: Sequence[Rule]) -> list[_Voice]:
    """Which word of a command keeps a rule from covering it, so that the person knows why they are asked."""
    reason = explain_uncovered_word(rules, subject)
    return [_Voice(Answer.ASK, "word that no rule covers", reason)] if reason else []


def _judge_mode(subject: Subject, mode: Mode, paths: PathPolicy, votes: Tally | None) -> _Voice:
    if subject.risk is RiskLevel.LOW:
        return _Voice(Answer.ALLOW, "low risk", "low risk")
    name = f"mode {mode}"
    match mode:
        case Mode.READ_ONLY:
            return _Voice(Answer.DENY, name, f"the mode is read-only{_explain_missing_proof(subject)}")
        case Mode.ASK:
            return _Voice(Answer.ASK, name, f"high risk, and the mode is ask{_explain_missing_proof(subject)}")
        case Mode.ACCEPT_EDITS if _is_edit_inside(subject, paths):
            return _Voice(Answer.ALLOW, name, "an edit inside the workspace, and the mode is accept-edits")
        case Mode.ACCEPT_EDITS:
            return _Voice(Answer.ASK, name, "high risk, and more than an edit inside the workspace")
        case Mode.QUORUM if votes is not None and votes.verdict is Verdict.APPROVED:
            return _Voice(Answer.ALLOW, name, f"the quorum approved it: {votes.describe_count()}")
        case Mode.QUORUM if votes is not None:
            return _Voice(Answer.ASK, name, f"the quorum did not approve it: {votes.describe_count()}")
        case Mode.QUORUM:
            return _Voice(Answer.ASK, name, "high risk, and no quorum has voted on it")
        case Mode.SANDBOXED:
            return _judge_sandboxed(subject, name, paths)
        case Mode.STAGED:
            return _judge_staged(subject, name, paths)
        case Mode.AUTO:
            return _Voice(Answer.ALLOW, name, "the mode is auto")


def _judge_sandboxed(subject: Subject, name: str, paths: PathPolicy) -> _Voice:
    if _is_edit_inside(subject, paths):
        return _Voice(Answer.ALLOW, name, "an edit inside the workspace, and the mode is sandboxed")
    if subject.shell is not None and subject.shell.is_confined:
        return _Voice(Answer.ALLOW, name, f"it runs inside the sandbox, {_describe_reach(subject.shell)}")
    return _Voice(
        Answer.ASK, name, "high risk, and more than a command that runs to its end inside the sandbox"
    )


def _describe_reach(shell: ShellVerdict) -> str:
    hosts = dict.fromkeys((*shell.asked_hosts, *shell.reached_hosts))
    return f"and reaches no hosts but {', '.join(hosts)}" if hosts else "without network"


def _judge_staged(subject: Subject, name: str, paths: PathPolicy) -> _Voice:
    if is_held_by_layer(subject, paths):
        return _Voice(Answer.ALLOW, name, "it runs in the layer, whose effects you review")
    return _Voice(Answer.ASK, name, "high risk, and the layer would not hold all that it does")


def is_held_by_layer(subject: Subject, paths: PathPolicy) -> bool:
    """Whether all that a call does stands in the layer, so that the review of its effects shows it: guards look
    at the effects then, and not at the call."""
    return _is_edit_inside(subject, paths) or (subject.shell is not None and subject.shell.is_confined)


def can_run_sandboxed(subject: Subject, paths: PathPolicy) -> bool:
    """Whether the mode `sandboxed` may let a call run: how a command is held shows once it is in force."""
    shell = subject.shell
    stays = shell is not None and not (shell.leaves_sandbox or shell.opens_git)
    stays = stays and subject.arguments.get("background") is not True  # nobody looks at it when it ends
    return stays or _is_edit_inside(subject, paths)


def _explain_missing_proof(subject: Subject) -> str:
    """Why a command is not known to change nothing: else it would have run unasked. A gap of the sandbox is
    told by itself."""
    shell = subject.shell
    if shell is None or shell.is_read_only or shell.reason == shell.sandbox_gap:
        return ""
    return f"; {shell.reason}"


def _is_edit_inside(subject: Subject, paths: PathPolicy) -> bool:
    access = subject.access
    return bool(access.writes) and not access.exclusive and all(paths.is_inside(p) for p in access.writes)


def _is_proved_read_only(subject: Subject, said: Sequence[Rule]) -> bool:
    """Whether a rule lets it run because it is proved to change nothing: that fits the mode read-only."""
    proved = subject.shell is not None and subject.shell.is_read_only
    return proved and any(rule.answer is Answer.ALLOW for rule in said)
