"""`quorum inbox`: decisions that wait in any session, listed, shown and answered by their digest."""

from __future__ import annotations

import sys
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from quorum.command_line.command import CliCommand, CommandGroup, argument, flag
from quorum.command_line.options import StartOptions
from quorum.command_line.shared import CHOICE_OF_EFFECTS, PLACES
from quorum.errors import UsageError, complain

if TYPE_CHECKING:
    from quorum.application.inbox import Inbox
    from quorum.domain.events.event import ReviewDecided
    from quorum.domain.sessions.waiting_review import WaitingReview

    Act: TypeAlias = Callable[[Inbox, Callable[[], Callable[[str], str]]], Coroutine[object, object, None]]

_TAKEN_WITHIN_SECS = 4.0
_LOOK_SECS = 0.25


@dataclass(frozen=True, slots=True, kw_only=True)
class ListInboxOptions(StartOptions):
    """Whether decisions are printed as JSON."""

    json: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowDecisionOptions(StartOptions):
    """Which decision is shown: `name` is the beginning of its digest, or of the id of its session; `reveal`
    shows what is hidden in it, too."""

    name: str = ""
    json: bool = False
    reveal: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerOptions(StartOptions):
    """The digest of what is approved or rejected, and why; of changes in a layer, also what is left out, taken
    in and overwritten of them, and whether they are dropped."""

    name: str = ""
    reason: str = ""
    left_out: tuple[str, ...] = ()
    included: tuple[str, ...] = ()
    overwritten: tuple[str, ...] = ()
    discard: bool = False

    def find_conflict(self) -> str:
        return "--discard drops all: the model reads no --reason" if self.discard and self.reason else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyOptions(StartOptions):
    """The digest of the question, and what is replied."""

    name: str = ""
    reply: str = ""

    def find_conflict(self) -> str:
        """A question is not answered with nothing."""
        return "" if self.reply.strip() else "REPLY is empty: give an option's number, or your own words"


def act_on_inbox(options: StartOptions, root: Path, act: Act) -> int:
    """Do it with the inbox, and what builds its mask; always 0.

    Raises ConfigError, LedgerError, and UsageError where a decision does not wait.
    """
    import asyncio

    from quorum.domain.errors import AnswerRefused, SigningRefused
    from quorum.session_store import open_recorded_inbox

    opened = open_recorded_inbox(options, root, is_on_terminal=True)
    try:
        asyncio.run(act(opened.inbox, opened.build_mask))
    except (AnswerRefused, SigningRefused) as refusal:
        raise UsageError(str(refusal)) from refusal
    finally:
        opened.close()
    return 0


def _list(options: ListInboxOptions, root: Path) -> int:
    async def list_waiting(inbox: Inbox, build_mask: Callable[[], Callable[[str], str]]) -> None:
        from shutil import get_terminal_size

        from quorum.cli.inbox.report import encode_review, render_inbox
        from quorum.infrastructure.wall_clock import read_wall_clock_ms

        waiting = await inbox.list_waiting()
        if options.json:
            _print_json([encode_review(review, build_mask()) for review in waiting])
        elif not waiting:
            complain(["no decision waits in any session"])
        else:
            width = get_terminal_size().columns if sys.stdout.isatty() else None
            print("\n".join(render_inbox(waiting, build_mask(), now_ms=read_wall_clock_ms(), width=width)))

    return act_on_inbox(options, root, list_waiting)


def _show(options: ShowDecisionOptions, root: Path) -> int:
    async def show(inbox: Inbox, build_mask: Callable[[], Callable[[str], str]]) -> None:
        from quorum.cli.inbox.report import encode_review, render_review, reveal_packet
        from quorum.infrastructure.wall_clock import read_wall_clock_ms

        review = await inbox.find(options.name)
        mask = build_mask()
        if options.reveal:
            review, mask = reveal_packet(review), str
        if options.json:
            _print_json(encode_review(review, mask))
        else:
            print(render_review(review, mask, now_ms=read_wall_clock_ms()))
            await inbox.note_seen(review.session.id, review.digest)

    return act_on_inbox(options, root, show)


def _approve(options: AnswerOptions, root: Path) -> int:
    return _answer(options, root, approves=True)


def _reject(options: AnswerOptions, root: Path) -> int:
    return _answer(options, root, approves=False)


def _reply(options: ReplyOptions, root: Path) -> int:
    async def reply(inbox: Inbox, _build_mask: Callable[[], Callable[[str], str]]) -> None:
        review = await inbox.reply(options.name, options.reply)
        print(_describe_answer(review, await _wait_for_decision(inbox, review), verb="answered"))

    return act_on_inbox(options, root, reply)


