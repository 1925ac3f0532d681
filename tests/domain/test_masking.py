from __future__ import annotations

import base64
import json
import random
import string
from decimal import Decimal
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorum.domain.calls.execution import Outcome, Seal, ToolExecutionContext
from quorum.domain.calls.packet import ReviewPacket
from quorum.domain.calls.tool import ToolResultMessage
from quorum.domain.conversation.history import ToolResults, UserMessage
from quorum.domain.conversation.response import (
    END_TURN,
    LlmResponse,
    OpaqueBlock,
    ReasoningBlock,
    TextBlock,
    Usage,
)
from quorum.domain.events.event import (
    CallFinished,
    CallProgressed,
    CallStarted,
    Event,
    MessageAdded,
    ReasoningDelta,
    ResponseCompleted,
    ReviewRequested,
    TextDelta,
    ToolCallDelta,
    UsageCounted,
    UserCommandProgressed,
)
from quorum.domain.events.masking import MaskedText, SecretMask, StreamMask, holds_mask
from quorum.domain.review.questions import DecisionLabel
from quorum.domain.secrets import known as known_secrets
from quorum.domain.secrets import patterns
from quorum.domain.text.output import StyleChange
from tests.support.builders import a_call, a_context, calls_response
from tests.support.examples import examples

PICTURES = (".png", ".pyc", ".svg")
ROOT = Path(__file__).parents[2]
VALUE = 'q7\\Zr"t9/vX+2 mß4kP'
PLAIN = "q7Zrt9vX2m4kPwd3Ls8Yc5Nb6T"

# Put together here, so that no scanner of repositories takes this file for a leak.
A = "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8s9T0"
BODY = ("b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQ" * 2 + "\n") * 3
PRIVATE_KEY = f"-----BEGIN OPENSSH PRIVATE {'KEY'}-----\n{BODY}-----END OPENSSH PRIVATE {'KEY'}-----"
JWT = f"ey{'J'}hbGciOiJIUzI1NiJ9.ey{'J'}zdWIiOiIxMjM0NTY3ODkwIn0.{A}"
FOUND = {
    "anthropic": ("sk-" + f"ant-api03-{A}-{A}_AA", "[secret:api-key]"),
    "openai": ("sk-" + f"proj-{A}", "[secret:api-key]"),
    "github": ("ghp" + f"_{A[:36]}", "[secret:github-token]"),
    "github fine": ("github" + f"_pat_{A}", "[secret:github-token]"),
    "gitlab": ("glpat" + f"-{A[:20]}", "[secret:gitlab-token]"),
    "slack": ("xoxb" + "-123456789012-abcdefABCDEF", "[secret:slack-token]"),
    "aws": ("AKIA" + "IOSFODNN7EXAMPL3", "[secret:aws-key-id]"),
    "google": ("AIza" + A[:35], "[secret:google-key]"),
    "npm": ("npm" + f"_{A[:36]}", "[secret:npm-token]"),
    "hugging face": ("hf" + f"_{A[:34]}", "[secret:hugging-face-token]"),
    "jwt": (JWT, "[secret:jwt]"),
    "private key": (PRIVATE_KEY, "[secret:private-key]"),
    "private key in JSON": (json.dumps(PRIVATE_KEY)[1:-1], "[secret:private-key]"),
}
HELD = {
    "bearer": (f"Authorization: Bearer {A}", "Authorization: Bearer [secret:bearer-token]"),
    "basic": ('"authorization": "Basic dXNlcjpodW50ZXIy"', '"authorization": "Basic [secret:authorization]"'),
    "address": ("postgres://app:hunter2@db/x", "postgres://app:[secret:url-password]@db/x"),
    "dotenv": ("DB_PASSWORD=hunter22x", "DB_PASSWORD=[secret:password]"),
    "json": ('{"password": "hunter22x", "a": 1}', '{"password": "[secret:password]", "a": 1}'),
    "toml": (f'api_key = "{A}"', 'api_key = "[secret:key]"'),
    "npmrc": (f"//registry.example/:_authToken={A}", "//registry.example/:_authToken=[secret:token]"),
}
SURVIVES = [
    "password=password, token=token, secret = self._secret, api_key=endpoint.key",
    'password = os.environ["PGPASSWORD2"]; token = next_token2(); secret: str | None = None',
    "Authorization: Bearer $TOKEN, Bearer YOUR_API_KEY, Authorization: Bearer {key}",
    "postgres://user:password@host/db http://localhost:8080/a@b https://x.y/z:1",
    "max_tokens: 16384, token_count=123456789012, tokens = 3, tokenizer=tiktoken-o200k_base",
    "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    '"integrity": "sha512-k7Xr0+1xQ2tq0n3yUuNnZ1qGqzq4b0a8w2m3cX5d7f9h1j3l5n7p9r1t3v5x7z9A=="',
    "123e4567-e89b-12d3-a456-426614174000 task-sk-folding risk-free-1234567890-abcdef",
    "api_key=your-api-key-1234567, password: xxxxxxxx1, OPENAI_API_KEY=sk-...",
    'assert "-----BEGIN PRIVATE KEY-----" in text',
]


