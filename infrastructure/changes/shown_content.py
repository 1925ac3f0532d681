"""What reviewers of a change see of its files: nothing of sensitive ones, and no secret of the others.

Lines stay where they are, so that what is said of a line is true of the real one.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path

from msgspec import Struct

from quorum.domain.code_review.change import ChangeHunk, FileDiff
from quorum.domain.errors import ToolError
from quorum.domain.events.masking import SecretMask
from quorum.domain.replacing import replace
from quorum.domain.review.path_policy import PathPolicy
from quorum.domain.text.amounts import format_size
from quorum.infrastructure.changes.git_reader import GitReader
from quorum.infrastructure.files.workspace import Workspace
from quorum.infrastructure.secrets.file_values import find_secrets

_MOST_BYTES = 20_000_000


class RepositoryFiles:
    """`root` is the working directory. Where it lies in no repository, files are named from it."""

    def __init__(self, root: Path, environ: Mapping[str, str]) -> None:
        self._root = root
        self._environ = environ

    async def locate(self, file: str) -> str:
        """The absolute path of a file that can be read; see the port."""
        return await asyncio.to_thread(self._locate, file)

    async def read(self, file: str) -> str:
        """What the file holds; see the port. Raises ToolError for more than 20 MB, too."""
        return await asyncio.to_thread(self._read, file)

    def _open_workspace(self) -> Workspace:
        """All of the repository, whichever of its folders the session works in."""
        try:
            return Workspace([GitReader(self._root, self._environ).top])
        except ToolError:
            return Workspace([self._root])

    def _locate(self, file: str) -> str:
        workspace = self._open_workspace()
        location = workspace.locate(file)
        with workspace.open_file(location):
            return location.path

    def _read(self, file: str) -> str:
        workspace = self._open_workspace()
        with workspace.open_file(workspace.locate(file)) as opened:
            content = opened.read(_MOST_BYTES + 1)
        if len(content) > _MOST_BYTES:
            raise ToolError(f"{file} is larger than {format_size(_MOST_BYTES)}: open it in your editor")
        return content.decode("utf-8", "replace")


SENSITIVE = "it is a sensitive file"
_IN_COPY = b"quorum does not show this file to reviewers: it is sensitive\n"
_MASKED = "secrets in it are hidden, as [secret:NAME]"
_MOST_SECRETS = 5_000
_MOST_LEARNT_CHARACTERS = 1 << 18


class FileContents(Struct, frozen=True):
    """A changed file with its whole contents before and after; None where there is none or it is not known."""

    file: FileDiff
    before: bytes | None = None
    after: bytes | None = None


class ShownContent:
    """Says what of a repository reviewers see. `top` is its root; what `mask` knows or recognises is hidden.
    `also` are files to hold for sensitive whatever the settings say, such as those that had another name."""

    def __init__(
        self, mask: SecretMask, policy: PathPolicy, top: Path, also: Collection[str] = frozenset()
    ) -> None:
        self._mask = mask
        self._policy = replace(policy, roots=(str(top),))
        self._top = str(top)
        self._also = also

    def is_sensitive(self, path: str) -> bool:
        """Whether the settings call a file sensitive, or it is quorum's own; the path is from the root."""
        place = os.path.join(self._top, path)
        return (
            path in self._also
            or self._policy.is_sensitive(place)
            or self._policy.is_sensitive(os.path.normpath(place))
        )

    def hide(self, files: Sequence[FileContents]) -> tuple[FileDiff, ...]:
        """The files as reviewers see them. What sensitive files hold is hidden in all others."""
        sensitive = [self._is_sensitive_file(each.file) for each in files]
        for each, is_sensitive in zip(files, sensitive, strict=True):
            if is_sensitive:
                self._learn(each)
        return tuple(
            self._leave_out(each.file) if is_sensitive else self._mask_file(each)
            for each, is_sensitive in zip(files, sensitive, strict=True)
        )

    def hide_content(self, path: str, content: bytes) -> bytes:
        """The content of a file of the repository as reviewers see it."""
        if self.is_sensitive(path):
            return _IN_COPY
        if b"\0" in content:
            return content  # no text; what a tool shows of it is masked there
        text = content.decode("utf-8", "surrogateescape")
        masked = self._mask.mask_lines(text)
        return content if masked is text else masked.encode("utf-8", "surrogateescape")

    def _is_sensitive_file(self, file: FileDiff) -> bool:
        return any(self.is_sensitive(path) for path in (file.path, file.old_path) if path)

    def _learn(self, given: FileContents) -> None:
        """Learn what a sensitive file holds: the working tree may not have it, or no more."""
        name = os.path.basename(given.file.path)
        found = (secret for text in _list_texts(given) for secret in find_secrets(text, name))
        self._mask.learn_all(one._replace(is_claimed=True) for one in islice(found, _MOST_SECRETS))

    def _leave_out(self, file: FileDiff) -> FileDiff:
        return replace(
            file,
            path=self._mask.mask_text(file.path),
            old_path=self._mask.mask_text(file.old_path),
            hunks=(),
            left_out=SENSITIVE,
            is_sensitive=True,
        )

    def _mask_file(self, given: FileContents) -> FileDiff:
        file = given.file
        if file.hunks:
            before, after = self._mask_whole(given.before), self._mask_whole(given.after)
        else:
            before = after = None
        hunks = tuple(self._mask_hunk(hunk, before, after) for hunk in file.hunks)
        path, old_path = self._mask.mask_text(file.path), self._mask.mask_text(file.old_path)
        if hunks == file.hunks:
            return replace(file, path=path, old_path=old_path)
        return replace(file, path=path, old_path=old_path, hunks=hunks, notes=(*file.notes, _MASKED))

    def _mask_whole(self, content: bytes | None) -> list[str] | None:
        """The lines of a whole file without secrets: what begins outside of a hunk is found only so."""
        return (
            None if content is None else self._mask.mask_lines(content.decode("utf-8", "replace")).split("\n")
        )

    def _mask_hunk(self, hunk: ChangeHunk, before: list[str] | None, after: list[str] | None) -> ChangeHunk:
        old = self._mask_side([line[1:] for line in hunk.lines if line[:1] != "+"], hunk.old_start, before)
        new = self._mask_side([line[1:] for line in hunk.lines if line[:1] != "-"], hunk.new_start, after)
        lines: list[str] = []
        for line in hunk.lines:
            match line[:1]:
                case "+":
                    text = next(new)
                case "-":
                    text = next(old)
                case _:
                    one, other = next(new), next(old)
                    text = other if one == line[1:] else one
            lines.append(line[:1] + text)
        return replace(hunk, lines=tuple(lines))

    def _mask_side(self, lines: list[str], start: int, whole: list[str] | None) -> Iterator[str]:
        if (
            whole is not None
            and start > 0
            and len(found := whole[start - 1 : start - 1 + len(lines)]) == len(lines)
        ):
            return iter(found)
        return iter(self._mask.mask_lines("\n".join(lines)).split("\n"))


def _list_texts(given: FileContents) -> Iterable[str]:
    if given.before is None and given.after is None:
        lines = [line for hunk in given.file.hunks for line in hunk.lines]
        for without in ("-", "+"):
            yield "\n".join(line[1:] for line in lines if line[:1] != without)[:_MOST_LEARNT_CHARACTERS]
    for content in (given.before, given.after):
        if content is not None:
            yield content[:_MOST_LEARNT_CHARACTERS].decode("utf-8-sig", "replace")
