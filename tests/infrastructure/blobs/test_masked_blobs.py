from __future__ import annotations

import random
from pathlib import Path

import pytest

from quorum.domain.calls.summary import count_lines
from quorum.domain.events.masking import SecretMask
from quorum.domain.text.output import Structured, Text
from quorum.infrastructure.store.blobs.file_store import FileBlobStore

KEY = "q7Zrt9vX2m4kPwd3Ls8Y"


@pytest.fixture
def mask() -> SecretMask:
    mask = SecretMask()
    mask.learn("THE_KEY", KEY)
    return mask


def bytes_below(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in folder.rglob("*") if file.is_file())


async def test_text_is_stored_without_its_secrets_also_where_two_pieces_meet(
    tmp_path: Path, mask: SecretMask
) -> None:
    store = FileBlobStore(tmp_path, mask)
    filler = "x" * ((1 << 20) - 10)

    blob_id = await store.store(Text(f"{filler}{KEY} and on"))

    assert await store.load(blob_id) == Text(f"{filler}[secret:THE_KEY] and on")


async def test_json_is_stored_without_its_secrets_and_stays_json(tmp_path: Path, mask: SecretMask) -> None:
    store = FileBlobStore(tmp_path, mask)

    blob_id = await store.store(Structured({"a": [f"<{KEY}>"], "password": "hunter22x", KEY: 1}))

    assert await store.load(blob_id) == Structured(
        {"a": ["<[secret:THE_KEY]>"], "password": "[secret:password]", "[secret:THE_KEY]": 1}
    )


@pytest.mark.parametrize("seed", range(20))
def test_a_growing_text_never_has_a_secret_on_the_disk_however_it_comes(
    seed: int, tmp_path: Path, mask: SecretMask
) -> None:
    spill = FileBlobStore(tmp_path, mask).open_spill()
    dice = random.Random(seed)
    text = f"start {KEY} middle\nDB_PASSWORD=hunter22x\n{KEY}{KEY}\nthe end, PASSWORD=hunter22x"
    place = 0
    while place < len(text):
        size = dice.randint(1, 9)
        spill.write(text[place : place + size])
        place += size
    path = tmp_path / f"{spill.keep()}.txt"

    kept = path.read_text(encoding="utf-8")

    assert KEY not in kept
    assert "hunter22x" not in kept
    assert kept.endswith("\nthe end, PASSWORD=[secret:password]")
    assert (spill.size_bytes, spill.lines) == (len(kept.encode()), count_lines(kept))


def test_a_text_that_is_given_up_leaves_nothing(tmp_path: Path, mask: SecretMask) -> None:
    spill = FileBlobStore(tmp_path, mask).open_spill()
    spill.write("some text " + KEY[:10])
    spill.discard()

    assert bytes_below(tmp_path) == b""
