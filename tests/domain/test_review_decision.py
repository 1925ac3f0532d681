from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorum.domain.calls.access import EXCLUSIVE, Access
from quorum.domain.calls.tool import RiskLevel
from quorum.domain.replacing import replace
from quorum.domain.review.decision import Decision, can_run_sandboxed, decide
from quorum.domain.review.mode import Mode
from quorum.domain.review.objection import Objection
from quorum.domain.review.path_policy import OwnCode, PathPolicy
from quorum.domain.review.permission_rules import Answer, Rule, Subject
from quorum.domain.review.plain_request import Asked
from quorum.domain.review.plan_terms import NO_PLAN, PlanTerms
from quorum.domain.shell.command_line import JudgedCommand, ShellVerdict, ShellVerdictKind, SimpleCommand

PATHS = PathPolicy(roots=("/w",))
READ = Access.of(reads=["/w/a.py"])
EDIT = Access.of(writes=["/w/a.py"])
OUTSIDE = Access.of(writes=["/etc/passwd"])


def _decide(risk: RiskLevel, access: Access, *, paths: PathPolicy, mode: Mode) -> Decision:
    return decide(Subject(tool="any", risk=risk, access=access), paths=paths, mode=mode)


ALLOW, ASK, DENY = Answer.ALLOW, Answer.ASK, Answer.DENY
LOW, HIGH = RiskLevel.LOW, RiskLevel.HIGH


@pytest.mark.parametrize(
    ("mode", "low_read", "edit_inside", "command", "edit_outside"),
    [
        (Mode.READ_ONLY, ALLOW, DENY, DENY, DENY),
        (Mode.ASK, ALLOW, ASK, ASK, ASK),
        (Mode.ACCEPT_EDITS, ALLOW, ALLOW, ASK, ASK),
        (Mode.SANDBOXED, ALLOW, ALLOW, ASK, ASK),
        (Mode.STAGED, ALLOW, ALLOW, ASK, ASK),
        (Mode.AUTO, ALLOW, ALLOW, ALLOW, ALLOW),
    ],
)
def test_the_mode_resolves_what_paths_leave_open(
    mode: Mode, low_read: Answer, edit_inside: Answer, command: Answer, edit_outside: Answer
) -> None:
    def answer(risk: RiskLevel, access: Access) -> Answer:
        return _decide(risk, access, paths=PATHS, mode=mode).answer

    assert answer(LOW, READ) is low_read
    assert answer(HIGH, EDIT) is edit_inside
    assert answer(HIGH, EXCLUSIVE) is command
    assert answer(HIGH, OUTSIDE) is edit_outside


@pytest.mark.parametrize("mode", [Mode.ASK, Mode.ACCEPT_EDITS, Mode.SANDBOXED, Mode.STAGED, Mode.AUTO])
@pytest.mark.parametrize(
    "path",
    ["/w/.git/config", "/w/.git/hooks/pre-commit", "/w/quorum.toml", "/w/sub/AGENTS.md", "/w/.GIT/config"],
)
def test_writing_a_protected_path_is_asked_about_in_every_mode(mode: Mode, path: str) -> None:
    decision = _decide(HIGH, Access.of(writes=[path]), paths=PATHS, mode=mode)

    assert decision.answer is ASK
    assert any("protected" in reason for reason in decision.reasons)


@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize(
    "path",
    ["/w/.env", "/w/.env.local", "/w/a/server.pem", "/w/id_rsa", "/home/me/.ssh/config", "/w/.aws/credentials"],
)
def test_reading_a_sensitive_file_is_asked_about_in_every_mode(mode: Mode, path: str) -> None:
    assert _decide(LOW, Access.of(reads=[path]), paths=PATHS, mode=mode).answer is ASK


def test_read_only_denies_writing_a_protected_path_rather_than_asking() -> None:
    access = Access.of(writes=["/w/quorum.toml"])

    assert _decide(HIGH, access, paths=PATHS, mode=Mode.READ_ONLY).answer is DENY


