"""Pending questions of an app that listens, read from what its remote control says of them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from quorum.domain.staging.effects_answer import EffectsQuestion, find_effects_question
from quorum.infrastructure.tools.built_in_tools import find_built_in_traits
from quorum.rpc.client import NoAnswer, send_request

_LOOKING_SECS = 10.0


class NotDone(Exception):
    """What the page asked for was not done; the text says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reviewer:
    """A reviewer's vote, or that it is still awaited, where `vote` is empty."""

    name: str
    vote: str = ""
    confidence: float | None = None
    reason: str = ""
    objection: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingQuestion:
    """What an app asks in the tab in front. `kind` is review, question, trust or spend; only a review has a
    packet.

    `question` is that of the model, and `options` its answers to choose from, with what each means; `notes` say
    what another kind is about. `title` says what would be done and to what, `digest` names the question in an
    answer. `signing` says what signatures it takes, and is empty where it takes none.
    """

    kind: str
    digest: str
    session_id: str
    tab: str
    packet: Mapping[str, object]
    title: str = ""
    batch_size: int = 1
    preamble: str = ""
    reasons: tuple[str, ...] = ()
    signing: str = ""
    dangers: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    reviewers: tuple[Reviewer, ...] = ()
    count: str = ""
    is_independent: bool = True
    notes: tuple[str, ...] = ()
    question: str = ""
    options: tuple[str, ...] = ()

    @property
    def tool(self) -> str:
        """The tool that would run; for another question its kind."""
        return str(self.packet.get("tool", self.kind))

    @property
    def command(self) -> str | None:
        """The command that would run; None where it is no command."""
        arguments = self.packet.get("arguments")
        traits = find_built_in_traits(self.tool)
        return traits.find_command(arguments) if traits and isinstance(arguments, Mapping) else None

    @property
    def effects(self) -> EffectsQuestion | None:
        """What waits in a layer; None where it is a call."""
        return find_effects_question(self.tool, self.packet.get("arguments"))

    @property
    def diff(self) -> str | None:
        """The change of files; None where there is none to show."""
        diff = self.packet.get("diff")
        return diff if isinstance(diff, str) else None

    @property
    def objections(self) -> tuple[str, ...]:
        """What reviewers object to, word for word."""
        return tuple(each.objection for each in self.reviewers if each.objection)


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingTab:
    """A tab in the background whose question appears once it is in front."""

    tab: str
    title: str
    session_id: str = ""


class QuestionList(NamedTuple):
    """What is asked, and how many questions there are beside these."""

    questions: tuple[PendingQuestion, ...] = ()
    left_out: int = 0


class RemoteApp:
    """An app that listens at a socket. Without its token it can only be asked, and its questions rejected."""

    def __init__(self, name: str, socket: Path, token: str | None) -> None:
        self.name = name
        self._socket, self._token = socket, token

    @property
    def can_approve(self) -> bool:
        """Whether there is a token for approving."""
        return self._token is not None

    async def list_questions(self) -> QuestionList:
        """What it asks now, which is one thing at most. Raises NoAnswer and NotDone."""
        async with self._limit_patience():
            state = await self._call("state.get")
        question = state.get("question")
        return QuestionList((read_question(question, state),) if isinstance(question, Mapping) else ())

    async def find_question(self, digest: str) -> PendingQuestion | None:
        """The question of this digest, if it is what is asked now. Raises NoAnswer and NotDone."""
        return next((each for each in (await self.list_questions()).questions if each.digest == digest), None)

    async def note_seen(self, question: PendingQuestion) -> None:
        """Somebody looks at it. An app that does not take that answers as if nobody had."""
        with suppress(NoAnswer, NotDone):
            async with self._limit_patience():
                await self._call("hil.seen", digest=question.digest)

    async def list_waiting_tabs(self) -> tuple[WaitingTab, ...]:
        """The tabs in the background that need an answer. Raises NoAnswer and NotDone."""
        async with self._limit_patience():
            panes = await self._call_for_list("panes.list")
        return tuple(
            WaitingTab(
                tab=str(pane.get("tab")),
                title=str(pane.get("title")),
                session_id=str(pane.get("session_id", "")),
            )
            for pane in panes
            if pane.get("answer_needed") is True and pane.get("in_front") is not True
        )

    async def show_tab(self, tab: str) -> None:
        """Bring a tab to the front. Raises NoAnswer and NotDone."""
        await self._call("interaction.activate", interaction_id=tab)

    async def approve(self, question: PendingQuestion) -> str:
        """Approve this packet, if it is what is asked; what that comes to. Raises NoAnswer and NotDone."""
        if self._token is None:
            raise NotDone("this page has no token for approving; approve at the keyboard")
        await self._call("hil.respond", decision="approve", digest=question.digest, token=self._token)
        if question.signing:
            return "it counts once the app has signed it with your key, which the list says"
        return ""

    async def reply(self, digest: str, reply: str) -> None:
        """Reply to the question of this digest, as `approve` approves a packet."""
        if self._token is None:
            raise NotDone("this page has no token for answering; answer at the keyboard")
        await self._call("hil.respond", decision="approve", digest=digest, reason=reply, token=self._token)

    async def reject(self, digest: str, reason: str) -> None:
        """Reject what has this digest, if it is what is asked. Raises NoAnswer and NotDone."""
        await self._call("hil.respond", decision="reject", digest=digest, reason=reason)

    @asynccontextmanager
    async def _limit_patience(self) -> AsyncIterator[None]:
        """A list that shows several apps does not wait long for one. What was decided is waited for."""
        try:
            async with asyncio.timeout(_LOOKING_SECS):
                yield
        except TimeoutError as error:
            raise NoAnswer(f"{self.name} did not answer within {_LOOKING_SECS:g} s") from error

    async def _call(self, method: str, **params: object) -> Mapping[str, object]:
        result = await self._ask(method, params)
        if not isinstance(result, Mapping):
            raise NoAnswer(f"{self.name} gave an answer that cannot be read")
        return result

    async def _call_for_list(self, method: str) -> Sequence[Mapping[str, object]]:
        result = await self._ask(method, {})
        if not isinstance(result, list) or not all(isinstance(each, Mapping) for each in result):
            raise NoAnswer(f"{self.name} gave an answer that cannot be read")
        return result

    async def _ask(self, method: str, params: dict[str, object]) -> object:
        answer = await asyncio.to_thread(send_request, self._socket, method, params)
        error = answer.get("error")
        if isinstance(error, Mapping):
            raise NotDone(str(error.get("message", "the app refused it")))
        return answer.get("result")


