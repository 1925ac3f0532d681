"""What giving back each file comes to, in words, and which files the person has marked to be overwritten."""

from __future__ import annotations

from textual.content import Content

from quorum.domain.sessions.restoration import RestorePlan, RestoreStep
from quorum.domain.text.printable import make_printable

_QUIET = "$foreground 60%"


class Steps:
    """The steps of a plan, and what the person wants of those that somebody edited since. Paths from `cwd`.

    `modified` says what becomes of a file that is there before and after, `done` what is done to all of them.
    """

    def __init__(self, plan: RestorePlan, cwd: str, *, modified: str, done: str) -> None:
        self.plan = plan
        self._modified, self._done = modified, done
        self._root = cwd.rstrip("/") + "/"
        self._overwritten: set[str] = set()

    def __len__(self) -> int:
        return len(self.plan.steps)

    def __getitem__(self, place: int) -> RestoreStep:
        return self.plan.steps[place]

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
        step = self.plan.steps[place]
        if step.trouble:
            return "this file cannot be restored"
        if not step.edited_since:
            return "only a file edited since is left alone unless you mark it"
        self._overwritten ^= {step.path}
        return ""

    def render_step(self, place: int, width: int) -> Content:
        """One file: what happens to it, and why it does not."""
        step = self.plan.steps[place]
        sign, does = self._change(step)
        name = make_printable(step.path.removeprefix(self._root), newlines=False)
        if step.trouble:
            sign = "✗"
            does, style = (
                f"cannot be {self._done}: {make_printable(step.trouble, newlines=False)}",
                "$text-error",
            )
        elif self._is_left(step):
            does, style = "edited by you since: left alone", "$text-warning"
        elif step.edited_since:
            does, style = f"edited by you since: {does} all the same", "bold $text-error"
        else:
            style = _QUIET
        if step.is_final and not step.trouble and not self._is_left(step):
            does, style = f"{does}; what is there now is not kept", "bold $text-error"
        room = max(width - len(does) - 4, width // 3)
        path = Content(name)
        while name and path.cell_length > room:
            name = name[1:]
            path = Content("…" + name)
        gap = " " * max(2, width - 2 - path.cell_length - Content(does).cell_length)
        return Content.assemble(f"{sign} ", path, gap, (does, style))

    def _is_left(self, step: RestoreStep) -> bool:
        return step.edited_since and step.path not in self._overwritten

    def _change(self, step: RestoreStep) -> tuple[str, str]:
        if step.now is None:
            return "+", "comes back"
        return ("−", "is removed") if step.wanted is None else ("~", self._modified)
