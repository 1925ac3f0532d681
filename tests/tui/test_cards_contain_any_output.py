"""Whatever a tool answers: no card raises, nothing of it acts on the terminal, none is wider than its place."""

from __future__ import annotations

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from quorum.application.view.entries import Batch, Call, Kept, Phase
from quorum.domain.calls.execution import Outcome
from quorum.domain.calls.tool import RiskLevel
from quorum.infrastructure.tools.built_in_tools import MODULES
from quorum.tui.transcript.cells.palette import TERMINAL
from quorum.tui.transcript.draw.cards import draw_batch
from tests.support.examples import examples

_FRAGMENTS = st.sampled_from(
    [
        "\x1b[31m",
        "\x1b[38;2;1;2;3m",
        "\x1b[48;5;999m",
        "\x1b[2J",
        "\x1b[10;10H",
        "\x1b]0;t\x07",
        "\x1b]8;;http://x\x1b\\",
        "\x1b[K",
        "\x1b[",
        "\x1b",
        "\x9b31m",
        "\x90q\x9c",
        "\r",
        "\x08",
        "\n",
        "\t",
        "\u202e",
        "\u2066",
        "\u200d",
        "\ufe0f",
        "e\u0301",
        "\u0301" * 9,
        "👩\u200d👩\u200d👧",
        "🇯🇵",
        "待機",
        "[/red]",
        "{",
        "]",
        '"a": ',
        "a.py:12:",
        "a.py-13-",
        "     7\t",
        "7\t",
        "exit code 3",
        "@@ -1,3 +1,2 @@\n",
        "\n-",
        "\n+",
        "+++ b/x.py\n",
        "src/a/b.py\n",
        "docs/\n",
        "x -> y\n",
        "a  17\n",
        "[lines 1-2 of 3]",
        "[3 matches in 2 of 9 files]",
        f"[3 matches in {'9' * 5000} of 9 files]",  # more digits than Python reads as a number
        f"[the first {'9' * 5000} matches]",
        f"@@ -{'9' * 5000} +1 @@\n",
        f"[lines 1-2 of {'9' * 5000}]",
    ]
)
_TEXTS = st.lists(st.one_of(_FRAGMENTS, st.text(max_size=12)), max_size=30).map("".join)
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | _TEXTS,
    lambda inner: st.lists(inner, max_size=6) | st.dictionaries(_TEXTS, inner, max_size=6),
    max_leaves=20,
).map(lambda value: json.dumps([value], ensure_ascii=False))
_ARGUMENTS = st.dictionaries(
    st.sampled_from(["path", "command", "pattern", "items", "content", "x"]),
    st.one_of(_TEXTS, st.integers(), st.lists(_TEXTS, max_size=3)),
    max_size=4,
)
_CALLS = st.builds(
    Call,
    index=st.integers(0, 40),
    tool=st.one_of(st.sampled_from([*MODULES, "mcp_x"]), _TEXTS),
    arguments=_ARGUMENTS,
    risk=st.sampled_from(RiskLevel),
    phase=st.sampled_from([Phase.FINISHED, Phase.RUNNING, Phase.REVIEWED]),
    output=st.one_of(_TEXTS, _JSON).map(Kept.of),
    diff=st.none() | _TEXTS,
    outcome=st.sampled_from(Outcome),
    reason=st.none() | _TEXTS,
    duration=st.none() | st.floats(0, 4000),
    expanded=st.booleans(),
    since=st.just([(0.0, Phase.QUEUED), (0.5, Phase.RUNNING)]),
)
_WIDTHS = st.integers(20, 200)


def _is_safe(char: str) -> bool:
    """No control, no formatting, no half of a character, no separator of lines, but for joiners of emoji."""
    return unicodedata.category(char) not in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp") or char == "\u200d"


@pytest.mark.long
@examples(400)
@given(calls=st.lists(_CALLS, min_size=1, max_size=3), width=_WIDTHS)
def test_no_output_gets_out_of_its_card(calls, width):
    drawing = draw_batch(Batch("b", calls), width, TERMINAL, 1.0)

    assert len(drawing.strips) == len(drawing.targets)
    for strip in drawing.strips:
        assert all(map(_is_safe, strip.text)), ascii(strip.text)
        assert not set(strip.text) & set("\u202e\u2066\u202d")
        assert all(segment.control is None for segment in strip)
        assert all(segment.style is None or segment.style.link is None for segment in strip)
        assert cell_len(strip.text) <= width, ascii(strip.text)
        assert strip.cell_length <= width, ascii(strip.text)


@pytest.mark.long
@examples(100)
@given(call=_CALLS, text=_TEXTS, width=_WIDTHS)
def test_what_a_call_shows_while_it_runs_stays_in_its_card_too(call, text, width):
    call.phase, call.output, call.outcome = Phase.RUNNING, None, None
    call.progress.show(text)
    drawing = draw_batch(Batch("b", [call]), width, TERMINAL, 1.0)

    assert all(_is_safe(char) for strip in drawing.strips for char in strip.text)
    assert all(strip.cell_length <= width for strip in drawing.strips)


@pytest.mark.parametrize(
    ("tool", "last"),
    [
        ("grep_search", f"[3 matches in {'9' * 5000} of 9 files]"),
        ("grep_search", f"[the first {'9' * 5000} matches]"),
        ("read_file", f"[lines 1-2 of {'9' * 5000}]"),
        ("edit_file", f"@@ -{'9' * 5000} +1 @@"),
    ],
    ids=["counted", "cut", "page", "hunk"],
)
@pytest.mark.parametrize("expanded", [True, False])
def test_a_number_with_more_digits_than_python_reads_is_text(tool: str, last: str, expanded: bool) -> None:
    output = f"a.py:1:x\n{last}"
    call = Call(
        index=0,
        tool=tool,
        arguments={"path": "a.py", "pattern": "x"},
        risk=RiskLevel.LOW,
        phase=Phase.FINISHED,
        output=Kept.of(output),
        diff=output,
        outcome=Outcome.OK,
        expanded=expanded,
    )

    assert draw_batch(Batch("b", [call]), 80, TERMINAL, 1.0).strips
