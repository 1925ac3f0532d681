import asyncio
import json
import stat
import threading
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from quorum.application.calls.hook_chain import HookChain, HookRegistration
from quorum.application.event_bus import EventBus
from quorum.domain.calls.hook_points import Continue, ContinueWithMessages, Finish, HookAnswer, Skip
from quorum.domain.conversation.history import Message, UserMessage
from quorum.hooks.audit_log import AuditLog
from quorum.hooks.json_validator import JsonValidator
from quorum.hooks.rate_limiter import RateLimiter
from quorum.hooks.secret_masker import SecretMasker
from quorum.hooks.timestamp_injector import TimestampInjector
from quorum.hooks.tool_blocker import ToolBlocker
from quorum.infrastructure.hooks.registrations import PythonHook
from tests.support.hook_drafts import a_call_draft, a_conversation, a_request_draft, a_result_draft, an_answer

_NOON = datetime(2026, 1, 2, 12, 0, tzinfo=UTC)


def _chain(*inner: object) -> HookChain:
    return HookChain(
        [HookRegistration(name=type(one).__name__, hook=PythonHook(one)) for one in inner], EventBus([])
    )


class _Clock:
    """Seconds that pass only when asked to."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


# -------------------------------------------------------------------- tool blocker


@pytest.mark.parametrize(
    ("tool", "blocked"),
    [("write_file", True), ("run_command", True), ("read_file", False), ("Write_file", False)],
)
@pytest.mark.requirement("C10")
async def test_the_tool_blocker_skips_tools_whose_names_fit(tool: str, blocked: bool):
    answer = await _chain(ToolBlocker(["write_*", "run_command"], "no")).before_tool_call(a_call_draft(tool))

    assert answer == (Skip("no") if blocked else Continue())


# -------------------------------------------------------------------- audit log


@pytest.mark.requirement("C10")
async def test_the_audit_log_appends_a_line_of_json_for_all_it_sees(tmp_path: Path):
    path = tmp_path / "audit.jsonl"
    path.write_text("earlier\n")
    chain = _chain(AuditLog(str(path), now=lambda: _NOON))

    await chain.on_message_send(a_conversation()[:3])
    await chain.before_tool_call(a_call_draft())
    await chain.after_tool_call(a_result_draft("ä" * 10))
    await chain.on_turn_end(a_conversation())

    earlier, *lines = path.read_text().splitlines()
    request, call, result, end = (json.loads(line) for line in lines)
    time = {"time": "2026-01-02T12:00:00+00:00"}
    identity = {"batch_id": "batch-1", "turn_index": 0}
    assert earlier == "earlier"
    assert request == time | {"event": "on_message_send", "messages": 3}
    assert call == time | identity | {
        "event": "before_tool_call",
        "call_id": "call-0",
        "call_index": 0,
        "tool": "write_file",
        "risk": "high",
        "arguments": {"path": "a.txt", "content": "ä"},
    }
    assert result == time | identity | {
        "event": "after_tool_call",
        "call_id": "call-2",
        "call_index": 2,
        "tool": "read_file",
        "outcome": "ok",
        "output_bytes": 20,
    }
    assert end == time | {"event": "on_turn_end", "messages": 4}


async def test_the_audit_log_is_for_its_owner_alone_and_whole_however_many_write(tmp_path: Path):
    path = tmp_path / "audit.jsonl"
    chain = _chain(AuditLog(str(path)))

    await asyncio.gather(*(chain.before_tool_call(a_call_draft(index=index)) for index in range(50)))

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    indices = [json.loads(line)["call_index"] for line in path.read_text().splitlines()]
    assert sorted(indices) == list(range(50))


@pytest.mark.requirement("C11")
async def test_an_audit_log_that_cannot_be_written_lets_no_call_run(tmp_path: Path):
    answer = await _chain(AuditLog(str(tmp_path / "none/audit.jsonl"))).before_tool_call(a_call_draft())

    assert isinstance(answer, Skip)
    assert "No such file or directory" in answer.reason


async def test_an_audit_log_is_not_led_elsewhere_by_a_link(tmp_path: Path):
    other, link = tmp_path / "other", tmp_path / "audit.jsonl"
    other.write_text("mine\n")
    link.symlink_to(other)

    answer = await _chain(AuditLog(str(link))).before_tool_call(a_call_draft())

    assert isinstance(answer, Skip)
    assert "is a link, which is not followed" in answer.reason
    assert other.read_text() == "mine\n"


# -------------------------------------------------------------------- JSON validator


@pytest.mark.parametrize(
    "text", ['{"name": 1}', ' {"name": null, "more": []}\n', '```json\n{"name": 1}\n```', '```\n{"name": 1}```']
)
@pytest.mark.requirement("C10")
async def test_the_json_validator_lets_a_right_answer_pass(text: str):
    assert await _chain(JsonValidator(["name"])).on_turn_end((an_answer(text),)) == Finish()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("Here you are!", "it cannot be read (Expecting value"),
        ('{"name": 1} I hope this helps', "it cannot be read (Extra data"),
        ("[1]", "it is JSON, but no object"),
        ('{"nam": 1}', "it lacks name"),
        ("[" * 100_000, "it cannot be read"),
        ("", "it cannot be read"),
    ],
)
@pytest.mark.requirement("C10")
async def test_the_json_validator_tells_the_model_what_is_wrong(text: str, problem: str):
    answer = await _chain(JsonValidator(["name"])).on_turn_end((an_answer(text),))

    assert isinstance(answer, ContinueWithMessages)
    assert problem in answer.messages[0]


@pytest.mark.parametrize("messages", [(), (UserMessage("hello"),)])
async def test_the_json_validator_has_nothing_to_say_where_nobody_answered(messages: Sequence[Message]):
    assert await _chain(JsonValidator()).on_turn_end(tuple(messages)) == Finish()


# -------------------------------------------------------------------- timestamp injector


@pytest.mark.requirement("C10")
async def test_the_timestamp_injector_puts_the_time_before_everything_else():
    time = datetime(2026, 1, 2, 3, 4, 5, 678, tzinfo=timezone(timedelta(hours=9)))
    before = tuple(a_request_draft().messages)

    sent = await _chain(TimestampInjector(now=lambda: time)).on_message_send(before)

    assert sent == (UserMessage("[It is 2026-01-02T03:04:05+09:00.]"), *before)


async def test_the_timestamp_injector_knows_the_time_zone():
    request = a_request_draft()

    await TimestampInjector().on_message_send(request)

    first = request.messages[0]
    assert isinstance(first, UserMessage)
    assert datetime.fromisoformat(first.text[7:-2]).tzinfo is not None


# -------------------------------------------------------------------- secret masker

_KEY = "sk-ant-" + "a1B2-" * 6 + "_z"
_SECRETS = [
    _KEY,
    "sk-proj-0123456789abcdefgh",
    "ghp_0123456789abcdefghij0123",
    "github_pat_0123456789abcdefghij",
    "glpat-0123456789abcdefgh",
    "xoxb-0123456789-abcdef",
    "AKIA0123456789ABCDEF",
    "eyJhbGciOiJI.eyJzdWIiOiIx.SflKxwRJSM",
    "-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc\n-----END RSA PRIVATE KEY-----",
]


@pytest.mark.parametrize("secret", _SECRETS, ids=lambda secret: secret[:10])
@pytest.mark.requirement("C10")
async def test_the_secret_masker_takes_secrets_out_of_results(secret: str):
    result = a_result_draft(f"before é {secret} after, and again: {secret}\n")

    await _chain(SecretMasker()).after_tool_call(result)

    assert result.output == "before é [masked] after, and again: [masked]\n"


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("API_KEY=hunter2hunter2", "API_KEY=[masked]"),
        ("password: 'correct horse'", "password: '[masked] horse'"),
        ('{"db_password": "hunter22", "port": 5432}', '{"db_password": "[masked]", "port": 5432}'),
        (f"export AUTH_TOKEN={_KEY}", "export AUTH_TOKEN=[masked]"),
    ],
)
async def test_the_secret_masker_knows_telling_names(text: str, masked: str):
    result = a_result_draft(text)

    await _chain(SecretMasker()).after_tool_call(result)

    assert result.output == masked


@pytest.mark.parametrize(
    "text",
    ["", "the token is passed on", "def password(self): ...", "task-list-with-a-very-long-name", "x = secret"],
)
async def test_the_secret_masker_leaves_plain_text_alone(text: str):
    result = a_result_draft(text)

    await _chain(SecretMasker()).after_tool_call(result)

    assert result.output == text


async def test_the_secret_masker_takes_patterns_of_ones_own():
    result = a_result_draft("id 4711, name Ann")

    await _chain(SecretMasker([r"\b\d{4}\b", r"name (\w+)"], mask="***")).after_tool_call(result)

    assert result.output == "id ***, name ***"


def test_the_secret_masker_refuses_what_is_no_expression():
    with pytest.raises(ValueError, match="patterns holds what is no expression of RE2"):
        SecretMasker(["("])


# -------------------------------------------------------------------- rate limiter


@pytest.mark.requirement("C10")
async def test_the_rate_limiter_lets_so_many_calls_through_in_any_minute():
    clock = _Clock()
    chain = _chain(RateLimiter(2, clock=clock))
    answers: list[HookAnswer] = []

    for now in (100.0, 130.0, 159.5, 160.0, 161.0, 190.0):
        clock.now = now
        answers.append(await chain.before_tool_call(a_call_draft()))

    assert answers == [
        Continue(),
        Continue(),
        Skip("at most 2 calls a minute; try again in 1 s"),
        Continue(),
        Skip("at most 2 calls a minute; try again in 29 s"),
        Continue(),
    ]


@pytest.mark.requirement("C10")
async def test_the_rate_limiter_counts_right_for_several_sessions_and_threads_at_once():
    limiter = RateLimiter(50, clock=_Clock())
    answers: list[HookAnswer] = []
    together = threading.Barrier(8)

    def session() -> None:
        together.wait(30)
        answers.extend(asyncio.run(_ask(limiter, 25)))

    threads = [threading.Thread(target=session) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)

    assert len(answers) == 200
    assert answers.count(Continue()) == 50


async def _ask(limiter: RateLimiter, times: int) -> list[HookAnswer]:
    return list(await asyncio.gather(*(limiter.before_tool_call(a_call_draft()) for _ in range(times))))


def test_the_rate_limiter_refuses_a_limit_below_one():
    with pytest.raises(ValueError, match="per_minute must be 1 or more, not 0"):
        RateLimiter(0)


# -------------------------------------------------------------------- together


@pytest.mark.requirement("C08")
async def test_a_masker_before_a_log_keeps_secrets_out_of_both(tmp_path: Path):
    path = tmp_path / "audit.jsonl"
    result = a_result_draft("API_KEY=hunter2hunter2")

    await _chain(SecretMasker(), AuditLog(str(path))).after_tool_call(result)

    assert result.output == "API_KEY=[masked]"
    assert json.loads(path.read_text())["output_bytes"] == len("API_KEY=[masked]")