@pytest.mark.parametrize("path", ["/w/environment.py", "/w/key.py", "/w/config", "/w/gitconfig", "/w/idea.md"])
def test_ordinary_names_are_neither_protected_nor_sensitive(path: str) -> None:
    assert not PATHS.is_protected(path)
    assert not PATHS.is_sensitive(path)


def test_a_folder_with_a_like_beginning_is_not_inside_the_workspace() -> None:
    assert PATHS.is_inside("/w/x")
    assert PATHS.is_inside("/w")
    assert not PATHS.is_inside("/ws/x")


STRICTNESS = {ALLOW: 0, ASK: 1, DENY: 2}


@given(
    st.sampled_from(RiskLevel),
    st.frozensets(st.sampled_from(["/w/a", "/w/.env", "/w/quorum.toml", "/etc/x"])),
    st.frozensets(st.sampled_from(["/w/a", "/w/.env", "/w/quorum.toml", "/etc/x"])),
    st.sampled_from(Mode),
)
def test_touching_more_never_makes_the_answer_milder(
    risk: RiskLevel, writes: frozenset[str], more: frozenset[str], mode: Mode
) -> None:
    less = _decide(risk, Access(writes=writes | {"/w/b"}), paths=PATHS, mode=mode)
    both = _decide(risk, Access(writes=writes | more | {"/w/b"}), paths=PATHS, mode=mode)

    assert STRICTNESS[both.answer] >= STRICTNESS[less.answer]
    assert both.reasons


_GAP = ShellVerdict(
    kind=ShellVerdictKind.ASK,
    reason="it writes",
    sandbox_gap="the workspace is too large",
    is_confined=True,
)
_CONFINED = ShellVerdict(kind=ShellVerdictKind.ASK, reason="it writes", is_confined=True)
_RULE = Rule.parse("run_command", ALLOW, "rules.toml")
_OBJECTION = Objection("destructive-command", "it deletes")


@pytest.mark.parametrize(
    ("mode", "subject", "answer"),
    [
        (Mode.STAGED, Subject(tool="run_command", risk=HIGH, access=EXCLUSIVE, shell=_CONFINED), ALLOW),
        (Mode.STAGED, Subject(tool="write_file", risk=HIGH, access=EDIT), ALLOW),
        (Mode.STAGED, Subject(tool="run_command", risk=HIGH, access=EXCLUSIVE), ASK),
        (Mode.STAGED, Subject(tool="write_file", risk=HIGH, access=OUTSIDE), ASK),
        (Mode.SANDBOXED, Subject(tool="run_command", risk=HIGH, access=EXCLUSIVE, shell=_CONFINED), ASK),
    ],
)
def test_guards_object_to_no_call_that_the_layer_holds_but_to_all_others(
    mode: Mode, subject: Subject, answer: Answer
) -> None:
    assert decide(subject, mode=mode, paths=PATHS, objections=[_OBJECTION]).answer is answer


@pytest.mark.parametrize(
    ("left", "reason"),
    [
        (replace(_CONFINED, leaves_sandbox=True, is_confined=False), "outside the sandbox"),
        (replace(_CONFINED, is_confined=False), "would not hold all"),
        (replace(_CONFINED, paths_read=("/w/.env",)), "sensitive"),
    ],
)
def test_in_a_layer_a_command_is_asked_about_that_it_does_not_hold(left: ShellVerdict, reason: str) -> None:
    subject = Subject(tool="run_command", risk=HIGH, access=EXCLUSIVE, command="x", shell=left)

    decision = decide(subject, mode=Mode.STAGED, paths=PATHS)

    assert decision.answer is ASK
    assert any(reason in each for each in decision.reasons)


@pytest.mark.parametrize("mode", [Mode.ASK, Mode.ACCEPT_EDITS, Mode.QUORUM, Mode.SANDBOXED, Mode.AUTO])
def test_a_gap_in_the_sandbox_is_asked_about_in_every_mode_unless_a_rule_allows_the_command(mode: Mode) -> None:
    subject = Subject(tool="run_command", risk=HIGH, access=EXCLUSIVE, shell=_GAP)

    decision = decide(subject, mode=mode, paths=PATHS)

    assert decision.answer is ASK
    assert "the workspace is too large" in decision.reasons
    assert not decision.by_mode
    assert decide(subject, mode=mode, paths=PATHS, rules=[_RULE]).answer is ALLOW


