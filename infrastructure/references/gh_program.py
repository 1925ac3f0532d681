"""Runs `gh`, GitHub's own program, with the login that it has."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from quorum.application.program_lookup import (
    explain_missing,
    filter_environment,
    find_as_shell_does,
    find_program,
)
from quorum.domain.errors import ToolError
from quorum.domain.text.json_value import JsonObject
from quorum.domain.text.printable import make_printable
from quorum.domain.text.reference import find_repository
from quorum.infrastructure.config.paths import list_folders_up_to_repository
from quorum.infrastructure.execution.commands.environment import build_command_environment
from quorum.infrastructure.execution.commands.fed_process import start_with_payload

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
) -> bytes:
    """What `gh` prints, of which no more than `most_bytes` is kept. It runs outside of the workspace, `root`:
    nothing in it is executed. Raises ToolError."""
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
        with start_with_payload(
            (program, *words),
            b"",
            cwd=Path("/"),
            environment={**environment, **_QUIET, **login},
            timeout_secs=limit,
            on_output=lambda data: output.extend(data[: most_bytes - len(output)]),
            on_errors=lambda data: errors.extend(data[: _MOST_BYTES - len(errors)]),
        ) as process:
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
            linked = folder / place.read_text(encoding="utf-8")[:4096].removeprefix("gitdir:").strip()
            common = (linked / "commondir").read_text(encoding="utf-8")[:4096].strip()
            place = linked / common
        with (place / "config").open("rb") as file:
            return find_repository(file.read(_MOST_CONFIG_BYTES).decode("utf-8", "replace"))
    except (OSError, ValueError):
        return ""


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
