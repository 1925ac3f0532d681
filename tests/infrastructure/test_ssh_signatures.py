"""Approvals signed with real keys by ssh-keygen: which hold, and why others do not."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from quorum.application.review.signed_approval import verify_signatures
from quorum.domain.errors import SigningRefused
from quorum.domain.replacing import replace
from quorum.domain.review.people import PeoplePolicy, Person
from quorum.domain.review.signing import ApprovalSignature, SigningDemand, SigningTerms
from quorum.infrastructure.permissions.signing import SshSignatures

pytestmark = pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="ssh-keygen is not installed")
NOW_MS = 1_800_000_000_000
TERMS = SigningTerms(demands=(SigningDemand(1, ("ada", "bob")),), requester="cyn")


def make_key(path: Path, passphrase: str = "", kind: str = "ed25519") -> str:
    """Make a key; its public part."""
    path.parent.mkdir(parents=True, exist_ok=True)
    words = ["ssh-keygen", "-q", "-t", kind, "-N", passphrase, "-C", "somebody", "-f", str(path)]
    subprocess.run(words, check=True, timeout=60, stdin=subprocess.DEVNULL)
    return path.with_suffix(".pub").read_text().strip()


def sign_for(key: Path, purpose: str, text: bytes) -> str:
    words = ["ssh-keygen", "-Y", "sign", "-q", "-n", purpose, "-f", str(key)]
    done = subprocess.run(words, input=text, capture_output=True, check=True, timeout=60)
    return "".join(done.stdout.decode().split("-----")[2].split())


def add_to_agent(key: Path, socket: str, passphrase: str) -> None:
    ask = key.with_name("ask")
    ask.write_text(f"#!/bin/sh\necho {passphrase}\n")
    ask.chmod(0o700)
    environ = {"SSH_AUTH_SOCK": socket, "SSH_ASKPASS": str(ask), "SSH_ASKPASS_REQUIRE": "force"}
    environ = {"PATH": os.environ["PATH"], **environ}
    subprocess.run(["ssh-add", "-q", str(key)], env=environ, check=True, capture_output=True, timeout=60)


class Desk:
    """One person's machine: a home folder with keys, and a policy."""

    def __init__(self, home: Path, policy: PeoplePolicy, **more: str) -> None:
        self.home, self.policy, self.more, self.now_ms = home, policy, more, NOW_MS

    @property
    def signatures(self) -> SshSignatures:
        environ = {"HOME": str(self.home), "PATH": os.environ["PATH"], **self.more}
        return SshSignatures(policy=self.policy, environ=environ, clock=lambda: self.now_ms)


def policy_of(**keys: str) -> PeoplePolicy:
    return PeoplePolicy(people={name: Person(name=name, keys=(key,)) for name, key in keys.items()})


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """Ada's machine, where bob is known too."""
    ada = make_key(tmp_path / "ada" / ".ssh" / "id_ed25519")
    bob = make_key(tmp_path / "bob" / ".ssh" / "id_ed25519")
    return Desk(tmp_path / "ada", policy_of(ada=ada, bob=bob))


async def test_a_signature_holds_for_the_call_that_was_signed_and_for_nothing_else(desk: Desk) -> None:
    signed = await desk.signatures.sign("s", "5f", TERMS)

    assert (signed.person, signed.at_ms) == ("ada", NOW_MS)
    assert await desk.signatures.verify(signed) == ""
    for changed in (
        replace(signed, digest="60"),
        replace(signed, session_id="t"),
        replace(signed, person="bob"),
        replace(signed, at_ms=NOW_MS - 1),
        replace(signed, signature=signed.signature[:-8] + "AAAAAAAA"),
        replace(signed, signature=""),
        replace(signed, signature="not even base64"),
    ):
        assert "it was not made with a key of" in await desk.signatures.verify(changed)
    assert "names nobody" in await desk.signatures.verify(replace(signed, person="eve"))


async def test_a_signature_for_another_purpose_is_none(desk: Desk) -> None:
    signed = await desk.signatures.sign("s", "5f", TERMS)
    body = sign_for(desk.home / ".ssh" / "id_ed25519", "git", signed.statement)

    assert await desk.signatures.verify(replace(signed, signature=body)) != ""


async def test_a_key_that_is_revoked_or_has_expired_counts_no_more(desk: Desk) -> None:
    signed = await desk.signatures.sign("s", "5f", TERMS)
    ada = desk.policy.people["ada"]

    desk.policy = PeoplePolicy(people={"ada": replace(ada, keys=(), revoked=ada.keys)})
    assert "revoked" in await desk.signatures.verify(signed)
    with pytest.raises(SigningRefused, match="no key in the agent"):
        await desk.signatures.sign("s", "5f", TERMS)

    desk.policy = PeoplePolicy(people={"ada": replace(ada, expires_ms=NOW_MS + 1_000)})
    assert await desk.signatures.verify(signed) == ""
    desk.now_ms = NOW_MS + 2_000
    assert "have expired" in await desk.signatures.verify(signed)
    with pytest.raises(SigningRefused, match="have expired"):
        await desk.signatures.sign("s", "5f", TERMS)


async def test_a_signature_from_the_future_does_not_count(desk: Desk) -> None:
    signed = await desk.signatures.sign("s", "5f", TERMS)
    desk.now_ms = NOW_MS - 60 * 60 * 1000

    assert "future" in await desk.signatures.verify(signed)


