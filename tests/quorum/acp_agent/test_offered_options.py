"""The options of a permission request, for clients that draw names and for those that draw kinds."""

from __future__ import annotations

import pytest
from acp.schema import (
    AllowedOutcome,
    PermissionOption,
    RequestPermissionResponse,
    ToolCallProgress,
    ToolCallStart,
    ToolCallUpdate,
)

from quorum.acp_agent.client_approver import ClientApprover
from quorum.acp_agent.standard_io import Outbox
from quorum.acp_agent.tool_calls import identify_call
from quorum.application.ports.people import ReviewQuestion
from quorum.domain.calls.packet import ReviewPacket
from tests.support.fake_agent import ROUTINE, a_command, a_request, an_edit
from tests.support.review_contexts import THREE, a_ballot, a_review_context, voted


async def refuse(*_: object) -> object:
    raise AssertionError("nothing is asked")


def list_offered(rule: str | None, folder: str | None, *, shows_option_names: bool) -> list[tuple[str, str]]:
    approver = ClientApprover(refuse, Outbox(refuse), refuse, shows_option_names=shows_option_names)
    return [(option.option_id, option.kind) for option in approver._list_options(rule, folder)]


def test_a_client_that_draws_names_is_offered_every_scope_of_a_rule() -> None:
    offered = list_offered("write_file(a.txt)", "/other", shows_option_names=True)

    assert [option for option, _ in offered] == [
        "allow",
        "always-session",
        "always-project",
        "allow-folder",
        "reject",
    ]


@pytest.mark.parametrize(
    ("rule", "folder", "always"),
    [
        ("write_file(a.txt)", None, ["always-session"]),
        ("write_file(a.txt)", "/other", ["always-session"]),
        (None, "/other", ["allow-folder"]),
        (None, None, []),
    ],
)
def test_a_client_that_may_draw_kinds_is_offered_one_option_of_each_and_the_narrowest(
    rule: str | None, folder: str | None, always: list[str]
) -> None:
    offered = list_offered(rule, folder, shows_option_names=False)

    assert [option for option, _ in offered] == ["allow", *always, "reject"]
    kinds = [kind for _, kind in offered]
    assert len(kinds) == len(set(kinds))


@pytest.mark.parametrize(
    ("packet", "name"), [(an_edit("-a\n+b\n"), f"Allow once [{ROUTINE}]"), (a_command("make"), "Allow once")]
)
async def test_a_client_that_draws_of_an_edit_its_diff_alone_reads_the_reasons_in_the_option_that_allows(
    packet: ReviewPacket, name: str
) -> None:
    offered: list[str] = []

    async def ask(_call: ToolCallUpdate, options: list[PermissionOption]) -> RequestPermissionResponse:
        offered.extend(option.name for option in options)
        return RequestPermissionResponse(outcome=AllowedOutcome(outcome="selected", option_id="reject"))

    async def send(_update: object) -> None:
        return

    async def find_unsaved(_request: object) -> tuple[str, ...]:
        return ()

    outbox = Outbox(send)
    outbox.put(
        ToolCallStart(session_update="tool_call", tool_call_id=identify_call(packet.context), title="it begins")
    )
    approver = ClientApprover(ask, outbox, find_unsaved, shows_option_names=True, shows_titles_of_edits=False)
    await approver.ask(ReviewQuestion(a_request(packet), a_review_context()))

    assert offered[0] == name


@pytest.mark.parametrize(
    ("packet", "shows_option_names", "shows_titles_of_edits", "said"),
    [
        (a_command("make"), False, True, "[votes: 3 for, 0 against (majority): approved; "),
        (an_edit("-a\n+b\n"), True, False, "[votes: 3 for, 0 against (majority): approved; "),
        (a_command("make"), True, False, "[votes: 1 of 3 voted: 1 for; "),
    ],
)
async def test_a_client_that_draws_a_question_once_is_asked_when_all_have_voted(
    packet: ReviewPacket, *, shows_option_names: bool, shows_titles_of_edits: bool, said: str
) -> None:
    titles: list[str] = []
    feed = voted(a_ballot(THREE[0]))

    async def ask(call: ToolCallUpdate, _options: list[PermissionOption]) -> RequestPermissionResponse:
        titles.append(call.title or "")
        return RequestPermissionResponse(outcome=AllowedOutcome(outcome="selected", option_id="reject"))

    async def send(update: ToolCallStart | ToolCallProgress) -> None:
        if isinstance(update, ToolCallProgress):  # the question is prepared
            for reviewer in feed.awaited:
                feed.add(a_ballot(reviewer))

    async def find_unsaved(_request: object) -> tuple[str, ...]:
        return ()

    outbox = Outbox(send)
    outbox.open()
    outbox.put(
        ToolCallStart(session_update="tool_call", tool_call_id=identify_call(packet.context), title="it begins")
    )
    approver = ClientApprover(
        ask,
        outbox,
        find_unsaved,
        shows_option_names=shows_option_names,
        shows_titles_of_edits=shows_titles_of_edits,
    )
    await approver.ask(ReviewQuestion(a_request(packet), a_review_context(feed)))

    assert titles[0].startswith(said)
