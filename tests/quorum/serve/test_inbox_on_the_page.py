"""Decisions of any session on the page of pending reviews: what it shows of them, and what its answers do."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from html import unescape
from pathlib import Path

import pytest
from msgspec import UNSET

from quorum.application.inbox import Inbox
from quorum.domain.calls.execution import Seal
from quorum.domain.calls.packet import ReviewPacket
from quorum.domain.errors import LedgerError, SigningRefused
from quorum.domain.events.event import (
    Event,
    ResponseCompleted,
    ReviewRequested,
    SessionStarted,
    TurnStarted,
)
from quorum.domain.replacing import replace
from quorum.domain.review.mode import Mode
from quorum.domain.review.person_question import PersonReply
from quorum.domain.review.signing import ApprovalSignature, SigningDemand, SigningTerms
from quorum.domain.sessions.session_summary import NewSession
from quorum.domain.text.json_value import JsonObject
from quorum.serve.approvals.page import ApprovalsPage, InboxQuestions
from quorum.serve.approvals.pending import NotDone, PendingQuestion, QuestionList, RemoteApp, WaitingTab
from quorum.serve.server import Site
from tests.support.builders import a_call, a_context, calls_response
from tests.support.fake_storage import FakeStorage
from tests.support.served_site import ServedSite, find_values, serving

DEPLOY = ReviewPacket(
    call=a_call("run_command", {"command": "deploy --to '<b>shop</b>' --key s3cret"}, id_="one"),
    context=a_context(call_id="one"),
    seal=Seal(cwd="/w"),
)
DEPLOY_OF = {
    name: replace(DEPLOY, call=a_call("run_command", {"command": f"deploy {name}"}, id_="one"))
    for name in ("one", "two", "three")
}
TERMS = SigningTerms(demands=(SigningDemand(2, ("bob", "cyn")),), requester="ada")


async def leave_open(storage: FakeStorage, packet: ReviewPacket, signing: SigningTerms | None = None) -> str:
    """A session of no process in which this packet waits."""
    opened = storage.open_session(NewSession(), cwd="/w")
    assert opened.ledger is not None
    events: tuple[Event, ...] = (
        SessionStarted(session_id=opened.session_id, model="fake/model", mode=Mode.ASK, cwd="/w"),
        TurnStarted(prompt="go"),
        ResponseCompleted(turn_index=0, response=calls_response(packet.call)),
        ReviewRequested(
            context=packet.context,
            packet=packet,
            digest=packet.digest,
            reasons=("it deploys",),
            signing=UNSET if signing is None else signing,
        ),
    )
    for event in events:
        await opened.ledger.append(event)
    await opened.ledger.aclose()
    return opened.session_id


class Desk:
    """Whoever runs the server, with a key of their own or none."""

    def __init__(self, storage: FakeStorage, person: str = "") -> None:
        self.storage, self.person = storage, person
        self.inbox = Inbox(
            storage.archive,
            storage.answers,
            clock=storage.clock,
            answered_by="bob@phone",
            sign=self.sign,
            verify=self.verify,
        )

    async def sign(self, session_id: str, digest: str, _terms: SigningTerms) -> ApprovalSignature:
        if not self.person:
            raise SigningRefused("you, ada, asked for it; it takes a signature of bob, cyn")
        return ApprovalSignature(
            session_id=session_id, digest=digest, person=self.person, at_ms=1, signature=f"of {self.person}"
        )

    async def verify(self, given: ApprovalSignature) -> str:
        return "" if given.signature == f"of {given.person}" else "it was made with another key"

    @asynccontextmanager
    async def serve(self, *apps: RemoteApp) -> AsyncIterator[ServedSite]:
        mask: Callable[[str], str] = lambda text: text.replace("s3cret", "[secret:KEY]")  # noqa: E731
        page = ApprovalsPage(lambda: apps, InboxQuestions(self.inbox, lambda: mask))
        async with serving(Site(add_routes=page.add_routes, kill_all=lambda: None)) as site:
            await site.enter()
            yield site


async def list_links(site: ServedSite) -> list[str]:
    status, page = await site.get("/approvals")
    assert status == 200
    return re.findall(r'class="card" href="([^"]+)"', page)


async def answer(site: ServedSite, decision: str, **more: str) -> tuple[int, str]:
    """Open the only question, and press a button."""
    (link,) = await list_links(site)
    _, page = await site.get(link)
    form = {"csrf": find_values("csrf", page)[0], "digest": find_values("digest", page)[0], **more}
    return await site.post(link, {**form, "decision": decision})


async def test_a_decision_of_any_session_is_shown_whole_and_masked_and_counts_as_seen() -> None:
    storage = FakeStorage()
    session_id = await leave_open(storage, DEPLOY)
    async with Desk(storage).serve() as site:
        (link,) = await list_links(site)
        assert storage.answers.seen == set()
        _, page = await site.get(link)

    assert "deploy --to '<b>shop</b>' --key [secret:KEY]" in unescape(page)
    assert "<b>shop" not in page
    assert "it deploys" in page
    assert DEPLOY.digest in page
    assert session_id in page
    assert storage.answers.seen == {(session_id, DEPLOY.digest)}


async def test_of_very_many_the_longest_wait_is_listed_and_the_others_are_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("quorum.serve.approvals.page._MOST_LISTED", 2)
    storage = FakeStorage()
    sessions = [await leave_open(storage, DEPLOY_OF[name]) for name in ("one", "two", "three")]
    async with Desk(storage).serve() as site:
        links = await list_links(site)
        _, page = await site.get("/approvals")
        _, first = await site.get(links[0])
        found, _ = await site.get(f"/approvals?decision={DEPLOY_OF['three'].digest}")

    assert len(links) == 2
    assert "inbox: 1 more, which come up as these are answered" in page
    assert sessions[0] in first
    assert found == 303


async def test_a_link_with_a_digest_opens_its_decision_and_the_list_once_it_waits_no_more() -> None:
    storage = FakeStorage()
    await leave_open(storage, DEPLOY)
    desk = Desk(storage)
    async with desk.serve() as site:
        found, _ = await site.get(f"/approvals?decision={DEPLOY.digest}")
        await desk.inbox.answer(DEPLOY.digest, approves=True)
        gone, page = await site.get(f"/approvals?decision={DEPLOY.digest}")

    assert (found, gone) == (303, 200)
    assert "nothing waits for an answer" in page


@pytest.mark.parametrize(("decision", "approves"), [("approve", True), ("reject", False)])
async def test_its_answer_is_kept_for_the_session_with_the_name_of_who_runs_the_server(
    decision: str, approves: bool
) -> None:
    storage = FakeStorage()
    session_id = await leave_open(storage, DEPLOY)
    async with Desk(storage).serve() as site:
        status, said = await answer(site, decision, reason="  fine ")
        assert await list_links(site) == []

    kept = await storage.answers.find(session_id, DEPLOY.digest)
    assert status == 200, said
    assert kept is not None
    assert (kept.approves, kept.answered_by) == (approves, "bob@phone")
    assert kept.reason == (None if approves else "fine")


async def test_a_question_of_a_model_is_answered_with_a_number() -> None:
    storage = FakeStorage()
    arguments: JsonObject = {"question": "Which colour?", "options": [{"label": "Blue"}, {"label": "Green"}]}
    session_id = await leave_open(storage, replace(DEPLOY, call=a_call("ask_person", arguments, id_="one")))
    async with Desk(storage).serve() as site:
        (link,) = await list_links(site)
        assert "<li>Green</li>" in (await site.get(link))[1]
        status, said = await answer(site, "approve", reason="2")
        assert await list_links(site) == []

    (kept,) = storage.answers.kept.values()
    assert status == 200, said
    assert (kept.session_id, kept.approves) == (session_id, True)
    assert kept.reason == PersonReply(options=(2,)).encode()


async def test_what_people_sign_is_signed_with_the_key_of_who_runs_the_server() -> None:
    storage = FakeStorage()
    session_id = await leave_open(storage, DEPLOY, TERMS)
    async with Desk(storage, "bob").serve() as site:
        (link,) = await list_links(site)
        assert ">Sign packet" in (await site.get(link))[1]
        status, said = await answer(site, "approve")
        listed = len(await list_links(site))
    async with Desk(storage, "cyn").serve() as site:
        last = await answer(site, "approve")
        assert await list_links(site) == []

    assert (status, listed) == (200, 1)
    assert "signed by bob; still to sign: cyn" in said
    assert "signed by bob, cyn; all have signed" in last[1]
    assert [each.person for each in await storage.answers.list_signatures(session_id, DEPLOY.digest)] == [
        "bob",
        "cyn",
    ]
    assert await storage.answers.find(session_id, DEPLOY.digest) is None


async def test_a_yes_of_who_may_not_sign_is_not_called_an_approval() -> None:
    storage = FakeStorage()
    session_id = await leave_open(storage, DEPLOY, TERMS)
    async with Desk(storage).serve() as site:
        status, said = await answer(site, "approve")

    assert status == 409
    assert "Nothing was decided: you, ada, asked for it; it takes a signature of bob, cyn" in said
    assert await storage.answers.list_signatures(session_id, DEPLOY.digest) == ()
    assert await storage.answers.find(session_id, DEPLOY.digest) is None


async def test_a_decision_that_was_made_elsewhere_meanwhile_is_not_made_again() -> None:
    storage = FakeStorage()
    await leave_open(storage, DEPLOY)
    desk = Desk(storage)
    async with desk.serve() as site:
        (link,) = await list_links(site)
        _, page = await site.get(link)
        await desk.inbox.answer(DEPLOY.digest, approves=False)
        form = {"csrf": find_values("csrf", page)[0], "digest": DEPLOY.digest, "decision": "approve"}
        status, said = await site.post(link, form)

    assert status == 409
    assert "no longer open" in said


async def test_a_database_that_is_away_is_named_and_the_page_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    desk = Desk(FakeStorage())

    async def fail() -> None:
        raise LedgerError("the server does not answer")

    monkeypatch.setattr(desk.storage.archive, "list_in_review", fail)
    async with desk.serve() as site:
        status, page = await site.get("/approvals")

    assert status == 200
    assert "inbox: the server does not answer" in page


class App(RemoteApp):
    """An app that asks this in front, and has these tabs behind."""

    def __init__(self, question: PendingQuestion, *tabs: WaitingTab) -> None:
        super().__init__("app 1", Path("/gone.sock"), "token")
        self._question, self._tabs = question, tabs

    async def list_questions(self) -> QuestionList:
        return QuestionList((self._question,))

    async def list_waiting_tabs(self) -> tuple[WaitingTab, ...]:
        return self._tabs

    async def approve(self, question: PendingQuestion) -> str:
        raise NotDone("the app was asked")


@pytest.mark.parametrize(
    ("signing", "asked"), [("", "the app was asked"), ("it takes signatures", "signed by bob")]
)
async def test_what_waits_in_an_app_is_listed_once_and_signed_by_way_of_the_inbox(
    signing: str, asked: str
) -> None:
    storage = FakeStorage()
    session_id = await leave_open(storage, DEPLOY, TERMS if signing else None)
    question = PendingQuestion(
        kind="review",
        digest=DEPLOY.digest,
        session_id=session_id,
        tab="t",
        packet=DEPLOY.to_json(),
        signing=signing,
    )
    tabs = (WaitingTab(tab="t2", title="listed", session_id=session_id), WaitingTab(tab="t3", title="other"))
    async with Desk(storage, "bob").serve(App(question, *tabs)) as site:
        _, page = await site.get("/approvals")
        _, said = await answer(site, "approve")

    assert asked in said
    assert find_values("tab", page) == ["t3"]


@pytest.mark.parametrize("charset", ["unicode_escape", "utf-16", "hex", "nothing-known"])
async def test_a_form_in_another_encoding_than_that_of_the_page_decides_nothing(charset: str) -> None:
    storage = FakeStorage()
    session_id = await leave_open(storage, DEPLOY)
    kind = f"application/x-www-form-urlencoded; charset={charset}"
    async with Desk(storage).serve() as site:
        (link,) = await list_links(site)
        _, page = await site.get(link)
        form = {"csrf": find_values("csrf", page)[0], "digest": DEPLOY.digest, "decision": "reject"}
        status, said = await site.post(link, {**form, "reason": "\\ud800"}, Content_Type=kind)

    assert (status, said) == (400, "this is no form of this server")
    assert await storage.answers.find(session_id, DEPLOY.digest) is None
