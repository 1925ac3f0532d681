"""Large outputs that several machines share: each is put where all reach it, and kept as a file here, too."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Protocol

from quorum.domain.errors import BlobError, LedgerError
from quorum.domain.text.output import Content
from quorum.infrastructure.blocking import run_in_thread
from quorum.infrastructure.store.blobs.file_store import FileBlobStore, FileSpill
from quorum.infrastructure.store.blobs.line_index import FileLines


class SharedOutputs(Protocol):
    """Where outputs are put for all machines, each once. It blocks, and raises LedgerError and BlobError."""

    def put(self, name: str, size: int, read: Callable[[], Iterable[bytes]]) -> None:
        """Keep an output of so many bytes, whole or not at all; one that is there already stays as it is.

        `read` gives its pieces, from the beginning each time that it is called.
        """
        ...

    def find(self, blob_id: str) -> str | None:
        """The name of the output with that id; None where there is none."""
        ...

    def get(self, name: str) -> Iterator[bytes]:
        """The pieces of an output. Raises where one is missing."""
        ...

    def list_names(self) -> list[str]: ...


class SharedBlobStore:
    """Keeps outputs in files of this machine and shares them. An output that cannot be shared is not kept."""

    def __init__(self, files: FileBlobStore, shared: SharedOutputs) -> None:
        self._files = files
        self._shared = shared

    async def store(self, content: Content) -> str:
        """Keep content; its id. Raises BlobError, after which nothing of it is left."""
        blob_id = await self._files.store(content)
        await run_in_thread(lambda _stop: self._share_new(blob_id))
        return blob_id

    async def load(self, blob_id: str) -> Content:
        """The content of that id, fetched where this machine has not got it. Raises BlobError."""
        await run_in_thread(lambda _stop: self._fetch(blob_id))
        return await self._files.load(blob_id)

    async def exists(self, blob_id: str) -> bool:
        """Whether there is content of that id, here or elsewhere. Raises BlobError."""
        return await run_in_thread(lambda _stop: self._has(blob_id))

    def open_lines(self, blob_id: str) -> FileLines:
        """The lines of that output. Blocks while it is fetched, once on each machine. Raises BlobError."""
        self._fetch(blob_id)
        return self._files.open_lines(blob_id)

    def list_names(self) -> list[str]:
        """The names of all outputs that are shared. Blocks. Raises LedgerError."""
        return self._shared.list_names()

    def read(self, name: str) -> Iterator[bytes]:
        """The bytes of an output, piece by piece. Blocks. Raises BlobError and LedgerError."""
        blob_id = name.partition(".")[0]
        return self._files.read(name) if self._files.find_path(blob_id) is not None else self._shared.get(name)

    def receive(self, name: str, pieces: Iterable[bytes]) -> None:
        """Share an output that comes from elsewhere. Blocks. Raises BlobError."""
        blob_id = name.partition(".")[0]
        if self._files.find_path(blob_id) is None:
            self._files.receive(name, pieces)
        self._share(blob_id)

    def open_spill(self) -> SharedSpill:
        """A place for a text that grows; it is shared when it is kept."""
        return SharedSpill(self._files.open_spill(), self._share_new)

    def _has(self, blob_id: str) -> bool:
        if not self._files.is_id(blob_id):
            return False
        if self._files.find_path(blob_id) is not None:
            return True
        try:
            return self._shared.find(blob_id) is not None
        except LedgerError as error:
            raise BlobError(f"the output {blob_id[:60]!a} cannot be looked for: {error}") from error

    def _fetch(self, blob_id: str) -> None:
        """Make sure that the file is here; of what is no id, and of none anywhere, the files say so."""
        if not self._files.is_id(blob_id) or self._files.find_path(blob_id) is not None:
            return
        try:
            name = self._shared.find(blob_id)
            if name is not None:
                self._files.receive(name, self._shared.get(name))
        except LedgerError as error:
            raise BlobError(f"the output {blob_id[:60]!a} cannot be fetched: {error}") from error

    def _share_new(self, blob_id: str) -> None:
        """Share an output that was kept just now; if that fails, it goes: only this machine would have it."""
        try:
            self._share(blob_id)
        except BlobError:
            path = self._files.find_path(blob_id)
            if path is not None:
                with suppress(OSError):
                    path.unlink()
            raise

    def _share(self, blob_id: str) -> None:
        path = self._files.find_path(blob_id)
        if path is None:
            raise BlobError(f"the output {blob_id} was deleted before it was shared")
        try:
            self._shared.put(path.name, path.stat().st_size, lambda: self._files.read(path.name))
        except (BlobError, LedgerError, OSError) as error:
            raise BlobError(f"the output cannot be shared: {error}") from error


class SharedSpill:
    """Implements `Spill`: a text that grows in a file here, and is shared when it is kept."""

    def __init__(self, spill: FileSpill, share: _Share) -> None:
        self._spill = spill
        self._share = share

    @property
    def lines(self) -> int:
        return self._spill.lines

    @property
    def size_bytes(self) -> int:
        return self._spill.size_bytes

    def write(self, text: str) -> None:
        """Add text to the end; never raises."""
        self._spill.write(text)

    def keep(self) -> str:
        """Put the text into the store; its id. Blocks. Raises BlobError, and then nothing is left."""
        blob_id = self._spill.keep()
        self._share(blob_id)
        return blob_id

    def discard(self) -> None:
        """Give up a text that was not kept."""
        self._spill.discard()


class _Share(Protocol):
    def __call__(self, blob_id: str, /) -> None: ...
