import pytest

from quorum.domain.errors import ConfigError
from quorum.infrastructure.config.model_choice import (
    ROLES,
    choose_model,
    choose_roles,
    parse_model_overrides,
)
from tests.support.settings_machine import Machine


def _chosen(machine: Machine) -> str:
    return choose_roles(machine.load(), machine.environ).decision.model


def _refusal(machine: Machine) -> str:
    with pytest.raises(ConfigError) as caught:
        _chosen(machine)
    return str(caught.value)


def test_with_nothing_configured_the_offline_interpreter_works(machine: Machine):
    assert _chosen(machine) == "offline/offline"


@pytest.mark.parametrize(
    ("keys", "model"),
    [
        ({"ANTHROPIC_API_KEY": "k"}, "anthropic/claude-sonnet-5-5"),
        ({"OPENAI_API_KEY": "k"}, "openai/gpt-5.4"),
        ({"OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "k"}, "anthropic/claude-sonnet-5-5"),
        ({"OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": ""}, "openai/gpt-5.4"),
        ({"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": "http://h/v1"}, "openai/gpt-5.4"),
    ],
)
def test_a_key_that_is_there_chooses_its_providers_model(machine: Machine, keys: dict[str, str], model: str):
    machine.environ |= keys

    assert _chosen(machine) == model


def test_a_key_in_another_variable_counts_when_the_settings_name_it(machine: Machine):
    machine.user('providers.openai.api_key_env = "WORK_KEY"')
    machine.environ["WORK_KEY"] = "k"

    assert _chosen(machine) == "openai/gpt-5.4"


def test_what_is_set_counts_more_than_a_key(machine: Machine):
    machine.environ |= {"ANTHROPIC_API_KEY": "k", "QUORUM_MODELS__DECISION": "openai/some/model:7b"}

    choice = choose_model(machine.load(), machine.environ)

    assert choice.model == "openai/some/model:7b"
    assert choice.provider == "openai"
    assert "environment QUORUM_MODELS__DECISION" in choice.reason


@pytest.mark.parametrize(
    "text",
    [
        '[providers.local]\ntype = "openai-chat"\nbase_url = "http://localhost:1/v1"',
        '[providers.local]\ntype = "anthropic"\napi_key_env = "LOCAL_KEY"',
    ],
)
def test_the_offline_interpreter_never_stands_in_for_a_configured_provider(machine: Machine, text: str):
    machine.user(text)

    assert 'no model is chosen; set models.decision = "local/MODEL"' in _refusal(machine)


def test_an_address_in_the_environment_without_a_model_is_reported_too(machine: Machine):
    machine.environ["OPENAI_BASE_URL"] = "http://localhost:1/v1"

    assert "the provider openai is configured (environment OPENAI_BASE_URL)" in _refusal(machine)


def test_an_unknown_provider_is_reported_with_the_known_ones(machine: Machine):
    machine.user('models.decision = "antropic/claude"')

    assert _refusal(machine).endswith(
        "names a provider that does not exist; known are anthropic, openai, copilot, offline; "
        "did you mean anthropic/claude?"
    )


@pytest.mark.parametrize("option", ["openai/m", "decision=openai/m"])
def test_the_model_flag_takes_a_model_with_or_without_its_role(machine: Machine, option: str):
    loaded = machine.load(overrides=parse_model_overrides([option]))

    assert choose_model(loaded, {}).model == "openai/m"
    assert loaded.origins["models.decision"] == "flag"


def test_an_equals_sign_in_a_models_name_is_no_role():
    assert parse_model_overrides(["openai/m=1"]) == {"models.decision": "openai/m=1"}


def test_an_unknown_role_is_reported_with_the_known_ones():
    with pytest.raises(ConfigError) as caught:
        parse_model_overrides(["reviewer=openai/m"])

    assert str(caught.value) == (
        '-m "reviewer=openai/m": there is no role "reviewer"; did you mean review? the roles are decision, '
        "exploration, ask, moderator, decision_fallback, review, participants"
    )


def test_a_role_that_is_like_no_other_gets_the_list_alone():
    with pytest.raises(ConfigError, match='there is no role "xyz"; the roles are decision, '):
        parse_model_overrides(["xyz=openai/m"])


def test_one_model_does_for_every_role_but_the_vote(machine: Machine):
    machine.user('models.decision = "openai/m"')

    roles = choose_roles(machine.load(), machine.environ)

    assert roles.group_by_model() == {
        "openai/m": ("decision", "exploration", "ask", "moderator", "participants")
    }
    assert roles.ask.reason == "models.ask is not set, so that of decision counts"
    assert roles.review == ()


def test_every_role_has_the_model_that_is_set_for_it(machine: Machine):
    machine.user(
        '[models]\ndecision = "openai/d"\nexploration = "openai/e"\nask = "anthropic/a"\n'
        'moderator = "anthropic/m"\nreview = ["openai/r", "anthropic/a"]\nparticipants = ["openai/p"]\n'
        'decision_fallback = ["anthropic/f"]\n'
    )

    roles = choose_roles(machine.load(), machine.environ)

    assert {role: [choice.model for choice in roles.get_choices(role)] for role in ROLES} == {
        "decision": ["openai/d"],
        "exploration": ["openai/e"],
        "ask": ["anthropic/a"],
        "moderator": ["anthropic/m"],
        "review": ["openai/r", "anthropic/a"],
        "decision_fallback": ["anthropic/f"],
        "participants": ["openai/p"],
    }
    assert roles.group_by_model()["anthropic/a"] == ("ask", "review")
    assert roles.review[0].reason == f"models.review says so ({machine.user_file})"


def test_the_unknown_providers_of_all_roles_are_reported_at_once_and_before_anything_runs(machine: Machine):
    machine.user('[models]\nask = "opena/m"\nreview = ["openai/m", "nobody/x"]\n')

    text = _refusal(machine)

    known = "known are anthropic, openai, copilot, offline"
    assert text.splitlines() == [
        f'models.ask = "opena/m" ({machine.user_file}) names a provider that does not exist; {known}; '
        "did you mean openai/m?",
        f'"nobody/x" in models.review ({machine.user_file}) names a provider that does not exist; {known}; '
        "declare [providers.nobody]",
    ]


def test_a_role_of_its_own_chooses_no_model_for_the_others(machine: Machine):
    machine.user('models.ask = "local/m"\n[providers.local]\ntype = "openai-chat"')

    assert "the provider local is configured" in _refusal(machine)


@pytest.mark.parametrize("role", ["decision", "exploration", "ask", "moderator"])
def test_of_two_flags_for_one_model_the_later_counts(role: str, machine: Machine):
    options = [f"{role}=openai/a", f"{role}=openai/b=1"]

    roles = choose_roles(machine.load(overrides=parse_model_overrides(options)), {})

    assert roles.get_choices(role)[0].model == "openai/b=1"


@pytest.mark.parametrize("role", ["decision_fallback", "review", "participants"])
def test_flags_for_a_list_are_gathered_in_place_of_the_files_list(role: str, machine: Machine):
    machine.user(f'models.{role} = ["anthropic/old"]')
    overrides = parse_model_overrides([f"{role}=openai/a", "openai/d", f"{role}=openai/b"])

    roles = choose_roles(machine.load(overrides=overrides), {})

    assert [choice.model for choice in roles.get_choices(role)] == ["openai/a", "openai/b"]
    assert roles.decision.model == "openai/d"


def test_an_empty_flag_empties_a_list(machine: Machine):
    machine.user('models.review = ["anthropic/old"]')

    assert choose_roles(machine.load(overrides=parse_model_overrides(["review="])), {}).review == ()


def test_a_flag_that_is_no_model_is_reported_with_what_is_expected(machine: Machine):
    text = machine.refusal(overrides=parse_model_overrides(["review=claude"]))

    assert text.startswith('command line: models.review must be a list of "provider/model", not ["claude"]')


@pytest.mark.parametrize("settings", ['client = "bedrock"', 'client = "vertex"\nregion = "eu"'])
def test_a_key_says_nothing_about_the_names_that_a_cloud_has(settings: str, machine: Machine):
    machine.user(f"[providers.anthropic]\n{settings}")
    machine.environ["ANTHROPIC_API_KEY"] = "k"

    assert 'set models.decision = "anthropic/MODEL"' in _refusal(machine)


def test_a_copilot_program_without_a_model_is_reported_too(machine: Machine):
    machine.user('providers.copilot.program = "/opt/copilot"')

    assert "the provider copilot is configured" in _refusal(machine)


def test_a_model_that_only_answers_may_vote_and_not_work(machine: Machine):
    machine.user('[providers.m]\ntype = "codex"\n[models]\ndecision = "m/default"\nreview = ["m/default"]\n')

    refused = _refusal(machine)

    assert 'models.decision = "m/default"' in refused
    assert "models.review =" not in refused
