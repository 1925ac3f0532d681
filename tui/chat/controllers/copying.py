"""Copying what the transcript holds, and following its links."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from quorum.tui.chat.controllers.host import ChatHost, CurrentSession
from quorum.tui.transcript.layout.view import TranscriptView

if TYPE_CHECKING:
    from quorum.application.ports.storage import LineSource
    from quorum.tui.copying import Piece

_MOST_DIGITS = 9
_LINES_AT_ONCE = 2_000
MOST_CHARACTERS = 20_000_000


class CopyController:
    """Copies answers, code, outputs, prompts and selections to the clipboard, and opens addresses."""

    def __init__(
        self, host: ChatHost, current: CurrentSession, transcript: TranscriptView, *, workspace: Path
    ) -> None:
        self._host, self._current, self._transcript = host, current, transcript
        self._workspace = workspace
        self._shown_target = ""

    def action_copy(self, wish: str = "") -> None:
        """Copy the latest answer, or what is wished for: a kind of piece, a number, or both."""
        from quorum.tui.copying import KINDS, find_piece

        kind, nth = "answer", 1
        for word in wish.split():
            if word.isdecimal() and len(word) <= _MOST_DIGITS and int(word) > 0:
                nth = int(word)
            elif word in KINDS:
                kind = word
            else:
                self._host.refuse(f"/copy takes {', '.join(KINDS)} and a number from 1 on, 1 being the latest")
                return
        if (found := find_piece(self._transcript.entries, kind, nth)) is not None:
            self.copy_piece(found)
        elif nth == 1:
            self._host.refuse(f"there is no {kind} yet")
        else:
            self._host.refuse(f"there are fewer than {nth} of that kind: {kind}")

    def copy_piece(self, piece: Piece) -> None:
        """Copy a piece of the transcript; of an output that is stored, all of it."""
        self._host.run_worker(self._copy_piece(piece), group="copying")

    async def _copy_piece(self, piece: Piece) -> None:
        from quorum.domain.errors import BlobError

        text, more, session = piece.text, "", self._current.session
        if piece.call is not None and piece.call.stored is not None and session is not None:
            try:
                text, is_whole = await read_whole_output(
                    await session.agent.outputs.open_lines(piece.call.stored.blob_id)
                )
                more = "" if is_whole else " · only its beginning: it is longer than 20 million characters"
            except BlobError as error:
                more = f" · only what is kept of it here: {error}"
        self._host.say(await self._copy_text(text, piece.what) + more)

    def copy_selected(self, text: str) -> None:
        async def copy_and_say() -> None:
            self._host.say(await self._copy_text(text, ""))

        self._host.run_worker(copy_and_say(), group="copying")

    async def _copy_text(self, text: str, what: str) -> str:
        from quorum.tui.copying import copy

        return await copy(self._host.app, text, what, workspace=self._workspace)

    def follow_link(self, target: str) -> None:
        """At first say where it leads; at the second time go there, if that is the web."""
        from quorum.tui.transcript.cells.lines import is_web

        if not is_web(target):
            self._host.say(f"leads to {target} · no web address: not opened")
        elif self._shown_target != target:
            self._host.say(f"leads to {target} · another click opens it")
        else:
            self._host.run_worker(self._open(target), group="links")
        self._shown_target = target

    async def _open(self, address: str) -> None:
        from quorum.tui.terminal.browser import open_address

        if await open_address(address):
            self._host.say(f"opened {address}")
        else:
            copied = await self._copy_text(address, "the address")
            self._host.say(f"no browser can be opened here · {copied}")


async def read_whole_output(source: LineSource) -> tuple[str, bool]:
    """The text, and whether that is all: it ends after 20 million characters. Raises what the source raises."""
    return await asyncio.to_thread(_read, source)


def _read(source: LineSource) -> tuple[str, bool]:
    lines: list[str] = []
    room = MOST_CHARACTERS
    while more := source.read_lines(len(lines), _LINES_AT_ONCE):
        lines += more
        room -= sum(map(len, more))
        if room < 0:
            return "\n".join(lines), False
    return "\n".join(lines), True
