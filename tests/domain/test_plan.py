"""A plan is checked when it is read, knows its order, and comes back whole from the text a person edits."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorum.domain.plan.plan import (
    ApprovedPlan,
    BadPlan,
    PhaseScope,
    Plan,
    PlanTask,
    SessionPhase,
    may_overlap,
    read_plan,
)
from quorum.domain.plan.plan_text import BadPlanText, parse_plan_text, render_plan_text
from quorum.domain.review.permission_rules import matches_path
from quorum.domain.text.json_value import JsonObject, JsonValue


def task(id_: str, *after: str, writes: tuple[str, ...] = (), commands: tuple[str, ...] = ()) -> JsonObject:
    return {
        "id": id_,
        "description": f"do {id_}",
        "depends_on": list(after),
        "writes": list(writes),
        "commands": list(commands),
    }


def plan_of(*tasks: JsonValue) -> Plan:
    return read_plan({"objective": "a parser", "reasoning": "", "tasks": list(tasks)})


# ---------------------------------------------------------------- what is wrong is named


@pytest.mark.parametrize(
    ("tasks", "said"),
    [
        ([], "the plan has no task"),
        ([task("a"), task("a")], "2 tasks have the id a"),
        ([task("a", "b")], "the task a depends on 'b', and there is no such task"),
        ([task("a", "a")], "a → a"),
        ([task("z"), task("a", "c"), task("b", "a"), task("c", "b", "z")], "a → c → b → a"),
        ([task("a", writes=("../x",))], "writes of the task a: '../x' cannot be used: it lies outside"),
        ([task("a", writes=("/etc/passwd",))], "it lies outside of the workspace"),
        ([task("a", writes=("~/.bashrc",))], "it lies outside of the workspace"),
        ([task("a", writes=("src/../../x",))], "it lies outside of the workspace"),
        ([task("a", writes=("src/\u202ex",))], "characters that cannot be seen"),
        ([task("a", commands=("*",))], "it covers every command"),
        ([task("a", commands=("** *",))], "it covers every command"),
        ([task("a", commands=("read-only",))], "name the program"),
        ([task("a", commands=("echo 'x",))], "commands of the task a"),
        ([task("a b")], "tasks[0].id: an id is 1 to 40 letters"),
        ([{"id": "a"}], "tasks[0].description must be a text"),
        ([{"id": "a", "description": " \n "}], "tasks[0].description is empty"),
        ([{"id": "a", "description": "x", "writes": "src"}], "tasks[0].writes must be a list"),
        ([{"id": "a", "description": "x", "writes": [""]}], "tasks[0].writes[0] must be a text"),
        (["a"], "tasks[0] must be an object"),
        ([task(f"t{n}") for n in range(101)], "the most are 100"),
    ],
)
def test_a_plan_that_does_not_hold_together_is_refused_with_the_place(
    tasks: list[JsonValue], said: str
) -> None:
    with pytest.raises(BadPlan) as refused:
        plan_of(*tasks)
    assert said in str(refused.value)


def test_a_plan_without_an_objective_or_a_list_of_tasks_names_both() -> None:
    with pytest.raises(BadPlan) as refused:
        read_plan({"tasks": 3})
    assert "objective must be a text" in str(refused.value)
    assert "tasks must be a list" in str(refused.value)


def test_of_many_problems_the_first_are_named_and_the_rest_counted() -> None:
    with pytest.raises(BadPlan, match="and 20 more problems"):
        plan_of(*(task(f"t{n}", "nowhere") for n in range(30)))


# ---------------------------------------------------------------- order


def test_tasks_come_after_those_they_depend_on() -> None:
    plan = plan_of(task("c", "b"), task("b", "a"), task("a"), task("d"))
    assert [each.id for each in plan.ordered] == ["a", "b", "c", "d"]


@st.composite
def acyclic_tasks(draw: st.DrawFn) -> list[JsonObject]:
    ids = [f"t{n}" for n in range(draw(st.integers(1, 8)))]
    tasks = [
        task(id_, *draw(st.lists(st.sampled_from(ids[:place]), unique=True) if place else st.just([])))
        for place, id_ in enumerate(ids)
    ]
    return draw(st.permutations(tasks))


@given(acyclic_tasks())
def test_every_order_of_tasks_without_a_circle_is_sorted_whole(tasks: list[JsonObject]) -> None:
    plan = plan_of(*tasks)
    place = {each.id: n for n, each in enumerate(plan.ordered)}
    assert set(place) == {each.id for each in plan.tasks}
    assert all(place[other] < place[each.id] for each in plan.tasks for other in each.depends_on)


@given(acyclic_tasks(), st.data())
def test_what_is_left_after_dropping_tasks_is_a_plan(tasks: list[JsonObject], data: st.DataObject) -> None:
    plan = plan_of(*tasks)
    gone = data.draw(st.sets(st.sampled_from([each.id for each in plan.tasks])))
    left = plan.drop_tasks(gone)
    assert not gone & {each.id for each in left.tasks}
    if left.tasks:
        assert read_plan(left.to_json()) == left


# ---------------------------------------------------------------- side by side


def test_tasks_run_side_by_side_where_neither_waits_and_their_files_do_not_meet() -> None:
    plan = plan_of(
        task("a", writes=("src/a/**",)),
        task("b", writes=("src/b.py",)),
        task("c", "a", writes=("docs/*",)),
        task("d", writes=("SRC/*.py",)),
    )
    assert plan.may_run_side_by_side("a", "b")
    assert plan.may_run_side_by_side("b", "c")
    assert not plan.may_run_side_by_side("a", "c"), "c waits for a"
    assert not plan.may_run_side_by_side("b", "d"), "both may write src/b.py"
    assert not plan.may_run_side_by_side("a", "a")


@given(st.data())
def test_patterns_that_fit_one_path_are_known_to_overlap(data: st.DataObject) -> None:
    names = st.lists(st.sampled_from(["a", "b", "ab", "a.py"]), min_size=1, max_size=4)
    parts = st.lists(st.sampled_from(["a", "*", "**", "a*", "?", "*b", "a.py", "*.py"]), min_size=1, max_size=4)
    path = "/w/" + "/".join(data.draw(names))
    first, second = "/".join(data.draw(parts)), "/".join(data.draw(parts))
    if all(matches_path(each, path, ("/w",), strict=True) for each in (first, second)):
        assert may_overlap(first, second)
        assert may_overlap(second, first)


def test_long_patterns_are_compared_in_no_time_and_without_recursion() -> None:
    assert may_overlap("*a" * 250, "a*" * 250)
    assert not may_overlap("*a" * 250 + "b", "a*" * 250 + "c")
    assert not may_overlap("/".join(["**", "a"] * 100) + "/x", "/".join(["a", "**"] * 100) + "/y")


# ---------------------------------------------------------------- the document

TEXTS = st.text(st.sampled_from("ab#-\\ \n[x]:*`\u2028\r\t"), min_size=1, max_size=40).filter(
    lambda text: bool(text.strip())
)


@given(
    TEXTS,
    TEXTS,
    st.lists(TEXTS, min_size=1, max_size=4),
    st.lists(st.sampled_from(["src/**", "a b.py", "docs/[x]*.md", "- x", "#y"]), unique=True),
    st.lists(st.sampled_from(["pytest *", "make test", "git commit -m '# x'"]), unique=True),
)
def test_a_plan_comes_back_from_its_document_as_it_was(
    objective: str, reasoning: str, texts: list[str], writes: list[str], commands: list[str]
) -> None:
    try:
        plan = read_plan(
            {
                "objective": objective,
                "reasoning": reasoning,
                "tasks": [
                    {
                        "id": f"t{n}",
                        "description": text,
                        "writes": writes,
                        "commands": commands,
                        "depends_on": [f"t{n - 1}"] if n else [],
                    }
                    for n, text in enumerate(texts)
                ],
            }
        )
    except BadPlan:
        return
    again = parse_plan_text(render_plan_text(plan))
    assert again == plan
    assert again.digest == plan.digest


DOCUMENT = """\
# Plan

