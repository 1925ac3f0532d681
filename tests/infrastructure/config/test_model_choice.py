import pytest

from domain.errors import ConfigError
from infrastructure.config.model_choice import choose_model, decision_model, model_overrides
from tests.support.settings_machine import Machine


def _chosen(machine: Machine) -> str:
    return decision_model(machine.load(), machine.environ)


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


def test_an_address_in_the_environment_without_a_model_is_told_too(machine: Machine):
    machine.environ["OPENAI_BASE_URL"] = "http://localhost:1/v1"

    assert "the provider openai is configured (environment OPENAI_BASE_URL)" in _refusal(machine)


def test_an_unknown_provider_is_told_with_the_known_ones(machine: Machine):
    machine.user('models.decision = "antropic/claude"')

    assert _refusal(machine).endswith(
        "names a provider that does not exist; known are anthropic, openai, offline; "
        "did you mean anthropic/claude?"
    )


@pytest.mark.parametrize("option", ["openai/m", "decision=openai/m"])
def test_the_model_flag_takes_a_model_with_or_without_its_role(machine: Machine, option: str):
    loaded = machine.load(overrides=model_overrides([option]))

    assert decision_model(loaded, {}) == "openai/m"
    assert loaded.origins["models.decision"] == "flag"


def test_an_equals_sign_in_a_models_name_is_no_role():
    assert model_overrides(["openai/m=1"]) == {"models.decision": "openai/m=1"}


def test_an_unknown_role_is_told_with_the_known_ones():
    with pytest.raises(ConfigError, match='there is no role "reviewer"; known is decision'):
        model_overrides(["reviewer=openai/m"])
