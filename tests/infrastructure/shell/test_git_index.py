"""Indexes that git and a reader of them could understand in two ways, with the real git."""

from __future__ import annotations

import hashlib
import os
import shutil
import struct
from pathlib import Path

import pytest

from quorum.infrastructure.execution.shell.gate import READ_ONLY_ENVIRONMENT
from quorum.infrastructure.execution.shell.git_index import read_index
from tests.infrastructure.shell.repository_bench import git, mark_of, run_as_judged
from tests.support.shell_gates import judge

if shutil.which("git") is None:
    pytest.skip("git is not installed here", allow_module_level=True)

_FIXED = 62  # bytes of an entry before its name


def summed(body: bytes) -> bytes:
    return body + hashlib.sha1(body, usedforsecurity=False).digest()


def an_entry(
    name: bytes,
    *,
    mode: int = 0o100644,
    length: int | None = None,
    flags: int = 0,
    hashed: bytes = bytes(20),
    padding: bytes = b"\0",
) -> bytes:
    field = flags | (min(len(name), 0xFFF) if length is None else length)
    entry = bytes(24) + struct.pack(">I", mode) + bytes(12) + hashed + struct.pack(">H", field) + name
    return entry + b"\0" + padding * (8 - len(entry) % 8 - 1)


def an_index(*entries: bytes, version: int = 2, after: bytes = b"") -> bytes:
    return summed(struct.pack(">4sII", b"DIRC", version, len(entries)) + b"".join(entries) + after)


def an_extension(signature: bytes, content: bytes = b"") -> bytes:
    return signature + struct.pack(">I", len(content)) + content


def read(path: Path, data: bytes) -> tuple[str, ...]:
    path.write_bytes(data)
    return read_index(str(path)).files


def test_what_git_writes_is_read(tmp_path: Path) -> None:
    plain = an_index(an_entry(b"a"), an_entry(b"a/b"), an_entry(b"ab", mode=0o120000))

    assert read(tmp_path / "index", plain) == ("a", "a/b", "ab")


def test_names_longer_than_their_length_can_say_are_read(tmp_path: Path) -> None:
    long = b"a/" * 3000 + b"b"

    assert read(tmp_path / "index", an_index(an_entry(long), an_entry(b"c"))) == (long.decode(), "c")


def test_an_index_without_a_checksum_is_read(tmp_path: Path) -> None:
    assert read(tmp_path / "index", an_index(an_entry(b"a"))[:-20] + bytes(20)) == ("a",)


def test_extensions_that_add_no_entries_are_passed_over(tmp_path: Path) -> None:
    after = an_extension(b"TREE", b"x" * 9) + an_extension(b"UNTR") + an_extension(b"EOIE", b"y")

    assert read(tmp_path / "index", an_index(an_entry(b"a"), after=after)) == ("a",)


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(an_index(an_entry(b"a.txt", length=80)), id="a longer name than is there"),
        pytest.param(an_index(an_entry(b"a.txt", length=2)), id="a shorter name than is there"),
        pytest.param(
            an_index(an_entry(b"a.txt", length=0xFFF)), id="a name said to be too long for its length"
        ),
        pytest.param(an_index(an_entry(b"ab", padding=b"x")), id="padding that is none"),
        pytest.param(an_index(an_entry(b"b"), an_entry(b"a")), id="entries out of order"),
        pytest.param(an_index(an_entry(b"a"), an_entry(b"a")), id="an entry twice"),
        pytest.param(an_index(an_entry(b"a", mode=0o100600)), id="a mode that git does not keep"),
        pytest.param(an_index(an_entry(b"a", mode=0o040000)), id="a folder, as sparse indexes have them"),
        pytest.param(an_index(an_entry(b"a", flags=0x4000)), id="more flags in version 2"),
        pytest.param(an_index(an_entry(b".GIT/config")), id="a file of a repository"),
        pytest.param(an_index(an_entry(b"sub/git~1")), id="a repository by its short name"),
        pytest.param(an_index(an_entry("s/.g\u200cit/x".encode())), id="a repository, as HFS+ reads names"),
        pytest.param(an_index(an_entry(b"/a")), id="an absolute path"),
        pytest.param(an_index(an_entry(b"a"), after=an_extension(b"ABCD")), id="an unknown extension"),
        pytest.param(an_index(an_entry(b"a"), after=an_extension(b"link", bytes(20))), id="a split index"),
        pytest.param(an_index(an_entry(b"a"), after=an_extension(b"TREE") * 2), id="an extension twice"),
        pytest.param(an_index(an_entry(b"a"), after=b"TREE\0\0\0\x09"), id="an extension longer than the file"),
        pytest.param(an_index(an_entry(b"a"))[:-1] + b"x", id="another checksum"),
        pytest.param(an_index(an_entry(b"a"), version=5), id="another version"),
    ],
)
def test_what_no_git_writes_is_not_read(data: bytes, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="it"):
        read(tmp_path / "index", data)