a parser

## Reasoning

because

## Tasks

### [x] a

read

- writes: src/**

### [x] b

write

- after: a
- runs: make test
"""


def test_the_document_is_read_with_boxes_and_lists() -> None:
    plan = parse_plan_text(DOCUMENT)
    assert [each.id for each in plan.tasks] == ["a", "b"]
    assert plan.tasks[1] == PlanTask(id="b", description="write", depends_on=("a",), commands=("make test",))
    assert [each.id for each in parse_plan_text(DOCUMENT.replace("[x] b", "[ ] b")).tasks] == ["a"]


@pytest.mark.parametrize(
    ("old", "new", "line", "said"),
    [
        ("# Plan", "Plan", 1, "begins with '# Plan'"),
        ("a parser", "", 1, "what the plan is to reach"),
        ("## Tasks\n", "", 10, "no heading of a plan"),
        ("### [x] a", "### a", 11, "no heading of a plan"),
        ("[x] a", "[ ] a", 21, "whose box is not checked"),
        ("- after: a", "- after: c", 21, "no such task"),
        ("- after: a", "- after a", 21, "an entry is"),
        ("- writes: src/**", "- writes: ../**", 15, "outside of the workspace"),
        ("- runs: make test", "- runs: *", 22, "every command"),
        ("[x] b", "[x] a", 17, "the task of line 11 has the id a, too"),
        ("[x] b", "[x] b!", 17, "cannot be used"),
        ("- writes: src/**", "- after: b", 11, "a → b → a"),
        ("because", "- because", 7, "put a backslash before -"),
        ("read\n", "\n", 11, "the task a has no text"),
        ("- writes: src/**", "- writes: src/**\nmore", 16, "above its list"),
    ],
)
def test_a_document_that_does_not_fit_names_the_line(old: str, new: str, line: int, said: str) -> None:
    with pytest.raises(BadPlanText) as refused:
        parse_plan_text(DOCUMENT.replace(old, new, 1))
    assert refused.value.line == line
    assert said in str(refused.value)


def test_a_document_with_every_box_empty_is_no_plan() -> None:
    with pytest.raises(BadPlanText, match="no task is left"):
        parse_plan_text(DOCUMENT.replace("[x]", "[ ]"))


@given(st.text(st.sampled_from("# Plan\nTasks[x]-:aRreoning\\"), max_size=200))
def test_no_text_makes_the_reading_fail_in_another_way(text: str) -> None:
    with suppress(BadPlanText):
        parse_plan_text(text)


# ---------------------------------------------------------------- approved


def test_an_approved_plan_stands_for_the_rules_of_its_patterns() -> None:
    plan = plan_of(task("a", writes=("src/**",)), task("b", "a", writes=("src/**",), commands=("make *",)))
    rules = ApprovedPlan.make(plan).rules
    assert [rule.text for rule in rules] == ["write_file(src/**)", "run_command(make *)"]
    assert rules[1].source == "task b of the approved plan"


def test_planning_ends_with_an_approval_in_the_scope_that_was_there_before() -> None:
    planning = SessionPhase().enter(PhaseScope.FAST).enter(PhaseScope.PLAN_ONLY)
    assert planning.is_planning
    approved = planning.approve(plan_of(task("a")))
    assert (approved.scope, approved.is_planning) == (PhaseScope.FAST, False)
    assert approved.withdraw().approved is None
