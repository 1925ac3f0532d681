"""Implements the port ReferenceSource with `gh`, GitHub's own program, and the login that it has."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

from quorum.domain.conversation.attached_file import AttachedFile
from quorum.domain.errors import ToolError
from quorum.domain.text.json_value import JsonObject, JsonValue
from quorum.domain.text.printable import make_printable
from quorum.domain.text.reference import Reference
from quorum.infrastructure.references.gh_program import decode_object, find_own_repository, run_gh

_FIELDS = "title,state,author,body,comments,url"


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
        words = ("issue", "view", str(reference.number), "--repo", place, "--json", _FIELDS)
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
