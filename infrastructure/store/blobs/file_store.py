"""Large outputs as files: `<id>.txt` for text and `<id>.json` for JSON, flat in one private folder."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import re
import stat
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, assert_never

from quorum.application.identifiers import generate_id
from quorum.application.whole_file import sync_folder
from quorum.domain.errors import BlobError
from quorum.domain.events.masking import MaskedText, SecretMask
from quorum.domain.text.json_text import make_encoder
from quorum.domain.text.output import Content, Structured, Text
from quorum.domain.text.pattern import compile_once
from quorum.infrastructure.blocking import Stop, run_in_thread
from quorum.infrastructure.store.blobs.line_index import FileLines

# A command that prints without end must not fill the disk.
MOST_BYTES = 1 << 30


BLOB_ID = r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_SUFFIX = ".tmp"
_TEMPORARY = rf"\.{BLOB_ID}\.(?:txt|json){re.escape(_SUFFIX)}"
_KEPT_SECS = 24 * 3600


def open_temporary(name: str | Path, folder: int | None = None) -> int:
    """A descriptor of a new file, in an open folder, by whose lock others know that it is being written.

    Raises OSError.
    """
    descriptor = os.open(name, _NEW, 0o600, dir_fd=folder)
    with contextlib.suppress(OSError):  # not every file system has locks: there it is known by its age alone
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return descriptor


def remove_abandoned_temporaries(folder: Path) -> None:
    """Remove the files in a folder of the store that killed processes had not written to the end.

    The folder may hold a person's own files, and an earlier quorum that runs still locks none: only what has
    such a name and did not change for a day is removed.
    """
    for path in folder.glob(f".*{_SUFFIX}"):
        if not compile_once(_TEMPORARY).fullmatch(path.name):
            continue
        with contextlib.suppress(OSError):
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
            try:
                if os.fstat(descriptor).st_mtime < time.time() - _KEPT_SECS:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    path.unlink()
            finally:
                os.close(descriptor)


class FileSpill:
    """Implements `Spill` with a file. Until `keep` it is a temporary file that no id leads to.

    Trouble with the disk does not stop the tool: the text is given up, and `trouble` says why. What `mask`
    hides never reaches the file, also where it comes in two pieces; sizes are those of what is kept.
    """

    def __init__(self, folder: Path, mask: SecretMask | None = None) -> None:
        self._folder = folder
        self._masked = MaskedText(mask) if mask is not None else None
        self._id = generate_id()
        self._file: BinaryIO | None = None
        self.size_bytes = 0
        self._newlines = 0
        self._ends_in_line = False
        self.trouble: str | None = None

    @property
    def lines(self) -> int:
        """How many lines were written. A newline at the very end begins no other."""
        return self._newlines + self._ends_in_line

    def write(self, text: str) -> None:
        """Add text to the end; beyond 1 GiB it is given up."""
        if self.trouble is None:
            self._append(text if self._masked is None else self._masked.push(text))

    def _append(self, text: str) -> None:
        data = text.encode("utf-8", "surrogatepass")
        try:
            self._open_file().write(data)
        except OSError as error:
            self._give_up(f"it could not be kept: {error.strerror or error}")
            return
        self.size_bytes += len(data)
        self._newlines += data.count(b"\n")
        self._ends_in_line = not data.endswith(b"\n") if data else self._ends_in_line
        if self.size_bytes > MOST_BYTES:
            self._give_up("it is longer than 1 GiB, and so it was not kept")

    def keep(self) -> str:
        """Put the text into the store; its id. Raises BlobError. Blocks until it is safely on disk."""
        if self.trouble is not None:
            raise BlobError(self.trouble)
        if self._masked is not None:
            self._append(self._masked.flush())
        try:
            file = self._open_file()
            file.flush()
            os.fsync(file.fileno())
            self._temporary.rename(self._folder / f"{self._id}.txt")
            file.close()  # until then it is locked
        except OSError as error:
            self._give_up(f"it could not be kept: {error.strerror or error}")
            raise BlobError(str(self.trouble)) from error
        return self._id

    def discard(self) -> None:
        self._give_up("it was discarded")

    @property
    def _temporary(self) -> Path:
        return self._folder / f".{self._id}.txt{_SUFFIX}"

    def _open_file(self) -> BinaryIO:
        if self._file is None:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._file = os.fdopen(open_temporary(self._temporary), "wb")
        return self._file

    def _give_up(self, why: str) -> None:
        self.trouble = why
        if self._file is not None:
            with contextlib.suppress(OSError):  # closing flushes, and the disk may be full
                self._file.close()
            self._temporary.unlink(missing_ok=True)


_ID = BLOB_ID
_TEXT, _JSON = ".txt", ".json"
_PIECE_CHARS = 1 << 20
_OLD = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_REASONS = {
    errno.ENOSPC: "the disk is full; make room and try again",
    errno.EDQUOT: "the disk quota is used up; make room and try again",
    errno.EFBIG: "it is larger than a file may be here",
    errno.ELOOP: "a symbolic link is in its place",
}


class FileBlobStore:
    """Keeps each output in a file that is either whole or not there, readable by nobody but the person.

    The folder is made when first needed and belongs to no session: files may be read by any later run, and so
    what `mask` hides never reaches them.
    """

    def __init__(self, folder: Path, mask: SecretMask | None = None) -> None:
        self._folder = folder
        self._mask = mask

    async def store(self, content: Content) -> str:
        """Keep content; its id. Raises BlobError, after which nothing of it is left.

        Cancelled while it writes, it takes away what it wrote.
        """
        return await run_in_thread(lambda stop: self._store(self._mask_content(content), stop))

    async def load(self, blob_id: str) -> Content:
        """The content of that id. Raises BlobError where there is none, or it is damaged."""
        return await run_in_thread(lambda _stop: self._load(blob_id))

    async def exists(self, blob_id: str) -> bool:
        """Whether there is content of that id. Raises BlobError if the folder cannot be read."""
        return await run_in_thread(lambda _stop: self.find_path(blob_id) is not None)

    def is_id(self, blob_id: str) -> bool:
        """Whether an output could have this id."""
        return compile_once(_ID).fullmatch(blob_id) is not None

    def find_path(self, blob_id: str) -> Path | None:
        """The file of that id, or None where there is none. Raises BlobError if the folder cannot be read."""
        if not compile_once(_ID).fullmatch(blob_id):
            return None
        files = (self._folder / f"{blob_id}{suffix}" for suffix in (_TEXT, _JSON))
        with _translate_errors(f"{self._folder} cannot be looked into"):
            return next((file for file in files if file.is_file() and not file.is_symlink()), None)

    def receive(self, name: str, pieces: Iterable[bytes]) -> None:
        """Keep a file that comes from elsewhere, under its name there. Blocks. Raises BlobError."""
        blob_id, dot, suffix = name.partition(".")
        if not compile_once(_ID).fullmatch(blob_id) or dot + suffix not in (_TEXT, _JSON):
            raise BlobError(f"{_quote_id(name)} is not the name of a stored output")
        self._put(name, pieces, Stop())

    def list_names(self) -> list[str]:
        """The names of all files of this store. Blocks. Raises BlobError."""
        with _translate_errors(f"{self._folder} cannot be looked into"):
            found = [path for path in self._folder.glob("*") if path.suffix in (_TEXT, _JSON)]
        return [path.name for path in found if compile_once(_ID).fullmatch(path.stem) and not path.is_symlink()]

    def read(self, name: str) -> Iterator[bytes]:
        """The bytes of a file of that name, piece by piece. Blocks. Raises BlobError."""
        path = self._require_existing(name.partition(".")[0])
        with _translate_errors(f"the stored output {path} cannot be read"), path.open("rb") as file:
            while piece := file.read(_PIECE_CHARS):
                yield piece

    def open_lines(self, blob_id: str) -> FileLines:
        """The lines of that output, read from its file as they are needed. Raises BlobError."""
        return FileLines(self._require_existing(blob_id))

    def open_spill(self) -> FileSpill:
        """A place in this store for a text that grows."""
        return FileSpill(self._folder, self._mask)

    def _mask_content(self, content: Content) -> Content:
        if self._mask is None:
            return content
        match content:
            case Text(text):
                return Text(self._mask.mask_text(text))
            case Structured(value):
                with _translate_errors("the output cannot be kept"):
                    return Structured(self._mask.mask_json(value))
            case _:
                assert_never(content)

    def _require_existing(self, blob_id: str) -> Path:
        if not compile_once(_ID).fullmatch(blob_id):
            raise BlobError(
                f"{_quote_id(blob_id)} is not an id of a stored output: an id looks like {generate_id()}"
            )
        path = self.find_path(blob_id)
        if path is None:
            raise BlobError(
                f"there is no stored output {blob_id} in {self._folder}: it was deleted or never kept"
            )
        return path

    def _load(self, blob_id: str) -> Content:
        path = self._require_existing(blob_id)
        with _translate_errors(f"the stored output {path} cannot be read"):
            data = _read(path)
        try:
            text = data.decode("utf-8", "surrogatepass")
            return Text(text) if path.suffix == _TEXT else Structured(json.loads(text))
        except ValueError as error:
            raise BlobError(f"the stored output {path} is damaged ({error}); delete the file") from error
        except RecursionError as error:
            raise BlobError(f"the stored output {path} is nested too deeply to be read") from error

    def _store(self, content: Content, stop: Stop) -> str:
        blob_id = generate_id()
        self._put(blob_id + _choose_suffix(content), _read_pieces(content), stop)
        return blob_id

    def _put(self, name: str, pieces: Iterable[bytes], stop: Stop) -> None:
        with _translate_errors(f"the output cannot be kept in {self._folder}"):
            self._make_folder()
            folder = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                _place(name, pieces, folder, stop)
            finally:
                os.close(folder)

    def _make_folder(self) -> None:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if stat.S_IMODE(self._folder.stat().st_mode) & 0o077:
            self._folder.chmod(0o700)


def _choose_suffix(content: Content) -> str:
    match content:
        case Text():
            return _TEXT
        case Structured():
            return _JSON
        case _:
            assert_never(content)


def _read_pieces(content: Content) -> Iterator[bytes]:
    """The bytes of the file, in pieces, so that no second copy of the whole is made."""
    match content:
        case Text(text):
            for start in range(0, len(text), _PIECE_CHARS):
                yield text[start : start + _PIECE_CHARS].encode("utf-8", "surrogatepass")
        case Structured(value):
            # Indented, so that a pager has lines to show.
            for piece in make_encoder(indent=2).iterencode(value):
                yield piece.encode("utf-8", "surrogatepass")
            yield b"\n"
        case _:
            assert_never(content)


def _place(name: str, pieces: Iterable[bytes], folder: int, stop: Stop) -> None:
    """Write a file of an open folder under another name, and give it its own when it is safely on disk."""
    written = temporary = f".{name}.tmp"
    descriptor = open_temporary(temporary, folder)
    try:
        with os.fdopen(descriptor, "wb") as file:
            for piece in pieces:
                stop.check()
                file.write(piece)
            file.flush()
            os.fsync(descriptor)
            stop.check()
            os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
        written = name
        sync_folder(folder)
    except BaseException:
        os.unlink(written, dir_fd=folder)
        raise


def _read(path: Path) -> bytes:
    with os.fdopen(os.open(path, _OLD), "rb") as file:
        return file.read()


@contextmanager
def _translate_errors(what: str) -> Iterator[None]:
    """Turns what can go wrong with files and with values that are no JSON into a BlobError."""
    try:
        yield
    except OSError as error:
        reason = _REASONS.get(error.errno or 0) or error.strerror or str(error)
        raise BlobError(f"{what}: {reason}") from error
    except RecursionError as error:
        raise BlobError(f"{what}: it is nested too deeply") from error
    except (TypeError, ValueError) as error:
        raise BlobError(f"{what}: it is not JSON ({error})") from error


def _quote_id(blob_id: str) -> str:
    return ascii(blob_id if len(blob_id) <= 60 else blob_id[:60] + "…")
