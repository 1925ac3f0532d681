from hypothesis import given
from hypothesis import strategies as st

from quorum.domain.text.model_names import cut_apart, shorten_model_names
from tests.support.examples import examples


def test_a_model_is_called_by_its_own_name() -> None:
    models = ["openrouter/qwen/qwen3-coder:free", "anthropic/claude-sonnet-5-5"]
    assert list(shorten_model_names(models, 30).values()) == ["qwen3-coder", "claude-sonnet-5-5"]


def test_models_of_one_name_keep_their_provider_and_only_they() -> None:
    models = ["azure/gpt-5.4", "openai/gpt-5.4", "anthropic/claude-sonnet-5-5"]
    assert list(shorten_model_names(models, 30).values()) == [
        "azure/gpt-5.4",
        "openai/gpt-5.4",
        "claude-sonnet-5-5",
    ]


def test_sizes_of_one_model_keep_what_follows_the_colon() -> None:
    assert list(shorten_model_names(["ollama/qwen3:8b", "ollama/qwen3:30b"], 30).values()) == [
        "qwen3:8b",
        "qwen3:30b",
    ]


def test_models_of_one_name_behind_two_vendors_of_one_provider_differ() -> None:
    models = ["gateway/a/llama", "gateway/b/llama"]
    assert list(shorten_model_names(models, 30).values()) == models


def test_names_that_are_cut_differ_by_their_end() -> None:
    names = ["bedrock/anthropic.claude-sonnet-5", "bedrock/anthropic.claude-haiku-5"]
    assert list(cut_apart({name: name for name in names}, 16).values()) == [
        "…claude-sonnet-5",
        "….claude-haiku-5",
    ]


@examples(50)
@given(st.sets(st.text("ab/:", min_size=1, max_size=12), max_size=6), st.integers(4, 12))
def test_no_two_models_look_alike_in_any_column(models: set[str], most: int) -> None:
    short = shorten_model_names(sorted(models), most)
    assert short.keys() == models
    assert len(set(short.values())) == len(models)
    assert all(len(name) <= most for name in short.values())
