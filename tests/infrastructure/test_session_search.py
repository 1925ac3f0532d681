"""Sessions are found by their prompts and answers, through an index that can be thrown away."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from quorum.domain.conversation.response import LlmResponse
from quorum.domain.errors import LedgerError, LostConnection
from quorum.domain.events.event import Event, ResponseCompleted, SessionStarted, TurnStarted
from quorum.domain.review.mode import Mode
from quorum.domain.sessions.session_summary import LedgerRecord, NewSession, SessionSummary
from quorum.infrastructure import session_search
from quorum.infrastructure.session_search import SessionSearch, discard_search_index
from tests.support.fake_storage import FakeStorage


async def begin(storage: FakeStorage, prompt: str, answer: str, cwd: str = "/w") -> str:
    opened = storage.open_session(NewSession(), cwd=cwd)
    assert opened.ledger is not None
    events: list[Event] = [
        SessionStarted(session_id=opened.session_id, model="p/m", mode=Mode.ASK, cwd=cwd),
        TurnStarted(prompt=prompt),
        ResponseCompleted(turn_index=0, response=LlmResponse.from_text(answer)),
    ]
    for event in events:
        await opened.ledger.append(event)
    await opened.ledger.aclose()
    return opened.session_id


@pytest.fixture
def storage() -> FakeStorage:
    return FakeStorage()


async def find(storage: FakeStorage, path: Path, *words: str, cwd: str | None = None) -> list[str]:
    return [
        hit.session.id for hit in await SessionSearch(storage.archive, path).search(words, cwd=cwd, limit=20)
    ]


async def test_all_words_stand_in_prompts_or_answers_of_the_folder(
    storage: FakeStorage, tmp_path: Path
) -> None:
    one = await begin(storage, "Fix the retry", 'a "limit" of 3')
    other = await begin(storage, "the RETRY again", "done", cwd="/other")
    path = tmp_path / "search.sqlite"

    assert set(await find(storage, path, "retry")) == {one, other}
    assert await find(storage, path, "retry", cwd="/w") == [one]
    assert await find(storage, path, "limit", "Retry") == [one]
    assert await find(storage, path, 'lim"it') == []
    assert await find(storage, path, "retry OR nothing") == []
    assert path.stat().st_mode & 0o777 == 0o600


async def test_what_is_redacted_or_deleted_is_not_found_any_more(storage: FakeStorage, tmp_path: Path) -> None:
    one = await begin(storage, "the word hippopotamus", "yes, hippopotamus")
    other = await begin(storage, "another hippopotamus", "ok")
    path = tmp_path / "search.sqlite"
    assert len(await find(storage, path, "hippopotamus")) == 2

    await storage.archive.redact(one, "hippopotamus")
    assert await find(storage, path, "hippopotamus") == [other]
    await storage.archive.prune(ids=[other])
    assert await find(storage, path, "hippopotamus") == []
    assert b"hippopotamus" not in path.read_bytes()


async def test_the_index_is_made_anew_where_it_is_gone_or_damaged(storage: FakeStorage, tmp_path: Path) -> None:
    one = await begin(storage, "zebra", "ok")
    path = tmp_path / "search.sqlite"
    assert await find(storage, path, "zebra") == [one]
    discard_search_index(path)
    assert await find(storage, path, "zebra") == [one]
    path.write_bytes(b"no database at all" * 500)
    assert await find(storage, path, "zebra") == [one]


async def test_a_secret_is_hidden_also_where_a_snippet_would_begin_in_its_middle(
    storage: FakeStorage, tmp_path: Path
) -> None:
    secret = "-".join(f"part{number}" for number in range(40))
    one = await begin(storage, f"use {secret} for the zebra", "ok")
    path = tmp_path / "search.sqlite"
    assert await find(storage, path, "part20") == [one]  # before it was known for a secret

    def mask(text: str) -> str:
        return text.replace(secret, "[hidden]")

    search = SessionSearch(storage.archive, path, mask=mask)
    assert await search.search(["part20"], cwd=None, limit=20) == []
    (hit,) = await search.search(["zebra"], cwd=None, limit=20)
    assert hit.snippet == "use [hidden] for the zebra ok"


async def test_a_long_filling_is_announced_and_goes_on_where_it_was_broken_off(
    storage: FakeStorage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session_search, "_MANY", 4)
    monkeypatch.setattr(session_search, "_KEPT_AFTER", 2)
    every = {await begin(storage, f"zebra {number}", "ok") for number in range(5)}
    read, path, asked = storage.archive.read, tmp_path / "search.sqlite", list[str]()
    announced: list[int] = []

    async def break_off(session_id: str, types: Sequence[str] = ()) -> tuple[LedgerRecord, ...]:
        asked.append(session_id)
        if len(asked) == 4:
            raise KeyboardInterrupt
        return await read(session_id, types)

    def search() -> SessionSearch:
        return SessionSearch(storage.archive, path, announce=announced.append)

    monkeypatch.setattr(storage.archive, "read", break_off)
    with pytest.raises(KeyboardInterrupt):
        await search().search(["nothing"], cwd=None, limit=20)
    assert await search().search(["nothing"], cwd=None, limit=20) == []

    assert announced == [5]
    assert set(asked) == every
    assert len(asked) == 7  # two were kept of three, and three are left
    assert set(await find(storage, path, "zebra")) == every


async def test_what_another_search_takes_in_meanwhile_is_left_to_it(
    storage: FakeStorage, tmp_path: Path
) -> None:
    one = await begin(storage, "zebra", "ok")
    path = tmp_path / "search.sqlite"

    class Overtaken(SessionSearch):
        async def _update(self, index: sqlite3.Connection, listed: Mapping[str, SessionSummary]) -> None:
            await super()._update(index, listed)
            await begin(storage, "another zebra", "ok")
            assert len(await find(storage, path, "zebra")) == 2

    hits = await Overtaken(storage.archive, path).search(["zebra"], cwd=None, limit=20)
    assert [hit.session.id for hit in hits] == [one]


async def test_words_that_are_no_text_are_found_nowhere(storage: FakeStorage, tmp_path: Path) -> None:
    await begin(storage, "zebra", "ok")

    assert await find(storage, tmp_path / "search.sqlite", "\udcff") == []


async def test_an_index_that_cannot_be_is_named(storage: FakeStorage, tmp_path: Path) -> None:
    place = tmp_path / "file"
    place.write_text("")

    with pytest.raises(LedgerError, match="cannot be used"):
        await find(storage, place / "search.sqlite", "zebra")


async def test_a_session_that_cannot_be_read_now_is_not_taken_for_one_without_words(
    storage: FakeStorage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = await begin(storage, "zebra", "ok")
    path = tmp_path / "search.sqlite"

    async def fail(*_given: object) -> None:
        raise LostConnection("the server does not answer")

    with monkeypatch.context() as patch:
        patch.setattr(storage.archive, "read", fail)
        with pytest.raises(LostConnection):
            await find(storage, path, "zebra")
    assert await find(storage, path, "zebra") == [one]
