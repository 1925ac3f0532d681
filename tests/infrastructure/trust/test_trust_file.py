"""What is remembered of the files that a person trusts, and what becomes of it when the record is damaged."""

from __future__ import annotations

import asyncio
import fcntl
import os
import stat
from pathlib import Path

import pytest

from quorum.domain.errors import ConfigError
from quorum.domain.replacing import replace
from quorum.domain.sessions.trust import Standing, TrustContent, TrustItem, TrustQuestion
from quorum.infrastructure.trust_decisions import TrustDecisions, TrustFile, open_trust_file
from tests.support.fake_ports import FakePerson

_ONE, _OTHER = "1" * 64, "2" * 64
_PLACE = Path("/w/quorum.toml")


def _question(digest: str = _ONE, file: str = str(_PLACE)) -> TrustQuestion:
    item = TrustItem(file=file, digest=digest, wants=("x = 1",))
    return TrustQuestion(folder=os.path.dirname(file), items=(item,))


def _trust(file: TrustFile, question: TrustQuestion) -> None:
    asyncio.run(file.trust(question))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state/quorum/trust.toml"


def test_without_a_file_nothing_is_trusted(path: Path) -> None:
    trusted = TrustFile(path).load()

    assert trusted.find_standing(_PLACE, _ONE) is Standing.UNKNOWN
    assert trusted.warning is None
    assert not path.exists()


def test_a_trusted_content_is_trusted_by_the_next_session_and_another_content_is_not(path: Path) -> None:
    _trust(TrustFile(path), _question())

    trusted = TrustFile(path).load()

    assert trusted.find_standing(_PLACE, _ONE) is Standing.TRUSTED
    assert trusted.find_standing(_PLACE, _OTHER) is Standing.CHANGED
    assert trusted.find_standing(Path("/w/sub/quorum.toml"), _ONE) is Standing.UNKNOWN


def test_of_two_answers_about_one_file_the_later_counts(path: Path) -> None:
    for digest in (_ONE, _OTHER):
        _trust(TrustFile(path), _question(digest))

    assert TrustFile(path).load().find_standing(_PLACE, _ONE) is Standing.CHANGED
    assert path.read_text().count("[[trusted]]") == 1


def test_the_file_is_for_its_owner_alone(path: Path) -> None:
    _trust(TrustFile(path), _question())

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert sorted(os.listdir(path.parent)) == [
        "trust.toml",
        "trust.toml.lock",
        "trusted-texts.json",
        "trusted-texts.json.lock",
    ]


def test_what_is_forgotten_is_not_trusted_any_more_and_all_else_is(path: Path) -> None:
    file = TrustFile(path)
    other = Path('/other/with " and \n/quorum.toml')
    for place in (_PLACE, other):
        _trust(file, _question(file=str(place)))

    forgotten = asyncio.run(file.forget([_PLACE, Path("/never/quorum.toml")]))

    assert forgotten == (_PLACE,)
    assert file.load().find_standing(_PLACE, _ONE) is Standing.UNKNOWN
    assert file.load().find_standing(other, _ONE) is Standing.TRUSTED


def test_forgetting_where_nothing_was_ever_trusted_makes_no_file(path: Path) -> None:
    assert asyncio.run(TrustFile(path).forget([_PLACE])) == ()
    assert not path.parent.exists()


async def test_sessions_that_trust_at_once_lose_no_answer(path: Path) -> None:
    places = [f"/w{number}/quorum.toml" for number in range(12)]

    await asyncio.gather(*(TrustFile(path).trust(_question(file=place)) for place in places))

    assert set(TrustFile(path).load().digests) == set(places)


@pytest.mark.parametrize(
    "content",
    [
        b"[[trusted]\n",
        b"trusted = 1\n",
        b'[[trusted]]\nfile = "/w/quorum.toml"\n',
        b'[[trusted]]\nfile = "/w/quorum.toml"\nsha256 = "short"\n',
        b'[[trusted]]\nfile = "w/quorum.toml"\nsha256 = "' + b"1" * 64 + b'"\n',
        b"\xff\xfe",
    ],
)
def test_a_damaged_file_trusts_nothing_says_so_and_is_not_written_over(path: Path, content: bytes) -> None:
    _trust(TrustFile(path), _question())
    path.write_bytes(path.read_bytes() + content)
    damaged = path.read_bytes()

    trusted = TrustFile(path).load()

    assert trusted.find_standing(_PLACE, _ONE) is Standing.UNKNOWN
    assert trusted.warning is not None
    assert str(path) in trusted.warning
    assert trusted.warning.endswith("is corrected or removed)")
    with pytest.raises(ConfigError):
        _trust(TrustFile(path), _question(_OTHER))
    assert path.read_bytes() == damaged


