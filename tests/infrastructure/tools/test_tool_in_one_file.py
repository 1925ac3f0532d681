"""A tool is its module and a row of the table: screens, editors, the gate and rules know it by its own data."""

from __future__ import annotations

from pathlib import Path

import pytest

from quorum.acp_agent.tool_calls import choose_kind, render_title
from quorum.application.view.entries import Batch, Call, LookSummary, Phase
from quorum.domain.calls.execution import Outcome, Seal, ToolExecutionContext
from quorum.domain.calls.packet import ReviewPacket
from quorum.domain.calls.server_tools import OfferedTools
from quorum.domain.calls.tool import RiskLevel, ToolCall
from quorum.domain.calls.tool_traits import CallEffect, find_traits
from quorum.domain.review.permission_rules import Answer, Rule, Subject, find_matching_rules
from quorum.gate.dialects import read_own_call
from quorum.gate.payload import BadPayload
from quorum.infrastructure.container import Container
from quorum.infrastructure.tools.built_in_tools import MODULES
from quorum.tui.screens.review.text.title import build_title
from quorum.tui.transcript.cells.palette import TERMINAL
from quorum.tui.transcript.draw.cards import draw_looks
from quorum.tui.transcript.draw.rows import choose_verb
from tests.infrastructure.test_container import a_container

CONTEXT = ToolExecutionContext(call_id="c", batch_id="b", call_index=0, turn_index=0)


@pytest.fixture(autouse=True)
def _table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(MODULES, "word_count", "tests.support.word_count")


@pytest.fixture
def session(tmp_path: Path) -> Container:
    (tmp_path / "a.txt").write_text("one two three\n")
    return a_container(tmp_path)


def _count(path: str) -> Call:
    return Call(
        index=0,
        tool="word_count",
        arguments={"path": path},
        phase=Phase.FINISHED,
        outcome=Outcome.OK,
        since=[(0.0, Phase.RUNNING), (0.1, Phase.FINISHED)],
    )


async def test_a_session_has_the_tool_and_runs_it(session: Container) -> None:
    tool = session.tools()["word_count"]

    assert await tool.execute({"path": "a.txt"}, CONTEXT) == "3"


def test_rows_of_the_transcript_call_it_by_its_verb_and_count_its_calls() -> None:
    batch = Batch("b", [_count("a"), _count("a"), _count("b")])
    summary = LookSummary()
    summary.add(batch.calls)

    assert choose_verb(batch.calls[0]) == "count"
    assert "counted 2 files" in draw_looks(batch, (0, 1, 2), 60, TERMINAL).text


def test_a_review_is_titled_as_it_says() -> None:
    call = ToolCall(tool_name="word_count", arguments={"path": "a.txt"}, native_id="c")

    assert "".join(build_title(ReviewPacket(call=call, context=CONTEXT, seal=Seal(cwd="/w")), "/w")) == (
        "Count the words of a.txt"
    )


def test_editors_learn_its_kind() -> None:
    assert choose_kind("word_count") == "read"
    assert render_title("word_count", {"path": "a.txt"}) == "word_count a.txt"


def test_the_gate_reads_calls_of_it_and_refuses_fields_that_it_has_not() -> None:
    call = read_own_call("word_count", {"path": "a.txt"}, cwd="/w", environment={})

    assert (call.tool, call.effect, call.is_known) == ("word_count", CallEffect.READ, True)
    with pytest.raises(BadPayload, match="'raw'"):
        read_own_call("word_count", {"path": "a.txt", "raw": True}, cwd="/w", environment={})


def test_rules_that_forbid_reading_bind_it(session: Container, tmp_path: Path) -> None:
    definition = session.tools()["word_count"].definition
    access = definition.determine_access({"path": "a.txt"})
    subject = Subject(tool="word_count", risk=RiskLevel.LOW, access=access)
    rule = Rule.parse("read_file(a.txt)", Answer.DENY, "a test")

    assert find_matching_rules([rule], subject, [str(tmp_path)]) == (rule,)


def test_a_model_that_calls_it_where_it_is_not_offered_learns_which_program_does_its_work() -> None:
    assert "use run_command with wc -w" in OfferedTools(("run_command",)).explain_absence("word_count")


def test_the_arguments_that_the_gate_knows_are_those_of_the_definition(session: Container) -> None:
    for name, tool in session.tools().items():
        if (traits := find_traits(name)).effect is not CallEffect.OTHER:
            assert {parameter.name for parameter in tool.definition.parameters} <= set(traits.arguments), name


def test_a_tool_of_others_has_no_traits_of_ours() -> None:
    traits = find_traits("mcp__x__read_file")

    assert (traits.verb, traits.kind, traits.effect) == ("", "other", CallEffect.OTHER)
    assert traits.find_command({"": "ls", "command": "ls"}) is None
