"""A change reviewed by several models, without a screen."""

from __future__ import annotations

import os
import sys
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path

from quorum.application.export.review_json import RenderReview, ReviewOutcome
from quorum.cli.review import FORMATS, ReviewOptions
from quorum.domain.code_review.change import Change, CodeReviewRequest
from quorum.domain.code_review.review_result import ReviewResult
from quorum.domain.conversation.session_kind import SessionKind
from quorum.domain.errors import AlreadyApproved, NothingToReview, ToolError
from quorum.domain.events.event import ChangeReviewed, Event, FindingsTried, PanelStarted, ReviewerLooked
from quorum.domain.events.report import RunReport, RunStatus
from quorum.domain.review.ballot import Verdict
from quorum.domain.text.printable import make_printable
from quorum.errors import UsageError, complain
from quorum.event_loop import run_event_loop
from quorum.headless.printer import HeadlessPrinter, render_json_line, run_headless
from quorum.headless.session import close_session, compose_session
from quorum.infrastructure.changes.read_change import ReadChange
from quorum.infrastructure.changes.repository_changes import RepositoryChanges
from quorum.infrastructure.config.loading import LoadedSettings
from quorum.infrastructure.extras import find_own_address
from quorum.run_signals import RunSignals
from quorum.settings import load
from quorum.starting import explain_start_failures
from quorum.version import __version__

_MOST_BYTES = 64 * 1024 * 1024
_MOST_SUMMARY_BYTES = 1024 * 1024  # GitHub shows no summary of a step that is longer
_CUT = "\n\n(cut: it is longer than a summary may be)\n"
_NOT_APPROVED = 1


class ReviewPrinter(HeadlessPrinter):
    """Observes a code review, and prints its result in the format that is asked for."""

    def __init__(self, options: ReviewOptions) -> None:
        stream = options.format == "stream-json"
        super().__init__("stream-json" if stream else "text", quiet=options.quiet, verbose=options.verbose)
        self._format = options.format
        self._with_refuted = options.with_refuted
        self.result: ReviewResult | None = None
        self._models: dict[str, str] = {}

    def notify(self, event: Event) -> None:
        """Take the result in, and tell what belongs on stderr."""
        match event:
            case PanelStarted():
                self._models = {each.label: each.model for each in event.participants}
            case ChangeReviewed():
                self.result = event.result
            case ReviewerLooked() if self._verbose:
                complain([f"{event.label} {event.tool} {event.arguments} · {event.outcome.value}"])
            case FindingsTried() if event.error and not self._quiet:
                complain([f"{event.label} tried no findings: {event.error}"])
            case _:
                pass
        super().notify(event)

    def conclude(self) -> None:
        """Print the result."""
        report = self._report
        assert report is not None
        if self.lost is not None or self._format == "stream-json":
            return
        if self._format == "markdown":
            super().conclude()
        else:
            self._print_result(report)

    def _print_result(self, report: RunReport) -> None:
        """Print the result for programs."""
        if not (module := FORMATS[self._format]):
            return
        render: RenderReview = import_module(module).render_review
        timestamp = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        outcome = ReviewOutcome(
            self.result,
            report,
            self._models,
            timestamp,
            __version__,
            address=find_own_address() if self._format == "sarif" else "",
            with_refuted=self._with_refuted,
        )
        for line in render(outcome):
            self._print(line if isinstance(line, str) else render_json_line(line))
        if self._format == "github" and (path := os.environ.get("GITHUB_STEP_SUMMARY")):
            _write_summary(path, report)

    def conclude_approved(self, text: str) -> None:
        """Print that nothing has come since it was approved."""
        self.result = ReviewResult(
            description=text,
            digest="",
            base="",
            commit="",
            verdict=Verdict.APPROVED,
            rule="",
            ballots=(),
            is_independent=False,
            findings=(),
            files=0,
            parts=0,
            notices=(text,),
        )
        report = RunReport(session_id="", status=RunStatus.COMPLETED, stop_reason=None, text=text, turns=0)
        if self._format == "markdown":
            self._print(make_printable(text))
        else:
            self._print_result(report)


def _write_summary(path: str, report: RunReport) -> None:
    """Add the whole review to the summary of the step: GitHub Actions keeps ten annotations of each level."""
    text = make_printable(report.text or f"quorum review: {report.error or report.status.value}")
    try:
        with open(path, "a+b") as file:
            room = _MOST_SUMMARY_BYTES - file.tell()
            content = f"{text}\n".encode()
            if len(content) > room:
                content = content[: max(room - len(_CUT), 0)].decode(errors="ignore").encode() + _CUT.encode()
            file.write(content[:room])
    except OSError as error:
        complain([f"the summary {make_printable(path)} cannot be written: {error.strerror or error}"])


def review_change(options: ReviewOptions, root: Path, signals: RunSignals) -> int:
    """Have the change reviewed and print the result; the exit code says whether it is approved.

    Raises UsageError where there is nothing to review or it cannot be read; else as `run_prompt` does.
    """
    text = _read_diff(options.diff, root)
    with explain_start_failures():
        loaded = load(options, root)
    complain(loaded.warnings)
    return run_event_loop(_review(options, root, loaded, text, signals))


def _read_diff(name: str, root: Path) -> str | None:
    """The text of the diff that is named; None where none is."""
    if not name:
        return None
    try:
        if name == "-":
            content = sys.stdin.buffer.read(_MOST_BYTES + 1) if sys.stdin else b""
        else:
            with (root / name if not Path(name).is_absolute() else Path(name)).open("rb") as file:
                content = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise UsageError(f"the diff {name} cannot be read: {error.strerror or error}") from error
    if len(content) > _MOST_BYTES:
        raise UsageError(f"the diff {name} is longer than {_MOST_BYTES >> 20} MB; split it")
    return content.decode("utf-8", "replace")


async def _review(
    options: ReviewOptions, root: Path, loaded: LoadedSettings, text: str | None, signals: RunSignals
) -> int:
    printer = ReviewPrinter(options)
    read_change = ReadChange()
    with explain_start_failures():
        agent, container = await compose_session(options, root, loaded, printer, read_change=read_change)
    request = CodeReviewRequest(
        pull_request=options.pr,
        commits=options.range,
        focus=options.focus.strip(),
        is_all=options.all,
        is_given=text is not None,
    )
    async with close_session(agent, signals):
        if agent.record.form is not SessionKind.REVIEW:
            from quorum.application.program_lookup import find_own_command

            remedy = f"{find_own_command()} run --resume continues it"
            raise UsageError(f"the session {agent.session_id} is no code review; {remedy}")
        try:
            change = await _read(container.changes(), options.diff, text, request)
        except AlreadyApproved as approved:
            printer.conclude_approved(str(approved))
            return 0
        except (NothingToReview, ToolError) as problem:
            raise UsageError(str(problem)) from problem
        complain(
            f"{file.path} is not shown to reviewers: {file.left_out}"
            for file in change.files
            if file.is_sensitive
        )
        read_change.hold(change)
        code = await run_headless(agent, request.text, printer, signals.listen)
    if code == 0 and (printer.result is None or not printer.result.is_approved):
        return _NOT_APPROVED
    return code


async def _read(changes: RepositoryChanges, name: str, text: str | None, request: CodeReviewRequest) -> Change:
    """The change, given as text or to be found in the repository."""
    if text is None:
        return await changes.read(request)
    return await changes.read_diff(text, "the diff on standard input" if name == "-" else f"the diff in {name}")