def _answer(options: AnswerOptions, root: Path, *, approves: bool) -> int:
    from quorum.domain.staging.effects_answer import EffectsAnswer

    async def answer(inbox: Inbox, _build_mask: Callable[[], Callable[[str], str]]) -> None:
        given = EffectsAnswer(
            left_out=options.left_out,
            included=options.included,
            overwritten=options.overwritten,
            discards=options.discard,
        )
        if given != EffectsAnswer():
            review = await inbox.answer_effects(options.name, given)
        else:
            review = await inbox.answer(options.name, approves=approves, reason=options.reason or None)
        verb = "approved" if approves else "discarded" if options.discard else "rejected"
        if approves and review.signing is not None:
            verb = review.signatures
            if review.signing.describe_missing(review.signed_by):
                print(verb)
                return
        print(_describe_answer(review, await _wait_for_decision(inbox, review), verb=verb))

    return act_on_inbox(options, root, answer)


async def _wait_for_decision(inbox: Inbox, review: WaitingReview) -> ReviewDecided | None:
    """What the session's process made of the answer; None where it has not taken it yet, or there is none."""
    import asyncio
    import time

    end = time.monotonic() + (_TAKEN_WITHIN_SECS if review.is_open else 0.0)
    while True:
        if (decided := await inbox.find_decision(review)) is not None or time.monotonic() >= end:
            return decided
        await asyncio.sleep(_LOOK_SECS)


def _describe_answer(review: WaitingReview, decided: ReviewDecided | None, *, verb: str) -> str:
    from quorum.application.program_lookup import find_own_command
    from quorum.domain.text.printable import make_printable

    session = review.session
    if decided is not None:
        because = f": {make_printable(decided.reason, newlines=False)}" if decided.reason else ""
        return f"session {session.id} has recorded: {decided.decision}{because}"
    if review.is_open:
        holder = make_printable(session.holder, newlines=False)
        return f"{verb}; {holder} has session {session.id} and has not taken the answer yet"
    resumed = f"by a worker if a fleet has it, or {find_own_command()} --resume {session.id}"
    return f"{verb}; the answer counts when the session is resumed: {resumed}"


def _print_json(value: object) -> None:
    import json

    print(json.dumps(value, indent=1))


_DIGEST = "the digest of what you approve, or at least 16 digits of it"
COMMAND = CommandGroup(
    {
        "list": CliCommand(
            ListInboxOptions,
            _list,
            summary="List the decisions that wait in any session.",
            details="Those of all folders and, in PostgreSQL, of all machines that share the database.",
            arguments=(flag("--json", help="print them as JSON"), *PLACES),
            examples=(("quorum inbox list --json", "for a script"),),
        ),
        "show": CliCommand(
            ShowDecisionOptions,
            _show,
            summary="Print all that a decision is about.",
            arguments=(
                argument("name", metavar="ID", help="the beginning of its digest, or of the id of its session"),
                flag("--json", help="print it as JSON"),
                flag("--reveal", help="show what is hidden in it, too, where that is known here"),
                *PLACES,
            ),
            examples=(("quorum inbox show 5f0c2a9b", "the decision of this digest or session"),),
        ),
        "approve": CliCommand(
            AnswerOptions,
            _approve,
            summary="Let exactly the call of this digest run.",
            details="The process that has the session takes the answer within a second or two; without one, "
            "the call runs when the session is resumed. The exit code is 2 where the decision does not wait "
            "any more.",
            arguments=(argument("name", metavar="DIGEST", help=_DIGEST), *CHOICE_OF_EFFECTS, *PLACES),
            examples=(("quorum inbox approve 5f0c2a9b77d1e340", "what quorum inbox show has printed"),),
        ),
        "answer": CliCommand(
            ReplyOptions,
            _reply,
            summary="Reply to a question of the model.",
            details="quorum inbox show prints its options. The reply is the number or the label of one, "
            "several numbers with commas between where several may be chosen, or your own words.",
            arguments=(
                argument("name", metavar="DIGEST", help=_DIGEST.replace("what you approve", "the question")),
                argument("reply", metavar="REPLY", help="an option's number, or your own words"),
                *PLACES,
            ),
            examples=(
                ("quorum inbox answer 5f0c2a9b77d1e340 2", "the second option"),
                ('quorum inbox answer 5f0c2a9b77d1e340 "both, one after the other"', ""),
            ),
        ),
        "reject": CliCommand(
            AnswerOptions,
            _reject,
            summary="Do not let the call of this digest run.",
            details="Changes in a layer stay there: with a reason the model goes on with them.",
            arguments=(
                argument("name", metavar="DIGEST", help=_DIGEST.replace("approve", "reject")),
                argument("--reason", metavar="TEXT", help="why; the model reads it"),
                flag("--discard", help="of changes in a layer: drop them for good"),
                *PLACES,
            ),
            examples=(('quorum inbox reject 5f0c2a9b77d1e340 --reason "use the test database"', ""),),
        ),
    },
    example=("quorum inbox", "the same as quorum inbox list"),
    usual="list",
)