def a_submodule_that_runs_a_filter(repository: Path) -> None:
    module = repository / "module"
    module.mkdir()
    git(module, "init", "-q", "-b", "main")
    (module / "a.txt").write_text("x\n")
    git(module, "add", "a.txt")
    git(module, "commit", "-q", "-m", "x")
    git(module, "config", "filter.evil.clean", str(repository.parent / "script"))
    (module / ".git" / "info" / "attributes").write_text("* filter=evil\n")
    os.utime(module / "a.txt", (0, 0))


def overlaid(hidden: bytes) -> bytes:
    """Two entries to whoever looks where names end; to git, which goes by their length, one and the hidden."""
    second = an_entry(b"b.txt")
    rest = second + b"ABCD" + struct.pack(">I", len(hidden))
    first = an_entry(b"a.txt")
    length = len(first) + len(rest) - _FIXED - 1
    return an_index(
        an_entry(b"a.txt", length=length), second, after=b"ABCD" + struct.pack(">I", len(hidden)) + hidden
    )


def test_a_name_of_version_4_has_its_whole_length(tmp_path: Path) -> None:
    head = an_entry(b"a.txt")[: _FIXED - 2]
    first = head + struct.pack(">H", 5) + b"\0a.txt\0"

    def second(length: int) -> bytes:
        return head + struct.pack(">H", length) + b"\x03" + b"zzz\0"

    assert read(tmp_path / "index", an_index(first, second(5), version=4)) == ("a.txt", "a.zzz")
    with pytest.raises(ValueError, match="length"):
        read(tmp_path / "index", an_index(first, second(3), version=4))


async def test_an_index_that_shows_git_a_submodule_and_others_files_is_asked_about(
    repository: Path,
) -> None:
    a_submodule_that_runs_a_filter(repository)
    head = bytes.fromhex(git(repository / "module", "rev-parse", "HEAD").strip())
    (repository / ".git" / "index").write_bytes(overlaid(an_entry(b"module", mode=0o160000, hashed=head)))

    verdict = await judge("git status", repository)
    run_as_judged("git status", repository, READ_ONLY_ENVIRONMENT)

    assert "160000" in git(repository, "ls-files", "-s")
    assert mark_of(repository).exists()
    assert not verdict.is_read_only
    assert "another length" in verdict.reason


async def test_a_table_of_places_in_the_index_is_not_believed(repository: Path) -> None:
    for number in range(40):
        (repository / f"{number}.txt").write_text("x")
    git(repository, "-c", "index.threads=4", "add", ".")

    verdict = await judge("git status", repository)

    assert b"IEOT" in (repository / ".git" / "index").read_bytes()
    assert verdict.is_read_only, verdict.reason
    given = verdict.environment
    settings = {
        given[f"GIT_CONFIG_KEY_{n}"]: given[f"GIT_CONFIG_VALUE_{n}"]
        for n in range(int(given["GIT_CONFIG_COUNT"]))
    }
    assert (settings["index.threads"], settings["core.untrackedCache"]) == ("1", "false")
