"""The page of pending reviews, over the socket of a running app: what it shows, and what its links decide."""

from __future__ import annotations

import asyncio
import json
import os
import re
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from html import unescape
from pathlib import Path

import pytest

from quorum.domain.calls.execution import Seal
from quorum.domain.replacing import replace
from quorum.domain.review.ballot import InScope, Vote
from quorum.domain.review.person_question import PersonReply
from quorum.domain.review.plan_terms import PlanObjection
from quorum.domain.review.questions import Approve, Reject, ReviewAnswer
from quorum.domain.review.severity import Severity
from quorum.infrastructure.remote.server import Server
from quorum.infrastructure.web_push.browsers import open_push_browsers
from quorum.rpc.json_rpc import encode_invalid_request
from quorum.serve.approvals.page import MOST_SHOWN_CHARACTERS
from quorum.serve.sites import build_approvals_site
from tests.support.fake_agent import FakeAgent, Scene, a_command, a_packet, a_request, an_edit, review, say
from tests.support.push_receiver import PushReceiver
from tests.support.remote_stage import TOKEN, RemoteStage, on_remote_stage
from tests.support.review_contexts import a_ballot, a_review_context, voted
from tests.support.served_site import ServedSite, find_values, serving

MAKE = a_command("make all")
OTHER = a_command("make install")
ORIGIN = "https://q.example"


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@dataclass
class Phone:
    """A browser that was let in, and the app whose reviews it shows."""

    site: ServedSite
    stage: RemoteStage

    async def links(self) -> list[str]:
        """The links of the list."""
        status, page = await self.site.get("/approvals")
        assert status == 200
        return re.findall(r'class="card" href="([^"]+)"', page)

    async def open(self) -> tuple[str, str]:
        """The only link, and its page."""
        (link,) = await self.links()
        status, page = await self.site.get(link)
        assert status == 200
        return link, page

    async def decide(self, link: str, page: str, decision: str, **changed: str) -> tuple[int, str]:
        """Press a button of the page."""
        form = {"csrf": find_values("csrf", page)[0], "digest": find_values("digest", page)[0]}
        return await self.site.post(link, {**form, "decision": decision, **changed})


@asynccontextmanager
async def answering(path: Path, answer: Callable[[bytes], Awaitable[bytes | None]]) -> AsyncIterator[None]:
    """Serve a socket as an app does that listens."""
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(path))
        listening.listen()
        listening.setblocking(False)
        running = asyncio.create_task(
            Server(listening, answer, encode_invalid_request, objection=lambda _peer: "").run()
        )
        try:
            yield
        finally:
            running.cancel()
            with suppress(asyncio.CancelledError):
                await running


@asynccontextmanager
async def at_a_phone(
    tmp_path: Path, *scenes: Scene, token: str | None = TOKEN, asks: bool = True
) -> AsyncIterator[Phone]:
    path = tmp_path / "q.sock"
    async with on_remote_stage(tmp_path, *scenes, token=TOKEN) as stage, answering(path, stage.answer):
        if asks:
            await stage.send("go")
            await stage.asked()
        async with serving(build_approvals_site(path, token, ORIGIN)) as site:
            await site.enter()
            yield Phone(site, stage)


def answers(stage: RemoteStage) -> list[ReviewAnswer]:
    return stage.agent.answers


@pytest.mark.long
async def test_a_review_is_listed_opened_and_approved_by_its_digest(tmp_path: Path) -> None:
    async with at_a_phone(tmp_path, review(a_request(MAKE))) as phone:
        link, page = await phone.open()
        assert "make all" in page
        assert "<h1>Run a command" in page
        assert MAKE.digest in page
        assert find_values("digest", page) == [MAKE.digest, MAKE.digest]

        status, said = await phone.decide(link, page, "approve")
        await phone.stage.unasked()

        assert status == 200
        assert "You have approved run, packet " in said
        assert answers(phone.stage) == [Approve(MAKE.digest)]
        assert await phone.links() == []


@pytest.mark.long
async def test_a_rejection_carries_its_reason(tmp_path: Path) -> None:
    async with at_a_phone(tmp_path, review(a_request(MAKE))) as phone:
        status, _ = await phone.decide(*await phone.open(), "reject", reason="  not on a Friday ")
        await phone.stage.unasked()

        assert status == 200
        assert answers(phone.stage) == [Reject("not on a Friday")]


