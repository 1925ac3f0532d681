"""What loses nothing that cannot be made again, and what only looks like it."""

from __future__ import annotations

import pytest

from quorum.domain.review.hazards.inspection import inspect_command
from quorum.domain.review.path_policy import PathPolicy
from quorum.infrastructure.execution.shell.script import read_script


def _is_objected_to(command: str) -> bool:
    return bool(inspect_command(command, read_script=read_script, paths=PathPolicy(roots=("/w",))))


@pytest.mark.parametrize(
    "command",
    [
        "rm -rf node_modules target",
        "rm -rf target/ && mkdir target",
        "rm -r ./packages/a/target",
        "cd app && rm -rf target",
        "find . -name __pycache__ -exec rm -rf {} +",
        "find . -type d -name node_modules -prune -exec rm -rf {} +",
        "find src -name '*.pyc' -delete",
        "kill $(lsof -t -i:3000)",
        "kill $(lsof -ti tcp:8080)",
        "cat ~/.ssh/id_ed25519.pub",
    ],
)
def test_what_tools_make_anew_is_deleted_and_their_servers_are_ended_unasked(command: str) -> None:
    assert not _is_objected_to(command)


@pytest.mark.parametrize(
    "command",
    [
        "rm -rf node_modules src",
        "rm -rf build",
        "mv src target && rm -rf target",
        "rm -rf ../target",
        "rm -rf ~/target",
        "rm -rf /target",
        "rm -rf $X/target",
        "rm -rf */target",
        "rm -rf target/*",
        "rm -rf target/../src",
        "rm -rf -- target -src",
        "cd ~ && rm -rf target",
        "cd .. && rm -rf target",
        "command cd / && rm -rf target",
        "cd $X; rm -rf target",
        "ln -s ~ x; rm -rf x/target",
        "cd ~; sh -c 'rm -rf target'",
        "env -C / rm -rf target",
        "sudo rm -rf target",
        "ls | xargs rm -rf target",
        "ls | xargs rm -rf __pycache__",
        "find . -name target -exec rm -rf {} +",
        "find ~ -name node_modules -exec rm -rf {} +",
        "find ~ -execdir rm -rf target ';'",
        "find . -name __pycache__ -exec rm -rf {} src +",
        "find . ! -name node_modules -exec rm -rf {} +",
        "find . -delete -name '*.pyc'",
        "git clean -fdX",
        "kill $(lsof -t -i:22)",
        "kill $(lsof -t -u me)",
        "pkill -f vite",
        "pkill -f python",
        "cat ~/.ssh/id_ed25519",
        "cat ~/.ssh/id.pub ~/.ssh/id_rsa",
    ],
)
def test_what_may_hold_more_than_that_is_asked_about(command: str) -> None:
    assert _is_objected_to(command)