async def count(desk: Desk, terms: SigningTerms, *given: ApprovalSignature) -> tuple[bool, str]:
    """Whether the call may run, and why signatures do not count."""
    tally = await verify_signatures(desk.signatures.verify, terms, given, session_id="s", digest="5f")
    return terms.is_met(tally.signed), "; ".join(tally.problems)


def give_key(desk: Desk, name: str, path: Path) -> Desk:
    """Name another key of somebody in the policy; the desk where it lies."""
    person = desk.policy.people[name]
    keys = (*person.keys, make_key(path / ".ssh" / "id_ed25519"))
    desk.policy = PeoplePolicy(people={**desk.policy.people, name: replace(person, keys=keys)})
    return Desk(path, desk.policy)


async def test_two_keys_of_one_person_are_one_signature_under_whatever_name(desk: Desk, tmp_path: Path) -> None:
    second = give_key(desk, "ada", tmp_path / "phone")
    both = replace(TERMS, demands=(SigningDemand(2, ("ada", "bob")),))
    one, other = await desk.signatures.sign("s", "5f", both), await second.signatures.sign("s", "5f", both)

    assert one.signature != other.signature
    assert await desk.signatures.verify(other) == ""
    assert await count(desk, both, one, other) == (False, "")
    met, problems = await count(desk, both, one, replace(other, person="bob"))
    assert not met
    assert "the signature of bob does not count: it was not made with a key of bob" in problems


async def test_no_key_of_who_asked_makes_up_for_others(desk: Desk, tmp_path: Path) -> None:
    second = give_key(desk, "ada", tmp_path / "phone")
    of_others = SigningTerms(demands=(SigningDemand(1, ("bob",)),), requester="ada")
    with pytest.raises(SigningRefused, match="you, ada, asked for it"):
        await second.signatures.sign("s", "5f", of_others)
    forced = await second.signatures.sign("s", "5f", TERMS)

    assert await count(desk, of_others, forced) == (False, "ada asked for it, and so does not count")
    assert await count(desk, of_others, replace(forced, person="bob")) == (
        False,
        "the signature of bob does not count: it was not made with a key of bob, or not for this call",
    )


async def test_a_signature_that_is_moved_to_another_call_or_session_counts_for_nothing(desk: Desk) -> None:
    one = replace(TERMS, demands=(SigningDemand(1, ("ada",)),))
    elsewhere = await desk.signatures.sign("s", "60", one)
    before = await desk.signatures.sign("r", "5f", one)

    assert await count(desk, one, elsewhere) == (False, "a signature of ada is about something else")
    for moved in (replace(elsewhere, digest="5f"), replace(before, session_id="s")):
        met, problems = await count(desk, one, moved)
        assert not met
        assert "or not for this call" in problems
    assert await count(desk, one, await desk.signatures.sign("s", "5f", one)) == (True, "")


async def test_who_may_not_sign_is_told_so(desk: Desk) -> None:
    of_ada = SigningTerms(demands=(SigningDemand(1, ("bob",)),), requester="ada")
    with pytest.raises(SigningRefused, match=r"you, ada, asked for it; it takes a signature of bob"):
        await desk.signatures.sign("s", "5f", of_ada)
    with pytest.raises(SigningRefused, match=r"you, ada, may not sign it"):
        await desk.signatures.sign("s", "5f", replace(of_ada, requester="cyn"))


async def test_without_ssh_keygen_nothing_is_signed_and_nothing_holds(desk: Desk, tmp_path: Path) -> None:
    signed = await desk.signatures.sign("s", "5f", TERMS)
    desk.more = {"PATH": str(tmp_path)}

    with pytest.raises(SigningRefused, match="not installed"):
        await desk.signatures.sign("s", "5f", TERMS)
    assert "not installed" in await desk.signatures.verify(signed)


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[str]:
    """An agent of SSH; the path of its socket."""
    socket = str(tmp_path / "agent")
    process = subprocess.Popen(["ssh-agent", "-D", "-a", socket], stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    yield socket
    process.terminate()
    process.wait()
    process.stdout.close()


@pytest.mark.long
async def test_a_key_with_a_passphrase_signs_through_the_agent_and_not_without(
    tmp_path: Path, agent: str
) -> None:
    key = make_key(tmp_path / "home" / ".ssh" / "work", passphrase="correct horse")
    desk = Desk(tmp_path / "home", policy_of(ada=key))
    with pytest.raises(SigningRefused, match="must be in the agent: ssh-add"):
        await desk.signatures.sign("s", "5f", TERMS)

    add_to_agent(tmp_path / "home" / ".ssh" / "work", agent, "correct horse")
    desk.more = {"SSH_AUTH_SOCK": agent}
    assert await desk.signatures.verify(await desk.signatures.sign("s", "5f", TERMS)) == ""


@pytest.mark.long
@pytest.mark.parametrize("kind", ["ecdsa", "rsa"])
async def test_other_kinds_of_keys_sign_as_well(tmp_path: Path, kind: str) -> None:
    desk = Desk(tmp_path / "home", policy_of(bob=make_key(tmp_path / "home" / ".ssh" / "id", kind=kind)))

    assert await desk.signatures.verify(await desk.signatures.sign("s", "5f", TERMS)) == ""
