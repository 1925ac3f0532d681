"""What the inbox hides of a call that can be approved there."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest

from quorum.application.ports.storage import ContentStore, SessionArchive
from quorum.cli.inbox.report import render_review, reveal_packet
from quorum.domain.calls.execution import Seal
from quorum.domain.calls.packet import ReviewPacket
from quorum.domain.errors import AnswerRefused
from quorum.domain.events.masking import MaskedPacket
from quorum.domain.replacing import replace
from quorum.domain.sessions.waiting_review import WaitingReview
from quorum.infrastructure.config.schema import Settings
from quorum.infrastructure.secrets.known import PacketRestorer
from quorum.session_store import SessionStore
from tests.support.builders import a_call, a_context
from tests.support.past_sessions import a_summary


def test_words_that_a_file_of_the_workspace_calls_secret_are_shown_unless_they_look_random(
    tmp_path: Path,
) -> None:
    token = "q7ZkT2vX9bLr4mWc8sNd"
    (tmp_path / ".env").write_text(f"API_KEY='deploy production'\nSCRIPT=tools-release.py\nTOKEN={token}\n")
    store = SessionStore(
        archive=cast("SessionArchive", None),
        contents=cast("ContentStore", None),
        settings=Settings(),
        root=tmp_path,
        cwd=str(tmp_path),
    )

    command = f"python3 tools-release.py 'deploy production' --token {token}"

    assert token not in store.build_review_mask()(command)
    assert "python3 tools-release.py 'deploy production'" in store.build_review_mask()(command)
    assert "deploy production" not in store.build_mask()(command)


def test_a_call_whose_record_hides_a_word_of_a_sensitive_file_is_shown_whole_on_demand(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("API_KEY='deploy production'\n")
    packet = ReviewPacket(
        call=a_call("run_command", {"command": "python3 x.py deploy production"}, id_="one"),
        context=a_context(call_id="one"),
        seal=Seal(cwd=str(tmp_path)),
    )
    recorded = MaskedPacket(
        call=replace(packet.call, arguments={"command": "python3 x.py [secret:API_KEY]"}),
        context=packet.context,
        seal=packet.seal,
        sealed_digest=packet.digest,
    )

    shown = PacketRestorer(Settings(), {}).restore(recorded, str(tmp_path))
    assert shown == packet  # words that are not random are not hidden from who approves them

    hidden_elsewhere = PacketRestorer(Settings(), {}).restore(recorded, str(tmp_path / "other"))
    review = WaitingReview(session=a_summary(), packet=hidden_elsewhere, reasons=(), since_ms=0)
    assert "hidden      it is not known here" in render_review(review, str, now_ms=0)
    with pytest.raises(AnswerRefused, match="its own session can show it"):
        reveal_packet(review)


def test_a_random_value_is_hidden_until_it_is_asked_for(tmp_path: Path) -> None:
    token = "q7ZkT2vX9bLr4mWc8sNd"
    packet = ReviewPacket(
        call=a_call("run_command", {"command": f"deploy {token}"}, id_="one"),
        context=a_context(call_id="one"),
        seal=Seal(cwd=str(tmp_path)),
    )
    recorded = MaskedPacket(
        call=replace(packet.call, arguments={"command": "deploy [secret:DEPLOY_TOKEN]"}),
        context=packet.context,
        seal=packet.seal,
        sealed_digest=packet.digest,
    )

    shown = PacketRestorer(Settings(), {"DEPLOY_TOKEN": token}).restore(recorded, str(tmp_path))
    review = WaitingReview(session=a_summary(), packet=shown, reasons=(), since_ms=0)

    assert token not in render_review(review, str, now_ms=0)
    assert "hidden      --reveal shows it" in render_review(review, str, now_ms=0)
    assert token in render_review(reveal_packet(review), str, now_ms=0)


def test_a_decision_is_shown_with_what_is_asked_before_what_it_is_bound_to() -> None:
    packet = ReviewPacket(
        call=a_call("run_command", {"command": "make"}, id_="one"),
        context=a_context(call_id="one"),
        seal=Seal(cwd="/w", diff="+a", environment={"LANG": "C"}),
    )
    review = WaitingReview(
        session=a_summary("s"), packet=packet, reasons=("it is a command",), since_ms=0, preamble="I build it."
    )

    lines = render_review(review, str, now_ms=0).split("\n")

    order = ("model", "why", "tool", "arguments", "diff", "session", "environment")
    assert [label for line in lines for label in order if line.split(" ")[0] == label] == list(order)
