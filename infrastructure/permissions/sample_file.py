"""The file of sampled calls: `unasked-calls.jsonl` in the state folder, a JSON object per line."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from msgspec.structs import asdict

from quorum.application.review.review import UnaskedSampling
from quorum.domain.errors import ConfigError
from quorum.domain.replacing import replace
from quorum.domain.review.mode import Mode
from quorum.domain.review.unasked_calls import CallKind, ErrorFigures, SampledCall
from quorum.infrastructure.blocking import run_in_thread
from quorum.infrastructure.config.paths import locate_state_folder
from quorum.infrastructure.config.schema import ReviewTable
from quorum.infrastructure.config.toml_file import escape_path
from quorum.infrastructure.files.private_file import OwnFile

FILE_NAME = "unasked-calls.jsonl"
MOST_CALLS = 2_000
_LONGEST_TEXT, _LONGEST_CHANGE = 500, 4_000


def open_sample_file(environ: Mapping[str, str], hide: Callable[[str], str]) -> SampleFile | None:
    """The file, in which `hide` hides secrets; None where there is no home folder."""
    folder = locate_state_folder(environ)
    return SampleFile(folder / FILE_NAME, hide) if folder is not None else None


def open_sampling(
    environ: Mapping[str, str], table: ReviewTable, *, session_id: str, hide: Callable[[str], str]
) -> UnaskedSampling | None:
    """What samples the calls of a session; None where there is no place to keep a sample."""
    file = open_sample_file(environ, hide)
    if file is None:
        return None
    return UnaskedSampling(
        store=file,
        session_id=session_id,
        share=table.sample_percent / 100,
        max_error=table.max_error_percent / 100,
    )


class SampleFile:
    """Implements `SampleStore`. At most the newest `most_calls` are kept."""

    def __init__(self, path: Path, hide: Callable[[str], str] = str, *, most_calls: int = MOST_CALLS) -> None:
        self._path = path
        self._file = OwnFile(path)
        self._hide = hide
        self._most_calls = most_calls
        self._seen: tuple[int, int] | None = None
        self._figures: Mapping[CallKind, ErrorFigures] = {}

    def read_calls(self) -> tuple[SampledCall, ...]:
        """All that are kept, the oldest first. Raises ConfigError with the line."""
        try:
            lines = self._path.read_text(encoding="utf-8").split("\n")
        except FileNotFoundError:
            return ()
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"{escape_path(self._path)} cannot be read: {error}") from error
        return tuple(
            self._read_call(number, line) for number, line in enumerate(lines, start=1) if line.strip()
        )

    def count(self, kind: CallKind) -> ErrorFigures:
        """What was judged of a kind; the file is read again once it has changed. Raises ConfigError."""
        try:
            status = self._path.stat()
            seen = (status.st_mtime_ns, status.st_size)
        except FileNotFoundError:
            return ErrorFigures(kind=kind)
        except OSError as error:
            raise ConfigError(f"{escape_path(self._path)} cannot be read: {error.strerror}") from error
        if seen != self._seen:
            self._figures = count_calls(self.read_calls())
            self._seen = seen
        return self._figures[kind]

    async def add(self, call: SampledCall) -> None:
        """Keep a call, unless it is kept. Raises ConfigError."""
        # Hidden first: of a secret that is cut in two, the half that is left would not be found.
        hidden = replace(
            call,
            text=self._hide(call.text)[:_LONGEST_TEXT],
            change=self._hide(call.change)[:_LONGEST_CHANGE],
        )

        def with_call(present: tuple[SampledCall, ...]) -> tuple[SampledCall, ...]:
            return present if any(each.id == call.id for each in present) else (*present, hidden)

        await run_in_thread(lambda _stop: self._change(with_call))

    async def list_waiting(self) -> tuple[SampledCall, ...]:
        """Those without a verdict, the oldest first. Raises ConfigError."""
        calls = await run_in_thread(lambda _stop: self.read_calls())
        return tuple(call for call in calls if call.is_right is None)

    async def judge(self, call_id: str, *, is_right: bool) -> None:
        """Keep a verdict. Raises ConfigError."""
        await run_in_thread(lambda _stop: self.keep_verdict(call_id, is_right=is_right))

    def keep_verdict(self, call_id: str, *, is_right: bool) -> None:
        """The same as `judge`. Blocks."""

        def with_verdict(present: tuple[SampledCall, ...]) -> tuple[SampledCall, ...]:
            return tuple(replace(each, is_right=is_right) if each.id == call_id else each for each in present)

        self._change(with_verdict)

    def _change(self, change: Callable[[tuple[SampledCall, ...]], tuple[SampledCall, ...]]) -> None:
        self._file.change(lambda: _render(change(self.read_calls())[-self._most_calls :]))

    def _read_call(self, number: int, line: str) -> SampledCall:
        try:
            given = json.loads(line)
            return SampledCall(
                id=str(given["id"]),
                session_id=str(given["session_id"]),
                mode=Mode(given["mode"]),
                kind=CallKind(given["kind"]),
                text=str(given["text"]),
                at_ms=int(given["at_ms"]),
                change=str(given.get("change", "")),
                is_right=_read_verdict(given.get("is_right")),
            )
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise ConfigError(
                f"{escape_path(self._path)}:{number}: this is no sampled call ({error}); correct the line, "
                "or remove it"
            ) from error


def count_calls(calls: Iterable[SampledCall]) -> Mapping[CallKind, ErrorFigures]:
    """The figures of each kind."""
    found = {kind: ErrorFigures(kind=kind) for kind in CallKind}
    for call in calls:
        figures = found[call.kind]
        if call.is_right is None:
            found[call.kind] = replace(figures, waiting=figures.waiting + 1)
        else:
            wrong = figures.wrong + (not call.is_right)
            found[call.kind] = replace(figures, judged=figures.judged + 1, wrong=wrong)
    return found


def _read_verdict(value: object) -> bool | None:
    if value is None or isinstance(value, bool):
        return value
    raise ValueError('"is_right" must be true, false or null')


def _render(calls: Iterable[SampledCall]) -> str:
    return "".join(f"{json.dumps(asdict(call), ensure_ascii=True)}\n" for call in calls)
