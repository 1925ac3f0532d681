"""Implements the port ReferenceSource with `gh`, GitHub's own program, and the login that it has."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from domain.conversation.attached_file import AttachedFile
from domain.errors import ToolError
from domain.text.json_value import JsonObject, JsonValue
from domain.text.printable import printable
from domain.text.reference import Reference, find_repository
from infrastructure.config.paths import list_folders_up_to_repository
from infrastructure.execution.commands.environment import build_command_environment
from infrastructure.execution.commands.fed_process import start_with_payload
from infrastructure.execution.program_path import filter_program_path

TIMEOUT_SECS = 15.0
_MOST_BYTES = 4_000_000
_MOST_CONFIG_BYTES = 1_000_000
_LONGEST_REASON = 200
_FIELDS = "title,state,author,body,comments,url"
# What gh logs in with, beside what it keeps itself; commands of a session do not get these.
_LOGIN = ("GH_TOKEN", "GITHUB_TOKEN", "GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN", "GH_CONFIG_DIR")
_QUIET = {"GH_PROMPT_DISABLED": "1", "GH_NO_UPDATE_NOTIFIER": "1", "NO_COLOR": "1"}
_MISSING = "gh, GitHub's program, is not installed; install it and run gh auth login"


class GitHubReferences:
    """Runs `gh` outside of the workspace: nothing in it is executed, or read but the address of `origin`.

    `environ` is the environment of the process.
    """

    def __init__(self, root: Path, environ: Mapping[str, str]) -> None:
        self._root = root
        self._environ = environ

    async def read(self, reference: Reference, most_characters: int) -> AttachedFile | None:
        """As much of it as fits into so many characters, or why there is nothing; see the port."""
        repository = reference.repository or await asyncio.to_thread(self._find_own_repository)
        if not repository:
            return None
        name = printable(reference.label, newlines=False)
        try:
            found = await self._view(repository, reference)
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

    def _find_own_repository(self) -> str:
        """That of the remote `origin`. Git is not run, for a repository's settings can name programs."""
        folder = list_folders_up_to_repository(self._root)[-1]
        place = folder / ".git"
        try:
            if place.is_file():  # a worktree: its folder names the common one
                linked = folder / place.read_text(encoding="utf-8")[:4096].removeprefix("gitdir:").strip()
                common = (linked / "commondir").read_text(encoding="utf-8")[:4096].strip()
                place = linked / common
            with (place / "config").open("rb") as file:
                return find_repository(file.read(_MOST_CONFIG_BYTES).decode("utf-8", "replace"))
        except (OSError, ValueError):
            return ""

    async def _view(self, repository: str, reference: Reference) -> JsonObject:
        environment = build_command_environment(self._environ, ())
        path = filter_program_path(environment.get("PATH", os.defpath), [self._root.resolve()])
        program = await asyncio.to_thread(shutil.which, "gh", path=path)
        if program is None:
            raise ToolError(_MISSING)
        login = {name: self._environ[name] for name in _LOGIN if name in self._environ}
        place = f"{reference.host}/{repository}" if reference.host else repository
        output, errors = bytearray(), bytearray()
        try:
            with start_with_payload(
                (program, "issue", "view", str(reference.number), "--repo", place, "--json", _FIELDS),
                b"",
                cwd=Path("/"),
                environment={**environment, "PATH": path, **_QUIET, **login},
                timeout_secs=TIMEOUT_SECS,
                on_output=lambda data: output.extend(data[: _MOST_BYTES - len(output)]),
                on_errors=lambda data: errors.extend(data[: _MOST_BYTES - len(errors)]),
            ) as process:
                ending = await process.wait()
        except OSError as error:
            raise ToolError(f"gh could not be started: {error.strerror or error}") from error
        if ending.failure is not None:
            raise ToolError(f"gh could not be started: {ending.failure}")
        if ending.timed_out:
            raise ToolError(f"gh took longer than {TIMEOUT_SECS:g} s")
        if ending.exit_code != 0:
            said = printable(errors.decode("utf-8", "replace").strip(), newlines=False)[:_LONGEST_REASON]
            raise ToolError(f"gh exited with {ending.exit_code}: {said or 'it said nothing'}")
        return _decode(output)


def open_references(is_on: bool, root: Path, environ: Mapping[str, str]) -> GitHubReferences | None:
    """What reads the issues and pull requests that prompts name, if that is on."""
    return GitHubReferences(root, environ) if is_on else None


def _decode(output: bytearray) -> JsonObject:
    try:
        found = json.loads(output.decode("utf-8", "replace"))
    except (ValueError, RecursionError) as error:
        raise ToolError("gh answered with something that is not JSON") from error
    if not isinstance(found, dict):
        raise ToolError("gh answered with something that is not an object")
    return found


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