@pytest.mark.parametrize(
    ("mode", "answer"),
    [
        (Mode.READ_ONLY, DENY),
        (Mode.ASK, ASK),
        (Mode.ACCEPT_EDITS, ASK),
        (Mode.QUORUM, ASK),
        (Mode.SANDBOXED, ALLOW),
        (Mode.STAGED, ALLOW),
    ],
)
def test_only_two_modes_let_a_command_run_because_of_the_sandbox(mode: Mode, answer: Answer) -> None:
    subject = Subject(tool="run_command", risk=HIGH, access=EXCLUSIVE, command="make", shell=_CONFINED)

    decision = decide(subject, mode=mode, paths=PATHS)

    assert decision.answer is answer
    assert decision.by_mode is (mode is not Mode.READ_ONLY)


@pytest.mark.parametrize(
    ("verdict", "reason"),
    [
        (replace(_CONFINED, paths_written=("/w/.git/config",)), "protected"),
        (replace(_CONFINED, paths_read=("/w/.env",)), "sensitive"),
    ],
)
def test_a_command_in_the_sandbox_that_names_a_protected_or_sensitive_path_is_asked_about(
    verdict: ShellVerdict, reason: str
) -> None:
    subject = Subject(tool="run_command", risk=HIGH, access=EXCLUSIVE, command="x", shell=verdict)

    decision = decide(subject, mode=Mode.SANDBOXED, paths=PATHS)

    assert decision.answer is ASK
    assert reason in decision.reasons[0]


@pytest.mark.parametrize("answer", [ASK, DENY])
def test_rules_bind_commands_in_the_sandbox(answer: Answer) -> None:
    subject = Subject(tool="run_command", risk=HIGH, access=EXCLUSIVE, command="make", shell=_CONFINED)

    decision = decide(
        subject, mode=Mode.SANDBOXED, paths=PATHS, rules=[Rule.parse("run_command", answer, "rules.toml")]
    )

    assert decision.answer is answer


def test_a_gap_in_the_sandbox_does_not_soften_the_mode_read_only() -> None:
    subject = Subject(tool="run_command", risk=HIGH, access=EXCLUSIVE, shell=_GAP)

    assert decide(subject, mode=Mode.READ_ONLY, paths=PATHS).answer is DENY


@pytest.mark.parametrize(("mode", "answer"), [(Mode.READ_ONLY, DENY), (Mode.ASK, ASK)])
def test_a_mode_that_does_not_let_a_command_run_says_what_speaks_against_the_command(
    mode: Mode, answer: Answer
) -> None:
    verdict = ShellVerdict(kind=ShellVerdictKind.ASK, reason="git would run /x/git")
    subject = Subject(tool="run_command", risk=HIGH, access=EXCLUSIVE, shell=verdict)

    decision = decide(subject, mode=mode, paths=PATHS)

    assert decision.answer is answer
    assert "git would run /x/git" in decision.reasons[0]


@pytest.mark.parametrize("kind", ShellVerdictKind)
@pytest.mark.parametrize("mode", Mode)
def test_no_rule_and_no_mode_lets_a_command_out_of_the_sandbox(mode: Mode, kind: ShellVerdictKind) -> None:
    subject = Subject(
        tool="run_command",
        risk=HIGH,
        access=EXCLUSIVE,
        arguments={"command": "make", "outside_sandbox": True},
        command="make",
        shell=ShellVerdict(kind=kind, reason="", leaves_sandbox=True, is_confined=True),
    )
    rules = [
        Rule.parse(text, ALLOW, "settings")
        for text in ("run_command", "run_command(make)", "run_command(make **)", "run_command(read-only)")
    ]

    decision = decide(subject, mode=mode, paths=PATHS, rules=rules)

    assert decision.answer is not ALLOW
    assert not decision.by_mode
    if mode is not Mode.READ_ONLY:
        assert decision.reasons == ("it asks to run outside the sandbox, where it can do all that you can",)