def learnt(**values: str) -> SecretMask:
    mask = SecretMask()
    for name, value in values.items():
        mask.learn(name, value)
    return mask


@pytest.mark.parametrize(
    "form",
    [
        VALUE,
        json.dumps(VALUE)[1:-1],
        json.dumps(VALUE, ensure_ascii=False)[1:-1],
        quote(VALUE, safe=""),
        quote(VALUE, safe="")
        .replace("%2F", "%2f")
        .replace("%5C", "%5c")
        .replace("%2B", "%2b")
        .replace("%C3%9F", "%c3%9f"),
    ],
)
def test_a_known_value_is_hidden_in_every_usual_form(form: str) -> None:
    text = f"before <{form}> after"

    assert learnt(THE_KEY=VALUE).mask_text(text) == "before <[secret:THE_KEY]> after"


@pytest.mark.parametrize("wide", [60, 64, 76])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("encode", [lambda data: base64.b64encode(data).decode(), bytes.hex])
def test_a_known_value_is_hidden_though_its_encoded_form_goes_over_lines(encode, end: str, wide: int) -> None:
    mask = learnt(THE_KEY=PLAIN)
    for before in range(120):
        whole = encode(b"x" * before + PLAIN.encode() + b"y" * 100)
        lines = [whole[start : start + wide] for start in range(0, len(whole), wide)]

        shown = mask.mask_text(f"it is:{end}{end.join(lines)}{end}and more")

        assert shown.count("[secret:THE_KEY]") == 1
        rest = shown.replace("[secret:THE_KEY]", "").replace(end, "")
        assert encode(PLAIN.encode())[4:16] not in rest
        assert rest.startswith("it is:")
        assert rest.endswith("and more")


@examples(100)
@given(
    parts=st.lists(
        st.sampled_from([PLAIN.encode(), b"x" * 45, b"y" * 7, b"\n", b" ", b"-", b"z" * 150]), max_size=12
    ),
    wide=st.sampled_from([59, 60, 76, 77]),
    piece=st.integers(1, 200),
)
def test_values_that_go_over_lines_are_found_wherever_the_text_is_cut_to_be_looked_through(
    parts: list[bytes], wide: int, piece: int
) -> None:
    encoded = base64.b64encode(b"".join(parts)).decode()
    text = "".join(encoded[at : at + wide] + "\n" for at in range(0, len(encoded), wide)).replace("A", "\nA", 1)
    mask = learnt(THE_KEY=PLAIN)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(known_secrets, "_PIECE", piece)
        patched.setattr(patterns, "_PIECE", piece)
        in_pieces = mask.find_spans(text)

    assert in_pieces == mask.find_spans(text)


def test_a_known_value_is_hidden_in_hexadecimal() -> None:
    mask = learnt(THE_KEY=PLAIN)

    assert (
        mask.mask_text(f"0x{PLAIN.encode().hex()} {PLAIN.encode().hex().upper()}")
        == "0x[secret:THE_KEY] [secret:THE_KEY]"
    )


@pytest.mark.parametrize("before", ["", "u:", "us:", "user:"])
@pytest.mark.parametrize("encode", [base64.b64encode, base64.urlsafe_b64encode])
def test_a_known_value_is_hidden_where_it_is_part_of_something_in_base64(before, encode) -> None:
    shown = learnt(THE_KEY=VALUE).mask_text("Basic " + encode((before + VALUE).encode()).decode())

    assert "[secret:THE_KEY]" in shown
    assert len(shown.replace("[secret:THE_KEY]", "")) <= len("Basic ") + 4 * len(before) + 6