@pytest.mark.long
async def test_a_link_decides_once(tmp_path: Path) -> None:
    async with at_a_phone(tmp_path, review(a_request(MAKE), a_request(MAKE))) as phone:
        link, page = await phone.open()
        assert (await phone.decide(link, page, "approve"))[0] == 200
        await phone.stage.until(lambda: len(answers(phone.stage)) == 1)

        status, said = await phone.decide(link, page, "approve")
        assert status == 410
        assert "Nothing was decided" in said
        assert (await phone.site.get(link))[0] == 410
        assert len(answers(phone.stage)) == 1


@pytest.mark.long
@pytest.mark.parametrize("decision", ["approve", "reject"])
async def test_a_review_that_is_no_longer_open_is_not_answered(tmp_path: Path, decision: str) -> None:
    async with at_a_phone(tmp_path, review(a_request(MAKE), a_request(OTHER))) as phone:
        link, page = await phone.open()
        await phone.stage.call("hil.respond", decision="reject", digest=MAKE.digest)
        await phone.stage.until(lambda: len(answers(phone.stage)) == 1)

        status, said = await phone.decide(link, page, decision)
        assert status == 409
        assert "no longer open" in said
        assert answers(phone.stage) == [Reject(None)]


@pytest.mark.long
async def test_another_digest_than_the_one_that_was_shown_is_refused(tmp_path: Path) -> None:
    async with at_a_phone(tmp_path, review(a_request(MAKE))) as phone:
        link, page = await phone.open()
        status, _ = await phone.decide(link, page, "approve", digest=OTHER.digest)

        assert status == 400
        assert answers(phone.stage) == []


@pytest.mark.long(after=1)
@pytest.mark.parametrize("changed", [{"csrf": ""}, {"csrf": "x" * 43}, {"csrf": "é"}], ids=str)
async def test_a_form_of_another_page_decides_nothing(tmp_path: Path, changed: dict[str, str]) -> None:
    async with at_a_phone(tmp_path, review(a_request(MAKE))) as phone:
        link, page = await phone.open()

        assert (await phone.decide(link, page, "approve", **changed))[0] == 403
        assert answers(phone.stage) == []


@pytest.mark.long
@pytest.mark.parametrize("decision", ["", "approve_all", "Approve"])
async def test_there_are_two_decisions(tmp_path: Path, decision: str) -> None:
    async with at_a_phone(tmp_path, review(a_request(MAKE))) as phone:
        assert (await phone.decide(*await phone.open(), decision))[0] == 400
        assert answers(phone.stage) == []


@pytest.mark.long
async def test_without_the_token_one_can_reject_and_not_approve(tmp_path: Path) -> None:
    async with at_a_phone(tmp_path, review(a_request(MAKE)), token=None) as phone:
        link, page = await phone.open()
        assert 'value="approve"' not in page
        assert "approve at the keyboard" in page
        assert (await phone.decide(link, page, "approve"))[0] == 409
        assert answers(phone.stage) == []

        assert (await phone.decide(*await phone.open(), "reject"))[0] == 200
        await phone.stage.unasked()
        assert answers(phone.stage) == [Reject(None)]


@pytest.mark.long
async def test_with_a_wrong_token_the_app_refuses(tmp_path: Path) -> None:
    async with at_a_phone(tmp_path, review(a_request(MAKE)), token="wrong") as phone:
        status, said = await phone.decide(*await phone.open(), "approve")

        assert (status, answers(phone.stage)) == (409, [])
        assert "not the token" in said


@pytest.mark.long
async def test_text_of_a_model_is_no_markup_and_hides_nothing(tmp_path: Path) -> None:
    hostile = a_command("echo '<script>alert(1)</script>' \u202e\x1b[2J\x00 # <b onclick=x>\n\ttrue")
    async with at_a_phone(tmp_path, review(a_request(hostile))) as phone:
        (link,) = await phone.links()
        listed, shown = (await phone.site.get("/approvals"))[1], (await phone.site.get(link))[1]

    for page in (listed, shown):
        assert "<script>alert" not in page
        assert "<b onclick" not in page
        assert not set(page) & {"\u202e", "\x1b", "\x00"}
    assert "⟨U+202E⟩␛[2J␀" in unescape(shown)


