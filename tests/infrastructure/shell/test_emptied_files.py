"""Files that end up empty, and what goes away without being named."""

from __future__ import annotations

import pytest

from quorum.domain.calls.access import EXCLUSIVE
from quorum.domain.review.guards import GuardSettings, find_objections
from quorum.domain.review.path_policy import PathPolicy
from quorum.domain.review.plain_request import Asked, PlainRequest
from quorum.infrastructure.execution.shell.script import read_script


def _judge(command: str, request: str = "") -> list[Asked]:
    found = find_objections(
        {"command": command},
        EXCLUSIVE,
        command,
        paths=PathPolicy(roots=("/w",)),
        settings=GuardSettings(),
        read_script=read_script,
        request=PlainRequest(request),
    )
    return [each.asked for each in found]


@pytest.mark.parametrize(
    "command",
    [
        ": > notes.md",
        "> notes.md",
        "true >| notes.md",
        "sed -i d notes.md",
        "truncate -s 0 notes.md",
        "truncate -s 0 ../server.log",
        "python3 -c \"open('notes.md', 'w').close()\"",
        "python3 -c \"from pathlib import Path; Path('notes.md').write_text('')\"",
        "sed -i '1,$d' notes.md",
        "trash-empty",
        "gio trash --empty",
        "pip freeze | xargs pip uninstall -y",
        "brew uninstall $(brew list)",
        "gem uninstall -aIx",
        "pipx uninstall-all",
    ],
)
def test_what_loses_contents_or_programs_that_it_does_not_name_is_objected_to(command: str) -> None:
    assert _judge(command) == [Asked.NOT]


@pytest.mark.parametrize(
    "command",
    [
        ": > list.txt; for each in a b; do echo $each >> list.txt; done",
        "> src/__init__.py",
        "> .gitkeep",
        ": > /dev/null",
        "> server.log",
        "truncate -s 0 server.log logs/dev.log",
        "python3 -c \"open('server.log', 'w').close()\"",
        "python3 -c \"open('notes.md', 'w').write('x')\"",
        ": >> notes.md",
        "echo hi > notes.md",
        "sed -i '/debug/d' notes.md",
        "pip uninstall -y requests",
        "npm uninstall lodash",
        "brew uninstall jq",
    ],
)
def test_what_fills_or_names_it_is_not(command: str) -> None:
    assert _judge(command) == []


def test_who_asks_to_empty_a_file_by_its_name_gets_that() -> None:
    assert _judge(": > notes.md", "Empty notes.md.") == [Asked.TARGETS]
    assert _judge("cat /dev/null > notes.md", "Empty notes.md.") == [Asked.TARGETS]
    assert _judge("cat /dev/null > notes.md", "Empty other.md.") == [Asked.NOT]
    assert _judge(": > notes.md > other.md", "Empty notes.md.") != [Asked.TARGETS]
    assert _judge(": > ~/.ssh/config", "Empty notes.md.") != [Asked.TARGETS]
    assert _judge("gio trash --empty", "Empty the trash.") == [Asked.EFFECT]
