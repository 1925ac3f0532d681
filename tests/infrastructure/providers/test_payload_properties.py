"""Any history makes a request that says what was said, and that no provider refuses."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorum.domain.calls.tool import ToolResultMessage
from quorum.domain.conversation.attachment import Image
from quorum.domain.conversation.history import (
    AssistantMessage,
    Conversation,
    Message,
    ToolResults,
    UserMessage,
    find_unpaired_call,
)
from quorum.domain.conversation.response import (
    END_TURN,
    MAX_TOKENS,
    PAUSE,
    REFUSAL,
    TOOL_USE,
    ContentBlock,
    LlmResponse,
    OpaqueBlock,
    ReasoningBlock,
    StopKind,
    StopReason,
    TextBlock,
    ToolUseBlock,
)
from quorum.domain.replacing import replace
from quorum.domain.text.json_value import JsonObject, JsonValue
from quorum.infrastructure.models.anthropic.client import build_messages_history, build_messages_payload
from quorum.infrastructure.models.openai_chat.payload import CALL_EXTRA, build_chat_history, build_chat_payload
from quorum.infrastructure.models.openai_responses.payload import (
    MESSAGE_PHASE,
    build_responses_history,
    build_responses_payload,
)
from quorum.infrastructure.models.shared import request_body
from quorum.infrastructure.models.shared.api_client import ApiRequest
from quorum.infrastructure.models.shared.json_fields import replace_surrogates
from quorum.infrastructure.models.shared.rendered_history import RenderedHistory
from quorum.infrastructure.models.shared.request_body import BodyEncoder, encode_body
from tests.support.examples import examples
from tests.support.request_rules import Said, read_chat, read_messages, read_responses
from tests.support.sse_server import Dialect

DIALECTS: tuple[Dialect, ...] = ("anthropic", "openai", "openai-chat")
OWN, OTHER = "p", "q"
TOOL: JsonObject = {"name": "t", "description": "d", "input_schema": {"type": "object"}}

TEXTS = st.one_of(
    st.sampled_from(["", " ", "\n\t", "word", "ends in space \n", "ä🐟", "\ud83d", "a\x00b\x1b[2J"]),
    st.text(max_size=12),
)
IDS = st.one_of(
    st.sampled_from(
        ["call_0", "call:1", "call.1", "functions.read:0", "é", "x" * 70, "x" * 69 + ".", "toolu_1"]
    ),
    st.text(min_size=1, max_size=6),
)
NAMES = st.sampled_from(["read_file", "browser.tabs.open", "<|channel|>", "n" * 90, "ä", "run-command"])
INPUTS = st.dictionaries(st.sampled_from(["path", "n", "ü"]), st.sampled_from(["x", 1, None, [1.5], {"a": ""}]))
THINKING: dict[Dialect, list[JsonObject]] = {
    "anthropic": [
        {"type": "thinking", "thinking": "hm", "signature": "s1=="},
        {"type": "thinking", "thinking": "cut off", "signature": ""},
        {"type": "redacted_thinking", "data": "opaque"},
    ],
    "openai": [
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "e1"},
        {"type": "reasoning", "id": "rs_2", "summary": []},
        {"type": "reasoning", "id": "rs_3", "summary": [{"type": "summary_text", "text": "hm"}]},
    ],
    "openai-chat": [
        {"reasoning_content": "hm"},
        {"reasoning_details": [{"type": "reasoning.text", "text": "x"}]},
    ],
}
OPAQUE: dict[Dialect, list[list[JsonObject]]] = {
    "anthropic": [
        [{"type": "compaction", "content": "…"}],
        [{"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {}}],
        [
            {"type": "server_tool_use", "id": "srv_2", "name": "web_search", "input": {}},
            {"type": "web_search_tool_result", "tool_use_id": "srv_2", "content": []},
        ],
    ],
    "openai": [
        [{"type": "web_search_call", "id": "ws_1", "status": "completed"}],
        [{"type": MESSAGE_PHASE, "phase": "commentary"}],
    ],
    "openai-chat": [[{"type": "of a later version"}]],
}


def _calls(draw: st.DrawFn, dialect: Dialect, owner: str) -> list[ContentBlock]:
    ids = draw(st.lists(IDS, min_size=1, max_size=3, unique=True))
    blocks: list[ContentBlock] = []
    for call_id in ids:
        problem = draw(st.sampled_from([None, None, "the arguments are not valid JSON"]))
        given_input = {} if problem else draw(INPUTS)
        blocks.append(ToolUseBlock(id=call_id, name=draw(NAMES), input=given_input, parse_error=problem))
        if dialect == "openai-chat" and draw(st.booleans()):
            extra: JsonObject = {
                "type": CALL_EXTRA,
                "id": call_id,
                "fields": {"extra_content": {"signature": "z"}},
            }
            blocks.append(OpaqueBlock(provider=owner, payload=extra))
    return blocks


@st.composite
def _answers(draw: st.DrawFn, dialect: Dialect) -> LlmResponse:
    """An answer of either provider. Thinking comes first, as it does from the services; the rest anyhow."""
    owner = draw(st.sampled_from([OWN, OWN, OTHER]))
    stop = draw(
        st.sampled_from(
            [END_TURN, TOOL_USE, TOOL_USE, MAX_TOKENS, REFUSAL, PAUSE, StopReason(StopKind.OTHER, "?")]
        )
    )
    rest: list[ContentBlock] = [TextBlock(text) for text in draw(st.lists(TEXTS, max_size=2))]
    if stop is TOOL_USE or draw(st.booleans()):
        rest += _calls(draw, dialect, owner)
    rest = draw(st.permutations(rest))
    at = draw(st.integers(0, len(rest)))
    for group in draw(st.lists(st.sampled_from(OPAQUE[dialect]), max_size=2, unique_by=str)):
        rest[at:at] = [OpaqueBlock(provider=owner, payload=payload) for payload in group]
    thoughts = draw(st.lists(st.sampled_from(THINKING[dialect]), max_size=2, unique_by=str))
    thinking: list[ContentBlock] = [ReasoningBlock(provider=owner, payload=one, text="hm") for one in thoughts]
    return LlmResponse(content=(*thinking, *rest), stop_reason=stop)


def _results(draw: st.DrawFn, conversation: Conversation) -> list[ToolResultMessage]:
    """One result for each open call: of every outcome that the program knows."""
    outcomes = st.sampled_from([(False, False), (True, False), (False, True)])
    return [
        ToolResultMessage(
            tool_use_id=call.native_id,
            tool_name=call.tool_name,
            output=draw(TEXTS),
            is_error=is_error or call.parse_error is not None,
            is_rejected=is_rejected,
        )
        for call in conversation.open_calls
        for is_error, is_rejected in [draw(outcomes)]
    ]


@st.composite
def _histories(draw: st.DrawFn, dialect: Dialect) -> tuple[Message, ...]:
    """What prompts, answers, results, cancellations and resumes leave behind, up to a request."""
    conversation = Conversation()
    for step in draw(
        st.lists(st.sampled_from(["user", "answer", "answer", "cancelled", "resume"]), max_size=9)
    ):
        if conversation.open_calls and step != "resume":
            conversation.add_results(_results(draw, conversation))
        match step:
            case "user":
                conversation.add_user(draw(TEXTS))
            case "answer":
                conversation.add_response(draw(_answers(dialect)))
            case "cancelled":
                stop = StopReason(StopKind.OTHER, "interrupted")
                text = draw(TEXTS.filter(str.strip))
                conversation.add_response(LlmResponse(content=(TextBlock(text),), stop_reason=stop))
            case _:
                conversation = Conversation(conversation.messages)
    if conversation.open_calls:
        conversation.add_results(_results(draw, conversation))
    assert find_unpaired_call(conversation.messages) is None
    return conversation.messages


Build = Callable[[ApiRequest], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Api:
    """A form of request: how one after the other is built, how it is read, and what of an answer it can say."""

    builder: Callable[[], Build]
    read: Callable[[dict[str, Any]], list[Said]]
    texts: Callable[[LlmResponse], list[str]]
    tells_failure: bool

    def build(self, request: ApiRequest) -> dict[str, Any]:
        """The first request of all."""
        return self.builder()(request)


APIS: dict[Dialect, Api] = {
    "anthropic": Api(
        builder=lambda: partial(build_messages_payload, history=build_messages_history(OWN), max_tokens=9),
        read=read_messages,
        texts=lambda response: [b.text for b in response.content if isinstance(b, TextBlock)],
        tells_failure=True,
    ),
    "openai": Api(
        builder=lambda: partial(
            build_responses_payload, history=build_responses_history(OWN), max_tokens=9, wants_reasoning=True
        ),
        read=read_responses,
        texts=lambda response: [b.text for b in response.content if isinstance(b, TextBlock)],
        tells_failure=False,
    ),
    "openai-chat": Api(
        builder=lambda: partial(
            build_chat_payload, history=build_chat_history(OWN), max_tokens=9, max_tokens_field="max_tokens"
        ),
        read=read_chat,
        texts=lambda response: [response.text_content()],
        tells_failure=False,
    ),
}


def _request(messages: Sequence[Message]) -> ApiRequest:
    return ApiRequest(model="m", system="s", messages=tuple(messages), tools=(TOOL,), tool_choice="auto")


def _meant(messages: Sequence[Message], api: Api) -> list[Said]:
    """What the history says, in the words of `Said`, without what only its owner understands."""
    said: list[Said] = []
    numbers: dict[str, int] = {}
    count = 0
    for message in messages:
        match message:
            case UserMessage(text):
                said.append(("user", replace_surrogates(text) if text.strip() else "(empty message)"))
            case ToolResults(results):
                for result in results:
                    output = replace_surrogates(result.output) if result.output.strip() else "(no output)"
                    failed = (result.is_error or result.is_rejected) if api.tells_failure else None
                    said.append(("result", numbers[result.tool_use_id], output, failed))
            case AssistantMessage(response):
                said += [("text", replace_surrogates(text)) for text in api.texts(response) if text.strip()]
                for block in response.content:
                    if isinstance(block, ToolUseBlock):
                        numbers[block.id], count = count, count + 1
                        name = re.sub(r"[^a-zA-Z0-9_-]", "_", block.name)[:64]
                        said.append(("call", numbers[block.id], name, block.input))
    return said


def _in_order_of_answers(said: Sequence[Said], *, merge_continuations: bool) -> list[Said]:
    """What was said, the texts and calls of one answer apart; without the prompts that no person gave."""
    ordered: list[Said] = []
    texts: list[Said] = []
    calls: list[Said] = []
    for one in said:
        if one[0] == "text":
            texts.append(one)
        elif one[0] == "call":
            calls.append(one)
        elif one[0] != "kept" and not (merge_continuations and one == ("user", "(go on)")):
            ordered += [*texts, *calls, one]
            texts, calls = [], []
    return [*ordered, *texts, *calls]


def _own_blocks(messages: Sequence[Message]) -> list[tuple[LlmResponse, ReasoningBlock | OpaqueBlock]]:
    return [
        (message.response, block)
        for message in messages
        if isinstance(message, AssistantMessage)
        for block in message.response.content
        if isinstance(block, ReasoningBlock | OpaqueBlock) and block.provider == OWN
    ]


def _is_needed(dialect: Dialect, response: LlmResponse, block: ReasoningBlock | OpaqueBlock) -> bool:
    """Whether reasoning must go back: it is whole, and what was answered upon it goes back too."""
    if isinstance(block, OpaqueBlock):
        return False
    is_whole = any(block.payload.get(key) for key in ("signature", "data", "encrypted_content", "summary"))
    if dialect == "openai-chat":
        return any(isinstance(b, ToolUseBlock) for b in response.content)
    return is_whole and (bool(response.text_content().strip()) or response.has_tool_calls())


MANY = examples(150)


@pytest.mark.long(after=1)
@pytest.mark.parametrize("dialect", DIALECTS)
@MANY
@given(data=st.data())
def test_a_request_says_what_the_history_says_and_breaks_no_rule(dialect: Dialect, data: st.DataObject) -> None:
    messages, api = data.draw(_histories(dialect)), APIS[dialect]
    said = api.read(api.build(_request(messages)))
    found, meant = (
        _in_order_of_answers(one, merge_continuations=True) for one in (said, _meant(messages, api))
    )
    if found and meant and found[-1][0] == "text":  # that of a paused answer may not end in white space
        found[-1], meant[-1] = (("text", one[-1][1].rstrip()) for one in (found, meant))
    assert found == meant


@pytest.mark.parametrize("dialect", DIALECTS)
@MANY
@given(data=st.data())
def test_reasoning_goes_back_to_its_owner_unchanged_and_to_no_other(
    dialect: Dialect, data: st.DataObject
) -> None:
    messages, api = data.draw(_histories(dialect)), APIS[dialect]
    kept = [one[1] for one in api.read(api.build(_request(messages))) if one[0] == "kept"]
    own = [block.payload for _, block in _own_blocks(messages)]
    needed = [
        block.payload for response, block in _own_blocks(messages) if _is_needed(dialect, response, block)
    ]
    if dialect == "openai-chat":  # there all reasoning of an answer stands in one message
        fields = [{key: value} for payload in kept for key, value in payload.items()]
        assert all(field in own for field in fields)
        assert all(payload in fields for payload in needed)
        return
    phases = [payload["phase"] for payload in own if payload["type"] == MESSAGE_PHASE]
    payloads = iter(own)
    for payload in kept:
        where = payloads if isinstance(payload, dict) else phases
        assert payload in where, "changed, of another, or out of order"
    sent = iter(kept)
    assert all(payload in sent for payload in needed)


@pytest.mark.long(after=1)
@pytest.mark.parametrize("dialect", DIALECTS)
@MANY
@given(data=st.data())
def test_a_longer_history_begins_as_the_shorter_one_did(dialect: Dialect, data: st.DataObject) -> None:
    messages, api = data.draw(_histories(dialect)), APIS[dialect]
    ends = [n for n, message in enumerate(messages) if isinstance(message, UserMessage | ToolResults)]
    if not ends:
        return
    shorter = messages[: data.draw(st.sampled_from(ends)) + 1]
    before, after = (api.read(api.build(_request(part))) for part in (shorter, messages))
    assert after[: len(before)] == before


PICTURE = Image(name="a.png", media_type="image/png", width=1, height=1, size_bytes=4, sha256="ab" * 32)


@pytest.mark.long
@pytest.mark.parametrize("dialect", DIALECTS)
@MANY
@given(data=st.data())
def test_what_was_sent_before_changes_nothing_of_what_is_sent_and_stays_as_it_was(
    dialect: Dialect, data: st.DataObject
) -> None:
    firsts = [UserMessage("look", images=(PICTURE,)) for _ in range(6)]
    conversations = [
        (data.draw(st.sampled_from(firsts)), *data.draw(_histories(dialect)))
        for _ in range(data.draw(st.integers(1, 6), label="conversations"))
    ]
    built_by_one, encoder, sent = APIS[dialect].builder(), BodyEncoder(), []
    for _ in range(data.draw(st.integers(2, 12), label="requests")):
        conversation = data.draw(st.sampled_from(conversations))
        request = _request(conversation[: data.draw(st.integers(0, len(conversation)))])
        if data.draw(st.booleans()):
            request = replace(
                request, attachments={PICTURE.sha256: data.draw(st.sampled_from(["AAAA", "BBBB"]))}
            )
        body = built_by_one(request)
        assert body == APIS[dialect].build(request)
        assert encoder.encode(body) == encode_body(body)
        sent.append((body, deepcopy(body)))
    assert all(body == as_sent for body, as_sent in sent)


def test_a_conversation_that_goes_on_is_rendered_from_where_it_stood() -> None:
    rendered: list[Message] = []

    def render(message: Message, _request: ApiRequest) -> list[str]:
        rendered.append(message)
        return [type(message).__name__]

    history = RenderedHistory(lambda: render)
    messages = [UserMessage(str(n)) for n in range(20)]
    assert history.render(_request(messages[:10])) == ["UserMessage"] * 10
    assert history.render(_request(messages)) == ["UserMessage"] * 20
    assert rendered == messages

    history.render(_request([*messages[:15], UserMessage("another")]))  # as after a rewind
    assert rendered[20:] == [*messages[:15], UserMessage("another")]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_of_a_conversation_that_goes_on_only_what_is_new_is_encoded(
    dialect: Dialect, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []

    def encode_and_count(body: JsonValue) -> bytes:
        sizes.append(len(encoded := encode_body(body)))
        return encoded

    monkeypatch.setattr(request_body, "encode_body", encode_and_count)
    conversation, encoder, build = Conversation(), BodyEncoder(), APIS[dialect].builder()
    conversation.add_user("begin")
    per_turn: list[int] = []
    for turn in range(60):
        call = ToolUseBlock(id=f"c{turn}", name="read_file", input={"path": f"{turn}.py"})
        conversation.add_response(LlmResponse(content=(call,), stop_reason=TOOL_USE))
        (asked,) = conversation.open_calls
        conversation.add_results(
            [ToolResultMessage(tool_use_id=asked.native_id, tool_name=asked.tool_name, output="line\n" * 100)]
        )
        sizes.clear()
        body = build(_request(conversation.messages))
        assert encoder.encode(body) == encode_body(body)
        per_turn.append(sum(sizes))

    assert max(per_turn[10:]) < 1.1 * min(per_turn[10:])


HISTORIES: list[tuple[Message, ...]] = [
    (),
    (UserMessage(" "),),
    (AssistantMessage(LlmResponse.from_text("hello")),),
    (UserMessage("a"), AssistantMessage(LlmResponse.from_text("half ")), UserMessage("")),
]


@pytest.mark.parametrize("messages", HISTORIES)
def test_even_a_history_that_says_nothing_makes_a_request_to_anthropic(messages: tuple[Message, ...]) -> None:
    said = read_messages(APIS["anthropic"].build(_request(messages)))
    assert said[0][0] == said[-1][0] == "user"


def test_calls_of_one_id_in_two_answers_keep_their_own_results() -> None:
    def answer() -> AssistantMessage:
        return AssistantMessage(
            LlmResponse(content=(ToolUseBlock(id="call_0", name="t", input={}),), stop_reason=TOOL_USE)
        )

    def results(output: str) -> ToolResults:
        return ToolResults((ToolResultMessage(tool_use_id="call_0", tool_name="t", output=output),))

    messages = (UserMessage("a"), answer(), results("one"), answer(), results("two"))
    for dialect in DIALECTS:
        said = APIS[dialect].read(APIS[dialect].build(_request(messages)))
        assert [one[1:3] for one in said if one[0] == "result"] == [(0, "one"), (1, "two")]