@pytest.mark.long
async def test_what_is_too_long_for_the_page_can_only_be_rejected(tmp_path: Path) -> None:
    long = a_command("true # " + "x" * MOST_SHOWN_CHARACTERS)
    async with at_a_phone(tmp_path, review(a_request(long))) as phone:
        link, page = await phone.open()
        assert 'value="approve"' not in page
        assert "too long for the page" in page
        assert (await phone.decide(link, page, "approve"))[0] == 409
        assert answers(phone.stage) == []


@pytest.mark.long
async def test_diff_dangers_and_votes_are_shown_with_the_objection_marked(tmp_path: Path) -> None:
    edit = an_edit("--- a/src/retry.py\n+++ b/src/retry.py\n@@ -1 +1 @@\n-time.sleep(1)\n+sleep(delay)\n")
    context = a_review_context(
        voted(
            replace(
                a_ballot("openai/gpt-5.2", Vote.REJECT, "the delay may be negative", objection="sleep(delay)"),
                objections=(PlanObjection(claim="no <test>", severity=Severity.HIGH, task="read"),),
            ),
            a_ballot("xai/grok-4", reason="it is <tidy>", in_scope=InScope.NO),
            reviewers=("openai/gpt-5.2", "google/gemini-3-pro", "xai/grok-4"),
        )
    )
    request = replace(a_request(edit), reasons=("a guard objects: too <large> (guard path)",))

    async def scene(agent: FakeAgent) -> object:
        await agent.ask(request, context)
        return None

    async with at_a_phone(tmp_path, scene) as phone:
        _, page = await phone.open()

    assert '<span class="del">-time.sleep(1)</span>' in page
    assert '<span class="add">+<mark>sleep(delay)</mark></span>' in page
    assert '<span class="add">+++' not in page
    assert "✗ rejects" in page
    assert "the delay may be negative; high, task read: no &lt;test&gt;" in page
    assert "google/gemini-3-pro has not voted yet" in page
    assert page.count("✗ rejects") == 2
    assert "outside of what was asked, though it approves: it is &lt;tidy&gt;" in page
    assert ">a guard objects: too &lt;large&gt;</p>" in page


async def test_a_question_of_the_model_is_answered_with_a_number_or_words(tmp_path: Path) -> None:
    arguments = {"question": "Which colour?", "options": [{"label": "Blue"}, {"label": "Green"}]}
    packet = a_packet("ask_person", arguments, Seal(cwd="/w"))
    async with at_a_phone(tmp_path, review(a_request(packet)), asks=False) as phone:
        await phone.stage.send("go")
        await phone.stage.until(lambda: getattr(phone.stage.app.screen, "is_awake", False))
        link, page = await phone.open()
        assert "<li>Green</li>" in page

        status, said = await phone.decide(link, page, "approve", reason=" 2 ")
        await phone.stage.unasked()

        assert status == 200
        assert "You have answered question" in said
        assert answers(phone.stage) == [Approve(packet.digest, reply=PersonReply(options=(2,)))]


@pytest.mark.long
async def test_a_question_of_a_tab_in_the_background_is_brought_to_the_front(tmp_path: Path) -> None:
    async with at_a_phone(tmp_path, review(a_request(MAKE))) as phone:
        await phone.stage.call("interaction.spawn", form="agent", query="")
        assert await phone.links() == []
        _, page = await phone.site.get("/approvals")
        form = {name: find_values(name, page)[0] for name in ("csrf", "app", "tab")}

        assert (await phone.site.post("/approvals/show", {**form, "csrf": "x"}))[0] == 403
        assert await phone.links() == []
        assert (await phone.site.post("/approvals/show", {**form, "tab": "tab-99"}))[0] == 409
        assert (await phone.site.post("/approvals/show", form))[0] == 303
        await phone.stage.asked()
        assert len(await phone.links()) == 1


