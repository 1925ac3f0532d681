"""Stands between quorum and a PostgreSQL, and cuts a connection at a chosen statement, or holds all."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from pathlib import Path

_NAME = ".s.PGSQL.5432"


class CuttingProxy:
    """Passes on what goes between a socket in `folder` and that of the server."""

    def __init__(self, folder: Path, server: Path) -> None:
        self.folder = folder
        self.cuts = 0
        self._server = server / _NAME
        self._statement, self._times = b"", 0
        self._is_answered = False
        self._passes = threading.Event()
        self._passes.set()
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(str(folder / _NAME))
        self._listening.listen()
        threading.Thread(target=self._accept, daemon=True).start()

    def cut_at(self, statement: bytes, *, answered: bool, times: int = 1) -> None:
        """Cut the next connections that send this; with `answered` once the server has done it, and says so."""
        self._statement, self._is_answered, self._times = statement, answered, times

    def hold(self) -> None:
        """Pass nothing on, and tell nobody, as a network that is cut."""
        self._passes.clear()

    def release(self) -> None:
        """Pass on again, what was held first."""
        self._passes.set()

    def close(self) -> None:
        self.release()
        self._listening.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                self._passes.wait()
                server = socket.socket(socket.AF_UNIX)
                server.connect(str(self._server))
                threading.Thread(target=self._pass_on, args=(client, server), daemon=True).start()

    def _pass_on(self, client: socket.socket, server: socket.socket) -> None:
        swallow = threading.Event()
        threading.Thread(target=self._pass_back, args=(client, server, swallow), daemon=True).start()
        with suppress(OSError):
            while data := client.recv(1 << 16):
                self._passes.wait()
                if self._times and self._statement in data:
                    self._times -= 1
                    self.cuts += 1
                    if not self._is_answered:
                        break
                    swallow.set()
                server.sendall(data)
        if not swallow.is_set():
            _cut(client, server)

    def _pass_back(self, client: socket.socket, server: socket.socket, swallow: threading.Event) -> None:
        with suppress(OSError):
            while data := server.recv(1 << 16):
                self._passes.wait()
                if swallow.is_set():
                    break
                client.sendall(data)
        _cut(client, server)


def _cut(*ends: socket.socket) -> None:
    for end in ends:
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
        end.close()