def test_values_are_hidden_from_the_moment_they_are_learnt_and_short_ones_never() -> None:
    mask = SecretMask()
    before = mask.mask_text(f"say {PLAIN}")

    assert (mask.learn("LATE", PLAIN), mask.learn("LATE", PLAIN), mask.learn("SHORT", "1234567")) == (
        True,
        False,
        False,
    )
    assert (before, mask.mask_text(f"say {PLAIN} 1234567")) == (f"say {PLAIN}", "say [secret:LATE] 1234567")


def test_a_value_is_hidden_in_texts_that_were_looked_through_before_it_was_learnt() -> None:
    mask = SecretMask()
    texts = [f"config/{number} says sesame-{number:04}" for number in range(2_000)]
    assert [mask.mask_text(text) for text in texts] == texts

    mask.learn("DOOR", "sesame-1999")

    assert mask.mask_text(texts[-1]) == "config/1999 says [secret:DOOR]"
    assert mask.mask_text(texts[0]) is texts[0]


def test_the_longest_of_two_values_is_hidden_whole_and_overlapping_ones_together() -> None:
    mask = learnt(PART="abcdefgh1", WHOLE="abcdefgh1-ijklmnop2", NEXT="ijklmnop2-qrst")

    assert mask.mask_text("abcdefgh1-ijklmnop2!") == "[secret:WHOLE]!"
    assert mask.mask_text("abcdefgh1-ijklmnop2-qrst!") == "[secret:WHOLE]!"
    assert mask.mask_text("abcdefgh1!") == "[secret:PART]!"


@pytest.mark.parametrize(("secret", "word"), FOUND.values(), ids=FOUND)
def test_keys_are_known_by_their_shape(secret: str, word: str) -> None:
    assert SecretMask().mask_text(f'x "{secret}" y') == f'x "{word}" y'


ANCHORS = [anchor for _, anchored, _ in patterns._ANCHORED for anchor, _ in anchored]
AROUND = (*" \n_-x.:=/@[\"'\\", ":=", "=>", A, A[:20], A.upper(), "é", "İ", "ſ", "\u212a")
WORDS = (
    "pass",
    "passwd",
    "passphra\u017fe",
    "pass",
    "token",
    "toKen",
    "secret",
    "api_",
    "SSH-",
    "key",
    "basic ",
)
PARTS = st.lists(
    st.sampled_from((*ANCHORS, *AROUND, *WORDS, *(text for text, _ in FOUND.values()))), max_size=12
)


@given(PARTS.map("".join))
@examples(1_000)
def test_one_look_for_many_beginnings_finds_what_a_look_for_each_of_them_does(text: str) -> None:
    found = patterns.find_pattern_spans(text)

    with pytest.MonkeyPatch.context() as plainly:
        plainly.setattr(patterns, "_ANCHORED", [(rare, each, "") for rare, each, _ in patterns._ANCHORED])
        plainly.setattr(patterns, "_find_assignment_starts", patterns.find_name_starts)
        assert found == patterns.find_pattern_spans(text)


@pytest.mark.parametrize("rest", ["", "x" * 12])
@pytest.mark.parametrize("anchor", ANCHORS)
def test_a_beginning_is_found_where_a_long_text_is_cut_to_be_looked_through(
    monkeypatch: pytest.MonkeyPatch, anchor: str, rest: str
) -> None:
    monkeypatch.setattr(patterns, "_PIECE_OF_TEXT", 4)

    assert all(
        patterns._matches_somewhere(hint, " " * before + anchor + rest)
        for rare, anchored, hint in patterns._ANCHORED
        if hint and anchor in dict(anchored)
        for before in range(5)
    )


@pytest.mark.parametrize(("text", "shown"), HELD.values(), ids=HELD)
def test_what_stands_behind_a_telling_name_is_hidden_and_the_name_is_not(text: str, shown: str) -> None:
    assert SecretMask().mask_text(text) == shown


@pytest.mark.parametrize("text", SURVIVES)
def test_code_prose_hashes_and_stand_ins_are_left_as_they_are(text: str) -> None:
    assert SecretMask().mask_text(text) is text


@pytest.mark.long
def test_nothing_of_this_repository_but_the_fixtures_of_its_tests_looks_like_a_secret() -> None:
    mask = SecretMask()
    folders = ("domain", "application", "infrastructure", "tui", "benchmarks", "docs", "requirements")
    files = [file for folder in folders for file in (ROOT / folder).rglob("*.*") if file.suffix not in PICTURES]
    files += ROOT.glob("*.*")
    found = {
        str(file.relative_to(ROOT)): mask.find_spans(file.read_text("utf-8", "replace"))
        for file in files
        if file.is_file()
    }

    assert len(found) > 200
    assert {name: spans for name, spans in found.items() if spans} == {}


