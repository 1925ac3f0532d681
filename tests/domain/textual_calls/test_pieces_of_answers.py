"""What is read from an answer does not depend on the pieces in which it arrives."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorum.domain.calls.tool import TOOL_PARSERS, ToolParser
from quorum.domain.textual_calls.families import get_family
from quorum.domain.textual_calls.forms import TextualCall
from quorum.domain.textual_calls.reader import TextualCallReader, ThinkingEnded, ThoughtPiece, Words
from tests.domain.textual_calls.test_reader import TAGGED, TOOLS, WRITTEN
from tests.support.examples import examples

_BEFORE = ("", "I look.\n\n", "<think>Maybe.\n</think>\n", "For example:\n", "Darf ich?\n", "`x` and\n> ")
_BEHIND = (
    "",
    "\n",
    "\n\nShall I go on?",
    "\n\nThen I mend it.",
    "\n\n要我执行吗？",
    "\nWhat now? I will see." + " So it is." * 30,
    "\n<tool_response>\nx = 1\n</tool_response>\nIt is 1.",
    " is what a model writes.",
    "</think>\nDone.",
)


def _read_in(text: str, parser: ToolParser, pieces: list[str]) -> tuple[str, str, list[TextualCall]]:
    """What is shown, what is thought, and the calls."""
    assert "".join(pieces) == text
    reader = TextualCallReader(get_family(parser), TOOLS)
    said, thought, calls = "", "", []
    for piece in (*(each for part in pieces for each in reader.feed(part)), *reader.finish(is_cut=False)):
        match piece:
            case Words(words):
                said += words
            case ThoughtPiece(words):
                thought += words
            case ThinkingEnded():
                said, thought, calls = "", thought + said, []
            case TextualCall():
                calls.append(piece)
            case _:
                pass
    return said, thought, calls


def _cut(text: str, places: list[int]) -> list[str]:
    bounds = [0, *sorted(places), len(text)]
    return [text[begin:end] for begin, end in pairwise(bounds)]


@pytest.mark.long(after=1)
@pytest.mark.parametrize("parser", TOOL_PARSERS)
def test_a_cut_at_any_place_changes_nothing(parser: ToolParser) -> None:
    for behind in ("", "\n\nShall I go on?"):
        text = f"I look.\n\n{WRITTEN[parser]}{behind}"
        whole = _read_in(text, parser, [text])
        for place in range(1, len(text), 3):
            assert _read_in(text, parser, _cut(text, [place])) == whole
        assert _read_in(text, parser, list(text)) == whole


def test_thinking_begins_behind_the_line_break_of_its_mark_wherever_that_arrives() -> None:
    text = f"<|channel>thought\nI read it.\n<channel|>{WRITTEN['gemma']}"
    for place in range(1, 40):
        assert _read_in(text, "gemma", _cut(text, [place])) == _read_in(text, "gemma", [text])


@given(
    st.sampled_from(TOOL_PARSERS),
    st.sampled_from(_BEFORE),
    st.sampled_from(_BEHIND),
    st.integers(1, 3),
    st.data(),
)
@examples(200)
def test_cuts_at_random_places_change_nothing(
    parser: ToolParser, before: str, behind: str, times: int, data: st.DataObject
) -> None:
    call = data.draw(st.sampled_from((WRITTEN[parser], TAGGED)))
    text = f"{before}{call * times}{behind}"
    places = data.draw(st.lists(st.integers(0, len(text)), max_size=30))

    assert _read_in(text, parser, _cut(text, places)) == _read_in(text, parser, [text])