@pytest.mark.parametrize("mode", Mode)
def test_no_rule_and_no_mode_opens_git_to_commands(mode: Mode) -> None:
    subject = Subject(
        tool="run_command",
        risk=HIGH,
        access=EXCLUSIVE,
        arguments={"command": "make", "opens_git": True},
        command="make",
        shell=ShellVerdict(kind=ShellVerdictKind.READ_ONLY, reason="", opens_git=True, is_confined=True),
    )
    rules = [Rule.parse(text, ALLOW, "settings") for text in ("run_command", "run_command(read-only)")]

    assert decide(subject, mode=mode, paths=PATHS, rules=rules).answer is not ALLOW


@pytest.mark.parametrize("mode", [Mode.ASK, Mode.ACCEPT_EDITS, Mode.QUORUM])
def test_that_the_mode_asks_about_commands_is_routine_and_what_a_rule_says_is_not(mode):
    subject = Subject(tool="any", risk=HIGH, access=EXCLUSIVE)
    rule = Rule.parse("any", ASK, "the test")

    by_mode = decide(subject, paths=PATHS, mode=mode)
    by_both = decide(subject, paths=PATHS, mode=mode, rules=[rule])

    assert by_mode.routine_reasons == by_mode.reasons != ()
    assert by_both.routine_reasons == ()
    assert by_both.reasons != ()


def test_what_is_asked_in_the_mode_sandboxed_is_no_routine():
    assert (
        decide(
            Subject(tool="any", risk=HIGH, access=EXCLUSIVE), paths=PATHS, mode=Mode.SANDBOXED
        ).routine_reasons
        == ()
    )


def _decide_objected(mode: Mode, asked: Asked, *rules: str) -> Decision:
    return decide(
        Subject(tool="run_command", risk=HIGH, access=EXCLUSIVE, command="rm -r build"),
        mode=mode,
        paths=PATHS,
        rules=[Rule.parse(rule, ALLOW, "the test") for rule in rules],
        objections=[Objection("destructive", "rm: it deletes files", asked=asked)],
    )


@pytest.mark.parametrize("mode", [Mode.ASK, Mode.QUORUM, Mode.ACCEPT_EDITS, Mode.SANDBOXED, Mode.AUTO])
def test_what_nobody_asked_for_is_objected_to_in_every_mode(mode: Mode) -> None:
    decision = _decide_objected(mode, Asked.NOT)

    assert (decision.answer, decision.by_mode) == (ASK, False)


def test_what_was_asked_for_by_name_is_left_to_the_mode() -> None:
    assert _decide_objected(Mode.AUTO, Asked.TARGETS).answer is ALLOW
    assert _decide_objected(Mode.ASK, Asked.TARGETS).answer is ASK
    assert _decide_objected(Mode.READ_ONLY, Asked.TARGETS).answer is DENY


@pytest.mark.parametrize("mode", [Mode.ASK, Mode.QUORUM])
def test_what_was_asked_for_roughly_is_left_to_those_who_see_the_call(mode: Mode) -> None:
    decision = _decide_objected(mode, Asked.EFFECT)

    assert (decision.answer, decision.by_mode) == (ASK, True)
    assert "rm: it deletes files (you asked for it)" in decision.reasons


@pytest.mark.parametrize("mode", [Mode.ACCEPT_EDITS, Mode.SANDBOXED, Mode.AUTO])
def test_what_was_asked_for_roughly_is_objected_to_where_nobody_sees_the_call(mode: Mode) -> None:
    assert _decide_objected(mode, Asked.EFFECT).by_mode is False
    assert _decide_objected(mode, Asked.EFFECT).answer is ASK


def test_a_rule_does_not_let_run_what_was_asked_for_roughly() -> None:
    assert _decide_objected(Mode.ASK, Asked.EFFECT, "run_command(rm *)").answer is ASK


