"""What the managed policy has people sign, and their signatures, made and verified by `ssh-keygen`."""

from __future__ import annotations

import math
import os
import subprocess
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from quorum.application.event_bus import EventBus
from quorum.application.inbox import InboxApprover
from quorum.application.ports.people import Approver
from quorum.application.program_lookup import find_program
from quorum.application.session.session_record import SessionRecord
from quorum.domain.errors import LedgerError, SigningRefused
from quorum.domain.events.event import ErrorOccurred
from quorum.domain.review.people import PeoplePolicy, Person, find_fingerprint
from quorum.domain.review.signing import NAMESPACE, ApprovalSignature, SigningTerms
from quorum.domain.text.printable import make_printable
from quorum.infrastructure.answerer import find_account
from quorum.infrastructure.blocking import run_in_thread
from quorum.infrastructure.config.loading import LoadedSettings
from quorum.infrastructure.wall_clock import read_wall_clock_ms


def build_approver(
    person: Approver,
    record: SessionRecord,
    loaded: LoadedSettings,
    environ: Mapping[str, str],
    folder: Path,
    events: EventBus,
) -> Approver:
    """Who answers about calls: the person here or the inbox, and for some calls so many people who sign. Those
    whom the settings name are told while a decision waits; where they cannot be, that is recorded."""
    inbox = InboxApprover(person, record.storage.answers, record.session_id)
    answering = _build_signing_approver(person, inbox, record, loaded.policy.people, environ)
    if not (tables := loaded.settings.push):
        return answering
    from quorum.application.review.pushing import PushingApprover
    from quorum.infrastructure.execution.commands.environment import build_command_environment
    from quorum.infrastructure.push import build_pushes
    from quorum.infrastructure.settings_conversion import list_key_names

    answers, session_id = record.storage.answers, record.session_id

    async def find_seen_age(digest: str) -> float:
        """What cannot be read was not seen."""
        with suppress(LedgerError):
            return await answers.find_seen_age_secs(session_id, digest)
        return math.inf

    variables = build_command_environment(environ, list_key_names(loaded.settings))
    return PushingApprover(
        answering,
        build_pushes(tables, variables, folder),
        session_id=record.session_id,
        folder=folder.name,
        complain=lambda message: events.record(ErrorOccurred(message=message)),
        find_seen_age=find_seen_age,
    )


def _build_signing_approver(
    person: Approver, inbox: Approver, record: SessionRecord, policy: PeoplePolicy, environ: Mapping[str, str]
) -> Approver:
    if not policy.rules:
        return inbox
    from quorum.application.review.signed_approval import SigningApprover

    signatures = SshSignatures(policy=policy, environ=environ, clock=read_wall_clock_ms)
    return SigningApprover(
        person,
        inbox,
        record.storage.answers,
        record.session_id,
        sign=signatures.sign,
        verify=signatures.verify,
    )


def build_signing_terms(
    policy: PeoplePolicy, events: EventBus
) -> Callable[[Collection[str]], SigningTerms | None]:
    """Tells what people have to sign for a call of this session."""
    return lambda spoke: policy.find_terms(spoke, events.askers)


def list_askers(policy: PeoplePolicy, owner: EventBus | None) -> Callable[[], Collection[str]]:
    """Names the accounts of those who ask in a session of this process: for a subagent, all who asked in that
    of its owner."""
    if owner is not None:
        return lambda: owner.askers
    account = find_account() if policy.account_asks else ""
    return lambda: (account,)


def build_signing(policy: PeoplePolicy, environ: Mapping[str, str], *, is_on_terminal: bool) -> SshSignatures:
    """Signs an approval in the inbox, with a key of the person who is here, and verifies those of others."""

    return SshSignatures(
        policy=policy, environ=environ, clock=read_wall_clock_ms, is_on_terminal=is_on_terminal
    )


_BEGIN, _END = "-----BEGIN SSH SIGNATURE-----", "-----END SSH SIGNATURE-----"
_SIGNING_SECS = 60.0
"""A key in hardware waits for a touch."""
_VERIFYING_SECS = 10.0
_MOST_KEY_FILES = 50
_AHEAD_MS = 5 * 60 * 1000
"""So far clocks of two machines may be apart."""


