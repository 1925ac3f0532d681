"""Runs `gh`, GitHub's own program, for issues and pull requests, with the login that it has."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from quorum.application.program_lookup import (
    explain_missing,
    filter_environment,
    find_as_shell_does,
    find_program,
)
from quorum.domain.conversation.attachment import AttachedFile
from quorum.domain.errors import ToolError
from quorum.domain.text.json_value import JsonObject, JsonValue
from quorum.domain.text.mention import Reference, find_repository
from quorum.domain.text.printable import make_printable
from quorum.infrastructure.config.paths import list_folders_up_to_repository
from quorum.infrastructure.execution.commands.environment import build_command_environment
from quorum.infrastructure.execution.commands.process import start_with_payload

TIMEOUT_SECS = 15.0
_MOST_BYTES = 4_000_000
_MOST_CONFIG_BYTES = 1_000_000
_LONGEST_REASON = 200
# What gh logs in with, beside what it keeps itself; commands of a session do not get these.
_LOGIN = ("GH_TOKEN", "GITHUB_TOKEN", "GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN", "GH_CONFIG_DIR")
_QUIET = {"GH_PROMPT_DISABLED": "1", "GH_NO_UPDATE_NOTIFIER": "1", "NO_COLOR": "1"}
_MISSING = "gh, GitHub's program, is not installed; install it and run gh auth login"


async def run_gh(
    words: Sequence[str],
    root: Path,
    environ: Mapping[str, str],
    *,
    most_bytes: int = _MOST_BYTES,
    timeout_secs: float | None = None,
    payload: bytes = b"",
) -> bytes:
    """What `gh` prints, given the payload on standard input; no more than `most_bytes` is kept. It runs outside
    of the workspace, `root`: nothing in it is executed. Raises ToolError."""
    limit = TIMEOUT_SECS if timeout_secs is None else timeout_secs
    more = (str(root),)
    environment = filter_environment(build_command_environment(environ, ()), more)
    program = await asyncio.to_thread(find_program, "gh", environment["PATH"], more)
    if program is None and find_as_shell_does("gh", environ.get("PATH")) is not None:
        raise ToolError(explain_missing("gh", environ.get("PATH"), more))
    if program is None:
        raise ToolError(_MISSING)
    login = {name: environ[name] for name in _LOGIN if name in environ}
    output, errors = bytearray(), bytearray()
    try:
        process = start_with_payload(
            (program, *words),
            payload,
            cwd=Path("/"),
            environment={**environment, **_QUIET, **login},
            timeout_secs=limit,
            on_output=lambda data: output.extend(data[: most_bytes - len(output)]),
            on_errors=lambda data: errors.extend(data[: _MOST_BYTES - len(errors)]),
        )
        ending = await process.wait()
    except OSError as error:
        raise ToolError(f"gh could not be started: {error.strerror or error}") from error
    if ending.failure is not None:
        raise ToolError(f"gh could not be started: {ending.failure}")
    if ending.timed_out:
        raise ToolError(f"gh took longer than {limit:g} s")
    if ending.exit_code != 0:
        said = make_printable(errors.decode("utf-8", "replace").strip(), newlines=False)[:_LONGEST_REASON]
        raise ToolError(f"gh exited with {ending.exit_code}: {said or 'it said nothing'}")
    return bytes(output)


def find_own_repository(root: Path) -> str:
    """That of the remote `origin`. Git is not run, for a repository's settings can name programs."""
    folder = list_folders_up_to_repository(root)[-1]
    place = folder / ".git"
    try:
        if place.is_file():  # a worktree: its folder names the common one
            linked = folder / _read_beginning(place).removeprefix("gitdir:").strip()
            place = linked / _read_beginning(linked / "commondir").strip()
        with (place / "config").open("rb") as file:
            return find_repository(file.read(_MOST_CONFIG_BYTES).decode("utf-8", "replace"))
    except (OSError, ValueError):
        return ""


def _read_beginning(path: Path) -> str:
    with path.open(encoding="utf-8") as file:
        return file.read(4096)


def decode_object(output: bytes) -> JsonObject:
    """The JSON object that `gh` printed. Raises ToolError."""
    found = _decode(output)
    if not isinstance(found, dict):
        raise ToolError("gh answered with something that is not an object")
    return found


def decode_objects(output: bytes) -> list[JsonObject]:
    """The JSON array of objects that `gh` printed. Raises ToolError."""
    found = _decode(output)
    if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
        raise ToolError("gh answered with something that is not a list of objects")
    return found


def _decode(output: bytes) -> Any:
    try:
        return json.loads(output.decode("utf-8", "replace"))
    except (ValueError, RecursionError) as error:
        raise ToolError("gh answered with something that is not JSON") from error


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


_ASKED_FIELDS = "title,state,author,body,comments,url"


class GitHubReferences:
    """Runs `gh` outside of the workspace: nothing in it is executed, or read but the address of `origin`.

    `environ` is the environment of the process.
    """

    def __init__(self, root: Path, environ: Mapping[str, str]) -> None:
        self._root = root
        self._environ = environ

    async def read(self, reference: Reference, most_characters: int) -> AttachedFile | None:
        """As much of it as fits into so many characters, or why there is nothing; see the port."""
        repository = reference.repository or await asyncio.to_thread(find_own_repository, self._root)
        if not repository:
            return None
        name = make_printable(reference.label, newlines=False)
        try:
            found = await self._fetch_reference(repository, reference)
        except ToolError as error:
            return AttachedFile(name=name, note=str(error))
        text = _render(found)
        cut = text[:most_characters]
        lines = cut.count("\n") + 1
        return AttachedFile(
            name=name,
            content=cut,
            first_line=1,
            last_line=lines,
            total_lines=text.count("\n") + 1,
            size_bytes=len(text.encode("utf-8", "replace")),
            note="the rest is left out" if len(text) > most_characters else "",
        )

    async def _fetch_reference(self, repository: str, reference: Reference) -> JsonObject:
        place = f"{reference.host}/{repository}" if reference.host else repository
        words = ("issue", "view", str(reference.number), "--repo", place, "--json", _ASKED_FIELDS)
        return decode_object(await run_gh(words, self._root, self._environ))


def open_references(is_on: bool, root: Path, environ: Mapping[str, str]) -> GitHubReferences | None:
    """What reads the issues and pull requests that prompts name, if that is on."""
    return GitHubReferences(root, environ) if is_on else None


def _render(found: JsonObject) -> str:
    title, state = _read_text(found.get("title")), _read_text(found.get("state")).lower()
    head = f"{title} ({state}, by {_read_login(found)})"
    parts = [head, _read_text(found.get("url")), _read_text(found.get("body"))]
    comments = found.get("comments")
    for comment in comments if isinstance(comments, list) else []:
        if isinstance(comment, dict):
            parts.append(f"Comment by {_read_login(comment)}:\n{_read_text(comment.get('body'))}")
    return "\n\n".join(part for part in parts if part)


def _read_login(of: JsonObject) -> str:
    author = of.get("author")
    return _read_text(author.get("login")) if isinstance(author, dict) else ""


def _read_text(value: JsonValue) -> str:
    return value.replace("\r\n", "\n").strip() if isinstance(value, str) else ""