@pytest.mark.parametrize("mode", [mode for mode in Mode if mode is not Mode.READ_ONLY])
def test_an_edit_of_code_that_quorum_loads_is_asked_about_in_every_mode_and_under_rules(
    mode: Mode,
) -> None:
    paths = PathPolicy(roots=("/w",), code=OwnCode(places=("/w/a.py",)))
    rule = Rule.parse("edit_file", ALLOW, "settings")

    decision = decide(Subject(tool="edit_file", risk=HIGH, access=EDIT), paths=paths, mode=mode, rules=[rule])

    assert decision.answer is ASK
    assert "quorum itself loads or starts it" in decision.reasons[0]


_PYTEST = "run_command(.venv/bin/python -m pytest *)"


def _run_pytest(*words: str) -> Subject:
    command = SimpleCommand((".venv/bin/python", "-m", "pytest", *words))
    part = JudgedCommand(command, objection="it is not known only to read")
    shell = ShellVerdict(kind=ShellVerdictKind.ASK, reason="it is not known only to read", parts=(part,))
    return Subject(
        tool="run_command", risk=HIGH, access=EXCLUSIVE, command=" ".join(command.words), shell=shell
    )


def test_why_a_command_is_not_known_only_to_read_is_said_once() -> None:
    decision = decide(_run_pytest("-q"), mode=Mode.ASK, paths=PATHS)
    assert decision.reasons == ("high risk, and the mode is ask; it is not known only to read",)


@pytest.mark.parametrize("plan", [NO_PLAN, PlanTerms(is_bound=True)], ids=["a rule", "an approved plan"])
def test_the_word_for_which_a_rule_does_not_cover_a_command_is_named(plan: PlanTerms) -> None:
    rules = [Rule.parse(_PYTEST, ALLOW, "here")]

    def answer(*words: str) -> Decision:
        return decide(_run_pytest(*words), mode=Mode.ASK, paths=PATHS, rules=rules, plan=plan)

    assert answer("-q", "tests").answer is ALLOW
    asked = answer("-q", "-p", "x")
    assert asked.answer is ASK
    (reason,) = [each for each in asked.reasons if each not in asked.routine_reasons and "pytest" in each]
    assert reason == f"the * of {_PYTEST} does not cover -p"


@pytest.mark.parametrize(("mode", "says"), [(Mode.ASK, True), (Mode.ACCEPT_EDITS, True), (Mode.AUTO, False)])
def test_what_an_approval_opens_is_said_where_the_call_is_asked_about_and_makes_no_question(
    mode: Mode, says: bool
) -> None:
    shell = ShellVerdict(kind=ShellVerdictKind.ASK, reason="it commits", offers_git=True)
    subject = Subject(tool="run_command", risk=HIGH, access=EXCLUSIVE, command="git commit", shell=shell)

    decision = decide(subject, mode=mode, paths=PATHS)

    assert (decision.answer is ASK) == says
    assert any("also lets commands write to .git" in reason for reason in decision.reasons) == says
    assert not any(".git" in reason for reason in decision.routine_reasons)


def test_a_rule_does_not_run_a_commit_for_which_git_is_closed_in_this_session() -> None:
    rules = [Rule.parse(_PYTEST, ALLOW, "settings")]
    subject = _run_pytest("tests")
    assert subject.shell is not None
    offering = replace(subject, shell=replace(subject.shell, offers_git=True))

    assert decide(offering, mode=Mode.ASK, paths=PATHS, rules=rules).answer is ASK
    assert decide(subject, mode=Mode.ASK, paths=PATHS, rules=rules).answer is ALLOW


@pytest.mark.parametrize(("background", "expected"), [(True, False), (False, True)])
def test_a_command_in_the_background_is_none_that_the_mode_sandboxed_lets_run(
    background: bool, expected: bool
) -> None:
    shell = ShellVerdict(kind=ShellVerdictKind.ASK, reason="it writes")
    arguments = {"command": "make", "background": background}
    subject = Subject(tool="run_command", risk=HIGH, access=EXCLUSIVE, arguments=arguments, shell=shell)

    assert can_run_sandboxed(subject, PATHS) is expected