class SshSignatures(Struct, frozen=True, kw_only=True):
    """Signs with a key that is here and that the policy names, and verifies by the keys of the policy.

    `clock` gives milliseconds since 1970. `is_on_terminal`: ssh-keygen may ask for a passphrase; else a key
    that has one must be in the agent.
    """

    policy: PeoplePolicy
    environ: Mapping[str, str]
    clock: Callable[[], int]
    is_on_terminal: bool = False

    async def sign(self, session_id: str, digest: str, terms: SigningTerms) -> ApprovalSignature:
        """Sign the packet of this digest in this session. Raises SigningRefused."""
        return await run_in_thread(lambda _stop: self._sign(session_id, digest, terms))

    async def verify(self, given: ApprovalSignature) -> str:
        """Why a signature does not hold, as a clause; empty where it does."""
        return await run_in_thread(lambda _stop: self._verify(given))

    def _sign(self, session_id: str, digest: str, terms: SigningTerms) -> ApprovalSignature:
        person, key = self._choose_key(terms)
        now = self.clock()
        if person.expires_ms is not None and now > person.expires_ms:
            raise SigningRefused(f"the keys of {person.name} have expired; the policy names their end")
        draft = ApprovalSignature(session_id=session_id, digest=digest, person=person.name, at_ms=now)
        done = self._run(("-Y", "sign", "-q", "-n", NAMESPACE, "-f", str(key)), draft.statement, _SIGNING_SECS)
        text = done.stdout.decode("ascii", "replace")
        if done.returncode or _BEGIN not in text or _END not in text:
            raise SigningRefused(
                f"ssh-keygen could not sign with {key} ({_describe_error(done)}); a key with a passphrase "
                "must be in the agent: ssh-add"
            )
        body = "".join(text.partition(_BEGIN)[2].partition(_END)[0].split())
        return ApprovalSignature(
            session_id=session_id, digest=digest, person=person.name, at_ms=now, signature=body
        )

    def _choose_key(self, terms: SigningTerms) -> tuple[Person, Path]:
        """The first key here of somebody whose signature counts: in the agent, or in `~/.ssh`."""
        owners = {
            find_fingerprint(key): person for person in self.policy.people.values() for key in person.keys
        }
        own = ""
        for fingerprint, path in self._list_keys():
            if (person := owners.get(fingerprint)) is None:
                continue
            if person.name in terms.people:
                return person, path
            own = person.name
        whose = ", ".join(terms.people)
        if own in terms.asked:
            raise SigningRefused(f"you, {own}, asked for it; it takes a signature of {whose}")
        if own:
            raise SigningRefused(f"you, {own}, may not sign it; it takes a signature of {whose}")
        raise SigningRefused(f"no key in the agent or in ~/.ssh is one that the policy names for {whose}")

    def _list_keys(self) -> Iterator[tuple[str, Path]]:
        """Public keys whose private part is at hand, and the file that names each to ssh-keygen."""
        folder = Path(self.environ.get("HOME") or os.path.expanduser("~")) / ".ssh"
        files: dict[str, Path] = {}
        try:
            found = sorted(folder.glob("*.pub"))[:_MOST_KEY_FILES]
        except OSError:
            found = []
        for path in found:
            try:
                fingerprint = find_fingerprint(path.read_text("utf-8", "replace"))
            except OSError:
                continue
            files.setdefault(fingerprint, path)
        held = self._list_held_keys()
        for fingerprint in held:
            if fingerprint in files:
                yield fingerprint, files[fingerprint]
        for fingerprint, path in files.items():
            if (private := path.with_suffix("")).is_file():
                yield fingerprint, private

    def _list_held_keys(self) -> Sequence[str]:
        """The keys in the agent."""
        program = find_program("ssh-add", self.environ.get("PATH"))
        if program is None or "SSH_AUTH_SOCK" not in self.environ:
            return ()
        try:
            done = subprocess.run(
                (program, "-L"),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                env=self._build_environment(),
                timeout=_VERIFYING_SECS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            return ()
        return [find_fingerprint(line) for line in done.stdout.decode("utf-8", "replace").splitlines()]

    def _verify(self, given: ApprovalSignature) -> str:
        person = self.policy.people.get(given.person)
        if person is None:
            return f"the policy names nobody {given.person!a}"
        if given.at_ms > self.clock() + _AHEAD_MS:
            return "it was made in the future, by the clock of this machine"
        if person.expires_ms is not None and max(given.at_ms, self.clock()) > person.expires_ms:
            return f"the keys of {person.name} have expired"
        if not person.keys and not person.revoked:
            return f"the policy names no key of {person.name}"
        try:
            if self._fits(given, person.keys):
                return ""
            if self._fits(given, person.revoked):
                return f"it was made with a key of {person.name} that is revoked"
        except SigningRefused as error:
            return str(error)
        return f"it was not made with a key of {person.name}, or not for this call"

    def _fits(self, given: ApprovalSignature, keys: Sequence[str]) -> bool:
        """Whether one of these keys made the signature for just this approval. Raises SigningRefused."""
        if not keys:
            return False
        armored = "\n".join(
            (_BEGIN, *(given.signature[at : at + 70] for at in range(0, len(given.signature), 70)), _END, "")
        )
        with tempfile.TemporaryDirectory(prefix="quorum-signature-") as folder:
            signers, signature = Path(folder, "signers"), Path(folder, "signature")
            lines = (f'someone namespaces="{NAMESPACE}" {" ".join(key.split()[:2])}\n' for key in keys)
            signers.write_text("".join(lines), "utf-8")
            signature.write_text(armored, "utf-8")
            words = ("-Y", "verify", "-q", "-f", str(signers), "-I", "someone", "-n", NAMESPACE)
            done = self._run((*words, "-s", str(signature)), given.statement, _VERIFYING_SECS)
            return done.returncode == 0

    def _run(
        self, words: Sequence[str], incoming: bytes, limit_secs: float
    ) -> subprocess.CompletedProcess[bytes]:
        program = find_program("ssh-keygen", self.environ.get("PATH"))
        if program is None:
            raise SigningRefused("approvals are signed by ssh-keygen, which is not installed")
        try:
            return subprocess.run(
                (program, *words),
                input=incoming,
                capture_output=True,
                env=self._build_environment(),
                timeout=limit_secs,
                start_new_session=not self.is_on_terminal,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise SigningRefused(f"ssh-keygen did not end within {limit_secs:.0f} s") from None
        except OSError as error:
            raise SigningRefused(f"ssh-keygen cannot be started: {error.strerror}") from error

    def _build_environment(self) -> dict[str, str]:
        kept = {
            name: self.environ[name]
            for name in ("HOME", "PATH", "SSH_AUTH_SOCK", "TERM", "DISPLAY")
            if name in self.environ
        }
        return kept if self.is_on_terminal else {**kept, "SSH_ASKPASS_REQUIRE": "never"}


def _describe_error(done: subprocess.CompletedProcess[bytes]) -> str:
    said = done.stderr.decode("utf-8", "replace").strip().splitlines()
    return make_printable(said[-1], newlines=False)[:200] if said else f"exit code {done.returncode}"
