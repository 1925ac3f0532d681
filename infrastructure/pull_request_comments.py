"""Comments on pull requests, posted with `gh`."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from quorum.domain.errors import ToolError
from quorum.domain.text.printable import make_printable
from quorum.infrastructure.changes.git_reader import GitReader
from quorum.infrastructure.github_references import decode_object, find_own_repository, run_gh

_SECS = 60.0
_LONGEST_ADDRESS = 300


class CommentedPullRequest(Struct, frozen=True, kw_only=True):
    """The open pull request that is commented on."""

    repository: str
    number: int


async def find_pull_request(root: Path, environ: Mapping[str, str], number: int | None) -> CommentedPullRequest:
    """The pull request of this number, or that of the branch. Raises ToolError where none is open, and
    where gh is missing or fails."""
    repository = await asyncio.to_thread(find_own_repository, root)
    if not repository:
        raise ToolError("this folder has no remote origin on github.com, so it has no pull requests")
    branch = "" if number is not None else await asyncio.to_thread(_read_branch, root, environ)
    words = (
        "pr",
        "view",
        "--repo",
        repository,
        "--json",
        "number,state,headRefName",
        "--",
        branch or str(number),
    )
    found = decode_object(await run_gh(words, root, environ, timeout_secs=_SECS))
    seen, state = found.get("number"), found.get("state")
    if not isinstance(seen, int) or isinstance(seen, bool) or not isinstance(state, str):
        raise ToolError("what gh says of the pull request has no number or state")
    if branch and found.get("headRefName") != branch:  # a branch may be called as another's number is
        raise ToolError(f"no pull request of the branch {make_printable(branch, newlines=False)} is found")
    if state != "OPEN":
        raise ToolError(
            f"{repository}#{seen} is {make_printable(state.lower(), newlines=False)}; name an open one"
        )
    return CommentedPullRequest(repository=repository, number=seen)


async def post_comment(
    found: CommentedPullRequest, comment: str, root: Path, environ: Mapping[str, str]
) -> str:
    """Post the comment; its address, as gh prints it. Raises ToolError."""
    words = ("pr", "comment", "--repo", found.repository, "--body-file", "-", "--", str(found.number))
    output = await run_gh(words, root, environ, timeout_secs=_SECS, payload=comment.encode("utf-8", "replace"))
    address = make_printable(output.decode("utf-8", "replace").strip(), newlines=False)
    return address[:_LONGEST_ADDRESS] or f"{found.repository}#{found.number}"


def _read_branch(root: Path, environ: Mapping[str, str]) -> str:
    name = GitReader(root, environ).run("symbolic-ref", "--quiet", "--short", "HEAD", fine=(0, 1))
    if not (branch := name.decode("utf-8", "replace").strip()):
        raise ToolError("no branch is checked out; name the pull request by its number")
    return branch
