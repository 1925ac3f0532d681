"""What giving back each file comes to, in words, and which files the person has marked to be overwritten."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from textual.content import Content

from quorum.domain.sessions.restoration import RestorePlan, RestoreStep
from quorum.domain.text.amounts import format_amount
from quorum.domain.text.printable import make_printable

_QUIET = "$foreground 60%"


_MOST_LISTED = 500


def split_steps(plan: RestorePlan) -> tuple[tuple[RestoreStep, ...], tuple[RestoreStep, ...]]:
    """The files with a line of their own, and those that share one."""
    sources = tuple(step for step in plan.steps if not step.ignored)
    return sources, tuple(step for step in plan.steps if step.ignored)


def render_ignored(ignored: Sequence[RestoreStep]) -> Content:
    """The line that ignored files share."""
    return Content.styled(f"· {format_amount(len(ignored), 'ignored file')}", _QUIET)


def describe_place(place: int, sources: Sequence[RestoreStep], ignored: Sequence[RestoreStep]) -> str:
    """Which of how many files a line is, such as `file 2 of 3, +18 ignored`."""
    more = f"+{len(ignored):,} ignored" if ignored else ""
    count = f"file {min(place + 1, len(sources)):,} of {len(sources):,}" if sources else ""
    return ", ".join(filter(None, [count, more]))


def list_paths(steps: Sequence[RestoreStep], root: str, describe: Callable[[RestoreStep], str]) -> str:
    """Paths from `root`, a line each, with what becomes of them; of very many the first ones."""
    lines = [
        f"{make_printable(step.path.removeprefix(root), newlines=False)}  {describe(step)}".rstrip()
        for step in steps[:_MOST_LISTED]
    ]
    more = len(steps) - len(lines)
    return "\n".join([*lines, f"… and {more:,} more"] if more else lines)


class Steps:
    """The steps of a plan, and what the person wants of those that somebody edited since. Paths from `cwd`.

    `modified` says what becomes of a file that is there before and after, `done` what is done to all of them.
    Each has a line; the ignored files share the last one.
    """

    def __init__(self, plan: RestorePlan, cwd: str, *, modified: str, done: str) -> None:
        self.plan = plan
        self._modified, self._done = modified, done
        self._root = cwd.rstrip("/") + "/"
        self._overwritten: set[str] = set()

        self._sources, self._ignored = split_steps(plan)

    def __len__(self) -> int:
        return len(self._sources) + bool(self._ignored)

    def find_step(self, place: int) -> RestoreStep | None:
        """The file of a line; None for the line of the ignored ones."""
        return self._sources[place] if place < len(self._sources) else None

    def describe_place(self, place: int) -> str:
        """Which of how many files a line is."""
        return describe_place(place, self._sources, self._ignored)

    def list_ignored(self) -> str:
        """The ignored files, a line each, with what becomes of them."""
        return list_paths(self._ignored, self._root, lambda step: self._explain_step(step)[1])

    @property
    def overwritten(self) -> frozenset[str]:
        """The edited files that are to be overwritten all the same."""
        return frozenset(self._overwritten)

    @property
    def given_back(self) -> int:
        """How many files would be as they were."""
        return sum(not step.trouble and not self._is_left(step) for step in self.plan.steps)

    def toggle(self, place: int) -> str:
        """Overwrite an edited file, or leave it alone again; why that cannot be chosen, empty where it can."""
        step = self.find_step(place)
        if step is None:
            return "ignored files that were edited since are left alone"
        if step.trouble:
            return "this file cannot be restored"
        if not step.edited_since:
            return "only a file edited since is left alone unless you mark it"
        self._overwritten ^= {step.path}
        return ""

    def render_step(self, place: int, width: int) -> Content:
        """One file: what happens to it, and why it does not."""
        step = self.find_step(place)
        if step is None:
            return self._render_ignored()
        sign, does, style = self._explain_step(step)
        name = make_printable(step.path.removeprefix(self._root), newlines=False)
        room = max(width - len(does) - 4, width // 3)
        path = Content(name)
        while name and path.cell_length > room:
            name = name[1:]
            path = Content("…" + name)
        gap = " " * max(2, width - 2 - path.cell_length - Content(does).cell_length)
        return Content.assemble(f"{sign} ", path, gap, (does, style))

    def _render_ignored(self) -> Content:
        stay = sum(bool(step.trouble) or self._is_left(step) for step in self._ignored)
        does = f"{stay:,} of them cannot go back" if stay else ""
        return Content.assemble(render_ignored(self._ignored), (f"  {does}" if does else "", _QUIET))

    def _explain_step(self, step: RestoreStep) -> tuple[str, str, str]:
        """The sign of a file, what happens to it, and the style in which that is shown."""
        sign, does = self._change(step)
        if step.trouble:
            return "✗", f"cannot be {self._done}: {make_printable(step.trouble, newlines=False)}", "$text-error"
        if self._is_left(step):
            return sign, "edited by you since: left alone", "$text-warning"
        style = _QUIET
        if step.edited_since:
            does, style = f"edited by you since: {does} all the same", "bold $text-error"
        if step.is_final:
            does, style = f"{does}; what is there now is not kept", "bold $text-error"
        return sign, does, style

    def _is_left(self, step: RestoreStep) -> bool:
        return step.edited_since and step.path not in self._overwritten

    def _change(self, step: RestoreStep) -> tuple[str, str]:
        if step.now is None:
            return "+", "comes back"
        return ("−", "is removed") if step.wanted is None else ("~", self._modified)
