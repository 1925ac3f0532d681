import pytest

from quorum.domain.calls.access import EXCLUSIVE
from quorum.domain.calls.tool import RiskLevel
from quorum.domain.review.decision import decide
from quorum.domain.review.guards import GuardSettings
from quorum.domain.review.mode import Mode
from quorum.domain.review.path_policy import PathPolicy
from quorum.domain.review.permission_rules import Answer, Subject
from quorum.domain.review.quorum_result import Escalation
from quorum.domain.shell.command_line import ShellVerdict, ShellVerdictKind
from quorum.infrastructure.permissions.in_force import build_guard_settings, build_permission_rules
from quorum.infrastructure.settings_conversion import build_quorum_policy
from tests.support.settings_machine import Machine


def _rules(machine: Machine) -> list[tuple[Answer, str, str]]:
    loaded = machine.load()
    return [
        (rule.answer, rule.text, rule.source)
        for rule in build_permission_rules(loaded.settings, loaded.origins)
    ]


def test_by_default_what_is_proved_to_read_is_allowed(machine: Machine):
    assert _rules(machine) == [(Answer.ALLOW, "run_command(read-only)", "permissions.allow, default")]


def test_rules_say_in_which_file_they_stand(machine: Machine):
    machine.user('[permissions]\nallow = ["write_file(src/**)"]\ndeny = ["run_command(rm *)"]')

    assert _rules(machine) == [
        (Answer.ALLOW, "run_command(read-only)", "permissions.allow, default"),
        (Answer.ALLOW, "write_file(src/**)", f"permissions.allow, {machine.user_file}"),
        (Answer.DENY, "run_command(rm *)", f"permissions.deny, {machine.user_file}"),
    ]


@pytest.mark.parametrize("allow", ["[]", '["run_command(make *)"]', '["run_command(read-only)"]'])
def test_what_is_proved_to_read_is_allowed_beside_a_list_of_ones_own_until_a_rule_asks_about_it(
    machine: Machine, allow: str
):
    machine.user(f"[permissions]\nallow = {allow}")
    assert _answer_to_reading(machine) is Answer.ALLOW

    machine.user(f'[permissions]\nallow = {allow}\nask = ["run_command(read-only)"]')
    assert _answer_to_reading(machine) is Answer.ASK


def _answer_to_reading(machine: Machine) -> Answer:
    loaded = machine.load()
    shell = ShellVerdict(kind=ShellVerdictKind.READ_ONLY, reason="it only reads")
    subject = Subject(tool="run_command", risk=RiskLevel.HIGH, access=EXCLUSIVE, command="git log", shell=shell)
    rules = build_permission_rules(loaded.settings, loaded.origins)
    return decide(subject, mode=Mode.ASK, paths=PathPolicy(roots=("/w",)), rules=rules).answer


def test_a_project_adds_to_what_is_denied_and_allows_nothing(machine: Machine):
    machine.user('permissions.deny = ["run_command(rm *)"]')
    machine.project('permissions.deny = ["web_fetch"]\npermissions.allow = ["run_command"]')

    texts = [f"{answer} {text}" for answer, text, _ in _rules(machine)]

    assert texts == ["allow run_command(read-only)", "deny run_command(rm *)", "deny web_fetch"]
    assert "permissions.allow" in machine.load().warnings[0]


@pytest.mark.parametrize(
    ("rule", "problem"),
    [
        ("write_file(", "a rule is written TOOL or TOOL(PATTERN)"),
        ("write_file()", "nothing stands between the parentheses"),
        ("run_command('a)", "cannot be separated"),
        ("run_command(* x)", "does not begin with the name of a program"),
    ],
)
@pytest.mark.parametrize("key", ["allow", "ask", "deny"])
def test_a_bad_rule_is_reported_with_its_place_and_remedy(machine: Machine, key: str, rule: str, problem: str):
    machine.user(f'[permissions]\n\n{key} = ["write_file", "{rule}"]')

    refusal = machine.refusal()

    assert refusal.startswith(f'{machine.user_file}:3: permissions.{key}: "{rule}" is not a rule: ')
    assert problem in refusal
    assert "correct it or take it out" in refusal


def test_without_tables_every_guard_is_as_usual(machine: Machine):
    assert build_guard_settings(machine.load().settings) == GuardSettings()


