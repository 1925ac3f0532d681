import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from quorum.api import RecordingHook
from quorum.application.calls.hook_chain import HookMatcher, HookRegistration
from quorum.application.calls.hooks import Hook, RequestDraft
from quorum.domain.calls.hook_points import (
    Abort,
    Continue,
    ContinueWithMessages,
    HookAnswer,
    HookPoint,
    OnHookError,
    Skip,
    describe_point,
)
from quorum.domain.calls.tool import RiskLevel
from quorum.domain.conversation.history import UserMessage
from quorum.domain.errors import ConfigError
from quorum.domain.text.json_value import JsonValue
from quorum.hooks.secret_masker import SecretMasker
from quorum.infrastructure.hooks.registrations import PythonHook
from quorum.infrastructure.hooks.trial import find_registration, read_call, try_hook
from tests.infrastructure.hooks.hook_bench import Programs

_CALL: Mapping[str, JsonValue] = {"tool": "write_file", "arguments": {"path": "a.txt"}}


def _registration(hook: Hook, *points: HookPoint, **options: object) -> HookRegistration:
    return HookRegistration(
        name="gate",
        hook=hook,
        points=frozenset(points or (HookPoint.BEFORE_TOOL_CALL,)),
        **options,  # type: ignore[arg-type]
    )


async def _try_hook(registration: HookRegistration, call: Mapping[str, JsonValue] = _CALL) -> list[str]:
    """The lines without their durations, which each first line must have."""
    text = await try_hook(registration, call)
    assert re.search(r"^\w+: \w+ \(\d+(\.\d+)? m?s\)", text) or "not asked" in text
    return [line.strip() for line in re.sub(r" \(\d+(\.\d+)? m?s\)", "", text).split("\n")]


@pytest.mark.requirement("C11")
async def test_a_trial_tells_the_answer_and_the_edited_arguments(programs: Programs):
    hook = programs.hook("answer(arguments=given['call']['arguments'] | {'mode': 'ä'})")

    assert await _try_hook(_registration(hook)) == [
        "before_tool_call: continue",
        'arguments: {"path": "a.txt", "mode": "ä"}',
    ]


@pytest.mark.requirement("C11")
async def test_a_trial_gives_the_hook_the_call_as_it_stands_in_the_file():
    hook = RecordingHook()

    await try_hook(_registration(hook), {**_CALL, "risk": "low", "paths": ["/ws/a.txt"]})

    seen = hook.seen[0]
    assert getattr(seen, "arguments", None) == {"path": "a.txt"}
    assert getattr(seen, "risk", None) is RiskLevel.LOW
    assert getattr(seen, "paths", None) == ("/ws/a.txt",)


@pytest.mark.parametrize("point", HookPoint)
async def test_a_hook_is_tried_at_each_point_with_the_key_that_its_description_names(point: HookPoint) -> None:
    hook, key = RecordingHook(), describe_point(point).tried_with
    given: JsonValue = [{"role": "user", "text": "x"}] if key == "messages" else "x"

    await try_hook(_registration(hook, point), {"tool": "read_file", key: given})

    assert hook.points == (point,)


@pytest.mark.requirement("C11")
async def test_a_trial_tells_what_follows_from_a_skip_and_an_abort():
    skip = RecordingHook(before_tool_call=[Skip("protected")], after_tool_call=[Skip("private")])
    abort = RecordingHook(before_tool_call=[Abort("enough")])
    points = (HookPoint.BEFORE_TOOL_CALL, HookPoint.AFTER_TOOL_CALL)

    assert await _try_hook(_registration(skip, *points), {**_CALL, "result": "text"}) == [
        "before_tool_call: skip",
        "reason: protected",
        "follows: the call does not run",
        "after_tool_call: skip",
        "reason: private",
        "follows: the result is withheld",
    ]
    assert await _try_hook(_registration(abort)) == [
        "before_tool_call: abort",
        "reason: enough",
        "follows: the hook gate ended the run: enough",
    ]


@pytest.mark.requirement("C11")
async def test_a_trial_tells_an_error_and_what_it_means(programs: Programs):
    closed = await _try_hook(_registration(programs.hook("sys.exit('boom')")))
    opened = await _try_hook(_registration(programs.hook("sys.exit('boom')"), on_error=OnHookError.OPEN))

    assert closed[0] == "before_tool_call: error"
    assert closed[1].startswith("error: ")
    assert closed[1].endswith("exited with 1: boom")
    assert closed[2] == "follows: the call does not run"
    assert opened == closed[:2]


