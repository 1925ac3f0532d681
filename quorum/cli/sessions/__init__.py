"""`quorum sessions`: what is recorded, and what can be done with it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from quorum.cli.app import AppOptions, run_app
from quorum.command_line import shared
from quorum.command_line.command import CliCommand, CommandGroup, argument, flag
from quorum.command_line.options import StartOptions
from quorum.command_line.values import parse_amount, parse_count, parse_session_name

if TYPE_CHECKING:
    from quorum.application.export.formats import ExportFormat

_NOT_BOTH = "--all or one session, not both"


@dataclass(frozen=True, slots=True, kw_only=True)
class ListOptions(StartOptions):
    """Which sessions are listed, and how."""

    all: bool = False
    json: bool = False
    limit: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OneSessionOptions(StartOptions):
    """The id of a session, the beginning of one, "latest", or empty where none was given."""

    session: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchOptions(ListOptions):
    """What is searched for, and where."""

    words: tuple[str, ...] = ()

    def find_conflict(self) -> str:
        """Which options do not go together, in a sentence; empty where all do."""
        return "" if any(map(str.strip, self.words)) else "WORDS are empty: say what to search for"


@dataclass(frozen=True, slots=True, kw_only=True)
class RenameOptions(OneSessionOptions):
    """The title that lists show from now on."""

    title: str = ""

    def find_conflict(self) -> str:
        """Which options do not go together, in a sentence; empty where all do."""
        return "" if self.title.strip() else "TITLE is empty: say what the session is called"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportOptions(OneSessionOptions):
    """The form of an export, and the file it is written to; None: standard output."""

    format: ExportFormat = "md"
    file: Path | None = None
    signed: bool = False

    def find_conflict(self) -> str:
        """Which options do not go together, in a sentence; empty where all do."""
        if self.signed and self.file is None:
            return "--signed writes bytes, not text: name the file with -o"
        if self.signed and self.format != "md":
            return "--signed has a format of its own; leave --format out"
        return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForkOptions(OneSessionOptions):
    """`before` is the turn, counted from 1, up to which the session is copied; None: all of it."""

    before: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyOptions(OneSessionOptions):
    """Which sessions are verified. `anchors` is a file of anchors that were noted elsewhere."""

    all: bool = False
    anchors: Path | None = None

    def find_conflict(self) -> str:
        """Which options do not go together, in a sentence; empty where all do."""
        return _NOT_BOTH if self.all and self.session else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnchorOptions(OneSessionOptions):
    """Which sessions are anchored, and the `file` that the anchors are added to, too."""

    all: bool = False
    file: Path | None = None

    def find_conflict(self) -> str:
        """Which options do not go together, in a sentence; empty where all do."""
        return _NOT_BOTH if self.all and self.session else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PruneOptions(StartOptions):
    """Which sessions are deleted: those not used for `older_than` days, and all but the `keep` used last."""

    older_than: int | None = None
    keep: int | None = None
    all: bool = False
    dry_run: bool = False
    yes: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RedactOptions(OneSessionOptions):
    """The text that is removed; "-": standard input."""

    text: str = ""


def _list(options: ListOptions, root: Path) -> int:
    from quorum.cli.sessions.actions import act_on_sessions, list_sessions

    return act_on_sessions(options, root, list_sessions)


def _show(options: OneSessionOptions, root: Path) -> int:
    from quorum.cli.sessions.actions import act_on_sessions, show

    return act_on_sessions(options, root, show)


def _search(options: SearchOptions, root: Path) -> int:
    from quorum.cli.sessions.actions import act_on_sessions, search

    return act_on_sessions(options, root, search)


def _rename(options: RenameOptions, root: Path) -> int:
    from quorum.cli.sessions.actions import rename_session

    return rename_session(options, root)


def _diff(options: OneSessionOptions, root: Path) -> int:
    from quorum.cli.sessions.actions import act_on_sessions, diff

    return act_on_sessions(options, root, diff)


def _export(options: ExportOptions, root: Path) -> int:
    from quorum.cli.sessions.actions import act_on_sessions, export

    return act_on_sessions(options, root, export)


def _fork(options: ForkOptions, root: Path) -> int:
    from quorum.cli.sessions.actions import act_on_sessions, fork

    return act_on_sessions(options, root, fork)


def _stop(options: OneSessionOptions, root: Path) -> int:
    from quorum.cli.sessions.actions import act_on_sessions, stop

    return act_on_sessions(options, root, stop)


def _verify(options: VerifyOptions, root: Path) -> int:
    from quorum.cli.sessions.actions import act_on_sessions, verify

    return act_on_sessions(options, root, verify)


def _anchor(options: AnchorOptions, root: Path) -> int:
    from quorum.cli.sessions.actions import act_on_sessions
    from quorum.cli.sessions.anchors import print_anchors

    return act_on_sessions(options, root, print_anchors)


def _prune(options: PruneOptions, root: Path) -> int:
    from quorum.cli.sessions.actions import act_on_sessions
    from quorum.cli.sessions.clearing import prune

    return act_on_sessions(options, root, prune)


def _redact(options: RedactOptions, root: Path) -> int:
    from quorum.cli.sessions.actions import act_on_sessions
    from quorum.cli.sessions.clearing import redact

    return act_on_sessions(options, root, redact)


_USUAL_SESSION = argument(
    "session", metavar="ID", type=parse_session_name, nargs="?", help=f"{shared.SESSION_HELP}, the default"
)
COMMAND = CommandGroup(
    {
        "list": CliCommand(
            ListOptions,
            _list,
            summary="List the sessions of this folder, most recently used first.",
            arguments=(
                flag("--all", help="of all folders"),
                flag("--json", help="as one array of JSON objects"),
                argument("-n", metavar="N", type=parse_count, dest="limit", help="at most this many"),
                *shared.PLACES,
            ),
            examples=(
                ("quorum sessions list -n 5", "the five used last"),
                ("quorum sessions list --all --json", "of all folders, for another program"),
            ),
        ),
        "show": CliCommand(
            OneSessionOptions,
            _show,
            summary="Print what happened in a session; long outputs are shortened.",
            arguments=(*shared.PLACES, shared.SESSION),
            examples=(("quorum sessions show latest | less", "the session of this folder used last"),),
        ),
        "search": CliCommand(
            SearchOptions,
            _search,
            summary="Find sessions by the words of their prompts and answers.",
            arguments=(
                flag("--all", help="of all folders"),
                flag("--json", help="print them as JSON"),
                argument("-n", metavar="N", type=parse_count, dest="limit", help="at most this many, else 20"),
                *shared.PLACES,
                argument("words", metavar="WORDS", nargs="*", help="all of them stand in the session"),
            ),
            examples=(("quorum sessions search --all retry limit", "both words, in any folder"),),
        ),
        "rename": CliCommand(
            RenameOptions,
            _rename,
            summary="Give a session another title in lists.",
            arguments=(
                *shared.PLACES,
                shared.SESSION,
                argument("title", metavar="TITLE", help="what it is called"),
            ),
            examples=(('quorum sessions rename latest "flaky tests"', "/rename does so in the app"),),
        ),
        "diff": CliCommand(
            OneSessionOptions,
            _diff,
            summary="Print what a session changed in the files, as a unified diff.",
            details="It compares the recorded contents: how the session left the files with how they were "
            "before it.",
            arguments=(*shared.PLACES, shared.SESSION),
            examples=(
                ("quorum sessions diff latest", "the session of this folder used last"),
                ("quorum sessions diff 0199ab > changes.patch", "to a file, without colours"),
            ),
        ),
        "export": CliCommand(
            ExportOptions,
            _export,
            summary="Export a complete session.",
            arguments=(
                argument(
                    "--format",
                    metavar="FORMAT",
                    choices=("md", "json", "html", "canonical"),
                    help="md (the default), json, html, or canonical: deterministic, without times and ids",
                ),
                argument(
                    "-o", metavar="FILE", type=Path, dest="file", help="write to this file, not to stdout"
                ),
                flag(
                    "--signed",
                    help="write one file (-o) with your signature, which can be checked without quorum",
                ),
                *shared.PLACES,
                shared.SESSION,
            ),
            examples=(
                ("quorum sessions export latest -o session.md", "as Markdown, to a file"),
                ("quorum sessions export --format html 0199ab > session.html", "as a page"),
                ("quorum sessions export --signed latest -o session.cose", "signed, for an audit"),
            ),
        ),
        "fork": CliCommand(
            ForkOptions,
            _fork,
            summary="Copy a session and print the id of the copy.",
            arguments=(
                argument(
                    "--before",
                    metavar="TURN",
                    type=parse_count,
                    help="only the part before the turn with this number, see show",
                ),
                *shared.PLACES,
                shared.SESSION,
            ),
            examples=(("quorum sessions fork latest --before 3", "only its first two turns"),),
        ),
        "stop": CliCommand(
            OneSessionOptions,
            _stop,
            summary="Ask the process that has a session open to end.",
            details="As SIGTERM does: what runs is interrupted, and all is recorded. The sessions of its other "
            "tabs end with it; each can be resumed.",
            arguments=(*shared.PLACES, shared.SESSION),
            examples=(("quorum sessions stop 0199ab", "quorum board lists those that are open"),),
        ),
        "verify": CliCommand(
            VerifyOptions,
            _verify,
            summary="Check that no event was changed.",
            details="Exit code 0: all sessions are intact; 1: an event does not match.",
            arguments=(
                flag("--all", help="every session of every folder"),
                argument(
                    "--anchors", metavar="FILE", type=Path, help="compare with the anchors in this file, too"
                ),
                *shared.PLACES,
                _USUAL_SESSION,
            ),
            examples=(("quorum sessions verify --all", "every session of every folder"),),
        ),
        "anchor": CliCommand(
            AnchorOptions,
            _anchor,
            summary="Print and note how far sessions have come.",
            details="Kept elsewhere, that shows later whether events were cut off: quorum sessions verify "
            "--anchors FILE.",
            arguments=(
                flag("--all", help="every session of every folder, and of subagents"),
                argument("-o", metavar="FILE", type=Path, dest="file", help="add them to this file, too"),
                *shared.PLACES,
                _USUAL_SESSION,
            ),
            examples=(
                ("quorum sessions anchor latest", "the session of this folder used last"),
                (
                    "quorum sessions anchor --all -o /mnt/backup/anchors.jsonl",
                    "all, also to another disk",
                ),
            ),
        ),
        "prune": CliCommand(
            PruneOptions,
            _prune,
            summary="Delete sessions of this folder permanently.",
            details="It deletes those that match every given option, except sessions in use.",
            arguments=(
                argument(
                    "--older-than", metavar="DAYS", type=parse_amount, help="those not used for this many days"
                ),
                argument("--keep", metavar="N", type=parse_amount, help="all but the N used last"),
                flag("--all", help="of all folders"),
                flag("--dry-run", help="only list what would be deleted"),
                flag("--yes", help="do not ask"),
                *shared.PLACES,
            ),
            examples=(
                ("quorum sessions prune --older-than 30 --dry-run", "list what would be deleted"),
                (
                    "quorum sessions prune --all --keep 100 --yes",
                    "keep the 100 used last; do not ask",
                ),
            ),
        ),
        "redact": CliCommand(
            RedactOptions,
            _redact,
            summary="Remove a text from the events of a session permanently.",
            arguments=(
                *shared.PLACES,
                shared.SESSION,
                argument(
                    "text",
                    metavar="TEXT",
                    help="the text; - reads it from stdin, so that it is not in the shell history",
                ),
            ),
            examples=(
                (
                    "quorum sessions redact latest - < secret.txt",
                    "the text is not in the shell history",
                ),
            ),
        ),
        "resume": CliCommand(
            AppOptions,
            run_app,
            is_full_screen=True,
            is_long_lived=True,
            summary="Resume a session, as quorum --resume ID does.",
            arguments=(
                shared.FORK,
                *shared.MODELS,
                shared.MODE,
                *shared.LIMITS,
                *shared.list_places(quiet=shared.QUIET_APP),
                shared.SAFE,
                shared.DEBUG,
                argument("resume", metavar="ID", type=parse_session_name, help=shared.SESSION_HELP),
                argument("prompt", metavar="PROMPT", nargs="?", help="the first prompt"),
            ),
            examples=(("quorum sessions resume latest --fork", "continue in a copy"),),
        ),
    },
    example=("quorum sessions list", "the sessions of this folder"),
)
