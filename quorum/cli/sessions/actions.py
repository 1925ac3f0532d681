"""`quorum sessions`: what is done with recorded sessions."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Callable, Coroutine, Sequence
from decimal import Decimal
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING, TypeVar

from quorum.application.whole_file import write_whole_file
from quorum.cli.sessions import (
    ExportOptions,
    ForkOptions,
    ListOptions,
    OneSessionOptions,
    RenameOptions,
    SearchOptions,
    VerifyOptions,
)
from quorum.command_line.options import StartOptions
from quorum.domain.errors import BlobError
from quorum.domain.events.event import JobEnded, OutputStored, UserCommandFinished
from quorum.domain.sessions.session_ids import compute_id_length
from quorum.domain.sessions.session_summary import LedgerRecord, SessionSummary
from quorum.domain.text.amounts import format_age, format_amount
from quorum.domain.text.printable import make_printable
from quorum.errors import UsageError, complain
from quorum.infrastructure.extras import is_installed, render_install_command
from quorum.infrastructure.secrets.key_ring import KeyRing
from quorum.session_store import SessionStore
from quorum.settings import load
from quorum.text_table import Column, render_text_table

if TYPE_CHECKING:
    from quorum.application.ports.storage import BlobStore, Ledger, SessionArchive
    from quorum.application.review.signed_approval import Verify
    from quorum.domain.review.people import PeoplePolicy
    from quorum.domain.sessions.ledger_chain import Verification
    from quorum.infrastructure.audit.signed_export import SigningKey


ActedOn = TypeVar("ActedOn", bound=StartOptions)

_LONGEST_ID = 100
BROKEN = 1
"""The exit code of `verify` where a record does not fit."""
NEWER = 2
"""The same where all that this version knows fits, and something is left that only a newer one can verify."""
_ANCHOR = (
    "That the last records of a session were cut off cannot be seen from what is left: quorum sessions anchor "
    "notes how far it has come. Keep that elsewhere, and compare with --anchors."
)


def act_on_sessions(
    options: ActedOn, root: Path, act: Callable[[ActedOn, SessionStore], Coroutine[object, object, int]]
) -> int:
    """Do it with recorded sessions; the exit code. Raises ConfigError, LedgerError and UsageError."""
    from quorum.domain.errors import DamagedLedger
    from quorum.domain.sessions.session_facts import escape_surrogates
    from quorum.infrastructure.storage import open_storage

    loaded = load(options, root, needs_project=False)
    complain([loaded.left_out] if loaded.left_out else [])
    settings = loaded.settings
    storage = open_storage(settings.storage, os.environ)
    sessions = SessionStore(
        archive=storage.archive,
        contents=storage.contents,
        settings=settings,
        root=root,
        cwd=escape_surrogates(str(root)),
        outputs=storage.open_blobs(),
    )
    complain(storage.notices)
    try:
        return asyncio.run(act(options, sessions))
    except DamagedLedger as damage:
        if isinstance(options, VerifyOptions):
            complain([str(damage)])
            return BROKEN
        storage.mend()
        complain(storage.notices[-1:])
        return asyncio.run(act(options, sessions))
    finally:
        storage.close()


async def list_sessions(wish: ListOptions, store: SessionStore) -> int:
    """Print the sessions as a table or as JSON; always 0."""
    shown = (await store.list_chosen(everywhere=wish.all))[: wish.limit]
    if wish.json:
        from quorum.application.export.session_json import encode_ascii_json, encode_summary

        print(encode_ascii_json([encode_summary(session) for session in shown], indent=1))
    elif not shown:
        complain([store.explain_nothing(everywhere=wish.all)])
    else:
        width = get_terminal_size().columns if sys.stdout.isatty() else None
        print_table(shown, await store.list_chosen(everywhere=True), width=width, folders=wish.all)
    return 0


async def fork(wish: ForkOptions, store: SessionStore) -> int:
    """Copy a session, or its beginning, and print the id of the copy; always 0."""
    session = await store.find_named(wish.session)
    before = None if wish.before is None else await _find_beginning(session, wish.before, store)
    print(await store.archive.fork(session.id, before=before))
    return 0


async def _find_beginning(session: SessionSummary, turn: int, store: SessionStore) -> int:
    """The place of the record with which the turn of this number begins, counted from 1."""
    from quorum.domain.events.event import TurnStarted

    records = await store.archive.read(session.id)
    places = [record.seq for record in records if isinstance(record.event, TurnStarted)]
    if turn > len(places):
        turns = f"{len(places)} turn{'' if len(places) == 1 else 's'}"
        raise UsageError(f"the session has {turns}; quorum sessions show {session.id} numbers them")
    return places[turn - 1]


async def stop(wish: OneSessionOptions, store: SessionStore) -> int:
    """Ask the process that has a session open to end; always 0. Raises LedgerError where that cannot be."""
    session = await store.find_named(wish.session)
    others = [
        one.id
        for one in await store.archive.list_sessions()
        if one.id != session.id and one.owner is None and one.holder == session.holder
    ]
    await store.archive.end_holder(session.owner or session.id)
    had = " and ".join((_show_id(session.id), *map(_show_id, others)))
    print(f"{make_printable(session.holder, newlines=False)} was asked to end; it has {had}")
    return 0


async def verify(wish: VerifyOptions, store: SessionStore) -> int:
    """Print whether every record of these sessions fits; BROKEN where one does not, else NEWER where one of a
    newer version is left."""
    from quorum.cli.sessions.anchors import AnchorComparison

    sessions = await store.archive.list_sessions() if wish.all else [await store.find_named(wish.session)]
    anchors = AnchorComparison.open(wish.anchors)
    code = 0
    for session in sessions:
        checked = await anchors.check(await store.archive.verify(session.id), store.archive)
        lines: tuple[str, ...] = ()
        are_signed = True
        if checked.holds:
            lines, are_signed = await check_signatures(await store.archive.read(session.id, REVIEW_TYPES))
            gone = await describe_gone_outputs(
                await store.archive.read(session.id, STORED_TYPES), store.outputs
            )
            lines = (*lines, *(f"  {line}" for line in gone))
        print("\n".join((*_render_lines(checked), *anchors.describe(checked), *lines)))
        if not are_signed:
            code = BROKEN
        elif not checked.holds and code != BROKEN:
            code = NEWER if checked.broken_at is None else BROKEN
    if wish.all and (
        gone := anchors.list_gone([session.id for session in await store.archive.list_sessions()])
    ):
        print("\n".join(f"{_show_id(id)}: BROKEN: it was anchored, and is not there any more" for id in gone))
        code = BROKEN
    complain([_ANCHOR if sessions else store.explain_nothing(everywhere=True)])
    return code


def _render_lines(checked: Verification) -> list[str]:
    count = f"{checked.records:,} record{'' if checked.records == 1 else 's'}"
    name = _show_id(checked.session_id)
    if checked.broken_at is not None:
        found = f"{name}: BROKEN at record {checked.broken_at} of {count}: {checked.reason}"
    elif checked.newer_at is not None:
        found = f"{name}: {count}, not verified: {checked.reason}"
    elif checked.records:
        found = f"{name}: {count}, every one fits; head {checked.head}"
    else:
        found = f"{name}: {count}"
    lines = [found]
    recorded = [place for place in checked.redacted if place not in checked.unrecorded]
    if recorded:
        places, last = ", ".join(map(str, recorded)), checked.redaction_head
        lines.append(f"  something was taken out on purpose of: {places}; last redaction {last}")
    if checked.unrecorded:
        places = ", ".join(map(str, checked.unrecorded))
        lines.append(
            f"  redacted without a record of it: {places}; an earlier version did so, or somebody replaced them"
        )
    return lines


def _show_id(session_id: str) -> str:
    """An id from a file of anchors or a storage that others write, as no terminal obeys it."""
    return make_printable(session_id[:_LONGEST_ID], newlines=False)


async def show(wish: OneSessionOptions, store: SessionStore) -> int:
    """Print it as plain text, long outputs cut; always 0."""
    from quorum.application.export.formats import render_plain
    from quorum.application.export.narration import build_account

    session = await store.find_named(wish.session)
    sys.stdout.write(
        render_plain(build_account(session, await store.archive.read(session.id), store.build_mask()))
    )
    return 0


async def diff(wish: OneSessionOptions, store: SessionStore) -> int:
    """Print what a session changed; always 0."""
    from quorum.cli.sessions.diff import print_session_diff

    session = await store.find_named(wish.session)
    records = await store.archive.read(session.id)
    return await print_session_diff(records, store.contents, store.build_mask(), cwd=session.cwd)


async def export(wish: ExportOptions, store: SessionStore) -> int:
    """Write all of it to the file asked for, or to stdout; always 0."""
    from quorum.application.export.formats import render_export

    session = await store.find_named(wish.session)
    complain(await describe_gone_outputs(await store.archive.read(session.id, STORED_TYPES), store.outputs))
    if wish.signed and wish.file is not None:
        return await write_signed_export(session.id, wish.file, store.archive, store.build_mask())
    text = render_export(wish.format, session, await store.archive.read(session.id), store.build_mask())
    if wish.file is None:
        sys.stdout.write(text)
        return 0
    try:
        await asyncio.to_thread(write_whole_file, wish.file, text.encode("utf-8"), replaces=True)
    except OSError as error:
        raise UsageError(f"cannot write {wish.file}: {error.strerror}; name another file with -o") from error
    return 0


_OTHERWISE = "quorum keeps the signing key in a file of its state folder"


async def load_audit_key(what: str) -> SigningKey:
    """The key that this person signs with. Raises ConfigError for one that cannot be used, and UsageError where
    what it needs is not installed."""
    if not (is_installed("cbor2") and is_installed("cryptography")):
        raise UsageError(f"{what} needs: {render_install_command('audit')}")
    from quorum.infrastructure.audit.signed_export import load_signing_key

    return await asyncio.to_thread(load_signing_key, os.environ, KeyRing(otherwise=_OTHERWISE))


async def write_signed_export(
    session_id: str, file: Path, archive: SessionArchive, mask: Callable[[str], str]
) -> int:
    """Write the signed export of a session; always 0. The public key is printed on stdout.

    Raises ConfigError for a signing key that cannot be used, LedgerError for a session that cannot be
    signed, and UsageError.
    """
    key = await load_audit_key("a signed export")
    from quorum.infrastructure.audit.signed_export import export_signed

    stored = await archive.read_stored(session_id)
    data = export_signed(stored, key, mask=mask, exported_ms=time.time_ns() // 1_000_000)
    try:
        await asyncio.to_thread(write_whole_file, file, data, replaces=True)
    except OSError as error:
        raise UsageError(f"cannot write {file}: {error.strerror}; name another file with -o") from error
    complain([f"{file}: {len(stored.chain):,} records, signed with the key in {key.place}; its public key:"])
    print(key.public_hex)
    return 0


_MOST_HITS = 20


async def search(wish: SearchOptions, store: SessionStore) -> int:
    """Print the sessions, the one used last first, each with the place of the words; always 0."""
    from quorum.infrastructure.session_search import SessionSearch, locate_search_index

    words = [word for part in wish.words for word in part.split()]
    mask = store.build_mask()
    index = SessionSearch(
        store.archive,
        locate_search_index(os.environ),
        mask=mask,
        announce=lambda count: complain(
            [f"{count} sessions are taken into the index first; later only new ones"]
        ),
    )
    hits = await index.search(words, cwd=None if wish.all else store.cwd, limit=wish.limit or _MOST_HITS)
    if wish.json:
        from quorum.application.export.session_json import encode_ascii_json, encode_summary

        print(
            encode_ascii_json(
                [{**encode_summary(hit.session), "snippet": hit.snippet} for hit in hits], indent=1
            )
        )
        return 0
    if not hits:
        complain([f"no session{'' if wish.all else ' of this folder'} holds all of these words"])
    for hit in hits:
        title = make_printable(mask(hit.session.title), newlines=False)
        print(f"{hit.session.id}  {title}\n    {make_printable(hit.snippet, newlines=False)}")
    return 0


def rename_session(options: RenameOptions, root: Path) -> int:
    """Record the title; always 0. Raises ConfigError, LedgerError, and UsageError where another process has the
    session."""
    from quorum.application.program_lookup import find_own_command
    from quorum.domain.sessions.session_facts import cut_title, escape_surrogates
    from quorum.domain.sessions.session_summary import NamedSession
    from quorum.infrastructure.storage import open_storage

    loaded = load(options, root, needs_project=False)
    complain([loaded.left_out] if loaded.left_out else [])
    storage = open_storage(loaded.settings.storage, os.environ)
    complain(storage.notices)
    cwd = escape_surrogates(str(root))
    store = SessionStore(
        archive=storage.archive, contents=storage.contents, settings=loaded.settings, root=root, cwd=cwd
    )
    try:
        session = asyncio.run(store.find_named(options.session))
        opened = storage.open_session(NamedSession(session.id), cwd=cwd)
        if opened.ledger is None:
            raise UsageError(f"{opened.in_use}; there, /rename does it")
        asyncio.run(_record(opened.ledger, cut_title(store.build_mask()(options.title))))
    finally:
        storage.close()
    complain([f"session {session.id} is renamed; {find_own_command()} sessions list shows it"])
    return 0


async def _record(ledger: Ledger, title: str) -> None:
    from quorum.domain.events.event import SessionRenamed

    try:
        await ledger.append(SessionRenamed(title=title), urgent=True)
    finally:
        await ledger.aclose()


STORED_TYPES = (JobEnded.type, OutputStored.type, UserCommandFinished.type)


async def describe_gone_outputs(records: Sequence[LedgerRecord], outputs: BlobStore | None) -> tuple[str, ...]:
    """What is to be said of them, in a sentence; nothing where all are there."""
    stored = [
        record.event.blob_id
        for record in records
        if isinstance(record.event, JobEnded | OutputStored | UserCommandFinished) and record.event.blob_id
    ]
    if outputs is None:
        return ()
    try:
        gone = [each for each in dict.fromkeys(stored) if not await outputs.exists(each)]
    except BlobError as error:
        return (f"whether its outputs that were stored apart are still there cannot be told: {error}",)
    if not gone:
        return ()
    amount = format_amount(len(gone), "output")
    return (f"of {amount} stored apart nothing is left but what its records hold: {', '.join(gone[:3])}",)


REVIEW_TYPES = ("review_requested", "review_decided")
"""The types of the records that it looks at."""


async def check_signatures(records: Sequence[LedgerRecord]) -> tuple[tuple[str, ...], bool]:
    """Lines for the person, and whether each approval that people had to sign has signatures that hold. Where
    the policy names nobody, none is checked. Raises ConfigError for a policy that cannot be read."""
    from quorum.domain.sessions.waiting_review import list_signed_decisions

    if not (decisions := list_signed_decisions(records)):
        return (), True
    from quorum.application.review.signed_approval import verify_signatures
    from quorum.domain.text.amounts import format_amount
    from quorum.domain.text.printable import make_printable
    from quorum.infrastructure.config.policy_file import read_policy

    people = read_policy().people
    counted = format_amount(len(decisions), "approval")
    if not people.people:
        return (f"  {counted} signed, not checked: the policy of this machine names no people",), True
    lines: list[str] = []
    for decision in decisions:
        ids = {each.session_id for each in decision.signatures}
        # A fork has the decisions of the session that it comes from.
        session_id = next(iter(ids)) if len(ids) == 1 else ""
        made_ms = max((each.at_ms for each in decision.signatures), default=0)
        verify = _hold_at(people, made_ms)
        tally = await verify_signatures(
            verify, decision.terms, decision.signatures, session_id=session_id, digest=decision.digest
        )
        if not decision.terms.is_met(tally.signed):
            why = "; ".join((*tally.problems, decision.terms.describe_missing(tally.signed)))
            lines.append(f"  record {decision.seq}: NOT SIGNED as it had to be: {make_printable(why)}")
    if lines:
        return tuple(lines), False
    return (f"  {counted} signed, as they had to be, by keys of the policy",), True


def _hold_at(people: PeoplePolicy, at_ms: int) -> Verify:
    """Tells whether a signature held at that time: a key that has expired since did its part."""
    from quorum.infrastructure.permissions.signing import SshSignatures

    return SshSignatures(policy=people, environ=os.environ, clock=lambda: at_ms).verify


def render_table(
    sessions: Sequence[SessionSummary],
    *,
    among: Sequence[SessionSummary],
    now_ms: int,
    width: int | None,
    folders: bool = False,
) -> list[str]:
    """One line for each session under a line of headings. `width` in cells; None: nothing is cut.

    Ids are as long as it takes to tell them apart from all sessions there are (`among`).
    """
    length = compute_id_length([each.id for each in among])
    columns: tuple[Column[SessionSummary], ...] = (
        Column("ID", lambda each: make_printable(each.id[:length], newlines=False), whole=True),
        Column("LAST USED", lambda each: format_age(each.updated_ms, now_ms), is_number=True),
        Column("TURNS", lambda each: f"{each.turns:,}", is_number=True),
        Column("COST", _render_cost, is_number=True),
        Column("TITLE", lambda each: _render_title(each, folders=folders)),
    )
    return render_text_table(columns, sessions, width=width)


def print_table(
    sessions: Sequence[SessionSummary], among: Sequence[SessionSummary], *, width: int | None, folders: bool
) -> None:
    """Print such a table as of now."""
    now_ms = time.time_ns() // 1_000_000
    print("\n".join(render_table(sessions, among=among, now_ms=now_ms, width=width, folders=folders)))


def _render_title(session: SessionSummary, *, folders: bool) -> str:
    in_use = "" if session.open_in is None else f"[in use by {session.holder}] "
    folder = f"{session.cwd} · " if folders else ""
    return make_printable(f"{in_use}{folder}{session.title or '(no prompt yet)'}", newlines=False)


def _render_cost(session: SessionSummary) -> str:
    cost = session.cost_usd
    if cost is None:
        return ""
    return "<$0.01" if 0 < cost < Decimal("0.005") else f"${cost:,.2f}"