async def test_questions_that_are_no_calls_can_be_rejected_and_not_approved(tmp_path: Path) -> None:
    asked: list[tuple[str, str]] = []

    async def trusting(body: bytes) -> bytes:
        request = json.loads(body)
        result: object = {}
        match request["method"]:
            case "state.get":
                files = ["quorum.toml <b>"]
                result = {"question": {"kind": "trust", "digest": "d" * 64, "files": files}, "tab": "tab-1"}
            case "panes.list":
                result = []
            case "hil.respond":
                asked.append((request["params"]["decision"], request["params"]["digest"]))
        return json.dumps({"jsonrpc": "2.0", "id": 1, "result": result}).encode()

    path = tmp_path / "q.sock"
    async with answering(path, trusting), serving(build_approvals_site(path, TOKEN, ORIGIN)) as site:
        await site.enter()
        (link,) = re.findall(r'class="card" href="([^"]+)"', (await site.get("/approvals"))[1])
        _, page = await site.get(link)
        form = {"csrf": find_values("csrf", page)[0], "digest": find_values("digest", page)[0]}
        assert "quorum.toml &lt;b&gt;" in page
        assert 'value="approve"' not in page
        assert (await site.post(link, {**form, "decision": "approve"}))[0] == 409
        (link,) = re.findall(r'class="card" href="([^"]+)"', (await site.get("/approvals"))[1])
        assert (await site.post(link, {**form, "decision": "reject"}))[0] == 200

    assert asked == [("reject", "d" * 64)]


async def test_where_nothing_is_asked_the_page_says_so_and_looks_again_without_a_script(tmp_path: Path) -> None:
    async with at_a_phone(tmp_path, say("done"), asks=False) as phone:
        status, page = await phone.site.get("/approvals")

    assert status == 200
    assert "nothing waits for an answer" in page
    assert 'http-equiv="refresh"' in page
    assert "<script" not in page


async def test_an_app_that_is_gone_is_named_and_the_page_stays(tmp_path: Path) -> None:
    async with serving(build_approvals_site(tmp_path / "gone.sock", TOKEN, ORIGIN)) as site:
        await site.enter()
        status, page = await site.get("/approvals")

    assert status == 200
    assert "nobody answers at" in page


async def test_what_answers_with_rubbish_is_named_and_the_page_stays(tmp_path: Path) -> None:
    async def rubbish(body: bytes) -> bytes:
        asked = json.loads(body)["method"]
        result: object = [1, 2] if asked == "panes.list" else {"question": {"kind": ["<b>"], "packet": 7}}
        return json.dumps({"jsonrpc": "2.0", "id": 1, "result": result}).encode()

    async with (
        answering(tmp_path / "q.sock", rubbish),
        serving(build_approvals_site(tmp_path / "q.sock", TOKEN, ORIGIN)) as site,
    ):
        await site.enter()
        status, page = await site.get("/approvals")

    assert status == 200
    assert "cannot be read" in page
    assert "<b>" not in page


async def test_a_browser_subscribes_on_a_page_of_its_own_and_the_worker_is_of_the_whole_site(
    tmp_path: Path,
) -> None:
    async with (
        PushReceiver() as receiver,
        serving(build_approvals_site(tmp_path / "q.sock", TOKEN, ORIGIN)) as site,
    ):
        assert (await site.get("/push-worker.js"))[0] == 403
        await site.enter()
        status, page = await site.get("/approvals/notify")
        assert status == 200
        (csrf,) = re.findall(r'data-csrf="([^"]+)"', page)
        (key,) = re.findall(r'data-key="([^"]+)"', page)
        assert "self.registration.showNotification" in (await site.get("/push-worker.js"))[1]

        refused, _ = await site.post("/approvals/notify", {"csrf": "other", **receiver.subscription})
        status, _ = await site.post("/approvals/notify", {"csrf": csrf, **receiver.subscription})
        unusable, why = await site.post(
            "/approvals/notify", {"csrf": csrf, **receiver.subscription, "endpoint": "http://push.example/1"}
        )

        assert (refused, status, unusable) == (403, 200, 400)
        assert "its push service is not reached over https" in why
        browsers = open_push_browsers(dict(os.environ))
        assert browsers is not None
        (browser,) = browsers.list()
        assert (browser.endpoint, browser.origin) == (receiver.subscription["endpoint"], ORIGIN)
        assert browsers.find_key().public == key


@pytest.mark.long
async def test_a_question_that_is_opened_counts_as_seen_where_its_session_is_kept(tmp_path: Path) -> None:
    async with at_a_phone(tmp_path, review(a_request(MAKE))) as phone:
        seen = phone.stage.agent.waiting.seen
        await phone.links()
        assert seen == []
        await phone.open()
        assert seen == [(phone.stage.agent.session_id, MAKE.digest)]

        told = await phone.stage.call("hil.seen", digest=OTHER.digest)

    assert (told, len(seen)) == ({"open": False}, 1)
