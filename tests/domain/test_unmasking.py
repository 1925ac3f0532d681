"""Recorded packets are made whole from secrets that are known, and from nothing else."""

from __future__ import annotations

from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorum.domain.calls.execution import Seal, SealedFile
from quorum.domain.calls.packet import ReviewPacket
from quorum.domain.events.masking import MaskedPacket, SecretMask
from quorum.domain.events.unmasking import restore_packet
from quorum.domain.replacing import replace
from quorum.domain.secrets.known import NamedSecret
from tests.support.builders import a_call, a_context
from tests.support.examples import examples

OPTION, PATH = "--upload-pack=./x", "tools/release now.py"


def learnt(**secrets: str) -> SecretMask:
    mask = SecretMask()
    mask.learn_all(NamedSecret(name, value, is_claimed=True) for name, value in secrets.items())
    return mask


def a_packet(**arguments: object) -> ReviewPacket:
    seal = Seal(
        cwd=f"/srv/{PATH}",
        files=(SealedFile(path=f"/srv/{PATH}", sha256=None),),
        diff=f"-x\n+{OPTION}\n",
        executables=(f"/bin/{PATH}",),
        environment={"GIT": OPTION, "HOME": None},
        unsealed=PATH,
        sandbox=OPTION,
    )
    call = a_call("run_command", arguments, id_="one")
    return ReviewPacket(call=call, context=a_context(call_id="one"), seal=seal, asked_by=PATH)


def record(packet: ReviewPacket, mask: SecretMask) -> MaskedPacket:
    """The packet as it is recorded: only the masked one, and the digest of the real one."""
    shown = mask._hide(packet, mask.mask_text)
    assert shown is not packet
    return MaskedPacket(
        call=shown.call,
        context=shown.context,
        seal=shown.seal,
        asked_by=shown.asked_by,
        sealed_digest=packet.digest,
    )


@pytest.mark.parametrize(
    "arguments",
    [
        {"command": f"git fetch {OPTION} origin"},
        {"command": f"python3 '{PATH}' {OPTION}", "list": [{OPTION: PATH}, 1, None]},
    ],
)
def test_everything_that_is_hidden_in_a_record_is_found_again(arguments):
    mask = learnt(API_KEY=OPTION, SCRIPT=PATH)
    packet = a_packet(**arguments)
    recorded = record(packet, mask)
    assert OPTION not in recorded.to_canonical_json()

    assert restore_packet(recorded, mask.list_values) == packet


def test_an_encoded_value_is_found_again():
    mask = learnt(SCRIPT=PATH)
    packet = replace(a_packet(command=f"curl http://h/{quote(PATH, safe='')}"), seal=Seal(cwd="/"), asked_by="")

    assert restore_packet(record(packet, mask), mask.list_values) == packet


@pytest.mark.parametrize("known", [{}, {"API_KEY": OPTION}, {"API_KEY": OPTION, "SCRIPT": "tools/other.py"}])
def test_what_is_not_known_any_more_stays_hidden(known):
    recorded = record(a_packet(command=f"git {OPTION} {PATH}"), learnt(API_KEY=OPTION, SCRIPT=PATH))

    assert restore_packet(recorded, learnt(**known).list_values) is None


@examples(200)
@given(
    st.dictionaries(st.sampled_from("ABCD"), st.text(st.characters(codec="utf-8"), min_size=8, max_size=12)),
    st.lists(st.one_of(st.sampled_from("ABCD"), st.text(max_size=6)), max_size=6),
)
def test_whatever_is_given_back_has_the_digest_of_what_would_run(secrets, words):
    mask = learnt(**secrets)
    packet = ReviewPacket(
        call=a_call("run", {"command": " ".join(secrets.get(word, word) for word in words)}, id_="one"),
        context=a_context(call_id="one"),
        seal=Seal(cwd="/work"),
    )
    shown = mask.mask_event(packet)  # type: ignore[arg-type]
    recorded = MaskedPacket(
        call=shown.call, context=shown.context, seal=shown.seal, sealed_digest=packet.digest
    )

    restored = restore_packet(recorded, mask.list_values)
    assert restored is None or restored == packet
