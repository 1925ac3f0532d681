"""Programs that others start, by whatever words: they are judged as if they stood there alone."""

from __future__ import annotations

import pytest

from quorum.domain.review.hazards.inspection import inspect_command
from quorum.domain.review.path_policy import PathPolicy
from quorum.infrastructure.execution.shell.script import read_script

_DELETION = "rm -rf src"


def _is_objected_to(command: str) -> bool:
    return bool(inspect_command(command, read_script=read_script, paths=PathPolicy(roots=("/w",))))


@pytest.mark.parametrize(
    "started",
    [
        "poetry run",
        "poetry -C web run",
        "uv run --with rich",
        "uv --project web run",
        "pipenv run",
        "bundle exec",
        "conda run -n web",
        "npm exec --",
        "npm --prefix web exec --",
        "pnpm --filter web exec",
        "yarn dlx",
        "npx -p tools",
        "docker exec -u root web",
        "docker compose exec -T web",
        "docker compose run --rm web",
        "sudo docker exec web",
        "kubectl -n web exec pod -c app --",
        "env A=1 poetry run",
        "timeout 9 uv run",
        "poetry run uv run",
    ],
)
def test_a_program_is_judged_behind_what_starts_it(started: str) -> None:
    assert _is_objected_to(f"{started} {_DELETION}")
    assert _is_objected_to(f"{started} python3 -c \"import shutil; shutil.rmtree('src')\"")
    assert started.startswith("sudo") or not _is_objected_to(f"{started} ls src")
