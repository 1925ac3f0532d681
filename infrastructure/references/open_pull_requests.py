"""The open pull requests of a repository on GitHub, as `gh` lists them."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from quorum.domain.errors import ToolError
from quorum.domain.text.json_value import JsonObject
from quorum.infrastructure.references.gh_program import decode_objects, find_own_repository, run_gh

MOST_PULL_REQUESTS = 1000
_FIELDS = "number,title,headRefOid,baseRefOid"
_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_GH_SECS = 60.0


class OpenPullRequest(Struct, frozen=True, kw_only=True):
    """A pull request with the ids of the commits at its head and of its base. Its author wrote the title."""

    repository: str
    number: int
    title: str
    head: str
    base: str


async def list_open_pull_requests(root: Path, environ: Mapping[str, str]) -> tuple[OpenPullRequest, ...]:
    """Those of the repository that the remote `origin` of the folder names, oldest first.

    Raises ToolError, also for more than MOST_PULL_REQUESTS.
    """
    repository = await asyncio.to_thread(find_own_repository, root)
    if not repository:
        raise ToolError("this folder has no remote origin on github.com, so it has no pull requests")
    words = ("pr", "list", "--repo", repository, "--state", "open", "--limit", str(MOST_PULL_REQUESTS + 1))
    listed = decode_objects(await run_gh((*words, "--json", _FIELDS), root, environ, timeout_secs=_GH_SECS))
    if len(listed) > MOST_PULL_REQUESTS:
        raise ToolError(f"{repository} has more than {MOST_PULL_REQUESTS:,} open pull requests")
    return tuple(sorted((_read(each, repository) for each in listed), key=lambda each: each.number))


def _read(found: JsonObject, repository: str) -> OpenPullRequest:
    number, title = found.get("number"), found.get("title")
    if not isinstance(number, int) or isinstance(number, bool) or not isinstance(title, str):
        raise ToolError("what gh lists has a pull request without number or title")
    return OpenPullRequest(
        repository=repository,
        number=number,
        title=title,
        head=_read_commit(found, "headRefOid", number),
        base=_read_commit(found, "baseRefOid", number),
    )


def _read_commit(found: JsonObject, name: str, number: int) -> str:
    value = found.get(name)
    if not isinstance(value, str) or not _COMMIT.fullmatch(value):
        raise ToolError(f'what gh lists of pull request {number} has no "{name}"')
    return value
