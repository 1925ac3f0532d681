"""Labelled calls, read from files or a checkout of AmPermBench, and the file of ballots about them.

Files have one JSON object per line. AmPermBench has requests whose authority is ambiguous.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import TypeVar

from quorum.application.review.voting import BallotQuestion, PolledBallot
from quorum.domain.benchmark.reviewer_measure import CallGroup, CallLabel, LabelledCall, RecordedBallot
from quorum.domain.errors import ConfigError
from quorum.domain.review.ballot import Vote
from quorum.domain.text.json_value import JsonObject

_AUTHORISED, _PRESERVED = "authorized_", "must_preserve"


def _delete_branch(target: str, _names: Mapping[str, str]) -> str:
    remote, slash, branch = target.partition("/")
    if slash and remote == "origin":
        return f"git push origin --delete {branch}"
    return f"git branch -D {target}"


_COMMANDS: Mapping[str, Callable[[str, Mapping[str, str]], str]] = {
    "cancel-jobs": lambda target, _names: f"scancel {target}",
    "clean-up-artifacts": lambda target, names: f"aws s3 rm s3://artifacts/{names.get(target, target)}",
    "clean-up-branches": _delete_branch,
    "restart-services": lambda target, _names: f"kubectl rollout restart deployment/{target}",
}
"""The command that acts on a target, by the folder of the task, which may know other names of targets."""


def read_ampermbench(folder: Path) -> tuple[LabelledCall, ...]:
    """The calls of all tasks of a checkout. Raises ConfigError with the file and the remedy."""
    calls = [call for task in _COMMANDS for call in _read_task(folder / "tasks" / task / "harness", task)]
    if not calls:
        raise ConfigError(
            f"{folder}: no prompts of AmPermBench below tasks/; name a checkout of its repository"
        )
    return tuple(calls)


def _read_task(harness: Path, task: str) -> Iterator[LabelledCall]:
    prompts = [each for file in sorted(harness.glob("prompts/*.json")) for each in _read_list(file)]
    oracle: dict[str, object] = {}
    names: dict[str, str] = {}
    for file in sorted(harness.glob("meta/*.json")):
        content = _read_json(file)
        if file.stem.endswith("oracle") and isinstance(content, dict):
            oracle |= content
        elif isinstance(content, dict):
            names |= dict(_list_names(content.get("objects")))
    for prompt in prompts:
        name, text = prompt.get("prompt_id"), prompt.get("prompt")
        known = oracle.get(name) if isinstance(name, str) else None
        if not isinstance(text, str) or not isinstance(known, dict):
            raise ConfigError(f"{harness}: the prompt {name!a} has no text, or nothing says what it authorises")
        for label, target in _list_targets(known):
            yield LabelledCall(
                id=f"{name}:{target}",
                tool="run_command",
                arguments={"command": _COMMANDS[task](target, names)},
                label=label,
                kind=task,
                group=CallGroup.REQUESTED,
                task=text,
            )


def _list_targets(known: Mapping[str, object]) -> Iterator[tuple[CallLabel, str]]:
    for key, value in known.items():
        if isinstance(value, list) and (key.startswith(_AUTHORISED) or key == _PRESERVED):
            label = CallLabel.UNSAFE if key == _PRESERVED else CallLabel.SAFE
            yield from ((label, target) for target in value if isinstance(target, str))


def _list_names(objects: object) -> Iterator[tuple[str, str]]:
    for each in objects if isinstance(objects, list) else ():
        match each:
            case {"object_id": str() as target, "key": str() as name}:
                yield target, name


def _read_list(file: Path) -> list[dict[str, object]]:
    content = _read_json(file)
    if not isinstance(content, list) or not all(isinstance(each, dict) for each in content):
        raise ConfigError(f"{file}: it is no list of prompts")
    return content


def _read_json(file: Path) -> object:
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{file}: it cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{file}: {error}") from error


SMALL_SET = Path(__file__).with_name("small_set.jsonl")
"""Calls made for this purpose, for a first look: too few to tell good reviewers from very good ones."""
_MOST_BYTES = 256 * 2**20
_VOTES = {"approve": Vote.APPROVE, "reject": Vote.REJECT, "abstain": Vote.ABSTAIN, "error": Vote.ERROR}
_TWINS = frozenset({"quorum-edits", "quorum-pairs"})
_Entry = TypeVar("_Entry")


def read_labelled_calls(path: Path) -> tuple[LabelledCall, ...]:
    """The calls of a file, or of a checkout of AmPermBench. Raises ConfigError with the line and the remedy."""
    calls = read_ampermbench(path) if path.is_dir() else tuple(_read(path, _read_call))
    _refuse_repeated(path, [call.id for call in calls], "id")
    return calls


def read_ballots(path: Path, labels: Mapping[str, CallLabel]) -> tuple[RecordedBallot, ...]:
    """The ballots of a file; `labels` are those of calls whose ballots have none. Raises ConfigError."""
    ballots = tuple(_read(path, lambda given: _read_ballot(given, labels)))
    _refuse_repeated(path, [f"{ballot.model} {ballot.id}" for ballot in ballots], "model and id")
    known: dict[str, RecordedBallot] = {}
    for ballot in ballots:
        if known.setdefault(ballot.id, ballot).label is not ballot.label:
            raise ConfigError(f"{path}: the ballots about {ballot.id} have different labels; give them one")
    return ballots


def _read(path: Path, read_entry: Callable[[JsonObject], _Entry]) -> Iterator[_Entry]:
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise ConfigError(f"{path}: it is larger than {_MOST_BYTES // 2**20} MB; split it")
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{path}: it cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: it is not UTF-8: byte {error.start}") from error
    found = False
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            given = json.loads(line)
            if not isinstance(given, dict):
                raise ValueError("it is not a JSON object")
            yield read_entry(given)
        except (ValueError, RecursionError) as error:
            raise ConfigError(f"{path}:{number}: {error}") from error
        found = True
    if not found:
        raise ConfigError(f"{path}: it is empty; it takes one JSON object per line")


def _refuse_repeated(path: Path, keys: list[str], what: str) -> None:
    seen: set[str] = set()
    for key in keys:
        if key in seen:
            raise ConfigError(f"{path}: two lines have the same {what}: {key}; keep one")
        seen.add(key)


def _read_call(given: JsonObject) -> LabelledCall:
    arguments = given.get("arguments")
    if not isinstance(arguments, dict):
        raise ValueError('"arguments" must be an object')
    tool, inner = _read_text(given, "tool"), arguments.get("arguments")
    if tool == "other" and isinstance(inner, dict):  # a tool that quorum does not have
        tool, arguments = _read_text(arguments, "name"), inner
    task = given.get("task")
    if task is not None and not isinstance(task, str):
        raise ValueError('"task" must be a text or null')
    if "pair" in given or given.get("source") in _TWINS:
        group = CallGroup.PAIR
    elif task is None or given.get("task_optional") is True:
        group = CallGroup.ALONE
    else:
        group = CallGroup.REQUESTED
    return LabelledCall(
        id=_read_text(given, "id"),
        tool=tool,
        arguments=arguments,
        label=_read_label(given),
        kind=_read_text(given, "kind"),
        group=group,
        task="" if group is CallGroup.ALONE else task or "",
    )


def _read_ballot(given: JsonObject, labels: Mapping[str, CallLabel]) -> RecordedBallot:
    call = _read_text(given, "id")
    if "label" not in given and call not in labels:
        raise ValueError(f'it has no "label", and no call with the id {call} has one')
    verdict = _read_text(given, "verdict")
    if verdict not in _VOTES:
        raise ValueError(f'"verdict" must be one of {", ".join(_VOTES)}, not "{verdict}"')
    return RecordedBallot(
        model=_read_text(given, "model"),
        id=call,
        label=_read_label(given) if "label" in given else labels[call],
        vote=_VOTES[verdict],
        confidence=_read_number(given, "confidence", 1.0),
        latency_secs=_read_number(given, "latency_s"),
        cost_usd=_read_number(given, "cost_usd"),
        is_contested=given.get("contested") is True,
    )


def _read_label(given: JsonObject) -> CallLabel:
    label = _read_text(given, "label")
    if label not in tuple(CallLabel):
        raise ValueError(f'"label" must be safe or unsafe, not "{label}"')
    return CallLabel(label)


def _read_text(given: JsonObject, name: str) -> str:
    value = given.get(name)
    if not isinstance(value, str) or not value:
        raise ValueError(f'"{name}" must be a text')
    return value


def _read_number(given: JsonObject, name: str, highest: float = 1e9) -> float | None:
    value = given.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= highest:
        raise ValueError(f'"{name}" must be a number from 0 to {highest:g}')
    return float(value)


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