@pytest.mark.requirement("C11")
async def test_a_trial_is_bounded_in_time(programs: Programs):
    hook = programs.command("sleep", "60")

    lines = await _try_hook(_registration(hook, timeout_secs=0.2))

    assert lines[:2] == ["before_tool_call: error", "error: took longer than 0.2 s"]


@pytest.mark.requirement("C11")
async def test_a_trial_tells_an_edited_result():
    hook = _registration(PythonHook(SecretMasker()), HookPoint.AFTER_TOOL_CALL)

    assert await _try_hook(hook, {"tool": "read_file", "result": "API_KEY=hunter2hunter2"}) == [
        "after_tool_call: continue",
        'result: "API_KEY=[masked]"',
    ]


@pytest.mark.requirement("C11")
async def test_a_trial_tells_edited_requests_and_new_messages():
    def insert(request: RequestDraft) -> HookAnswer:
        request.messages.insert(0, UserMessage("first"))
        return Continue()

    hook = RecordingHook(on_message_send=[insert], on_turn_end=[ContinueWithMessages(("again",))])
    messages: list[JsonValue] = [{"role": "user", "text": "q"}, {"role": "assistant", "text": "a"}]

    lines = await _try_hook(
        _registration(hook, HookPoint.ON_MESSAGE_SEND, HookPoint.ON_TURN_END), {"messages": messages}
    )

    assert lines[0] == "on_message_send: continue"
    assert '{"index": 0, "role": "user", "text": "first"}' in lines[1]
    assert lines[2:] == ["on_turn_end: continue_with_messages", 'messages: ["again"]']


@pytest.mark.requirement("C11")
async def test_a_trial_says_when_the_hook_is_not_asked_about_such_a_call():
    hook = RecordingHook()

    lines = await _try_hook(_registration(hook, matcher=HookMatcher(tools=("read_*",))))

    assert lines == ["before_tool_call: not asked; its tools, risk or paths do not fit this call"]
    assert hook.seen == []


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        ({}, 'the hook gate runs at before_tool_call: the call needs "tool" for that'),
        ({"tool": 1}, "tool of the call must be the name of a tool"),
        ({"result": "x"}, "tool of the call must be the name of a tool"),
        ({**_CALL, "arguments": []}, "arguments of the call must be an object"),
        ({**_CALL, "risk": "some"}, "risk of the call must be one of low, high"),
        ({**_CALL, "outcome": 1}, "outcome of the call must be one of ok, error"),
        ({**_CALL, "paths": "a"}, "paths of the call must be a list of texts"),
        ({**_CALL, "paths": [1]}, "paths of the call must be a list of texts"),
        ({**_CALL, "result": 1}, "result of the call must be a text"),
        ({**_CALL, "messages": [1]}, "messages of the call must be a list of"),
        ({**_CALL, "argument": {}}, 'the call has "argument", which means nothing; it knows tool, arguments'),
    ],
)
async def test_a_wrong_call_is_identified_by_its_key(call: Mapping[str, JsonValue], sentence: str):
    with pytest.raises(ConfigError) as caught:
        await try_hook(_registration(RecordingHook()), call)

    assert str(caught.value).startswith(sentence)


async def test_what_a_hook_says_reaches_no_terminal_as_control_characters():
    hook = RecordingHook(before_tool_call=[Skip("red \x1b[31m\u202e\nsecond line")])

    text = await try_hook(_registration(hook), _CALL)

    assert all(line.isprintable() for line in text.split("\n"))
    assert "\\u001b[31m\\u202e" in text


def test_a_call_is_read_from_a_file(tmp_path: Path):
    file = tmp_path / "call.json"
    file.write_text('{"tool": "write_file", "arguments": {"path": "ä"}}', encoding="utf-8")

    assert read_call(file) == {"tool": "write_file", "arguments": {"path": "ä"}}


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"{", "is not JSON (Expecting"),
        (b"\xff", "is not JSON ("),
        (b"[" * 100_000, "is not JSON ("),
        (b"[]", "must hold a JSON object, such as"),
        (None, "cannot be read: No such file or directory; name a file that holds a call"),
    ],
)
def test_a_file_that_holds_no_call_is_named(tmp_path: Path, content: bytes | None, sentence: str):
    file = tmp_path / "call.json"
    if content is not None:
        file.write_bytes(content)

    with pytest.raises(ConfigError) as caught:
        read_call(file)

    assert str(caught.value).startswith(f"{file} {sentence}")


def test_a_hook_is_found_by_its_name():
    registration = _registration(RecordingHook())

    assert find_registration([registration], "gate") is registration
    with pytest.raises(ConfigError, match="there is no enabled hook gat; the hooks are gate"):
        find_registration([registration], "gat")
    with pytest.raises(ConfigError, match="there is none at all: declare"):
        find_registration([], "gate")