def test_a_table_changes_only_what_it_names_of_one_guard(machine: Machine):
    machine.user(
        '[[guards]]\nname = "size"\nmax_bytes = 10\n'
        '[[guards]]\nname = "destructive"\ncommands = ["make deploy"]\n'
        '[[guards]]\nname = "path"\nenabled = false\n'
    )

    assert build_guard_settings(machine.load().settings) == GuardSettings(
        path=False, max_bytes=10, commands=("make deploy",)
    )


@pytest.mark.parametrize(
    ("text", "line", "sentence"),
    [
        (
            '[[guards]]\nname = "sizes"',
            2,
            'guards[0].name must be one of path, destructive, size, secret, network, persistence, not "sizes"',
        ),
        ('[[guards]]\nname = "path"\nmax_bytes = 1', 1, 'has max_bytes, which only the guard "size" takes'),
        ("[[guards]]\nenabled = false", 1, "guards[0].name is missing"),
        ('[[guards]]\nname = "path"\n[[guards]]\nname = "path"', 1, 'the guard "path" has 2 tables'),
        ('[quorum]\nrule = "most"', 2, 'quorum.rule must be "majority", "unanimous", "atleast:N"'),
        ('[quorum]\nrule = "atleast:0"', 2, "quorum.rule must be"),
        ("[quorum]\nescalate_below = 0", 2, "quorum.escalate_below must be"),
        ("[quorum]\nescalate_below = 1.5", 2, "quorum.escalate_below must be"),
        ("[quorum]\nescalate_below = nan", 2, "quorum.escalate_below must be"),
        ('[quorum]\nescalate = "yes"', 2, "quorum.escalate must be"),
        ('[quorum]\nlenses = { review = "" }', 2, "quorum.lenses.review must be safety, scope, correctness"),
        ('[quorum]\nlenses = { review = "a\\u202eb" }', 2, "quorum.lenses.review must be safety, scope"),
        ('[quorum]\nlenses = { everybody = "scope" }', 2, "review, or a model of models.review"),
        ('models.review = ["a/b", "c/d", "a/b"]', 1, 'models.review: it names "a/b" twice'),
    ],
)
def test_what_is_wrong_with_guards_and_votes_is_reported(machine: Machine, text: str, line: int, sentence: str):
    machine.user(text)

    refusal = machine.refusal()

    assert refusal.startswith(f"{machine.user_file}:{line}: ")
    assert sentence in refusal


def test_lenses_are_set_by_model_or_for_all_and_escalation_only_where_it_is_on(machine: Machine):
    machine.user(
        'models.review = ["openai/a", "openai/b"]\n'
        '[quorum]\nescalate_below = 0.7\nlenses = { "openai/b" = "Scope", review = "the cost of it" }'
    )
    policy = build_quorum_policy(machine.load().settings)

    assert policy.escalation is None
    lenses = [policy.find_lens(reviewer) for reviewer in policy.reviewers]
    assert [lens.name for lens in lenses if lens is not None] == ["the cost of it", "scope"]

    machine.user('models.review = ["openai/a", "openai/b"]\n[quorum]\nescalate = true\nescalate_below = 0.7')
    assert build_quorum_policy(machine.load().settings).escalation == Escalation(first="openai/a", below=0.7)


def test_a_rule_that_the_reviewers_can_never_meet_is_an_error(machine: Machine):
    machine.user('quorum.rule = "atleast:3"\nmodels.review = ["openai/a", "openai/b"]')

    assert machine.refusal() == (
        f'{machine.user_file}: quorum.rule = "atleast:3" can never be met, because models.review names '
        "2 models; lower it or name more models"
    )


def test_a_rule_about_votes_does_not_matter_where_no_model_votes(machine: Machine):
    machine.user('quorum.rule = "atleast:3"')

    assert build_quorum_policy(machine.load().settings).reviewers == ()


def test_how_votes_are_counted_is_set_in_the_settings(machine: Machine):
    machine.user('models.review = ["openai/a", "openai/b"]\n[quorum]\nrule = "67%"\nvote_timeout_secs = 5')

    policy = build_quorum_policy(machine.load().settings)

    assert (policy.reviewers, policy.rule.text) == (("openai/a", "openai/b"), "67%")
    assert (policy.min_votes, policy.vote_timeout_secs) == (2, 5.0)
