"""A session taken up where things are not as they were: another provider, other tools, another folder."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.infrastructure.commands.command_bench import eventually
from tests.support.headless_run import configure, environment, run, run_quorum_now
from tests.support.long_lived_rig import LongLived
from tests.support.request_rules import read_chat, read_messages
from tests.support.sse_server import Dialect, Hang, Say, ScriptedCall, SseServer

DIALECTS: tuple[Dialect, ...] = ("anthropic", "openai", "openai-chat")
KEY = "SCRIPTED_KEY"


class House:
    """A person's folders, and one scripted provider for each dialect."""

    def __init__(self, folder: Path, models: dict[Dialect, SseServer]) -> None:
        self.models = models
        self.home, self.project = folder / "home", folder.resolve() / "project"
        self.home.mkdir()
        self.project.mkdir()
        (self.project / "a.txt").write_text("alpha\n")
        self.env = environment(self.home, **{KEY: "no secret"})
        self.settle(DIALECTS)

    def settle(self, dialects: tuple[Dialect, ...], more: str = "") -> None:
        """Have only these providers, the first of them as the usual one."""
        providers = "".join(
            f'[providers.{name}]\ntype = "{name}"\nbase_url = "{self.models[name].base_url}"\n'
            f'api_key_env = "{KEY}"\nmax_retries = 0\n'
            for name in dialects
        )
        configure(self.home, f'[models]\ndecision = "{dialects[0]}/scripted"\n{providers}{more}')

    def sessions(self, *words: str) -> str:
        """What `quorum sessions` prints."""
        ended = run_quorum_now("sessions", *words, cwd=self.project, env=self.env)
        assert ended.code == 0, ended.err
        return ended.out

    async def go(self, dialect: Dialect, number: int, *words: str) -> dict[str, Any]:
        """A prompt with two calls; the request that brought their results."""
        model = self.models[dialect]
        calls = [
            ScriptedCall(f"c_{number}_0", "read_file", '{"path": "a.txt"}'),
            ScriptedCall(f"c_{number}_1", "read_file", '{"path": "missing.txt"}'),
        ]
        model.script = [
            Say(reasoning="I think", pieces=["I look"], calls=calls, stop="tool_use"),
            Say(reasoning="so", pieces=[f"answer {number}"]),
        ]
        ended = await run(f"prompt {number}", *words, cwd=self.project, env=self.env)
        assert (ended.code, ended.out) == (0, f"answer {number}\n"), ended.err
        return model.bodies[-1]


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    models = {dialect: SseServer(dialect) for dialect in DIALECTS}
    for model in models.values():
        await model.__aenter__()
    yield House(tmp_path, models)
    for model in models.values():
        await model.__aexit__()


@pytest.mark.long
async def test_a_session_goes_on_with_any_provider_after_any_other(house: House) -> None:
    order: tuple[Dialect, ...] = (
        "anthropic",
        "openai",
        "anthropic",
        "openai-chat",
        "openai",
        "openai-chat",
        "anthropic",
    )
    for number, dialect in enumerate(order):
        words = ["--continue"] if number else []
        body = await house.go(dialect, number, *words, "-m", f"{dialect}/scripted")
        expected = [f"prompt {each}" for each in range(number + 1)]
        match dialect:
            case "anthropic":
                assert [said[1] for said in read_messages(body) if said[0] == "user"] == expected
            case "openai-chat":
                assert [said[1] for said in read_chat(body) if said[0] == "user"] == expected
            case "openai":
                items = body["input"]
                assert [item["content"] for item in items if item.get("role") == "user"] == expected
                made = [item["call_id"] for item in items if item.get("type") == "function_call"]
                given = [item["call_id"] for item in items if item.get("type") == "function_call_output"]
                assert made == given
                assert len(made) == 2 * (number + 1)


@pytest.mark.long
async def test_a_model_that_cannot_be_had_any_more_is_reported_and_the_usual_one_goes_on(house: House) -> None:
    await house.go("openai", 0, "-m", "openai/scripted")
    house.settle(("anthropic",))
    house.models["anthropic"].script = [Say(pieces=["I go on"])]

    ended = await run("go on", "--continue", cwd=house.project, env=house.env)

    assert (ended.code, ended.out) == (0, "I go on\n")
    assert "The session's model, openai/scripted, cannot be used, so anthropic/scripted continues" in ended.err
    read_messages(house.models["anthropic"].bodies[-1])


