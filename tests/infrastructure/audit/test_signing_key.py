from __future__ import annotations

import os
from pathlib import Path

import pytest

from quorum.domain.errors import ConfigError
from quorum.infrastructure.audit.signed_export import ENTRY, load_signing_key
from quorum.infrastructure.secrets.key_ring import KeyRing


class FakeRing(KeyRing):
    """A keyring that keeps its entries in memory, or is not there."""

    def __init__(self, *, is_there: bool = True) -> None:
        super().__init__()
        self.entries: dict[str, str] = {}
        self.is_there = is_there

    def get_key(self, provider: str) -> str | None:
        return self.entries.get(provider)

    def keep(self, provider: str, key: str) -> None:
        if not self.is_there:
            raise ConfigError("there is no keyring")
        self.entries[provider] = key


def place(home: Path) -> Path:
    return home / ".local/state/quorum/audit-signing-key"


def test_a_new_key_goes_into_the_keyring_and_stays_the_same(tmp_path: Path) -> None:
    ring = FakeRing()

    first = load_signing_key({"HOME": str(tmp_path)}, ring)
    again = load_signing_key({"HOME": str(tmp_path)}, ring)

    assert (first.public_hex, first.place) == (again.public_hex, "the keyring")
    assert set(ring.entries) == {ENTRY}
    assert not place(tmp_path).exists()


def test_without_a_keyring_it_is_in_a_file_of_the_person_alone(tmp_path: Path) -> None:
    first = load_signing_key({"HOME": str(tmp_path)}, FakeRing(is_there=False))
    again = load_signing_key({"HOME": str(tmp_path)}, FakeRing(is_there=False))

    assert first.public_hex == again.public_hex
    assert first.place == str(place(tmp_path))
    assert place(tmp_path).stat().st_mode & 0o777 == 0o600


def test_a_key_that_others_can_read_is_refused(tmp_path: Path) -> None:
    load_signing_key({"HOME": str(tmp_path)}, FakeRing(is_there=False))
    place(tmp_path).chmod(0o640)

    with pytest.raises(ConfigError, match="others can read or write it"):
        load_signing_key({"HOME": str(tmp_path)}, FakeRing(is_there=False))


@pytest.mark.parametrize("content", ["", "ab", "x" * 64, "00" * 33])
def test_what_is_no_key_is_refused(tmp_path: Path, content: str) -> None:
    place(tmp_path).parent.mkdir(parents=True)
    place(tmp_path).write_text(content)
    place(tmp_path).chmod(0o600)

    with pytest.raises(ConfigError, match="64 hexadecimal digits"):
        load_signing_key({"HOME": str(tmp_path)}, FakeRing())


def test_a_link_or_a_pipe_in_its_place_is_refused(tmp_path: Path) -> None:
    place(tmp_path).parent.mkdir(parents=True)
    (tmp_path / "elsewhere").write_text("00" * 32)
    place(tmp_path).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ConfigError, match="cannot be read"):
        load_signing_key({"HOME": str(tmp_path)}, FakeRing())

    place(tmp_path).unlink()
    os.mkfifo(place(tmp_path), 0o600)
    with pytest.raises(ConfigError, match="others can read or write it"):
        load_signing_key({"HOME": str(tmp_path)}, FakeRing())
