"""Agent programs as members: they answer in text and in forms, call no tools, and leave nothing behind."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from quorum.application.review.ballot_paper import (
    QuorumPolicy,
    VoteTimeout,
    make_call_paper,
    request_ballot,
)
from quorum.application.structured_answer import AnswerForm, Unreadable, ask_in_form
from quorum.domain.conversation.history import Conversation
from quorum.domain.conversation.response import LlmResponse, Usage
from quorum.domain.errors import ProviderError, ProviderErrorKind
from quorum.domain.text.json_value import JsonObject
from quorum.infrastructure.config.model_tables import ProviderTable
from quorum.infrastructure.models.members.codex import drop_nulls, make_strict
from quorum.infrastructure.models.members.program_identity import ProgramIdentity
from quorum.infrastructure.models.registry import ProviderRegistry
from quorum.infrastructure.models.shared.api_client import ProviderSettings
from quorum.infrastructure.prices.model_figures import build_price_table
from quorum.infrastructure.provider_types import ProviderType
from tests.infrastructure.commands.command_bench import eventually
from tests.support.liveness import is_alive

SCHEMA: JsonObject = {
    "type": "object",
    "properties": {"verdict": {"type": "string"}, "note": {"type": "string"}},
    "required": ["verdict"],
}
FORM = AnswerForm("vote", {"name": "vote", "description": "", "input_schema": SCHEMA}, dict)

CLAUDE = """
sys.stdin.readline()
say({"type": "system", "subtype": "init", "claude_code_version": "9.8.7"})
say({"type": "result", "is_error": False, "result": "hello", "structured_output": {"verdict": "approve"}})
"""
CODEX = """
if "--version" in sys.argv:
    sys.exit(print("codex-cli 9.8.7"))
sys.stdin.read()
text = '{"verdict": "approve", "note": null}' if "--output-schema" in sys.argv else "hello"
say({"type": "item.completed", "item": {"type": "agent_message", "text": text}})
say({"type": "turn.completed", "usage": {}})
"""
ACP = """
INIT = {"protocolVersion": 1, "agentInfo": {"name": "an-agent", "title": "An Agent", "version": "9.8.7"}}
for line in sys.stdin:
    asked = json.loads(line)
    answer = {"initialize": INIT, "session/new": {"sessionId": "s"}}.get(asked["method"])
    if answer is None:
        prompt = asked["params"]["prompt"][0]["text"]
        text = '{"verdict": "approve"}' if "JSON object" in prompt else "hello"
        update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}
        say({"method": "session/update", "params": {"update": update}})
        answer = {"stopReason": "end_turn"}
    say({"id": asked["id"], "result": answer})
