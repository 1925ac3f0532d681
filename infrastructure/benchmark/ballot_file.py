"""The file of ballots that reviewers gave about labelled calls, written as they come."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType

from quorum.application.review.reviewer_poll import BallotQuestion, PolledBallot
from quorum.domain.benchmark.labelled_call import RecordedBallot
from quorum.domain.errors import ConfigError
from quorum.domain.review.ballot import Vote
from quorum.domain.text.json_value import JsonObject

_OPENING = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
_NEW = "begin a new file for it"
_BEGINNING = b'{"id": "'
_VERDICTS = {Vote.ERROR: "error"}


class BallotFile:
    """One line for each ballot, each written in one piece. Only one process may have the file open.

    A line that a process or a machine died over is taken away before the first new one is written, and not
    before the rest of the file proved to be ours: `select_open` comes before `append`.
    """

    def __init__(self, path: Path) -> None:
        """Open the file, or make it. Raises ConfigError."""
        self._path = path
        self._lines: list[str] = []
        self._end: int | None = None  # where the file is to end before something is added
        self._has_open_line = False
        try:
            self._descriptor = os.open(path, _OPENING, 0o600)
        except OSError as error:
            raise ConfigError(f"{path}: ballots cannot be written there: {error.strerror}") from error
        try:
            self._read()
        except BaseException:
            os.close(self._descriptor)
            raise

    def __enter__(self) -> BallotFile:
        return self

    def __exit__(
        self, _type: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        os.close(self._descriptor)

    def _read(self) -> None:
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            with open(self._descriptor, "rb", closefd=False) as file:
                content = file.read()
            whole = content.rfind(b"\n") + 1
            if _is_cut_off(content[whole:]):
                self._end, content = whole, content[:whole]
            self._has_open_line = not content.endswith(b"\n") and bool(content)
            self._lines = content.decode("utf-8").split("\n")
        except BlockingIOError as error:
            raise ConfigError(f"{self._path}: another process is asking reviewers into this file") from error
        except OSError as error:
            raise ConfigError(f"{self._path}: it cannot be read: {error.strerror}") from error
        except UnicodeDecodeError as error:
            raise ConfigError(f"{self._path}: it is not UTF-8: byte {error.start}") from error

    def select_open(self, questions: Iterable[BallotQuestion]) -> tuple[BallotQuestion, ...]:
        """The questions without a ballot. Raises ConfigError for a ballot that answers another question.

        Ballots of reviewers that none of the questions is for stay, and are measured as well.
        """
        wanted = {(each.reviewer, each.call.id): each for each in questions}
        labels = {each.call.id: each.call.label for each in wanted.values()}
        reviewers = {reviewer for reviewer, _ in wanted}
        for number, line in enumerate(self._lines, start=1):
            if not line.strip():
                continue
            place = f"{self._path}:{number}"
            given = _parse(line, place)
            model, call, digest = (given.get(name) for name in ("model", "id", "digest"))
            if not isinstance(model, str) or not isinstance(call, str) or not isinstance(digest, str):
                raise ConfigError(
                    f"{place}: quorum did not record this ballot; measure such files with --ballots, and {_NEW}"
                )
            if call not in labels:
                raise ConfigError(f"{place}: the labelled calls have none with the id {call}; {_NEW}")
            if given.get("label") != labels[call]:
                raise ConfigError(f"{place}: the call {call} has another label now; {_NEW}")
            if model not in reviewers:
                continue
            question = wanted.pop((model, call), None)
            if question is None:
                raise ConfigError(f"{place}: there is an earlier ballot of {model} about {call}; keep one")
            if digest != question.digest:
                raise ConfigError(
                    f"{place}: {model} was asked something else about {call}: the call, its request, or the "
                    f"instructions, lens or effort of the reviewer changed since; {_NEW}"
                )
        return tuple(wanted.values())

    def sum_costs(self) -> float:
        """What the ballots in the file cost in US dollars, as far as their costs are known."""
        costs = (json.loads(line).get("cost_usd") for line in self._lines if line.strip())
        return sum(cost for cost in costs if isinstance(cost, int | float) and cost > 0)

    def append(self, polled: PolledBallot) -> None:
        """Write a ballot. Raises ConfigError where that fails, and then there is nothing of it."""
        line = json.dumps({**_describe(polled.ballot), **_describe_answer(polled)}) + "\n"
        content = line.encode("ascii")
        try:
            if self._end is not None:
                os.truncate(self._descriptor, self._end)
                self._end = None
            if self._has_open_line:
                content, self._has_open_line = b"\n" + content, False
            size = os.fstat(self._descriptor).st_size
            written = os.write(self._descriptor, content)
            if written < len(content):
                os.truncate(self._descriptor, size)
                raise ConfigError(f"{self._path}: the ballot cannot be written: the disk is full")
        except OSError as error:
            raise ConfigError(f"{self._path}: the ballot cannot be written: {error.strerror}") from error


def _is_cut_off(tail: bytes) -> bool:
    """Whether a line without an end is the beginning of one of ours."""
    if not tail.startswith(_BEGINNING[: len(tail)]):
        return False
    try:
        json.loads(tail)
    except (ValueError, RecursionError):
        return bool(tail)
    return False


def _parse(line: str, place: str) -> Mapping[str, object]:
    try:
        given = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{place}: it is no ballot: {error}") from error
    if not isinstance(given, dict):
        raise ConfigError(f"{place}: it is no ballot: it is not a JSON object")
    return given


def _describe(ballot: RecordedBallot) -> JsonObject:
    return {
        "id": ballot.id,
        "model": ballot.model,
        "label": ballot.label.value,
        "verdict": _VERDICTS.get(ballot.vote, ballot.vote.value),
        "confidence": ballot.confidence,
        "latency_s": ballot.latency_secs,
        "cost_usd": ballot.cost_usd,
    }


def _describe_answer(polled: PolledBallot) -> JsonObject:
    return {
        "cast": _VERDICTS.get(polled.cast, polled.cast.value),
        "in_scope": polled.in_scope.value if polled.in_scope is not None else None,
        "reason": polled.reason,
        "digest": polled.digest,
    }