def test_random_base64_and_hexadecimal_is_no_secret() -> None:
    dice = random.Random(7)
    image = base64.b64encode(dice.randbytes(200_000)).decode()
    hashes = "\n".join(f"{dice.randbytes(32).hex()}  file{n}.bin" for n in range(2000))

    assert SecretMask().mask_text(image) is image
    assert SecretMask().mask_text(hashes) is hashes


def test_what_is_hidden_once_stays_as_it_is() -> None:
    mask = learnt(THE_KEY=PLAIN)
    text = "\n".join([*(t for t, _ in HELD.values()), *(s for s, _ in FOUND.values()), f"PASSWORD={PLAIN}"])

    once = mask.mask_text(text)

    assert mask.mask_text(once) is once
    assert holds_mask(once)


# -- events ---------------------------------------------------------------------------------------------------


def test_an_event_without_a_secret_is_the_very_same_object() -> None:
    mask = learnt(THE_KEY=PLAIN)
    event = ResponseCompleted(
        turn_index=0, response=calls_response(a_call("read_file", {"path": ["a", {"b": 1}]}))
    )

    assert mask.mask_event(event) is event
    usage = UsageCounted(model="m", usage=Usage(input=1), cost_usd=Decimal("0.1"))
    assert mask.mask_event(usage) is usage


def test_every_text_of_an_event_is_masked_and_ids_are_left() -> None:
    mask = learnt(THE_KEY=PLAIN)
    context = a_context(call_id=f"call_{PLAIN}")
    started = CallStarted(
        context=context,
        tool="t",
        arguments={"a": [{"b": f"<{PLAIN}>"}], "password": "hunter22x", f"{PLAIN}": 1},
    )

    masked = mask.mask_event(started)

    assert masked == CallStarted(
        context=context,
        tool="t",
        arguments={
            "a": [{"b": "<[secret:THE_KEY]>"}],
            "password": "[secret:password]",
            "[secret:THE_KEY]": 1,
        },
    )
    assert PLAIN in str(started)


def test_messages_and_results_are_masked_through_all_their_layers() -> None:
    mask = learnt(THE_KEY=PLAIN)
    result = ToolResultMessage(tool_use_id="c", tool_name="t", output=f"key {PLAIN}")

    message = mask.mask_event(MessageAdded(message=ToolResults((result,))))
    asked = mask.mask_event(MessageAdded(message=UserMessage(f"use {PLAIN}")))

    assert PLAIN not in json.dumps([message.to_json(), asked.to_json()])


def test_of_what_a_provider_may_have_signed_only_known_values_are_hidden() -> None:
    mask = learnt(THE_KEY=PLAIN)
    shaped = FOUND["github"][0]
    payload = {"signature": f"{shaped}=="}
    readable = {"thinking": f"think {shaped}", "signature": f"{shaped}=="}
    blocks = (
        ReasoningBlock(provider="p", payload=payload, text=f"think {shaped}"),
        OpaqueBlock(provider="p", payload={"x": [PLAIN, shaped]}),
        TextBlock("fine"),
        ReasoningBlock(provider="p", payload=readable),
    )

    masked = mask.mask_event(
        ResponseCompleted(turn_index=0, response=LlmResponse(content=blocks, stop_reason=END_TURN))
    )

    assert isinstance(masked, ResponseCompleted)
    reasoning, opaque, text, signed = masked.response.content
    assert isinstance(reasoning, ReasoningBlock)
    assert reasoning.payload is payload
    assert reasoning.text == "think [secret:github-token]"
    assert opaque == OpaqueBlock(provider="p", payload={"x": ["[secret:THE_KEY]", shaped]})
    assert text is blocks[2]
    assert signed == ReasoningBlock(
        provider="p", payload={**readable, "thinking": "think [secret:github-token]"}
    )


def test_a_masked_packet_differs_from_one_that_is_whole() -> None:
    packet = ReviewPacket(
        call=a_call("run_command", {"command": f"curl -H 'x: {PLAIN}'"}),
        context=a_context(),
        seal=Seal(cwd="/ws", environment={"TOKEN": None}),
    )
    event = ReviewRequested(context=a_context(), packet=packet, digest=packet.digest, reasons=("high risk",))

    masked = learnt(THE_KEY=PLAIN).mask_event(event)

    assert isinstance(masked, ReviewRequested)
    assert masked.digest == packet.digest != masked.packet.digest
    assert holds_mask(json.loads(masked.packet.to_canonical_json()))
    assert not holds_mask(json.loads(packet.to_canonical_json()))