"""
PLAYS: dict[ProviderType, str] = {"claude-cli": CLAUDE, "codex": CODEX, "acp": ACP}
PROGRAMS: dict[ProviderType, str] = {
    "claude-cli": "Claude Code 9.8.7",
    "codex": "Codex 9.8.7",
    "acp": "An Agent 9.8.7",
}
CALLS: dict[ProviderType, str] = {
    "claude-cli": 'say({"type": "assistant", "message": {"content": [{"type": "tool_use", "name": "Bash"}]}})',
    "codex": 'say({"type": "item.started", "item": {"type": "command_execution", "command": "ls"}})',
    "acp": 'say({"id": 1, "method": "session/request_permission", "params": {}})',
}

IDLES = "\nimport time\ntime.sleep(600)\n"


def _open(tmp_path: Path, type_: ProviderType, play: str, timeout_secs: float = 30) -> ProviderRegistry:
    program = tmp_path / "agent"
    head = (
        f"#!{sys.executable}\nimport json, sys\ndef say(message):\n    print(json.dumps(message), flush=True)\n"
    )
    program.write_text(head + play)
    program.chmod(0o755)
    settings = ProviderSettings(type=type_, program=str(program), timeout_secs=timeout_secs, max_retries=0)
    return ProviderRegistry({"m": settings}, environ={"PATH": os.environ["PATH"], "HOME": str(tmp_path)})


async def _vote(registry: ProviderRegistry) -> JsonObject:
    async def count(_response: LlmResponse) -> None:
        """Nobody counts here."""

    conversation = Conversation()
    session = registry.open_session("m/default", conversation, "Judge.")
    return await ask_in_form(session, conversation, "May it run?", FORM, count=count)


@pytest.mark.parametrize("type_", PLAYS)
async def test_a_member_votes_among_noise_and_answers_in_words(type_: ProviderType, tmp_path: Path) -> None:
    registry = _open(tmp_path, type_, 'print("noise")\n' + PLAYS[type_])
    try:
        assert await _vote(registry) == {"verdict": "approve"}
        said = await registry.open_session("m/default", Conversation(), "").send("hi")
        identity = ProgramIdentity(None).describe(str(tmp_path / "agent"))
        assert (said.text_content(), said.program) == ("hello", f"{PROGRAMS[type_]}, {identity}")
    finally:
        await registry.aclose()


@pytest.mark.parametrize("type_", PLAYS)
async def test_a_member_that_calls_a_tool_is_refused(type_: ProviderType, tmp_path: Path) -> None:
    registry = _open(tmp_path, type_, CALLS[type_] + "\nsys.stdin.read()\n")
    with pytest.raises(ProviderError, match="it may only answer"):
        await _vote(registry)
    await registry.aclose()


@pytest.mark.parametrize(
    ("line", "tool"),
    [
        (
            "2026-11-30T13:07:55.273082Z  INFO codex_core::stream_events_utils: ToolCall: shell thread_id=0",
            "shell",
        ),
        (
            "2026-11-30T13:07:55.273237Z ERROR codex_core::tools::router: error=unsupported call: shell",
            "a tool",
        ),
    ],
)
async def test_a_call_that_codex_tells_of_in_its_log_alone_ends_it(
    line: str, tool: str, tmp_path: Path
) -> None:
    registry = _open(tmp_path, "codex", f"print({line!r}, file=sys.stderr, flush=True)\n" + IDLES)
    with pytest.raises(ProviderError, match=f"tried to use {tool} and was ended"):
        await _vote(registry)
    await registry.aclose()


async def test_codex_is_asked_to_log_the_calls_of_its_model(tmp_path: Path) -> None:
    play = 'import os\nsys.exit(os.environ["RUST_LOG"])\n'
    registry = _open(tmp_path, "codex", play)
    with pytest.raises(ProviderError, match="codex_core::stream_events_utils=info"):
        await _vote(registry)
    await registry.aclose()


async def test_claude_is_not_waited_for_once_its_login_was_refused_twice(tmp_path: Path) -> None:
    retry = '"subtype": "api_retry", "error": "authentication_failed", "error_status": 401'
    play = f'for each in (1, 2): say({{"type": "system", {retry}, "attempt": each}})\nsys.stdin.read()\n'
    registry = _open(tmp_path, "claude-cli", play + IDLES)
    with pytest.raises(ProviderError, match="claude auth login") as failed:
        await _vote(registry)
    await registry.aclose()
    assert failed.value.kind is ProviderErrorKind.AUTHENTICATION


RETRIES: dict[ProviderType, tuple[str, str]] = {
    "claude-cli": (
        'say({"type": "system", "subtype": "api_retry", "error": "overloaded", "error_status": 529})',
        "overloaded (529)",
    ),
    "codex": (
        'say({"type": "error", "message": "Reconnecting... 2/5 (no route)"})',
        "Reconnecting... 2/5 (no route)",
    ),
    "acp": ('print("waiting for a licence", file=sys.stderr, flush=True)', "waiting for a licence"),
}


async def test_a_member_that_gets_no_further_is_quoted(tmp_path: Path) -> None:
    play, quoted = RETRIES["codex"]
    registry = _open(tmp_path, "codex", play + IDLES, 2)
    with pytest.raises(ProviderError) as failed:
        await _vote(registry)
    await registry.aclose()
    assert failed.value.kind is ProviderErrorKind.TIMEOUT
    assert quoted in str(failed.value)


@pytest.mark.long(after=1)
@pytest.mark.parametrize("type_", PLAYS)
async def test_a_vote_that_does_not_come_in_time_quotes_the_member(type_: ProviderType, tmp_path: Path) -> None:
    play, quoted = RETRIES[type_]
    registry = _open(tmp_path, type_, play + IDLES)
    policy = QuorumPolicy(reviewers=("m/default",), vote_timeout_secs=2)

    async def count(_response: LlmResponse) -> None:
        """Nobody counts here."""

    with pytest.raises(VoteTimeout) as failed:
        await request_ballot(registry, policy, "m/default", make_call_paper("May it run?"), count=count)
    await registry.aclose()
    assert str(failed.value).startswith("no vote within 2 s; ")
    assert quoted in str(failed.value)


ACP_WITH_REMARKS = ACP.replace(
    'say({"id": asked["id"]',
    """if "prompt" in asked["params"]:
        remark = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": REMARK}}
        say({"method": "session/update", "params": {"update": remark}})
    say({"id": asked["id"]""",
).replace(
    '"content": {"type": "text", "text": text}}',
    '"messageId": "m1", "content": {"type": "text", "text": text}}',
)


async def test_what_an_agent_remarks_beside_its_answer_is_no_part_of_a_vote(tmp_path: Path) -> None:
    registry = _open(tmp_path, "acp", 'REMARK = "**Warning:** a setting is outdated"\n' + ACP_WITH_REMARKS)
    assert await _vote(registry) == {"verdict": "approve"}
    await registry.aclose()


async def test_two_votes_in_one_answer_are_none(tmp_path: Path) -> None:
    registry = _open(tmp_path, "acp", """REMARK = '{"verdict": "reject"}'\n""" + ACP_WITH_REMARKS)
    with pytest.raises(Unreadable):
        await _vote(registry)
    await registry.aclose()


async def test_a_member_that_asks_for_a_login_says_how_to_sign_in(tmp_path: Path) -> None:
    registry = _open(tmp_path, "claude-cli", 'sys.exit("Not logged in")\n')
    with pytest.raises(ProviderError, match="claude auth login") as failed:
        await _vote(registry)
    await registry.aclose()
    assert failed.value.kind is ProviderErrorKind.AUTHENTICATION


async def test_a_member_that_only_repeats_itself_is_ended(tmp_path: Path) -> None:
    registry = _open(tmp_path, "codex", 'while True: say({"type": "error", "message": "Reconnecting"})\n', 0.3)
    with pytest.raises(ProviderError) as failed:
        await _vote(registry)
    await registry.aclose()
    assert failed.value.kind is ProviderErrorKind.TIMEOUT


LINGERS = """
import os, signal, subprocess
signal.signal(signal.SIGTERM, signal.SIG_IGN)
own = [sys.executable, "-c", "import time; time.sleep(600)"]
helper = subprocess.Popen(own, start_new_session=True, stdin=subprocess.DEVNULL)
with open(os.environ["HOME"] + "/pids", "w") as file:
    print(os.getpid(), helper.pid, flush=True, file=file)
helper.wait()
"""
_QUORUM = """
import asyncio, sys
from pathlib import Path
from tests.infrastructure.providers.members.test_members import LINGERS, _open, _vote
asyncio.run(_vote(_open(Path(sys.argv[1]), "codex", LINGERS)))
"""


def _start_another_quorum(tmp_path: Path) -> subprocess.Popen[bytes]:
    repository = str(Path(__file__).parents[4])
    environ = {**os.environ, "PYTHONPATH": repository, "TMPDIR": str(tmp_path)}
    return subprocess.Popen([sys.executable, "-c", _QUORUM, str(tmp_path)], cwd=repository, env=environ)


async def _read_pids(tmp_path: Path) -> list[int]:
    file = tmp_path / "pids"
    await eventually(lambda: file.exists() and file.read_text().endswith("\n"))
    return [int(each) for each in file.read_text().split()]


@pytest.mark.long
async def test_nothing_of_a_member_outlives_quorum_when_that_is_killed(tmp_path: Path) -> None:
    with _start_another_quorum(tmp_path) as quorum:
        pids = await _read_pids(tmp_path)
        quorum.kill()
    await eventually(lambda: not any(map(is_alive, pids)))


async def test_nothing_of_a_member_outlives_a_review_that_is_given_up(tmp_path: Path) -> None:
    registry = _open(tmp_path, "codex", LINGERS)
    asking = asyncio.create_task(_vote(registry))
    pids = await _read_pids(tmp_path)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    await eventually(lambda: not any(map(is_alive, pids)))
    await registry.aclose()


async def test_a_member_cannot_do_the_work_of_a_session(tmp_path: Path) -> None:
    session = _open(tmp_path, "codex", CODEX).open_session("m/default", Conversation(), "")
    with pytest.raises(ProviderError, match="only answers"):
        await session.send_with_tools("hi", (FORM.schema,), on_event=lambda _event: None)


class _Looking:
    """Tools that a model may call before it answers."""

    schemas = (FORM.schema,)
    most_rounds = 1

    async def run(self, calls: object, round_index: int) -> tuple[()]:
        raise AssertionError("a member calls none")


async def test_a_member_answers_at_once_where_others_may_look_around(tmp_path: Path) -> None:
    registry = _open(tmp_path, "codex", CODEX)
    conversation = Conversation()
    session = registry.open_session("m/default", conversation, "")

    async def count(_response: LlmResponse) -> None:
        """Nobody counts here."""

    answer = await ask_in_form(session, conversation, "Right?", FORM, count=count, tools=_Looking())
    await registry.aclose()
    assert answer == {"verdict": "approve"}


def test_requests_of_a_member_are_paid_by_its_plan_unless_it_is_given_a_key() -> None:
    by_plan = ProviderTable(type="codex")
    by_key = ProviderTable(type="codex", api_key_env="KEY")
    prices = build_price_table({"plan": by_plan, "key": by_key}, {}, {})
    assert prices.compute_cost("plan/x", Usage(input=9)) == 0
    assert prices.compute_cost("key/x", Usage(input=9)) is None


def test_a_missing_program_is_named_with_the_remedy(tmp_path: Path) -> None:
    registry = ProviderRegistry({"m": ProviderSettings(type="codex")}, environ={"PATH": str(tmp_path)})
    with pytest.raises(ProviderError, match="npm install -g @openai/codex"):
        registry.open_exchange("m/default")


def test_fields_that_may_be_left_out_may_be_null_in_a_strict_schema() -> None:
    strict = make_strict(SCHEMA)
    assert isinstance(strict, dict)
    assert (strict["required"], strict["additionalProperties"]) == (["verdict", "note"], False)
    assert drop_nulls('{"verdict":"a","note":null}', SCHEMA) == '{"verdict":"a"}'
