import pytest

from quorum.domain.review.ballot import LONGEST_LENS, find_lens, format_reviewer, list_unused_lenses, parse_lens


@pytest.mark.parametrize("text", ["safety", "Scope", " correctness "])
def test_a_standard_lens_is_known_by_its_name_in_any_case(text: str) -> None:
    lens = parse_lens(text)
    assert lens.name == lens.label == text.strip().lower()
    assert len(lens.instruction) > len(lens.name)


def test_words_of_the_person_are_the_instruction_and_shown_by_their_beginning() -> None:
    lens = parse_lens("what this costs in the cloud, and who pays for it")
    assert lens.instruction == "what this costs in the cloud, and who pays for it"
    assert lens.label == "what this costs in the …"


@pytest.mark.parametrize("text", ["", "  ", "\x1b[2J", "tidy\u202e", "x" * (LONGEST_LENS + 1)])
def test_what_is_no_lens_is_refused_with_what_is_one(text: str) -> None:
    with pytest.raises(ValueError, match="safety, scope, correctness, or words of your own"):
        parse_lens(text)


def test_the_lens_of_a_model_goes_before_that_of_all() -> None:
    lenses = {"review": parse_lens("safety"), "p/m": parse_lens("scope")}
    assert find_lens(lenses, "p/m", "review") == parse_lens("scope")
    assert find_lens(lenses, "p/other", "review") == parse_lens("safety")
    assert find_lens({}, "p/m", "review") is None


def test_a_reviewer_is_shown_with_its_lens() -> None:
    assert format_reviewer("p/m", "scope") == "p/m (scope)"
    assert format_reviewer("p/m", None) == "p/m"


def test_a_lens_for_a_model_that_does_not_review_is_named_with_the_one_that_may_be_meant() -> None:
    lenses = ("review", "openai/gpt-5.4", "openai/gpt-5.5", "local/qwen", "x/y")
    review = ("openai/gpt-5.4", "anthropic/claude-opus-5-1")
    assert list_unused_lenses(lenses, review, ("local/qwen",)) == (
        "quorum.lenses names openai/gpt-5.5, which does not review; did you mean openai/gpt-5.4?",
        "quorum.lenses names x/y, which does not review; models.review names openai/gpt-5.4, "
        "anthropic/claude-opus-5-1",
    )
    assert list_unused_lenses(("x/y",), ()) == (
        "quorum.lenses names x/y, which does not review: models.review names no model",
    )
