"""Fields of an answer: one struct says what is asked for, and why an answer cannot be read."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import pytest
from msgspec import Meta, Struct

from quorum.application.structured_answer import (
    NOT_EMPTY,
    AnswerLabel,
    Confidence,
    Fields,
    OptionalText,
    Unreadable,
)


class Colour(StrEnum):
    RED = "red"
    GREEN = "green"
    BLUE = "blue"


class Stroke(Struct, frozen=True):
    label: Annotated[str, Meta(description="Which.")]
    width: Annotated[int, Meta(ge=0, le=9, description="How wide.")]


class Drawing(Struct, frozen=True):
    colour: Annotated[Colour, Meta(description="Its colour.")]
    confidence: Confidence
    title: Annotated[str, Meta(pattern=NOT_EMPTY, description="Its title.")]
    strokes: Annotated[tuple[Stroke, ...], Meta(max_length=2, description="Its strokes.")]
    words: Annotated[tuple[Annotated[str, Meta(pattern=NOT_EMPTY)], ...], Meta(description="Words.")] = ()
    owner: Annotated[str | None, Meta(description="Whose.")] = None
    remark: Annotated[OptionalText, Meta(description="Anything else.")] = OptionalText()
    likes: Annotated[tuple[AnswerLabel, ...], Meta(min_length=1, description="What is like it.")] = ()


FIELDS = Fields(
    Drawing,
    words={"label": ("A", "B"), "likes": ("A", "B")},
    must={"label": "be each of A, B once", "likes": "name some"},
)
GIVEN = {
    "colour": "red",
    "confidence": 1,
    "title": "Sun",
    "strokes": [{"label": "B", "width": 3}, {"label": "A", "width": 0}],
}


def test_the_schema_asks_for_what_the_struct_holds_in_its_order() -> None:
    stroke = {
        "type": "object",
        "properties": {
            "label": {"type": "string", "enum": ["A", "B"], "description": "Which."},
            "width": {"type": "integer", "minimum": 0, "maximum": 9, "description": "How wide."},
        },
        "required": ["label", "width"],
    }
    schema = FIELDS.build_schema()
    assert list(schema["properties"]) == [*Drawing.__struct_fields__]
    assert schema == {
        "type": "object",
        "properties": {
            "colour": {"type": "string", "enum": ["red", "green", "blue"], "description": "Its colour."},
            "confidence": {"type": "number", "description": "How sure you are, from 0 to 1."},
            "title": {"type": "string", "description": "Its title."},
            "strokes": {"type": "array", "items": stroke, "description": "Its strokes."},
            "words": {"type": "array", "items": {"type": "string"}, "description": "Words."},
            "owner": {"type": "string", "description": "Whose."},
            "remark": {"type": "string", "description": "Anything else."},
            "likes": {
                "type": "array",
                "items": {"type": "string", "enum": ["A", "B"]},
                "description": "What is like it.",
            },
        },
        "required": ["colour", "confidence", "title", "strokes", "owner"],
    }


def test_an_answer_is_read_into_the_struct() -> None:
    assert FIELDS.read({**GIVEN, "remark": 3, "strange": 1, "likes": ["A", 3, ["A"]]}) == Drawing(
        colour=Colour.RED,
        confidence=1.0,
        title="Sun",
        strokes=(Stroke("B", 3), Stroke("A", 0)),
        likes=(AnswerLabel("A"), AnswerLabel("3"), AnswerLabel("['A']")),
    )


@pytest.mark.parametrize(
    ("field", "value", "problem"),
    [
        ("colour", "pink", '"colour" must be red, green or blue'),
        ("colour", ["red"], '"colour" must be red, green or blue'),
        ("confidence", 1.5, '"confidence" must be a number from 0 to 1'),
        ("confidence", True, '"confidence" must be a number from 0 to 1'),
        ("confidence", float("nan"), '"confidence" must be a number from 0 to 1'),
        ("confidence", 10**400, '"confidence" must be a number from 0 to 1'),
        ("title", " \n", '"title" must be a text that is not empty'),
        ("title", None, '"title" must be a text that is not empty'),
        ("strokes", "A", '"strokes" must be a list'),
        ("strokes", ["A"], '"strokes" must be a list of objects'),
        ("strokes", [GIVEN["strokes"][0]] * 3, '"strokes" must have 2 entries at most'),
        ("strokes", [{"label": "A", "width": 10}], '"width" must be a whole number from 0 to 9'),
        ("strokes", [{"label": "A", "width": 2.0}], '"width" must be a whole number from 0 to 9'),
        ("strokes", [{"label": 3, "width": 2}], '"label" must be each of A, B once'),
        ("strokes", [{"width": 2}], '"label" must be each of A, B once'),
        ("words", ["a", ""], '"words" must be a text that is not empty'),
        ("likes", [], '"likes" must name some'),
        ("likes", "A", '"likes" must name some'),
        ("title", {"\udc80": 1}, '"title" must be a text that is not empty'),
        ("colour", "\udc80", "a key or a word holds half of a surrogate pair"),
    ],
)
def test_what_cannot_be_read_names_its_field_and_what_it_must_be(
    field: str, value: object, problem: str
) -> None:
    with pytest.raises(Unreadable) as refused:
        FIELDS.read({**GIVEN, field: value})
    assert str(refused.value) == problem


def test_a_field_that_is_left_out_is_named() -> None:
    for name in ("colour", "confidence", "title", "strokes"):
        with pytest.raises(Unreadable, match=f'^"{name}" must be'):
            FIELDS.read({key: value for key, value in GIVEN.items() if key != name})


@pytest.mark.parametrize("labels", ["AA", "AC"])
def test_each_entry_has_a_label_of_its_own(labels: str) -> None:
    with pytest.raises(Unreadable, match="must be each of A, B once"):
        FIELDS.index("label", ((label, label) for label in labels))
    assert FIELDS.index("label", [("B", 1), ("A", 2)]) == {"B": 1, "A": 2}
