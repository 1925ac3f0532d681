"""Who asked in a session that several people open one after the other: none of them signs its calls."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from quorum.domain.events.event import TurnStarted
from quorum.domain.review.questions import Reject
from quorum.domain.review.signing import SigningTerms
from quorum.domain.sessions.session_summary import ContinuedSession, LatestSession
from quorum.infrastructure.config.policy_file import PolicyPlace
from tests.support.fake_ports import FakePerson
from tests.support.real_session import RealSession, SessionStage, says, shell
from tests.support.session_parts import put
from tests.support.subagent_stage import task, task_rig

KEYS = {
    "ada": "IOa9tupNBz5NSsgvs6JqNSq8R7U3Dzn5/GsDL0oxpwM5",
    "bob": "INPD0C7N+0B9JHQs8xOL7LTZD/tgHt1LzyTpHaCzaD4u",
}
KEYS |= {"cyn": "IL0/aaEqDpgVYQ2MqhT13jDYLm3TMS3Tzf2gxATGE3CF"}
RULE = '[[signatures]]\ncalls = ["run_command(deploy *)"]\nneeded = 1\n'


class Team:
    """Three people, each with an account of the same name, who open sessions of one folder."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        file = folder / "etc" / "requirements.toml"
        file.parent.mkdir()
        people = (
            f'[people.{name}]\nkeys = ["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA{key}"]\naccounts = ["{name}"]\n'
            for name, key in KEYS.items()
        )
        file.write_text("".join(people) + RULE)
        for path in (folder, file.parent, file):
            path.chmod(path.stat().st_mode & ~0o022)
        place = PolicyPlace(file, owner=os.getuid())
        monkeypatch.setattr("quorum.infrastructure.config.policy_file.POLICY_PLACE", place)
        self._monkeypatch = monkeypatch
        self.stage = SessionStage(folder)
        self.person = FakePerson(lambda _request: Reject())

    def go_on_as(self, account: str) -> None:
        found = "quorum.infrastructure.permissions.signing.find_account"
        self._monkeypatch.setattr(found, lambda: account)

    @asynccontextmanager
    async def opened(self, account: str, session_id: str = "") -> AsyncIterator[RealSession]:
        """The latest session, or the one of this id, as a process under this account opens it."""
        self.go_on_as(account)
        choice = ContinuedSession(session_id) if session_id else LatestSession()
        async with self.stage.opened(choice, person=self.person) as session:
            yield session

    async def ask(self, account: str, prompt: str, session_id: str = "") -> SigningTerms:
        """What a call takes that a prompt of this person leads to."""
        async with self.opened(account, session_id) as session:
            await session.turn(shell("deploy now"), prompt=prompt)
        terms = self.person.requests[-1].signing
        assert terms is not None
        return terms


@pytest.fixture
def team(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Team:
    return Team(tmp_path, monkeypatch)


async def test_who_asked_before_another_person_went_on_signs_nothing_that_follows(team: Team) -> None:
    first = await team.ask("bob", "deploy whenever somebody says go on")
    then = await team.ask("ada", "go on")

    assert (first.asked, first.people) == (("bob",), ("ada", "cyn"))
    assert (then.asked, then.people) == (("ada", "bob"), ("cyn",))


async def test_a_turn_that_was_taken_back_is_not_forgotten(team: Team) -> None:
    async with team.opened("bob") as session:
        await session.turn(prompt="deploy it")
        await session.undo()

    assert (await team.ask("ada", "deploy it, please")).people == ("cyn",)


async def test_who_wrote_a_prompt_that_another_person_sends_asked_as_well(team: Team) -> None:
    await team.ask("ada", "begin")
    async with team.opened("bob") as session:
        session.agent.run.queue(["deploy it"])
        await session.container.events().settle()

    assert (await team.ask("ada", "deploy it")).asked == ("ada", "bob")


async def test_who_only_looks_at_a_session_signs_its_calls(team: Team) -> None:
    await team.ask("ada", "deploy it")
    async with team.opened("bob"):
        pass

    assert (await team.ask("ada", "again")).people == ("bob", "cyn")


async def test_a_fork_knows_who_asked_in_the_session_that_it_comes_from(team: Team) -> None:
    async with team.opened("bob") as session:
        await session.turn(prompt="deploy soon")
        forked = await session.agent.record.archive.fork(session.agent.session_id)

    assert (await team.ask("ada", "now", forked)).asked == ("ada", "bob")


async def test_a_subagent_works_for_all_who_asked_in_the_session_of_its_owner(team: Team) -> None:
    await team.ask("bob", "begin")
    team.go_on_as("ada")
    async with task_rig(team.stage, {"look": [says("found")]}, choice=LatestSession()) as rig:
        await rig.turn(task("look"))
        told = rig.session.agent.record.archive.read(f"{rig.id}-t1")
        (started,) = (each.event for each in await told if isinstance(each.event, TurnStarted))

    assert started.asked_by == ("ada", "bob")


async def test_of_a_session_of_before_who_goes_on_is_known_to_have_asked(team: Team) -> None:
    async with team.opened("bob") as session:
        put(session.container.events(), _list_accounts=tuple)
        await session.turn(prompt="deploy soon")
        records = await session.agent.record.archive.read(session.agent.session_id)

    (started,) = (each.event for each in records if isinstance(each.event, TurnStarted))
    assert "asked_by" not in started.to_json()
    assert (await team.ask("ada", "now")).asked == ("ada",)
