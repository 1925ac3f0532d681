"""Functions are verbs: a name says what a function does, not what it returns or what is there afterwards."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("domain", "application", "infrastructure", "tui", "quorum")

VERBS_IN_ED = {"embed", "feed", "need", "proceed", "seed", "shed", "speed"}
"""These are verbs although they end as participles do."""

IRREGULAR = """
    begun bound brought built chosen done drawn driven found given gone heard held hidden kept known
    lost made meant met paid ran said seen shown sold spoken stolen stuck sung sunk swept taken taught
    thought thrown told torn understood won worn written
"""

PREPOSITIONS = """
    after as at before behind by for from in near of through to under with without
"""
"""None of these begins a name that has a verb."""

ENDINGS_OF_NOUNS = {"of", "in", "at", "for", "from", "with"}
"""A name that ends with one of these is that of a thing, such as `cost_of`; verbs may end with `to` or `by`."""


NOUNS = """
    access addresses advice app arguments beginning blobs blocks bounds bytes card cells character
    characters children choice codes column columns command commands comments configuration
    confinement content contents cost costs counts current decision definitions description details
    difference digests digits duration edge element ending endings entries entry environment error
    excess executables explanation expression extent extras facts failure failures field fields file
    files finding findings flag flags flaw flaws folder folders gap heading headings hint hints
    history hooks hunk hunks identity instructions item items job jobs json key keymaps keys kind
    knowledge labels leaves letters likeness limits line lines location locations message messages
    model models moment mounts nothing notice notices objection objections occurrences ok operations
    option optional options ordinal origin origins outcome outlook output packet page panes
    parameter parameters part participant parts past path paths percent piece pieces problem
    problems program programs prompt property proposals provider providers question reason reasons
    records refusal remark remarks replacement replacements resource resources response result
    results roles room row rows rule rules schema schemas score section sections sentence separator
    server servers session sessions setting settings shape shell size source spans spill state
    statement status statuses step steps strips subtitle successor summary synopsis table target
    terminal text texts theme title tokens tool tools transcript trouble uploads usage value values
    version visible votes warning warnings way ways weight width window word words
"""
"""No function and no method begins with one of these: its name would say what it returns, and not whether it
reads, renders, finds or computes that. What is a property may."""

WITHOUT_ACTION = """
    absent ahead alone background below beyond canonical everything exact first lacking last missing nearest
    newer next older outside plain plus printable relative resting silent synchronous unreachable unusable
    writable wrong