# -- pieces ---------------------------------------------------------------------------------------------------


def in_pieces(text: str, seed: int) -> list[str]:
    dice = random.Random(seed)
    pieces = []
    while text:
        size = dice.choice([1, 1, 2, 3, 5, 8, 40])
        pieces.append(text[:size])
        text = text[size:]
    return pieces


def streamed(mask: SecretMask, pieces: list[str]) -> list[str]:
    stream = MaskedText(mask)
    return [*(stream.push(piece) for piece in pieces), stream.flush()]


SECRETS = [secret for secret, _ in FOUND.values()]


@examples(300)
@given(
    st.integers(0, 10**6), st.lists(st.sampled_from([*SECRETS, PLAIN, VALUE, *(t for t, _ in HELD.values())]))
)
def test_however_a_text_is_cut_no_secret_leaves_and_nothing_else_is_lost(seed: int, said: list[str]) -> None:
    mask = learnt(THE_KEY=PLAIN, OTHER=VALUE)
    text = "".join(f"so, {one} and\n" for one in said) + "the end s"

    shown = "".join(streamed(mask, in_pieces(text, seed)))

    for secret in [*SECRETS, PLAIN, VALUE, A[:20], "hunter2", "dXNlcjpodW50ZXIy"]:
        assert secret not in shown
    # of a known value up to three characters may have been shown before it was recognised
    for known, word in ((PLAIN, "THE_KEY"), (VALUE, "OTHER")):
        for length in (3, 2, 1):
            shown = shown.replace(f"{known[:length]}[secret:{word}]", f"[secret:{word}]")
    assert shown == mask.mask_text(text)


@examples(200)
@given(st.integers(0, 10**6), st.text(alphabet=string.printable + "üß…😀", max_size=300))
def test_text_without_secrets_arrives_whole(seed: int, text: str) -> None:
    mask = learnt(THE_KEY=PLAIN)

    assert "".join(streamed(mask, in_pieces(text, seed))) == mask.mask_text(text)


def test_ordinary_pieces_pass_at_once_and_unchanged() -> None:
    stream = MaskedText(learnt(THE_KEY="q7Zrt9vX2m4kP"))

    for piece in ["Hello", " wor", "ld, this", " is the", " plan:\n", "- read", " it\n", "x = 1", "; z"]:
        assert stream.push(piece) is piece


def test_only_what_could_become_a_secret_waits() -> None:
    stream = MaskedText(learnt(THE_KEY="q7Zrt9vX2m4kP"))

    assert stream.push("it is q7Zrt9") == "it is "
    assert stream.push("no, it is not") == "q7Zrt9no, it is not"
    assert stream.push(" gh") == " "
    assert stream.push("ost") == "ghost"
    assert stream.push(" PASSWORD=hun") == " PASSWORD="
    assert stream.push("ter22x\n") == "[secret:password]\n"


def test_a_key_without_end_is_not_gathered_without_end_and_does_not_leak() -> None:
    stream = MaskedText(SecretMask())
    piece = "ab1" * 1000

    shown = [
        stream.push("sk-" + piece),
        *(stream.push(piece) for _ in range(20)),
        stream.push(" and on"),
        stream.flush(),
    ]

    assert "".join(shown) == "[secret:endless] and on"


def test_the_pieces_of_an_answer_leave_as_events_and_in_order() -> None:
    stream = StreamMask(learnt(THE_KEY=PLAIN))
    plain = TextDelta(text="Hello ")
    last = ReasoningDelta(text="done")

    assert stream.push(plain) == (plain,)
    assert stream.push(plain)[0] is plain
    assert stream.push(TextDelta(text=PLAIN[:10])) == ()
    assert stream.push(TextDelta(text=PLAIN[10:])) == (TextDelta(text="[secret:THE_KEY]"),)
    assert stream.push(TextDelta(text=PLAIN[:10])) == ()
    assert stream.push(last) == (TextDelta(text=PLAIN[:10]), last)


