from __future__ import annotations

import asyncio

import pytest

from quorum.domain.errors import ToolError
from quorum.infrastructure.tools.builtin.update_plan import UpdatePlan
from quorum.infrastructure.tools.json_schema import JsonSchema
from tests.infrastructure.tools.calling import a_context, call


def test_a_plan_comes_back_as_numbered_text():
    items = [
        {"text": "read", "status": "done"},
        {"text": "fix\nit", "status": "in_progress"},
        {"text": "test", "status": "pending"},
    ]

    assert call(UpdatePlan(), items=items) == "1 ✓ read\n2 ● fix it\n3 ○ test"


def test_the_plan_becomes_part_of_the_runs_state():
    context = a_context()

    asyncio.run(UpdatePlan().execute({"items": [{"text": "read", "status": "done"}]}, context))

    assert context.controls.state.get("plan") == [{"text": "read", "status": "done"}]


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("completed", "done"),
        ("Complete", "done"),
        ("finished", "done"),
        ("in-progress", "in_progress"),
        ("In Progress", "in_progress"),
        ("todo", "pending"),
        ("not started", "pending"),
        ("", "pending"),
        (None, "pending"),
    ],
)
def test_the_usual_words_for_a_status_are_understood(given, kept):
    context = a_context()

    asyncio.run(UpdatePlan().execute({"items": [{"text": "read", "status": given}]}, context))

    assert context.controls.state.get("plan") == [{"text": "read", "status": kept}]


def test_a_step_without_a_status_is_pending_and_fits_the_schema():
    items = [{"text": "read"}, {"text": "fix", "status": "completed"}]

    assert JsonSchema().find_problems(UpdatePlan().definition, {"items": items}) == ()
    assert call(UpdatePlan(), items=items) == "1 ○ read\n2 ✓ fix"


def test_an_empty_plan_is_allowed():
    assert call(UpdatePlan(), items=[]) == "the plan is empty"


@pytest.mark.parametrize(
    ("items", "complaint"),
    [
        ("read", "items must be a list"),
        (["read"], r"items\[0\] must be an object"),
        ([{"text": " ", "status": "done"}], r"items\[0\]\.text"),
        (
            [{"text": "a", "status": "done"}, {"text": "b", "status": "soon"}],
            r"items\[1\]\.status must be one of",
        ),
        ([{"text": "a", "status": "in_progress"}] * 2, "items 0, 1 are all in_progress"),
    ],
)
def test_what_is_no_plan_is_an_error_that_names_the_place(items, complaint):
    with pytest.raises(ToolError, match=complaint):
        call(UpdatePlan(), items=items)


def test_a_plan_writes_the_plan_and_nothing_else():
    access = UpdatePlan().definition.determine_access({"items": []})

    assert access.writes == {"state:plan"}
    assert not access.reads