@pytest.mark.long
def test_whatever_byte_of_the_file_is_flipped_no_other_content_of_that_file_is_trusted(path: Path) -> None:
    _trust(TrustFile(path), _question())
    sound = path.read_bytes()

    for place in range(len(sound)):
        path.write_bytes(sound[:place] + bytes([sound[place] ^ 0x01]) + sound[place + 1 :])
        assert TrustFile(path).load().find_standing(_PLACE, _OTHER) is not Standing.TRUSTED


def test_a_file_that_others_may_write_trusts_nothing(path: Path) -> None:
    _trust(TrustFile(path), _question())
    path.chmod(0o620)

    trusted = TrustFile(path).load()

    assert trusted.find_standing(_PLACE, _ONE) is Standing.UNKNOWN
    assert trusted.warning == (
        f"others may write {path}, so no project's file is trusted; say chmod 600 {path}"
    )


def test_a_folder_in_place_of_the_file_trusts_nothing_and_says_so(path: Path) -> None:
    path.mkdir(parents=True)

    assert "is a folder" in str(TrustFile(path).load().warning)


def test_a_folder_that_cannot_be_written_is_reported(path: Path) -> None:
    path.parent.parent.mkdir()
    path.parent.write_text("a file")

    with pytest.raises(ConfigError, match=r"trust\.toml cannot be written: "):
        _trust(TrustFile(path), _question())


def test_a_session_that_never_lets_go_of_the_file_is_reported(path: Path) -> None:
    path.parent.mkdir(parents=True)
    with (path.parent / "trust.toml.lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)

        with pytest.raises(ConfigError, match="another quorum has been changing"):
            _trust(TrustFile(path, patience_secs=0.05), _question())


def test_a_folder_whose_name_is_no_text_is_reported_and_leaves_the_file_whole(path: Path) -> None:
    _trust(TrustFile(path), _question())

    with pytest.raises(ConfigError, match="is not valid Unicode"):
        _trust(TrustFile(path), _question(file="/w\udcff/quorum.toml"))

    assert TrustFile(path).load().find_standing(_PLACE, _ONE) is Standing.TRUSTED


def test_the_file_lies_in_the_state_folder(tmp_path: Path) -> None:
    file = open_trust_file({"XDG_STATE_HOME": str(tmp_path)})

    assert file is not None
    _trust(file, _question())
    assert (tmp_path / "quorum/trust.toml").is_file()


def test_what_a_file_said_when_it_was_trusted_is_recalled_until_it_is_forgotten(path: Path) -> None:
    file = TrustFile(path)
    said = TrustItem(file="/w/AGENTS.md", digest=_ONE, wants=("2 lines",), text=("one", "two \udc80"))
    _trust(file, TrustQuestion(folder="/w", items=(said,)))

    assert file.recall(["/w/AGENTS.md", "/w/never.md"]) == {"/w/AGENTS.md": ("one", "two \udc80")}

    _trust(file, TrustQuestion(folder="/w", items=(replace(said, digest=_OTHER, text=("three",)),)))
    texts = path.with_name("trusted-texts.json")
    assert file.recall(["/w/AGENTS.md"]) == {"/w/AGENTS.md": ("three",)}
    assert "one" not in texts.read_text()
    assert stat.S_IMODE(texts.stat().st_mode) == 0o600

    asyncio.run(file.forget([Path("/w/AGENTS.md")]))
    assert file.recall(["/w/AGENTS.md"]) == {}
    assert "three" not in texts.read_text()


@pytest.mark.parametrize("content", ["", "no JSON", "[1]", '{"1": 2}', "[" * 100_000])
def test_damaged_texts_cost_the_comparison_and_no_trust(path: Path, content: str) -> None:
    file = TrustFile(path)
    _trust(file, _question())
    path.with_name("trusted-texts.json").write_text(content)

    assert file.recall([str(_PLACE)]) == {}
    assert file.load().find_standing(_PLACE, _ONE) is Standing.TRUSTED

    _trust(file, _question())
    assert file.recall([str(_PLACE)]) == {str(_PLACE): ("x = 1",)}


async def test_a_question_about_a_changed_file_has_what_the_file_said_before(path: Path) -> None:
    decisions = TrustDecisions(TrustFile(path))
    person = FakePerson(trusts=True)

    for digest, text in ((_ONE, ("one", "two")), (_OTHER, ("one", "three"))):
        content = TrustContent(digest=digest, wants=("2 lines",), text=text)
        await decisions.settle({Path("/w/AGENTS.md"): content}, Path("/w"), person)

    (first,), (changed,) = (question.items for question in person.trust_questions)
    assert (first.former, first.compare()) == (None, None)
    assert changed.compare() == ("@@ -1,2 +1,2 @@", " one", "-two", "+three")