def read_question(question: Mapping[str, object], state: Mapping[str, object]) -> PendingQuestion:
    """What a client of the remote control is told of a question, in the app's state."""
    packet, votes = question.get("packet"), question.get("votes")
    size = question.get("batch_size")
    votes = votes if isinstance(votes, Mapping) else {}
    return PendingQuestion(
        kind=str(question.get("kind")),
        digest=str(question.get("digest")),
        session_id=str(state.get("session_id", "")),
        tab=str(state.get("tab", "")),
        packet=packet if isinstance(packet, Mapping) else {},
        title=title if isinstance(title := question.get("title"), str) else "",
        batch_size=size if isinstance(size, int) else 1,
        preamble=text if isinstance(text := question.get("preamble"), str) else "",
        reasons=_read_texts(question.get("reasons")),
        signing=text if isinstance(text := question.get("signing"), str) else "",
        dangers=_read_texts(question.get("dangers")),
        arguments=_read_texts(question.get("arguments")),
        reviewers=_list_reviewers(votes),
        count=str(votes.get("count", "")),
        is_independent=votes.get("independent") is not False,
        notes=() if isinstance(packet, Mapping) else _list_notes(question),
        question=text if isinstance(text := question.get("question"), str) else "",
        options=tuple(_list_options(question.get("options"))),
    )


def _list_options(value: object) -> Iterator[str]:
    """The options of a question, each with what choosing it means."""
    for each in value if isinstance(value, list) else ():
        if isinstance(each, Mapping):
            yield f"{each.get('label')}: {each.get('description')}".removesuffix(": ")


def _list_reviewers(votes: Mapping[str, object]) -> tuple[Reviewer, ...]:
    ballots = votes.get("ballots")
    found = [
        Reviewer(
            name=str(ballot.get("reviewer")),
            vote=str(ballot.get("counts_as") or ballot.get("vote")),
            confidence=sure if isinstance(sure := ballot.get("confidence"), float | int) else None,
            reason="; ".join(
                [str(ballot.get("explanation") or ballot.get("reason") or ""), *_render_objections(ballot)]
            ),
            objection=str(ballot.get("objection") or ""),
        )
        for ballot in (ballots if isinstance(ballots, list) else ())
        if isinstance(ballot, Mapping)
    ]
    return (*found, *(Reviewer(name=name) for name in _read_texts(votes.get("awaited"))))


def _render_objections(ballot: Mapping[str, object]) -> Iterator[str]:
    """What a reviewer finds wrong with a plan, each with its severity and task."""
    given = ballot.get("objections")
    for each in given if isinstance(given, list) else ():
        if isinstance(each, Mapping):
            about = f"task {each['task']}" if each.get("task") else "the plan"
            yield f"{each.get('severity')}, {about}: {each.get('claim')}"


def _list_notes(question: Mapping[str, object]) -> tuple[str, ...]:
    known = {name: value for name, value in question.items() if name not in {"kind", "digest"}}
    return tuple(f"{name}: {json.dumps(value, ensure_ascii=False)}" for name, value in known.items())


def _read_texts(value: object) -> tuple[str, ...]:
    return tuple(map(str, value)) if isinstance(value, list) else ()