def test_a_call_keeps_its_name_even_where_its_arguments_wait() -> None:
    stream = StreamMask(learnt(THE_KEY=PLAIN))

    first = stream.push(ToolCallDelta(index=0, id="c", name="write_file", arguments_delta=PLAIN[:9]))
    rest = stream.push(ToolCallDelta(index=1, id="d", name="read_file", arguments_delta="{}"))

    assert first == (ToolCallDelta(index=0, id="c", name="write_file", arguments_delta=""),)
    assert rest == (
        ToolCallDelta(index=0, id=None, name=None, arguments_delta=PLAIN[:9]),
        ToolCallDelta(index=1, id="d", name="read_file", arguments_delta="{}"),
    )


def test_whatever_else_happens_comes_after_what_was_held_back() -> None:
    stream = StreamMask(learnt(THE_KEY=PLAIN))
    stream.push(TextDelta(text=PLAIN[:8]))
    done: Event = ResponseCompleted(turn_index=0, response=LlmResponse.from_text(PLAIN))

    text, masked = stream.push(done)

    assert text == TextDelta(text=PLAIN[:8])
    assert masked == ResponseCompleted(turn_index=0, response=LlmResponse.from_text("[secret:THE_KEY]"))
    assert stream.flush() == ()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"key {PLAIN}\nnext", "key [secret:THE_KEY]\nnext"),
        (f"key {PLAIN[:12]}", "key "),
        (f"{PLAIN[9:]} next", "[secret:THE_KEY] next"),
        ("all fine", "all fine"),
    ],
)
def test_the_last_lines_of_a_call_show_no_part_of_a_secret_though_they_are_cut(text: str, shown: str) -> None:
    stream = StreamMask(learnt(THE_KEY=PLAIN))

    assert stream.push(CallProgressed(context=a_context(), text=text)) == (
        CallProgressed(context=a_context(), text=shown),
    )


def test_an_output_with_a_secret_is_masked_and_its_outcome_is_not() -> None:
    finished = CallFinished(
        context=a_context(),
        tool="run_command",
        outcome=Outcome.OK,
        decision=DecisionLabel.APPROVED,
        output=f"TOKEN={PLAIN}",
        duration_secs=0.5,
    )

    masked = learnt(THE_KEY=PLAIN).mask_event(finished)

    assert isinstance(masked, CallFinished)
    assert (masked.output, masked.outcome, masked.duration_secs) == ("TOKEN=[secret:THE_KEY]", Outcome.OK, 0.5)


def test_a_secret_in_the_name_of_a_tool_is_hidden_while_the_call_arrives() -> None:
    stream = StreamMask(learnt(THE_KEY=PLAIN))

    (shown,) = stream.push(ToolCallDelta(index=0, id="c", name=f"no_{PLAIN}", arguments_delta="{"))

    assert shown == ToolCallDelta(index=0, id="c", name="no_[secret:THE_KEY]", arguments_delta="{")


def test_styles_of_an_output_count_its_characters_and_go_where_some_of_them_are_hidden() -> None:
    mask = SecretMask()
    mask.learn("token", "s3cr3t-value")
    styles = (StyleChange(0, "31"),)
    said, hid = (
        CallFinished(
            context=ToolExecutionContext(call_id="c", batch_id="b", call_index=0, turn_index=0),
            tool="run_command",
            outcome=Outcome.OK,
            decision=DecisionLabel.NONE,
            output=output,
            duration_secs=0.1,
            styles=styles,
        )
        for output in ("nothing of the kind", "the s3cr3t-value")
    )

    assert mask.mask_event(said) is said
    hidden = mask.mask_event(hid)
    assert isinstance(hidden, CallFinished)
    assert (hidden.output, hidden.styles) == ("the [secret:token]", ())


def test_styles_of_progress_go_where_something_of_it_is_hidden() -> None:
    mask = SecretMask()
    mask.learn("token", "s3cr3t-value")
    event = UserCommandProgressed(command_id="c", text="the s3cr3t-value", styles=(StyleChange(0, "31"),))

    assert StreamMask(mask).push(event) == (UserCommandProgressed(command_id="c", text="the [secret:token]"),)


@examples(100)
@given(st.lists(st.sampled_from(("", "one", "two ", f"x = '{PLAIN}'", PRIVATE_KEY, "end\r")), max_size=8))
def test_lines_without_secrets_are_as_many_as_before(lines: list[str]) -> None:
    mask = SecretMask()
    mask.learn("K", PLAIN)
    text = "\n".join(lines)
    masked = mask.mask_lines(text)
    assert PLAIN not in masked
    assert BODY[:20] not in masked
    before, after = text.split("\n"), masked.split("\n")
    assert len(after) == len(before)
    assert all(new == old or "[secret:" in new for old, new in zip(before, after, strict=True))
