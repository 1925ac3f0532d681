from __future__ import annotations

import pytest

from quorum.domain.conversation.attachment import AttachedFile
from quorum.domain.conversation.context_account import ContextKind, split_into_pieces
from quorum.domain.conversation.context_size import estimate_bytes
from quorum.domain.conversation.history import AssistantMessage, UserMessage
from quorum.domain.conversation.response import END_TURN, LlmResponse, ReasoningBlock, TextBlock
from quorum.domain.settings import ContextTable
from tests.application.test_context_manager import MODEL, Rig


def shares(rig: Rig) -> dict[tuple[ContextKind, str], int]:
    account = rig.care.build_account(MODEL)
    return {(share.kind, share.name): share.tokens for share in account.shares}


def test_every_part_of_the_conversation_is_counted_once_and_all_parts_are_the_whole() -> None:
    rig = Rig()
    rig.work(3)
    rig.talk(2)
    rig.conversation.add_user("and now?")

    pieces = list(split_into_pieces(rig.messages))

    assert sum(piece.size for piece in pieces) == estimate_bytes(rig.messages)
    assert {piece.kind for piece in pieces} == {
        ContextKind.PROMPTS,
        ContextKind.ANSWERS,
        ContextKind.CALLS,
        ContextKind.OUTPUTS,
    }


def test_what_a_model_thought_is_distinguished_from_what_it_said() -> None:
    thought = ReasoningBlock(provider="p", payload={"text": "x" * 400})
    response = LlmResponse(content=(thought, TextBlock("short")), stop_reason=END_TURN)

    kinds = {piece.kind: piece.size for piece in split_into_pieces((AssistantMessage(response),))}

    assert kinds[ContextKind.REASONING] > 400
    assert kinds[ContextKind.ANSWERS] < 100


def test_outputs_are_summed_by_tool_and_the_largest_entries_name_their_call() -> None:
    rig = Rig()
    rig.work(2, size=2_000, path="big.py")

    account = rig.care.build_account(MODEL)

    assert shares(rig)[ContextKind.OUTPUTS, "read_file"] == pytest.approx(1_000, rel=0.1)
    assert account.largest[0].label == "read big.py"


def test_a_summary_is_distinguished_from_what_the_person_said() -> None:
    rig = Rig()
    rig.conversation.add_user("[Summary of the conversation so far]\nwhat was")
    rig.conversation.add_response(LlmResponse.from_text("yes"))

    assert (ContextKind.SUMMARY, "") in shares(rig)
    assert (ContextKind.PROMPTS, "") not in shares(rig)


def test_where_room_is_made_and_how_full_it_is_are_those_of_the_gauge() -> None:
    rig = Rig(window=4_000)
    rig.talk(3)

    account = rig.care.build_account(MODEL)

    assert (account.window, account.limit) == (4_000, 3_200)
    assert account.tokens == rig.gauge.measure(MODEL).tokens
    assert Rig(budget=ContextTable(compact_at=0.0)).care.build_account(MODEL).limit == 0


async def test_compacting_frees_at_least_what_was_reported_before() -> None:
    rig = Rig(summaries=[LlmResponse.from_text("in short")], window=8_000)
    rig.talk(12)
    reported = rig.care.build_account(MODEL).freed
    before = rig.care.build_account(MODEL).tokens

    await rig.care.compact(MODEL)

    assert 0 < reported <= before - rig.care.build_account(MODEL).tokens


def test_a_short_conversation_has_nothing_to_free() -> None:
    rig = Rig()
    rig.conversation.add_user("hello")

    assert rig.care.build_account(MODEL).freed == 0
    assert rig.messages == (UserMessage("hello"),)


def test_files_attached_to_prompts_are_counted_apart_from_the_words():
    file = AttachedFile(
        name="a.py", content="x" * 900, first_line=1, last_line=1, total_lines=1, size_bytes=901
    )
    message = UserMessage("why @a.py?", files=(file,))
    pieces = list(split_into_pieces((message,)))

    assert [(piece.kind, piece.label) for piece in pieces] == [
        (ContextKind.PROMPTS, "why @a.py?"),
        (ContextKind.FILES, "a.py"),
    ]
    assert sum(piece.size for piece in pieces) == estimate_bytes((message,))