"""
"""Words of what is, or where and when, but not of what is done."""

VERBS_IN_ING = {"bring", "ping", "spring", "string"}
"""These are verbs, or stand for themselves, although they end as gerunds do."""

VAGUE = {"do", "go", "hear", "take", "work"}
"""None of these alone is the name of a function: a search for it would find half of the prose."""

OF_OTHERS = {
    "domain/calls/run_state.py: having",
    "domain/conversation/response.py: text_content",
    "domain/conversation/response.py: tool_calls",
    "quorum/acp_agent/protocol_agent.py: prompt",
    "quorum/cli/argument_parser.py: error",
}
"""Names that a library calls or extends, or that plug-ins use."""


@pytest.mark.long
def test_no_function_of_a_module_is_named_by_a_noun() -> None:
    assert [f"{path}: {name}" for path, name in _functions() if _is_noun(name)] == []


@pytest.mark.long
def test_no_method_is_named_by_a_noun() -> None:
    assert {f"{path}: {name}" for path, name in _methods() if _is_noun(name)} <= OF_OTHERS


@pytest.mark.long
def test_no_function_is_named_by_what_is_no_action_or_by_a_word_that_nobody_can_search_for() -> None:
    named = [*_functions(), *_methods()]

    assert {f"{path}: {name}" for path, name in named if _is_without_action(name)} <= OF_OTHERS


@pytest.mark.parametrize("name", ["ahead", "_resting", "matching", "first_line", "take", "_work"])
def test_names_without_an_action_are_found(name: str) -> None:
    assert _is_without_action(name)


@pytest.mark.parametrize(
    "name", ["bring_up", "take_back", "work_off", "keep_ahead", "list_all", "_select_first"]
)
def test_names_with_an_action_pass(name: str) -> None:
    assert not _is_without_action(name)


@pytest.mark.parametrize("name", ["_lines", "entries", "_text_of_row", "status_parser"])
def test_nouns_are_found(name: str) -> None:
    assert _is_noun(name)


@pytest.mark.parametrize("name", ["render_lines", "is_text", "usage_to_json", "name_file", "list_entries"])
def test_verbs_before_nouns_and_conversions_pass(name: str) -> None:
    assert not _is_noun(name)


@pytest.mark.long
def test_no_function_of_a_module_is_named_by_a_past_participle() -> None:
    names = list(_functions())

    assert len(names) > 1_000
    assert [f"{path}: {name}" for path, name in names if _is_participle(name)] == []


@pytest.mark.parametrize("name", ["sealed", "told", "written_paths", "_joined"])
def test_participles_are_found(name: str) -> None:
    assert _is_participle(name)


@pytest.mark.parametrize("name", ["seal", "_feed", "read_text", "cut", "split", "is_told", "need"])
def test_verbs_pass(name: str) -> None:
    assert not _is_participle(name)


@pytest.mark.long
def test_no_function_of_a_module_is_named_by_a_phrase_without_a_verb() -> None:
    assert [f"{path}: {name}" for path, name in _functions() if _is_phrase(name)] == []


@pytest.mark.parametrize("name", ["cost_of", "_word_at", "in_short", "without_marks", "_paths_in", "theme_for"])
def test_phrases_are_found(name: str) -> None:
    assert _is_phrase(name)


@pytest.mark.parametrize(
    "name", ["compute_cost", "export_to", "is_built_in", "_read_up_to", "to", "sort_by_name"]
)
def test_names_with_a_verb_pass(name: str) -> None:
    assert not _is_phrase(name)


PREFIXES_OF_METHODS = ("from_", "to_", "with_", "without_", "before_", "after_", "as_json", "_as_json")
"""Constructors, conversions, changed copies, and what is called before or after something."""

PHRASAL_VERBS = {"action", "continue", "keep", "let", "log", "look", "see", "select", "show", "take", "wait"}
"""A method such as `log_in` or `look_for` has a verb; one of a key binding begins with `action_`."""


@pytest.mark.long
def test_no_method_is_named_by_a_participle_or_a_phrase_without_a_verb() -> None:
    names = list(_methods())

    assert len(names) > 3_000
    assert [f"{path}: {name}" for path, name in names if _is_no_verb(name)] == []


@pytest.mark.parametrize("name", ["access_of", "_in_sight", "at_start", "raised", "_text_at"])
def test_methods_without_a_verb_are_found(name: str) -> None:
    assert _is_no_verb(name)


@pytest.mark.parametrize(
    "name",
    ["from_text", "to_json", "with_role", "before_tool_call", "log_in", "_look_for", "action_log_in", "seal"],
)
def test_methods_with_a_verb_and_conventional_names_pass(name: str) -> None:
    assert not _is_no_verb(name)


def _is_no_verb(name: str) -> bool:
    plain = name.lstrip("_")
    if plain.startswith(PREFIXES_OF_METHODS) or plain.partition("_")[0] in PHRASAL_VERBS:
        return False
    return _is_participle(name) or _is_phrase(name)


def _is_noun(name: str) -> bool:
    return "_to_" not in name and name.lstrip("_").partition("_")[0] in NOUNS.split()


def _is_without_action(name: str) -> bool:
    plain = name.lstrip("_")
    word = plain.partition("_")[0]
    is_gerund = word.endswith("ing") and word not in VERBS_IN_ING
    return is_gerund or word in WITHOUT_ACTION.split() or plain in VAGUE


def _is_participle(name: str) -> bool:
    word = name.lstrip("_").partition("_")[0]
    return word in IRREGULAR.split() or (word.endswith("ed") and word not in VERBS_IN_ED)


def _is_phrase(name: str) -> bool:
    first, *others = name.lstrip("_").split("_")
    if not others or first in ("is", "has", "can", "may"):
        return False
    return first in PREPOSITIONS.split() or others[-1] in ENDINGS_OF_NOUNS


@cache
def _parse_modules() -> tuple[tuple[str, ast.Module], ...]:
    """Path and syntax tree of each module of the product."""
    return tuple(
        (str(path.relative_to(ROOT)), ast.parse(path.read_text(encoding="utf-8")))
        for package in PACKAGES
        for path in sorted((ROOT / package).rglob("*.py"))
    )


def _functions() -> Iterator[tuple[str, str]]:
    """Path and name of each function at the top of a module."""
    for path, module in _parse_modules():
        for node in module.body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield path, node.name


def _methods() -> Iterator[tuple[str, str]]:
    """Path and name of each method that is no property."""
    for path, module in _parse_modules():
        for node in ast.walk(module):
            for member in node.body if isinstance(node, ast.ClassDef) else ():
                if isinstance(member, ast.FunctionDef | ast.AsyncFunctionDef) and not _is_property(member):
                    yield path, member.name


def _is_property(method: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    decorators = {ast.unparse(each) for each in method.decorator_list}
    return any(each.endswith(("property", ".setter")) for each in decorators)
