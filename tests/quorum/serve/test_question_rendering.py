"""A pending question as HTML: what reviewers object to stands out, however often it is there."""

from __future__ import annotations

import re

from quorum.serve.approvals.page import render_question
from quorum.serve.approvals.pending import PendingQuestion, Reviewer


def render_command(command: str, *objections: str) -> str:
    """The block of a command to which reviewers object."""
    question = PendingQuestion(
        kind="review",
        digest="d",
        session_id="s",
        tab="t",
        packet={"tool": "run_command", "arguments": {"command": command}},
        reviewers=tuple(Reviewer(name="r", vote="reject", objection=objection) for objection in objections),
    )
    found = re.search(r"<pre>(.*?)</pre>", "".join(render_question(question)), re.DOTALL)
    assert found is not None
    return found[1]


def test_an_objection_is_marked_wherever_it_is() -> None:
    assert render_command("rm a && rm b", "rm ") == "<mark>rm </mark>a &amp;&amp; <mark>rm </mark>b"


def test_of_objections_that_overlap_the_longer_is_marked_and_none_before_it_is_passed_over() -> None:
    shown = render_command("cp x; rm -rf y", "rm", "rm -rf y", "cp")

    assert shown == "<mark>cp</mark> x; <mark>rm -rf y</mark>"


def test_an_objection_that_a_line_holds_thousands_of_times_keeps_nobody_from_the_question() -> None:
    assert render_command("rm x;" * 5000, "rm x").count("<mark>") == 5000


def test_an_objection_is_text_and_no_pattern() -> None:
    assert render_command("a.b axb", "a.b") == "<mark>a.b</mark> axb"


def test_what_the_model_wrote_last_before_the_call_stands_above_it_as_text() -> None:
    question = PendingQuestion(
        kind="review",
        digest="d",
        session_id="s",
        tab="t",
        packet={"tool": "run_command", "arguments": {"command": "make"}},
        preamble="First.\n\nNow `make` builds <b>all</b>\nof it.",
    )

    shown = "".join(render_question(question))

    assert "model: Now make builds &lt;b&gt;all&lt;/b&gt; of it.</p><pre>make" in shown


def test_a_question_of_the_model_is_shown_with_its_options_as_text() -> None:
    question = PendingQuestion(
        kind="question",
        digest="d",
        session_id="s",
        tab="t",
        packet={},
        question="Which <colour>?",
        options=("Blue: as the sky", "<b>"),
    )

    shown = "".join(render_question(question))

    assert "<pre>Which &lt;colour&gt;?</pre>" in shown
    assert "<ol><li>Blue: as the sky</li><li>&lt;b&gt;</li></ol>" in shown
