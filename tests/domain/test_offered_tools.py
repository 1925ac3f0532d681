"""What a call of a tool reads that the request did not offer."""

from __future__ import annotations

import pytest

from quorum.domain.calls.server_tools import OfferedTools

_ALL = ("read_file", "edit_file", "apply_patch", "list_directory", "run_command")


@pytest.mark.parametrize(
    ("called", "offered", "remedy"),
    [
        ("apply_patch", {"read_file", "edit_file", "run_command"}, "use edit_file"),
        ("apply_patch", {"read_file", "run_command"}, "use run_command"),
        ("list_directory", {"run_command"}, "use run_command with ls"),
        ("ls", {"run_command"}, "use run_command with ls"),
        ("Edit", {"apply_patch"}, "use apply_patch"),
        ("functions.read_fil", {"read_file"}, "use read_file"),
        ("pytest", {"run_command"}, "if it is a program, use run_command"),
    ],
)
def test_an_error_names_what_does_the_work_among_the_offered_tools(
    called: str, offered: set[str], remedy: str
) -> None:
    message = OfferedTools.choose(_ALL, offered).explain_absence(called)

    assert remedy in message
    assert set(message.rpartition("the tools are: ")[2].split(", ")) == offered


def test_the_bare_name_of_a_servers_tool_leads_to_that_tool() -> None:
    offered = OfferedTools((*_ALL, "mcp__docs__get_page", "mcp__docs__find", "mcp__web__find"))

    assert "; use mcp__docs__get_page; " in offered.explain_absence("get_page")
    assert "use mcp__" not in offered.explain_absence("find")


_USUAL = (*_ALL, "write_file", "glob_search", "grep_search", "update_plan")


@pytest.mark.parametrize(
    ("called", "remedy"),
    [
        ("list_files", "; use list_directory"),
        ("delete_file", "; use run_command"),
        ("moveFile", "; use run_command"),
        ("search_files", "; use grep_search"),
        ("file_search", "; use glob_search"),
        ("create_file", "; use write_file"),
        ("str_replace_based_edit_tool", "; use edit_file"),
        ("view", "; use read_file"),
        ("write_todos", "; use update_plan"),
        ("attempt_completion", "; answer in words instead"),
        ("web_search", ""),
        ("mcp__db__query", ""),
    ],
)
def test_an_invented_name_leads_to_what_it_means_not_to_what_has_its_letters(called: str, remedy: str) -> None:
    message = OfferedTools(_USUAL).explain_absence(called)

    said = message.partition("; the tools are: ")[0]
    assert said.endswith(remedy)
    assert (";" in said) == bool(remedy)


def test_a_withheld_tool_is_told_from_one_that_does_not_exist() -> None:
    tools = OfferedTools.choose(_ALL, {"read_file"})

    assert "run_command is not offered now" in tools.explain_absence("run_command")
    assert "there is no tool named 'nothing'" in tools.explain_absence("nothing")


def test_where_nothing_is_offered_no_tool_is_proposed() -> None:
    assert OfferedTools.choose(_ALL, ()).explain_absence("bash").endswith("the tools are: none")
