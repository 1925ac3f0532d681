"""`quorum share`: a session as one HTML file, which checks itself where it is opened."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from quorum.command_line.command import CliCommand, argument, flag
from quorum.command_line.options import StartOptions
from quorum.command_line.shared import PLACES, SESSION

if TYPE_CHECKING:
    from quorum.application.export.session_evidence import SessionEvidence
    from quorum.domain.sessions.redaction import MaskedCopy
    from quorum.session_store import SessionStore

_MOST_NAMED = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareOptions(StartOptions):
    """The session that is shared and the file that it is written to, None: one named after it."""

    session: str = ""
    file: Path | None = None
    yes: bool = False


def _share(options: ShareOptions, root: Path) -> int:
    from quorum.cli.sessions.actions import act_on_sessions

    return act_on_sessions(options, root, share)


async def share(wish: ShareOptions, store: SessionStore) -> int:
    """Write the page once the person has seen what leaves; 0, or 1 where the person says no.

    Raises ConfigError for a signing key that cannot be used, LedgerError for a session that cannot be signed,
    and UsageError.
    """
    import asyncio

    from quorum.application.export.session_evidence import gather_evidence
    from quorum.application.whole_file import write_whole_file
    from quorum.cli.confirmation import confirm
    from quorum.cli.sessions.actions import describe_gone_outputs, load_audit_key
    from quorum.domain.sessions.redaction import mask_session
    from quorum.errors import UsageError, complain
    from quorum.infrastructure.wall_clock import read_wall_clock_ms

    session = await store.find_named(wish.session)
    key = await load_audit_key("a shared session")
    from quorum.infrastructure.audit.signed_export import export_signed, render_check_code, render_shared_page

    secrets, now_ms = store.gather_secrets(), read_wall_clock_ms()
    copy = mask_session(await store.archive.read_stored(session.id), secrets, at_ms=now_ms)
    evidence = export_signed(copy.stored, key, mask=secrets.mask_known, exported_ms=now_ms)
    page = render_shared_page(evidence, key.public_hex)
    file = wish.file or Path(f"quorum-{session.id}.html")
    records = copy.stored.decode_records()
    complain(secrets.mask_text(line) for line in _preview(copy, gather_evidence(records), len(page)))
    complain(await describe_gone_outputs(records, store.outputs))
    if not wish.yes and not confirm(
        f"Write all of this to {file}?", otherwise="--yes writes it without asking"
    ):
        complain(["nothing was written"])
        return 1
    try:
        await asyncio.to_thread(write_whole_file, file, page, replaces=True)
    except OSError as error:
        raise UsageError(f"cannot write {file}: {error.strerror}; name another file with --out") from error
    complain(
        [
            f"{file} is written, signed with the key in {key.place}",
            "send this check code on another way than the file: it shows who signed, and a missing end",
        ]
    )
    print(render_check_code(copy.stored, key.public_hex))
    return 0


def _preview(copy: MaskedCopy, evidence: SessionEvidence, size: int) -> Iterator[str]:
    """What leaves with the page, and what does not."""
    from quorum.application.export.wording import DECISIONS
    from quorum.domain.text.amounts import format_amount, format_size

    summary = copy.stored.summary
    count = format_amount(len(copy.stored.chain), "record")
    yield f'"{summary.title}": {count} of the session {summary.id}, {format_size(size)}'
    held = [format_amount(each, name) for name, each in evidence.amounts.items()]
    if evidence.commands:
        held.append(format_amount(len(evidence.commands), "command"))
    yield f"it holds {', '.join(held) or 'no prompt yet'}, with all their texts and outputs"
    if evidence.decisions:
        yield "calls: " + ", ".join(f"{each:,} {DECISIONS[name]}" for name, each in evidence.decisions.items())
    yield f"it names the folder {summary.cwd}" + _name_paths(evidence)
    if copy.marks:
        named = ", ".join(f"{mark} {each} times" if each > 1 else mark for mark, each in copy.marks.items())
        yield f"masked in it: {named}"
    if copy.masked:
        taken = format_amount(len(copy.masked), "record")
        yield f"something is taken out of {taken} for this file, and the page says so; the session keeps it"
    if not copy.marks and not copy.masked:
        yield "nothing in it looks like a secret, and nothing is masked"
    yield "images, former contents of files, outputs stored apart and sessions of subagents are not part of it"


def _name_paths(evidence: SessionEvidence) -> str:
    named = sorted(evidence.changed)[:_MOST_NAMED]
    more = len(evidence.changed) - len(named)
    return (
        f", and of the files that it changed: {', '.join(named)}{f' and {more:,} more' if more else ''}"
        * bool(named)
    )


COMMAND = CliCommand(
    ShareOptions,
    _share,
    details="The page shows the transcript, votes, diffs and commands, works offline and checks in the browser "
    "that no byte was changed. Secrets are masked; what leaves is listed before, and asked.",
    arguments=(
        argument("-o", "--out", metavar="FILE", type=Path, dest="file", help="write to this file"),
        flag("--yes", help="do not ask"),
        *PLACES,
        SESSION,
    ),
    examples=(
        ("quorum share latest", "the session of this folder used last"),
        ("quorum share 0199ab --out fix.html --yes", "to this file, without a question"),
    ),
)
