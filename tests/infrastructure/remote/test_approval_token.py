from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from quorum.domain.errors import ConfigError
from quorum.infrastructure.remote.approval_token import write_new_token


def test_the_token_is_written_with_a_line_end_and_the_descriptor_closed() -> None:
    reader, writer = os.pipe()

    token = write_new_token(writer)

    with open(reader, "rb") as handed:  # it ends only if no writer is left
        assert handed.read() == f"{token}\n".encode()
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(writer)


def test_each_start_has_a_token_of_its_own_that_cannot_be_guessed() -> None:
    tokens = set()
    for _ in range(20):
        ours, theirs = socket.socketpair()
        tokens.add(write_new_token(theirs.detach()))
        ours.close()

    assert len(tokens) == 20
    assert all(len(token) >= 40 for token in tokens)


def test_a_file_is_refused_since_commands_could_read_it(tmp_path: Path) -> None:
    descriptor = os.open(tmp_path / "token", os.O_CREAT | os.O_WRONLY)

    with pytest.raises(ConfigError, match="must be a pipe or a socket"):
        write_new_token(descriptor)

    os.close(descriptor)
    assert (tmp_path / "token").read_bytes() == b""


def test_standard_streams_are_refused() -> None:
    with pytest.raises(ConfigError, match="from 3 upwards"):
        write_new_token(1)


def test_a_descriptor_that_is_not_open_is_reported_with_the_remedy() -> None:
    with pytest.raises(ConfigError, match="cannot be written there"):
        write_new_token(987_654)


def test_the_reading_end_of_a_pipe_is_refused() -> None:
    reader, writer = os.pipe()

    with pytest.raises(ConfigError, match="cannot be written to"):
        write_new_token(reader)

    os.close(reader)
    os.close(writer)


def test_a_pipe_that_nobody_reads_is_reported() -> None:
    reader, writer = os.pipe()
    os.close(reader)

    with pytest.raises(ConfigError, match="Broken pipe"):
        write_new_token(writer)

    os.close(writer)
