from __future__ import annotations

import pytest

from quorum.domain.calls.execution import Seal, SealedFile
from quorum.domain.calls.packet import ReviewPacket
from quorum.domain.replacing import replace
from tests.support.builders import a_call, a_context

PACKET = ReviewPacket(
    call=a_call("edit_file", {"path": "a.py", "new_text": "é"}),
    context=a_context(),
    seal=Seal(cwd="/w", files=(SealedFile(path="/w/a.py", sha256="00"),), diff="-a\n+b\n"),
)


def test_the_digest_does_not_depend_on_the_order_of_arguments() -> None:
    turned = replace(PACKET, call=a_call("edit_file", {"new_text": "é", "path": "a.py"}))

    assert turned.digest == PACKET.digest


@pytest.mark.parametrize(
    "changed",
    [
        replace(PACKET, call=a_call("edit_file", {"path": "b.py", "new_text": "é"})),
        replace(PACKET, call=a_call("write_file", {"path": "a.py", "new_text": "é"})),
        replace(PACKET, context=a_context(1)),
        replace(PACKET, seal=replace(PACKET.seal, cwd="/x")),
        replace(PACKET, seal=replace(PACKET.seal, files=(SealedFile(path="/w/a.py", sha256="01"),))),
        replace(PACKET, seal=replace(PACKET.seal, files=(SealedFile(path="/w/a.py", sha256=None),))),
        replace(PACKET, seal=replace(PACKET.seal, diff="-a\n+c\n")),
        replace(PACKET, seal=replace(PACKET.seal, executables=("/bin/sh",))),
        replace(PACKET, seal=replace(PACKET.seal, environment={"PATH": None})),
        replace(PACKET, seal=replace(PACKET.seal, unsealed="further effects")),
        replace(PACKET, seal=replace(PACKET.seal, sandbox="no sandbox")),
    ],
)
def test_whatever_a_review_shows_changes_the_digest(changed: ReviewPacket) -> None:
    assert changed.digest != PACKET.digest


def test_what_only_helps_to_seal_later_calls_stays_out_of_the_digest() -> None:
    helped = replace(PACKET, seal=replace(PACKET.seal, projected={"/w/a.py": b"b"}))

    assert helped.digest == PACKET.digest
    assert helped.seal == PACKET.seal


def test_text_that_is_no_unicode_still_has_a_digest() -> None:
    odd = replace(PACKET, call=a_call("edit_file", {"path": "\udcff"}))

    assert len(odd.digest) == 64
