"""Dropping tasks of a proposed plan: what goes with them, and what comes back."""

from __future__ import annotations

from quorum.domain.plan.plan import TaskChoice, read_plan

PLAN = read_plan(
    {
        "objective": "a parser",
        "reasoning": "",
        "tasks": [
            {"id": "lexer", "description": "cut it up"},
            {"id": "parser", "description": "read it", "depends_on": ["lexer"]},
            {"id": "docs", "description": "tell of it", "depends_on": ["parser"]},
            {"id": "site", "description": "make it pretty"},
        ],
    }
)


def ids(choice: TaskChoice) -> list[str]:
    return [task.id for task in choice.kept.tasks]


def test_a_task_is_dropped_with_all_that_depends_on_it() -> None:
    choice = TaskChoice(PLAN).toggle("parser")
    assert choice.dropped == {"parser", "docs"}
    assert ids(choice) == ["lexer", "site"]
    assert choice.list_behind("lexer") == ("parser", "docs")


def test_a_task_is_kept_again_with_all_that_it_depends_on() -> None:
    choice = TaskChoice(PLAN).toggle("lexer").toggle("docs")
    assert ids(choice) == ["lexer", "parser", "docs", "site"]
    assert ids(TaskChoice(PLAN).toggle("lexer").toggle("parser")) == ["lexer", "parser", "docs", "site"]


def test_a_task_that_was_dropped_by_itself_stays_so_when_the_one_before_it_is_kept_again() -> None:
    choice = TaskChoice(PLAN).toggle("docs").toggle("lexer").toggle("lexer")
    assert ids(choice) == ["lexer", "parser", "site"]


def test_all_tasks_can_be_dropped_and_then_none_is_left() -> None:
    assert TaskChoice(PLAN).toggle("lexer").toggle("site").kept.tasks == ()
