"""When the mode `sandboxed` is offered, and what becomes of the answer."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from quorum.app.settings_service import FileSettingsService, SandboxOffer
from quorum.command_line.options import StartOptions
from quorum.infrastructure.execution.sandbox.sandbox import Sandbox
from quorum.settings import load
from tests.infrastructure.sandbox.sandbox_bench import Household, a_household, needs_bubblewrap
from tests.support.fake_ports import FakePerson


class _Person(FakePerson):
    def __init__(self, *, accepts: bool) -> None:
        super().__init__()
        self._accepts = accepts
        self.offered: list[str] = []

    async def offer_sandboxed(self, sandbox: str) -> bool:
        self.offered.append(sandbox)
        return self._accepts


@pytest.fixture
def household(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Household:
    made = a_household(tmp_path.resolve())
    for name in [name for name in os.environ if name.startswith(("QUORUM_", "XDG_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(made.home))
    return made


async def offered(household: Household, person: _Person, sandbox: Sandbox, **overrides: object) -> object:
    options = StartOptions(overrides={name.replace("__", "."): value for name, value in overrides.items()})
    service = FileSettingsService(options, household.root)
    return await SandboxOffer(load(options, household.root), service).make(person, sandbox)


def own_file(household: Household) -> str:
    file = household.home / ".config/quorum/quorum.toml"
    return file.read_text() if file.exists() else ""


@needs_bubblewrap
async def test_a_yes_is_kept_and_nothing_is_asked_again(household: Household) -> None:
    person = _Person(accepts=True)

    assert await offered(household, person, household.sandbox()) == (True, None)
    assert 'mode = "sandboxed"' in own_file(household)
    assert await offered(household, person, household.sandbox()) == (False, None)
    assert len(person.offered) == 1


@needs_bubblewrap
async def test_a_no_is_kept_as_well_and_sets_no_mode(household: Household) -> None:
    person = _Person(accepts=False)

    assert await offered(household, person, household.sandbox()) == (False, None)
    assert "offer_sandboxed = false" in own_file(household)
    assert "\nmode" not in own_file(household)
    assert await offered(household, person, household.sandbox()) == (False, None)
    assert len(person.offered) == 1


@needs_bubblewrap
async def test_where_a_mode_is_set_nothing_is_offered(household: Household) -> None:
    person = _Person(accepts=True)

    await offered(household, person, household.sandbox(), review__mode="ask")

    assert person.offered == []


async def test_where_the_sandbox_does_not_work_nothing_is_offered(household: Household) -> None:
    person = _Person(accepts=True)

    assert await offered(household, person, household.sandbox("off")) == (False, None)
    assert person.offered == []
    assert own_file(household) == ""


@needs_bubblewrap
async def test_an_answer_that_cannot_be_kept_counts_for_the_session_and_says_so(household: Household) -> None:
    household.write(".config/quorum", "in the way")

    accepts, note = await offered(household, _Person(accepts=True), household.sandbox())  # type: ignore[misc]

    assert accepts
    assert "counts for this session only" in note
