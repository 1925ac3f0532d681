"""The header: where we are on the left, who answers and how carefully on the right."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import NamedTuple

from rich.cells import cell_len
from textual.content import Content
from textual.widget import Widget

from quorum.domain.text.git_head import READ_BYTES, parse_git_file, parse_head
from quorum.domain.text.printable import make_printable
from quorum.tui.keys.choices import find_warning
from quorum.tui.transcript.cells.lines import fit_text, fit_text_end

_STYLES = {"quorum": "bold $text-accent"}
_NAME = " quorum "
_READ_ONLY, _READ_ONLY_SHORT = " read-only · open elsewhere ", " read-only "
_ROOM_FOR_WORDS = 60

# The fewest cells in which a part still tells something; where even these are too many, it is left out.
_LEAST_PLACE, _LEAST_BRANCH, _LEAST_MODEL = 10, 8, 14
_COMMIT_CHARS = 9


class SessionLabel(NamedTuple):
    """What a header says of a session; each part is safe to draw, and empty where it is not known.

    `read_only`: another process writes the session. `asked`: the calls about which a mode that asks about
    exceptions alone does ask. `error`: how often the mode is wrong to let calls run.
    """

    mode: str = ""
    read_only: bool = False
    sandbox: str = ""
    model: str = ""
    place: str = ""
    branch: str = ""
    asked: str = ""
    error: str = ""


class Header(Widget):
    """One line: program, directory, branch; mode, sandbox, model. A mode that has a warning is loud."""

    def __init__(self, cwd: Path, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._cwd = cwd
        self._place = format_folder(cwd)
        self._branch = find_branch(cwd)
        self._model = ""
        self._mode = ""
        self._sandbox = ""
        self._read_only = False
        self._asked = self._error = ""

    def show(
        self,
        *,
        model: str,
        mode: str,
        sandbox: str = "",
        read_only: bool = False,
        asked: str = "",
        error: str = "",
    ) -> None:
        """Show another model, mode or sandbox, and the branch as it is now.

        `read_only`: another process writes the session, so that no mode is in force here. `asked`: calls that
        are asked about in a mode that has a warning. `error`: how often the mode is wrong, for the label alone.
        """
        self._model, self._mode, self._sandbox = make_printable(model, newlines=False), mode, sandbox
        self._read_only, self._asked, self._error = read_only, asked, error
        self._branch = find_branch(self._cwd)
        self.refresh()

    def render(self) -> Content:
        """The line. What matters least gives way first: sandbox, branch, name, model, place; never the mode."""
        badge = self._render_badge()
        gone: set[str] = set()
        for part in ("sandbox", "branch", "name", "model", "place"):
            if self._measure_least_width(badge, gone) <= self.size.width:
                break
            if part != "sandbox" or not self._is_unsafe:
                gone.add(part)
        if self._measure_least_width(badge, gone) > self.size.width:
            gone.add("sandbox")
        name = "" if "name" in gone else _NAME
        sandbox = "" if "sandbox" in gone or not self._sandbox else f" {self._sandbox}"
        room = self.size.width - len(name) - badge.cell_length - len(sandbox) - 1
        model = "" if "model" in gone or not self._model else f"  {self._model} "
        model = fit_text(model, max(_LEAST_MODEL, room // 2))
        room -= cell_len(model)
        branch = "" if "branch" in gone or not self._branch else f"  {self._branch}"
        branch = fit_text(branch, max(_LEAST_BRANCH, room // 3))
        place = "" if "place" in gone else f" {fit_text_end(self._place, room - cell_len(branch) - 1)}"
        warns = "$text-warning" if self._is_unsafe else "$text-muted"
        left = Content.assemble((name, "bold $text-primary"), place, (branch, "$text-accent"))
        right = Content.assemble(badge, (sandbox, warns), (model, "$text-muted"))
        gap = max(0, self.size.width - left.cell_length - right.cell_length)
        return (left + Content(" " * gap) + right).truncate(self.size.width, ellipsis=True)

    @property
    def label(self) -> SessionLabel:
        """What it shows, for another line that does so in its place."""
        return SessionLabel(
            mode=self._mode,
            read_only=self._read_only,
            sandbox=self._sandbox,
            model=self._model,
            place=self._place,
            branch=self._branch,
            asked=self._asked,
            error=self._error,
        )

    @property
    def _is_unsafe(self) -> bool:
        return self._sandbox.endswith("off")

    def _measure_least_width(self, badge: Content, gone: set[str]) -> int:
        """The cells that all but these parts need at least."""
        parts = {
            "name": len(_NAME),
            "place": min(cell_len(self._place) + 1, _LEAST_PLACE),
            "branch": min(cell_len(self._branch) + 2, _LEAST_BRANCH) if self._branch else 0,
            "sandbox": len(self._sandbox) + 1 if self._sandbox else 0,
            "model": min(cell_len(self._model) + 3, _LEAST_MODEL) if self._model else 0,
        }
        return badge.cell_length + 1 + sum(cells for part, cells in parts.items() if part not in gone)

    def _render_badge(self) -> Content:
        return draw_badge(self.label._replace(error=""), in_words=self.size.width >= _ROOM_FOR_WORDS)


def draw_badge(label: SessionLabel, *, in_words: bool) -> Content:
    """The mode, loud where it has a warning; that the session is read-only in its place. `in_words`: what a
    loud one means, too, or how often it was wrong. Nothing before the mode is known.
    """
    mode = label.mode
    if not mode:
        return Content("")
    if label.read_only:
        return Content(_READ_ONLY if in_words else _READ_ONLY_SHORT).stylize("bold reverse $warning")
    if warning := find_warning(mode):
        warning = f"{label.asked} are asked about" if label.asked else label.error or warning
        text = f" {mode.upper()}: {warning} " if in_words else f" {mode.upper()} "
        return Content(text).stylize("bold reverse $warning")
    return Content(f" {mode} ").stylize(_STYLES.get(mode, "bold"))


def find_branch(cwd: Path) -> str:
    """The branch (or the commit's first letters) checked out at `cwd`, or "".

    Read from `.git/HEAD`: running git could run what a repository's own settings name.
    """
    for folder in (cwd, *cwd.parents):
        git = folder / ".git"
        try:
            if git.is_file():
                git = folder / (parse_git_file(_read_beginning(git)) or ".git")
            elif not git.is_dir():
                continue
            return parse_head(_read_beginning(git / "HEAD"), _COMMIT_CHARS) or ""
        except OSError:
            return ""
    return ""


def _read_beginning(path: Path) -> str:
    """The first bytes of a file as text; of a named pipe, which must not hang the screen, nothing.

    A link is not followed: where it leads stands for a reference, as git once wrote it.
    """
    if path.is_symlink():
        return f"ref: {path.readlink()}"
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        regular = stat.S_ISREG(os.fstat(descriptor).st_mode)
        return os.read(descriptor, READ_BYTES).decode("utf-8", "replace") if regular else ""
    finally:
        os.close(descriptor)


def format_folder(path: Path) -> str:
    """A folder as it is shown: from the home on where it is below it, and printable."""
    text, home = str(path), str(Path.home())
    inside = text == home or text.startswith(home + "/")
    return make_printable("~" + text[len(home) :] if inside else text, newlines=False)
