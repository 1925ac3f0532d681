"""Packages that are fetched and run in one step."""

from __future__ import annotations

import pytest

from quorum.domain.review.hazards.invocation import Invocation
from quorum.domain.review.hazards.transfers import list_foreign_packages


@pytest.mark.parametrize(
    ("command", "is_told"),
    [
        ("npx -y https://pkg.example/a.tgz", True),
        ("npx github:x/y", True),
        ("npx --package=git+https://pkg.example/a a", True),
        ("bunx https://pkg.example/a.tgz", True),
        ("uvx --from git+https://pkg.example/a a", True),
        ("npx owner/name", True),
        ("npm exec -- github:x/y", True),
        ("yarn dlx owner/name#branch", True),
        ("npx --workspace packages/a eslint .", False),
        ("npx tsc src/a", False),
        ("npx @scope/tool", False),
        ("npx eslint .", False),
        ("uvx ruff check", False),
        ("npx wait-on http://localhost:3000", False),
    ],
)
def test_a_package_of_an_address_is_told_where_a_registered_one_is_not(command: str, is_told: bool) -> None:
    program, *arguments = command.split()
    run = Invocation(program=program, arguments=tuple(arguments))

    assert any(each.guard == "network" for each in list_foreign_packages(run)) == is_told
