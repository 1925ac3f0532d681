"""What the person typed before: kept per project in a file, and brought back by Up and Down.

A text that was sent as a prompt stays one wherever it comes back, also where it reads like a command.
"""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path

from quorum.tui.agent.turns import MARK, parse_memory
from quorum.tui.keys.slash_commands import is_built_in, is_command
from quorum.tui.prompt_box.unsent import UnsentTexts, locate_state_folder, name_project, recover_unsent

REFUSAL = f"a prompt begins with neither {MARK}, nor # and a space, nor the name of a command"
"""Why a text is not taken where only a prompt can be."""

_LEAVING_WORDS = frozenset({"exit", "quit", ":q"})


def is_leaving(text: str) -> bool:
    """Whether a whole prompt is a word that leaves shells or editors: a model could do nothing with it."""
    return text.rstrip() in _LEAVING_WORDS


def is_prompt(text: str) -> bool:
    """Whether a text, without the spaces around it, would be sent to the model."""
    text = text.strip()
    return not is_command(text) and not text.startswith(MARK) and parse_memory(text) is None


def escape_command(text: str) -> str:
    """The text as Enter sends it again: with a space before it where it would otherwise be a command of the app
    or the person's, or a line for an instruction file.

    A custom command stays one: it was sent as such.
    """
    means_more = (
        is_leaving(text) or is_built_in(text) or text.startswith(MARK) or parse_memory(text) is not None
    )
    return f" {text}" if means_more else text


_TAIL_BYTES = 1_000_000
_LONGEST_KEPT = 100_000
_MOST_ENTRIES = 1_000


def locate_history(cwd: Path) -> Path:
    """The file of the project at `cwd`."""
    return locate_state_folder() / "history" / f"{name_project(cwd)}.jsonl"


class History:
    """Earlier prompts, one JSON string a line. Read at the first use; damaged lines are passed over.

    What `hide` takes out never reaches the file: by default what looks like a secret. It may be set later.
    `unwritten` is what the file could not take.
    """

    def __init__(self, path: Path, hide: Callable[[str], str] | None = None) -> None:
        self._path = path
        self.hide = hide or _mask_secrets
        self._entries: list[str] | None = None
        self.unwritten: set[str] = set()

    @property
    def entries(self) -> list[str]:
        """All prompts that are remembered, oldest first."""
        if self._entries is None:
            self._entries = _read(self._path)
        return self._entries

    def add(self, prompt: str) -> None:
        """Remember a prompt, here and in the file. Raises OSError where the file cannot be written.

        What repeats the last prompt is not added; what is longer than 100,000 characters stays out of the file.
        """
        if prompt not in self.unwritten:
            if self.entries[-1:] == [prompt]:
                return
            self.entries.append(prompt)
            self.unwritten.add(prompt)
        if len(prompt) <= _LONGEST_KEPT:
            _append(self._path, self.hide(prompt))
        self.unwritten.remove(prompt)


def _mask_secrets(prompt: str) -> str:
    from quorum.domain.events.masking import SecretMask

    return SecretMask().mask_text(prompt)


def _read(path: Path) -> list[str]:
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _TAIL_BYTES))
            lines = file.read().split(b"\n")
    except OSError:
        return []  # nothing to remember; a file that cannot be written either is reported when adding
    kept = [entry for line in lines if (entry := _parse_line(line)) is not None]
    return kept[-_MOST_ENTRIES:]


def _parse_line(line: bytes) -> str | None:
    try:
        entry = json.loads(line)
    except ValueError:
        return None
    return entry if isinstance(entry, str) and entry else None


def _append(path: Path, prompt: str) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    line = json.dumps(prompt).encode() + b"\n"
    descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        if _is_torn(descriptor):
            line = b"\n" + line
        # One write: lines of two windows of one project never mix.
        if os.write(descriptor, line) < len(line):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    finally:
        os.close(descriptor)


def _is_torn(descriptor: int) -> bool:
    """Whether the last line lacks its end, as a crash may leave it."""
    size = os.lseek(descriptor, 0, os.SEEK_END)
    return size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"


class Recall:
    """What Up and Down bring back: first the prompt that waits last, then the history; the draft is kept.

    `take_back` returns that prompt as Enter sends it again; `list_waiting` names what was sent and is recorded
    nowhere yet.
    """

    def __init__(
        self,
        cwd: Path,
        take_back: Callable[[], str | None],
        list_waiting: Callable[[], Sequence[str]] = lambda: (),
    ) -> None:
        self._cwd = cwd
        self._take_back = take_back
        self._list_waiting = list_waiting
        self._unsent = UnsentTexts(cwd)
        self._opened: History | None = None
        self._place: int | None = None
        self._draft = ""

    @property
    def history(self) -> History:
        """The project's history; opened at its first use, since nobody needs it to start."""
        if self._opened is None:
            self._opened = History(locate_history(self._cwd))
        return self._opened

    def recall_older(self, present: str) -> str | None:
        """The prompt before the one shown, or None. `present` is kept as the draft when leaving it."""
        if self._place is None and not present and (waiting := self._take_back()) is not None:
            return waiting
        entries = self.history.entries
        place = len(entries) if self._place is None else self._place
        if place == 0:
            return None
        if self._place is None:
            self._draft = present
        self._place = place - 1
        return entries[self._place]

    def recall_newer(self) -> str | None:
        """The prompt after the one shown, at the end the draft; None when the draft is what is shown."""
        if self._place is None:
            return None
        entries = self.history.entries
        self._place += 1
        if self._place >= len(entries):
            self._place = None
            return self._draft
        return entries[self._place]

    def forget_place(self) -> None:
        """Begin at the end again: what was typed has been sent."""
        self._place, self._draft = None, ""

    def list_prompts(self) -> Sequence[str]:
        """All prompts that are remembered, oldest first."""
        return self.history.entries

    def keep(self, draft: str) -> None:
        """Remember what was never sent, so that Up finds it the next time. Where that cannot be written, the
        next process is left what was kept."""
        try:
            self._remember_all([text for text in (*self._list_waiting(), draft) if text])
        except OSError:
            self.keep_unsent(draft)
        else:
            self._unsent.keep(())

    def keep_unsent(self, draft: str) -> bool:
        """Have a file hold what waits and what is being written, which a kill would lose; whether it does."""
        texts = [text for text in (*self._list_waiting(), draft) if text and len(text) <= _LONGEST_KEPT]
        return self._unsent.keep([self.history.hide(text) for text in texts])

    def recover_unsent(self) -> bool:
        """Remember what killed processes had not sent, so that Up finds it; whether there was any."""
        return recover_unsent(self._cwd, self._remember_all)

    def _remember_all(self, texts: Sequence[str]) -> None:
        known = self.history.entries[-len(texts) - 1 :]
        for text in texts:
            if text not in known or text in self.history.unwritten:
                self.history.add(text)
