from __future__ import annotations

import errno
import fcntl
import os
import stat
import subprocess
import sys
from pathlib import Path
from unittest.mock import Mock

import pytest

from quorum.application.identifiers import generate_id
from quorum.domain.errors import BlobError
from quorum.domain.text.output import Text
from quorum.infrastructure.store.blobs import file_store as module
from quorum.infrastructure.store.blobs.file_store import FileBlobStore


async def test_what_was_spilled_is_a_stored_output_like_any_other(tmp_path: Path) -> None:
    store = FileBlobStore(tmp_path / "blobs")
    spill = store.open_spill()

    spill.write("one\n")
    spill.write("zwei ö\n")
    blob_id = spill.keep()

    assert await store.load(blob_id) == Text("one\nzwei ö\n")
    assert (spill.lines, spill.size_bytes) == (2, 12)
    assert stat.S_IMODE((tmp_path / "blobs" / f"{blob_id}.txt").stat().st_mode) == 0o600


def test_before_it_is_kept_no_id_leads_to_it_and_discarded_nothing_is_left(tmp_path: Path) -> None:
    spill = FileBlobStore(tmp_path).open_spill()
    spill.write("text")

    spill.discard()

    assert list(tmp_path.iterdir()) == []
    with pytest.raises(BlobError):
        spill.keep()


def test_more_than_the_bound_is_given_up_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_BYTES", 10)
    spill = FileBlobStore(tmp_path).open_spill()

    spill.write("eleven char")
    spill.write("more")

    with pytest.raises(BlobError, match="longer than 1 GiB"):
        spill.keep()
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_does_not_stop_the_tool_and_is_reported_when_it_is_to_be_kept(tmp_path: Path) -> None:
    code = (
        "import resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000));"
        "from pathlib import Path; from quorum.infrastructure.store.blobs.file_store import FileSpill;"
        "spill = FileSpill(Path(sys.argv[1]));"
        "[spill.write('x' * 100_000) for _ in range(10)];"
        "print(spill.trouble)"
    )

    result = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "blobs")],
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        check=True,
        timeout=30,
    )

    assert "it could not be kept" in result.stdout
    assert list((tmp_path / "blobs").iterdir()) == []


def make_old(path):
    os.utime(path, (0, 0))
    return path


def test_what_killed_processes_left_is_removed_and_nothing_that_is_being_written(tmp_path):
    at_work, left, fresh = (
        module.FileSpill(tmp_path),
        *(tmp_path / f".{generate_id()}.txt.tmp" for _ in range(2)),
    )
    at_work.write("in the making")
    make_old(next(tmp_path.iterdir()))
    for path in (left, fresh, tmp_path / "whole.txt"):
        path.write_text("text")
    make_old(left)

    module.remove_abandoned_temporaries(tmp_path)

    assert not left.exists()
    assert fresh.exists()  # of an earlier quorum that writes it, perhaps, which locks nothing
    assert (tmp_path / f"{at_work.keep()}.txt").read_text() == "in the making"
    assert len(list(tmp_path.iterdir())) == 3


@pytest.mark.parametrize(
    "name",
    [
        ".notes.tmp",
        ".notes.txt.tmp",
        ".01234567-89ab-4def-8123-456789abcdef.txt.tmp",
        ".{}.md.tmp",
        ".x{}.txt.tmp",
    ],
)
def test_old_files_of_the_person_in_the_folder_are_left_alone(tmp_path, name):
    theirs = tmp_path / name.format(generate_id())
    theirs.write_text("theirs")

    module.remove_abandoned_temporaries(make_old(theirs).parent)

    assert theirs.exists()


@pytest.mark.parametrize("refusal", [errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP])
async def test_where_nothing_can_be_locked_outputs_are_kept_all_the_same(tmp_path, monkeypatch, refusal):
    monkeypatch.setattr(fcntl, "flock", Mock(side_effect=OSError(refusal, os.strerror(refusal))))
    store = FileBlobStore(tmp_path)
    spill = store.open_spill()
    spill.write("grown")

    kept = [await store.store(Text("whole")), spill.keep()]
    module.remove_abandoned_temporaries(tmp_path)

    assert sorted(path.stem for path in tmp_path.iterdir()) == sorted(kept)
