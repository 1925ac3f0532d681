"""Which argument of a prompt or a resource template is being typed, and what is put in its place."""

from __future__ import annotations

import pytest

from quorum.domain.mcp.offers import (
    OfferedPrompt,
    PromptParameter,
    assign_arguments,
    choose_values,
    find_prompt_argument,
    find_template_argument,
    make_offered_resource,
)

PROMPT = OfferedPrompt(
    server="s", name="review", parameters=(PromptParameter("path", True), PromptParameter("depth"))
)


@pytest.mark.parametrize(
    ("typed", "argument", "value", "others"),
    [
        ("", "path", "", {}),
        ("sr", "path", "sr", {}),
        ("src ", "depth", "", {"path": "src"}),
        ("src 2", "depth", "2", {"path": "src"}),
        ("depth=", "depth", "", {}),
        ("depth=2 s", "path", "s", {"depth": "2"}),
        ('depth=2 path="a b', "path", "a b", {"depth": "2"}),
        ("'a b' ", "depth", "", {"path": "a b"}),
        ("other=x", "path", "other=x", {}),
    ],
)
def test_the_last_word_belongs_to_the_argument_that_it_would_be_read_as(
    typed: str, argument: str, value: str, others: dict[str, str]
) -> None:
    found = find_prompt_argument(PROMPT, typed)
    assert found is not None
    assert (found.query.prompt, found.query.argument, found.query.value) == ("review", argument, value)
    assert dict(found.query.others) == others


@pytest.mark.parametrize("typed", ["a b c", "path=a depth=2 ", "a b "])
def test_words_that_begin_no_argument_ask_for_nothing(typed: str) -> None:
    assert find_prompt_argument(PROMPT, typed) is None


@pytest.mark.parametrize("value", ["src/a.py", "a b", "it's", 'say "x"', "back\\slash"])
@pytest.mark.parametrize("typed", ["", "pa", "path=", "path='a", "depth=2 "])
def test_a_chosen_value_is_read_as_that_value(typed: str, value: str) -> None:
    found = find_prompt_argument(PROMPT, typed)
    assert found is not None
    whole = typed.removesuffix(found.typed) + found.insert(value)
    assert assign_arguments(PROMPT, whole)["path"] == value


TEMPLATE = make_offered_resource("git", "repo://{owner}/{name}/file/{+path}", "", is_template=True)


@pytest.mark.parametrize(
    ("typed", "argument", "value", "others", "inserted"),
    [
        ("git:repo://", "owner", "", {}, "a%2Fb/"),
        ("git:repo://ac", "owner", "ac", {}, "a%2Fb/"),
        ("git:repo://a%20c/x", "name", "x", {"owner": "a c"}, "a%2Fb/file/"),
        ("git:repo://ac/x/file/s", "path", "s", {"owner": "ac", "name": "x"}, "a/b"),
    ],
)
def test_the_gap_of_a_template_that_is_reached_is_found_with_those_before_it(
    typed: str, argument: str, value: str, others: dict[str, str], inserted: str
) -> None:
    assert TEMPLATE is not None
    found = find_template_argument((TEMPLATE,), typed)
    assert found is not None
    assert (found.query.template, found.query.argument, found.query.value) == (
        TEMPLATE.template,
        argument,
        value,
    )
    assert dict(found.query.others) == others
    assert found.insert("a/b") == inserted


@pytest.mark.parametrize("typed", ["git:rep", "git:other://", "hub:repo://x", "repo://x", ""])
def test_what_is_no_address_of_a_template_asks_for_nothing(typed: str) -> None:
    assert TEMPLATE is not None
    assert find_template_argument((TEMPLATE,), typed) is None


@pytest.mark.parametrize("pattern", ["x://{?q}", "x://{/path}", "x://{unclosed", "x://{}"])
def test_gaps_of_other_forms_ask_for_nothing(pattern: str) -> None:
    resource = make_offered_resource("git", pattern, "", is_template=True)
    assert resource is not None
    assert find_template_argument((resource,), "git:x://a") is None


def test_only_values_that_can_be_shown_as_they_are_are_offered_and_not_too_many() -> None:
    hostile = ["", "a\x1b[2J", "b\u202ec", "d\ne", "x" * 501, "good", "good", "x" * 500]
    assert choose_values(hostile) == ("good", "x" * 500)
    assert len(choose_values([str(number) for number in range(1_000)])) == 100
