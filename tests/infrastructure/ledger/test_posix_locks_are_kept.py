"""Nothing that this process reads gives up the locks it holds on the record (POSIX drops them at any close)."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from quorum.domain.conversation.history import Conversation
from quorum.domain.errors import AttachmentError, ToolError
from quorum.domain.events.masking import SecretMask
from quorum.domain.review.path_policy import PathPolicy
from quorum.infrastructure.attachment_files import AttachmentFiles
from quorum.infrastructure.config.schema import Settings
from quorum.infrastructure.execution.commands.sealing import seal_arguments
from quorum.infrastructure.files.workspace import Workspace
from quorum.infrastructure.secrets.known import SessionSecrets
from quorum.infrastructure.store.ledger.sqlite_file import SqliteFile, begin_transaction
from quorum.infrastructure.store.snapshots.reading import FileReader, OpenFolders
from quorum.infrastructure.tools.builtin.grep_search import GrepSearch
from quorum.infrastructure.tools.builtin.read_file import ReadFile
from quorum.infrastructure.tools.builtin.seen import SeenFiles
from tests.infrastructure.tools.calling import call

WRITE = """
import sqlite3, sys
other = sqlite3.connect(sys.argv[1], timeout=0, isolation_level=None)
try:
    other.execute("BEGIN IMMEDIATE")
except sqlite3.OperationalError as error:
    print(error)
else:
    print("it may write")
"""


@pytest.fixture
def in_a_transaction(tmp_path: Path) -> Iterator[Path]:
    """A database of this process, in the middle of a transaction."""
    path = tmp_path / "ledger.sqlite"
    path.touch()
    file = SqliteFile(path)
    with closing(file.connect()) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE t (x)")
        with begin_transaction(connection):
            connection.execute("INSERT INTO t VALUES (1)")
            yield path


def what_another_process_hears(path: Path) -> str:
    return subprocess.run(
        [sys.executable, "-c", WRITE, path], capture_output=True, text=True, check=True
    ).stdout.strip()


def searched(folder: Path, _file: Path) -> None:
    search = GrepSearch(Workspace([folder]), PathPolicy(roots=(str(folder),)))
    assert "[no match" in call(search, pattern="nothing", path=".")


def read_by_a_tool(folder: Path, file: Path) -> None:
    with pytest.raises(ToolError, match="it is quorum's own record"):
        call(ReadFile(Workspace([folder]), SeenFiles(Conversation())), path=file.name)


def looked_through_for_secrets(folder: Path, file: Path) -> None:
    policy = PathPolicy(roots=(str(folder),))
    known = SessionSecrets(SecretMask(), settings=Settings(), environ={}, policy=policy)
    assert not known.learn_from_file(file)


def measured_for_a_command(folder: Path, file: Path) -> None:
    seal_arguments(["/bin/cat", file.name], named=(), root=folder, inherited={}, environment={}, projected={})


def shown_as_an_image(folder: Path, file: Path) -> None:
    images = AttachmentFiles(folder, PathPolicy(roots=(str(folder),)), {})
    with pytest.raises(AttachmentError, match="own record"):
        asyncio.run(images.read(file.name))


def kept_before_a_call(folder: Path, file: Path) -> None:
    reader = FileReader(Workspace([folder]), PathPolicy(roots=(str(folder),)), lambda _content: False)
    with OpenFolders(Workspace([folder])) as folders:
        reader.read(str(file), folders)


def opened_by_anybody(_folder: Path, file: Path) -> None:
    os.close(os.open(file, os.O_RDONLY))


READERS: list[Callable[[Path, Path], None]] = [
    searched,
    read_by_a_tool,
    looked_through_for_secrets,
    measured_for_a_command,
    shown_as_an_image,
    kept_before_a_call,
]


@pytest.mark.parametrize("read", READERS)
def test_another_process_waits_for_a_transaction_whatever_is_read_meanwhile(
    in_a_transaction: Path, read: Callable[[Path, Path], None]
) -> None:
    for beside in ("", "-wal", "-shm"):
        read(in_a_transaction.parent, in_a_transaction.with_name(in_a_transaction.name + beside))

    assert what_another_process_hears(in_a_transaction) == "database is locked"


@pytest.mark.skipif(sys.platform != "linux", reason="where locks go with a descriptor, nothing can be shown")
def test_a_plain_look_at_the_file_would_have_given_the_locks_up(in_a_transaction: Path) -> None:
    opened_by_anybody(in_a_transaction.parent, in_a_transaction.with_name(f"{in_a_transaction.name}-shm"))

    assert what_another_process_hears(in_a_transaction) == "it may write"
