"""A browser as Textual drives it, made as safe as a terminal: its keys, and what happens when it goes away."""

from __future__ import annotations

import asyncio
import os
import select
import signal
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any, cast

from textual.drivers._byte_stream import ByteStream
from textual.drivers.web_driver import WebDriver
from textual.message import Message

from quorum.tui.terminal.driver import TerminalClient
from quorum.tui.terminal.input import TerminalKeys, TypedAhead
from quorum.tui.terminal.key_bursts import QUIET_SECS
from quorum.tui.terminal.writer import TerminalWriter

_MOST_BYTES = 65_536


class BrowserDriver(WebDriver):
    """Textual's driver for its web server, which sends keys and takes the screen through pipes.

    When the server has gone, or says that the browser has, the app leaves as when a terminal is closed.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        assert self.stdout is not None  # it has asked it for its number
        self._writer = TerminalWriter(self.stdout)
        self._write = self._writer.send  # type: ignore[assignment]
        self._writer.call_when_gone(self._lose)
        self._is_lost = False
        self._wake = os.pipe()  # both ends; what is written ends the wait of the thread that reads keys

    def start_application_mode(self) -> None:
        """Greet the server, and take the screen."""
        self._writer.start()
        super().start_application_mode()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):  # the app takes them, and stops what runs
            loop.remove_signal_handler(number)

    def stop_application_mode(self) -> None:
        """Give the screen back, and have the thread that reads end."""
        super().stop_application_mode()
        os.write(self._wake[1], b"x")

    def hurry(self) -> None:
        """Have nothing wait for a server that takes no more. May be called by a signal's handler."""
        self._writer.hurry()

    def close(self) -> None:
        """Write what is left."""
        self._writer.stop()
        if self._key_thread.is_alive():
            self._key_thread.join()
        for end in self._wake:
            os.close(end)

    def run_input_thread(self) -> None:
        """Read what the server sends, until the app wants no more or the server is gone."""
        keys, decoder, packets = TerminalKeys(self._debug), TypedAhead(), ByteStream()
        server = self._input_reader._fileno
        try:
            while not self.exit_event.is_set():
                silence = QUIET_SECS if keys.is_waiting else None
                if server in select.select((server, self._wake[0]), (), (), silence)[0]:
                    if not (data := _read(server)):
                        break
                    typed = b"".join(self._read_typed(packets.feed(data)))
                    if text := decoder.decode(typed):
                        self._process(keys.feed(text))
                self._process(keys.tick())
        finally:
            if not self.exit_event.is_set():
                self._lose()

    def _read_typed(self, packets: Iterable[tuple[str, bytes]]) -> Iterator[bytes]:
        for kind, payload in packets:
            if kind == "D":
                yield payload
            else:
                self._on_meta(kind, payload)

    def on_meta(self, packet_type: str, payload: Mapping[str, object]) -> None:
        """What the server says about the browser; that it is gone is the same as the server's end."""
        if packet_type in {"quit", "exit"}:
            self._lose()
        else:
            super().on_meta(packet_type, dict(payload))

    def _process(self, messages: Iterable[Message]) -> None:
        for message in messages:
            self.process_message(message)

    def _lose(self) -> None:
        if not self._is_lost:
            self._is_lost = True
            with suppress(RuntimeError):  # the loop has ended, and the app with it
                self._loop.call_soon_threadsafe(cast("TerminalClient", self._app).lose_terminal)


def _read(server: int) -> bytes:
    try:
        return os.read(server, _MOST_BYTES)
    except OSError:
        return b""