@pytest.mark.long
async def test_calls_of_tools_that_are_gone_stay_what_they_were(house: House) -> None:
    tool = '[tools.custom.shout]\ndescription = "Shouts"\ncommand = ["sleep", "600"]\nrisk = "low"\n'
    house.settle(("anthropic",), tool)
    model = house.models["anthropic"]
    async with LongLived(cwd=house.project, env=house.env) as quorum:
        calls = [ScriptedCall("c1", "shout", "{}"), ScriptedCall("c2", "shout", "{}")]
        model.script = [Say(calls=calls, stop="tool_use")]
        quorum.order(prompt="shout")
        await quorum.until("call_started")
        quorum.kill()
    house.settle(("anthropic",))
    model.script = [Say(pieces=["I see"])]

    ended = await run("go on", "--continue", cwd=house.project, env=house.env)

    assert (ended.code, ended.out) == (0, "I see\n")
    results = [said[2] for said in read_messages(model.bodies[-1]) if said[0] == "result"]
    assert results[0].startswith("shout was running when the process died; its effect is unknown")
    assert results[1].startswith("not run: the process ended before its turn came")
    assert "shout" not in [tool["name"] for tool in model.bodies[-1]["tools"]]


@pytest.mark.long
async def test_a_redacted_session_goes_on_without_what_was_taken_out(house: House) -> None:
    (house.project / "a.txt").write_text("alpha planted omega\n")
    await house.go("anthropic", 0)
    house.sessions("redact", "latest", "planted")

    body = await house.go("anthropic", 1, "--continue")

    results = [said[2] for said in read_messages(body) if said[0] == "result"]
    assert "planted" not in results[0]
    assert "alpha" in results[0]
    assert "omega" in results[0]
    assert "planted" in results[2], "the file itself still holds it"


@pytest.mark.long
async def test_a_workspace_that_moved_is_found_by_the_sessions_id(house: House) -> None:
    house.models["anthropic"].script = [Say(pieces=["one"])]
    first = await run("first", "--output", "json", cwd=house.project, env=house.env)
    session = first.report["session_id"]
    moved = house.project.rename(house.project.with_name("moved"))
    model = house.models["anthropic"]
    model.script = [Say(pieces=["new"]), Say(pieces=["two"]), Say(pieces=["three"])]

    new = await run("x", "--continue", "--output", "json", cwd=moved, env=house.env)
    assert new.report["session_id"] != session
    assert f"There is no session of {moved} to continue; this is a new one." in new.err

    taken_up = await run("second", "--resume", session, "--output", "json", cwd=moved, env=house.env)
    assert (taken_up.code, taken_up.report["session_id"]) == (0, session)
    by_continuing = await run("third", "--continue", "--output", "json", cwd=moved, env=house.env)
    assert by_continuing.report["session_id"] == session
    asked = [s[1] for s in read_messages(model.bodies[-1]) if s[0] == "user"]
    first_prompt, told, *others = asked
    assert (first_prompt, *others) == ("first", "second", "third")
    assert f"Working directory: {moved}" in told  # the model is told of the move


@pytest.mark.long
async def test_a_workspace_that_was_deleted_is_reported(house: House) -> None:
    house.models["anthropic"].script = [Say(pieces=["one"])]
    await run("first", cwd=house.project, env=house.env)
    (house.project / "a.txt").unlink()
    house.project.rmdir()

    ended = await run("x", "--continue", "-C", str(house.project), cwd=house.home, env=house.env)

    assert (ended.code, ended.out) == (2, "")
    assert f"cannot work in {house.project}" in ended.err


@pytest.mark.long
async def test_files_of_a_workspace_that_moved_are_not_given_back_to_the_old_place(house: House) -> None:
    model = house.models["anthropic"]
    write = ScriptedCall("c1", "run_command", json.dumps({"command": "printf new > a.txt"}))
    async with LongLived(cwd=house.project, env=house.env) as quorum:
        model.script = [Say(calls=[write], stop="tool_use"), Say(pieces=["written"])]
        assert await quorum.do(prompt="write") == "completed"
        assert await quorum.close() == ""
    session = json.loads(house.sessions("list", "--json"))[0]["id"]
    moved = house.project.rename(house.project.with_name("moved"))
    model.script = [Say(pieces=["moved"])]
    assert (await run("go on", "--resume", session, cwd=moved, env=house.env)).code == 0

    async with LongLived("--continue", cwd=moved, env=house.env) as quorum:
        reported = await quorum.do(rewind=0, overwrite=True)

    assert not house.project.exists()
    assert (moved / "a.txt").read_text() == "new"
    assert reported.startswith("RestoreError: 0 files were given back, 1 could not be")
    assert str(house.project / "a.txt") in reported


@pytest.mark.long
async def test_a_request_that_was_under_way_is_asked_again_of_another_provider(house: House) -> None:
    model = house.models["openai"]
    async with LongLived(cwd=house.project, env=house.env) as quorum:
        house.models["anthropic"].script = [Hang("silent")]
        quorum.order(prompt="first")
        await eventually(lambda: house.models["anthropic"].bodies)
        quorum.kill()
    model.script = [Say(pieces=["here"])]

    ended = await run("second", "--continue", "-m", "openai/scripted", cwd=house.project, env=house.env)

    assert (ended.code, ended.out) == (0, "here\n")
    users = [item["content"] for item in model.bodies[-1]["input"] if item.get("role") == "user"]
    assert users == ["first", "second"]
