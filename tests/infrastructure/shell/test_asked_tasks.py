"""Requests for what programs, scripts and tools do that nobody knows: which of them take an objection back."""

from __future__ import annotations

import pytest

from quorum.domain.calls.access import EXCLUSIVE
from quorum.domain.review.guards import GuardSettings, find_objections
from quorum.domain.review.path_policy import PathPolicy
from quorum.domain.review.plain_request import Asked, PlainRequest
from quorum.domain.text.json_value import JsonObject
from quorum.infrastructure.execution.shell.script import read_script


def _judge(
    request: str, command: str | None, tool: str = "", arguments: JsonObject | None = None
) -> list[Asked]:
    found = find_objections(
        {"command": command or ""} if arguments is None else arguments,
        EXCLUSIVE,
        command,
        paths=PathPolicy(roots=("/w",)),
        settings=GuardSettings(),
        read_script=read_script,
        tool=tool,
        request=PlainRequest(request),
    )
    return [each.asked for each in found]


@pytest.mark.parametrize(
    ("request_", "command"),
    [
        ("Delete the branch main of shop.", "branchctl branch delete shop main --force"),
        ("Please purge movies from the index with indexctl.", "indexctl index:purge movies"),
        ("Delete the branches main and dev of shop.", "branchctl branch delete shop main dev"),
        ("Drop the database.", "console app:database:drop"),
        ("Revert that migration.", "sqlx migrate revert"),
        ("Drop the dev database and seed it again.", "npm run db:drop"),
        ("Run `make destroy`.", "make destroy"),
        ("Run npm run db:drop", "npm run db:drop"),
        ("Run db:drop, please.", "npm run db:drop"),
    ],
)
def test_who_names_the_effect_and_its_targets_or_the_call_itself_asks_for_it(
    request_: str, command: str
) -> None:
    assert _judge(request_, command) == [Asked.EFFECT]


@pytest.mark.parametrize(
    ("request_", "command"),
    [
        ("Delete the branch dev of shop.", "branchctl branch delete shop main --force"),
        ("Delete the branch main.", "branchctl branch delete shop main --force"),
        ("Show the branch main of shop.", "branchctl branch delete shop main --force"),
        ("Delete a.txt. Then look at the branch main of shop.", "branchctl branch delete shop main"),
        ("Delete the branch main of shop.", "branchctl branch delete shop main --all"),
        ("Delete the branch main of shop.", "branchctl branch delete shop main --server=prod"),
        ("Delete the branch main of shop.", "branchctl branch delete shop main -sprod"),
        ("Delete the branch main of shop.", "cat names | xargs branchctl branch delete shop main"),
        ("Delete the branch main of shop.", "TARGET=prod branchctl branch delete shop main"),
        ("Delete the branch main of shop.", "cd x && branchctl branch delete shop main"),
        ("Delete the branch main of shop.", "sh -c 'branchctl branch delete shop main'"),
        ("Delete the branch main of shop.", "sudo branchctl branch delete shop main"),
        ("Do not delete the branch main of shop.", "branchctl branch delete shop main"),
        ("Delete the branch main of shop if it is merged.", "branchctl branch delete shop main"),
        ("Delete the branches mains of shop.", "branchctl branch delete shop main"),
        ("Drop the cache.", "console app:database:drop"),
        ("Delete old logs.", "make destroy"),
        ("Run make destroy.", "make destroy ENV=prod"),
        ("Run make destroy-cache.", "make destroy"),
        ("Run make destroy when I say so.", "make destroy"),
        ("Run the tests.", "npm run db:drop"),
    ],
)
def test_what_the_request_does_not_name_is_not_asked_for(request_: str, command: str) -> None:
    assert set(_judge(request_, command)) == {Asked.NOT}


def test_what_was_asked_for_does_not_stand_in_for_what_was_not() -> None:
    assert Asked.NOT in _judge("Delete data.", "rm -rf data && branchctl branch delete main")
    assert Asked.NOT in _judge("Delete data.", "rm -rf data && npm run db:drop")
    assert Asked.NOT not in _judge("Delete data.", "rm -rf data")


@pytest.mark.parametrize(
    ("request_", "tool", "arguments", "asked"),
    [
        (
            "Delete the branch old of acme/web.",
            "delete_branch",
            {"owner": "acme", "repo": "web", "branch": "old"},
            True,
        ),
        (
            "Delete the branch new of acme/web.",
            "delete_branch",
            {"owner": "acme", "repo": "web", "branch": "old"},
            False,
        ),
        ("Delete old of acme/web.", "delete_branch", {"owner": "acme", "repo": "web", "branch": "old"}, False),
        ("Delete notes.txt.", "delete_file", {"path": "notes.txt"}, True),
        ("Delete notes.txt.", "delete_file", {"path": "src/notes.txt"}, False),
        ("Delete notes.txt.", "delete_file", {"path": "notes.txt", "also": ["a.txt"]}, False),
        ("Delete the users ada.", "delete_user", {"name": "adas"}, False),
        ("Delete all pages.", "delete_all_pages", {}, True),
        ("Delete the pages.", "delete_all_pages", {"confirm": True}, False),
        ("Merge pull request 12 of acme/web.", "merge_pull_request", {"repo": "acme/web", "number": 12}, True),
        ("Merge pull request 1 of acme/web.", "merge_pull_request", {"repo": "acme/web", "number": 12}, False),
        ("Add ada to readers as guest.", "add_member", {"user": "ada", "role": "guest"}, False),
        ("Scale the api deployment to 0.", "scale_deployment", {"name": "api", "replicas": 0}, True),
        ("Scale the web deployment to 0.", "scale_deployment", {"name": "api", "replicas": 0}, False),
        ("Show me the secret db.", "get_secret", {"name": "db"}, False),
    ],
)
def test_a_tool_is_asked_for_by_what_its_name_says_and_each_of_its_values(
    request_: str, tool: str, arguments: JsonObject, *, asked: bool
) -> None:
    assert _judge(request_, None, f"mcp__x__{tool}", arguments) == [Asked.EFFECT if asked else Asked.NOT]
