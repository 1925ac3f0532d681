"""The header: where we are on the left, who answers and how carefully on the right."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from textual.content import Content
from textual.widget import Widget

from tui.transcript.printable import printable

_STYLES = {"quorum": "bold $text-accent"}


_ROOM_FOR_SANDBOX = 70

_READ_BYTES = 4096


class Header(Widget):
    """One line: program, directory, branch; mode, sandbox, model. The mode `auto` is loud."""

    def __init__(self, cwd: Path, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._cwd = cwd
        self._place = printable(_with_tilde(cwd), newlines=False)
        self._branch = branch_of(cwd)
        self._model = ""
        self._mode = ""
        self._sandbox = ""

    def show(self, *, model: str, mode: str, sandbox: str = "") -> None:
        """Show another model, mode or sandbox, and the branch as it is now."""
        self._model, self._mode, self._sandbox = printable(model, newlines=False), mode, sandbox
        self._branch = branch_of(self._cwd)
        self.refresh()

    def render(self) -> Content:
        """The line, the directory cut from its left where there is too little room."""
        right = self._right()
        fixed = Content.assemble((" quorum ", "bold $text-primary"))
        branch = Content(f"  {self._branch}" if self._branch else "")
        room = self.size.width - fixed.cell_length - right.cell_length - 3
        if branch.cell_length > room // 2:
            branch = branch.truncate(max(0, room // 2), ellipsis=True)
        place = Content(" " + _cut_left(self._place, room - branch.cell_length))
        left = fixed + place + branch.stylize("$text-accent")
        gap = max(1, self.size.width - left.cell_length - right.cell_length)
        return left + Content(" " * gap) + right

    def _right(self) -> Content:
        if not self._mode:
            return Content("")
        loud = self._mode == "auto"
        badge = " AUTO: nothing is asked " if loud else f" {self._mode} "
        style = "bold reverse $warning" if loud else _STYLES.get(self._mode, "bold")
        room = max(8, self.size.width // 2 - len(badge))
        model = Content(f"  {self._model} ").truncate(room, ellipsis=True)
        sandbox = f" {self._sandbox}" if self._sandbox and self.size.width >= _ROOM_FOR_SANDBOX else ""
        warns = "$text-warning" if self._sandbox.endswith("off") else "$text-muted"
        return Content.assemble((badge, style), (sandbox, warns), model.stylize("$text-muted"))


def branch_of(cwd: Path) -> str:
    """The branch (or the commit's first letters) checked out at `cwd`, or "".

    Read from `.git/HEAD`: running git could run what a repository's own settings name.
    """
    for folder in (cwd, *cwd.parents):
        git = folder / ".git"
        try:
            if git.is_file():
                _, _, pointed = _beginning(git).partition("gitdir:")
                git = folder / pointed.strip()
            elif not git.is_dir():
                continue
            head = _beginning(git / "HEAD").partition("\n")[0].strip()
        except (OSError, ValueError):  # ValueError: a path with a NUL in it
            return ""
        name = head.removeprefix("ref:").strip().removeprefix("refs/heads/") if ":" in head else head[:9]
        return printable(name, newlines=False)
    return ""


def _beginning(path: Path) -> str:
    """The first bytes of a file as text; of a named pipe, which must not hang the screen, nothing."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        regular = stat.S_ISREG(os.fstat(descriptor).st_mode)
        return os.read(descriptor, _READ_BYTES).decode("utf-8", "replace") if regular else ""
    finally:
        os.close(descriptor)


def _with_tilde(path: Path) -> str:
    text, home = str(path), str(Path.home())
    return "~" + text[len(home) :] if text == home or text.startswith(home + "/") else text


def _cut_left(text: str, room: int) -> str:
    content = Content(text)
    if content.cell_length <= room:
        return text
    while text and Content(text).cell_length > max(0, room - 1):
        text = text[1:]
    return "…" + text
