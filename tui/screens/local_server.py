"""The dialog that shows what using a local server of models writes to the person's settings."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType

from quorum.domain.errors import QuorumError
from quorum.domain.text.amounts import shorten_home
from quorum.tui.agent.services import LocalServerProposal, LocalServers
from quorum.tui.keys.keyed_app import choose_sign, fill_in_keys
from quorum.tui.screens.question_card import QuestionCard, build_changed_lines
from quorum.tui.transcript.kinds.rows import Line, LineKind, clean_line

_MOST_LISTED = 8


class LocalServerDialog(QuestionCard):
    """Asks whether to write the settings for one of the models of a server. `proposal` is what is shown."""

    HEADING = "Use this model from now on?"
    REFUSE = ("{server_refuse=n}", "write nothing")
    ACCEPT = ("{server_accept=y}", "write as shown")
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "accept", "Write the settings and use the model", id="server_accept"),
        Binding("n,escape", "refuse", "Write nothing", id="server_refuse"),
        Binding("m", "choose_next", "Another model of the server", id="server_next_model"),
        Binding("up", "scroll(-1)", "Scroll up", show=False, id="server_up"),
        Binding("down", "scroll(1)", "Scroll down", show=False, id="server_down"),
        Binding("left,right,tab,shift+tab", "mark", "The other choice", show=False, id="server_mark"),
    ]

    def __init__(
        self,
        servers: LocalServers,
        port: int,
        name: str,
        models: Sequence[str],
        proposal: LocalServerProposal,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(clock=clock)
        self._servers, self._port, self._server, self._models = servers, port, name, models
        self._place, self._notice, self._is_looking = 0, "", False
        self.proposal = proposal
        """What the answer is about."""

    def build_lines(self) -> Iterator[Line]:
        """The server and its models, the file, and every line that changes in it."""
        yield Line("server  ", f"{self._server} on 127.0.0.1:{self._port}", LineKind.STRONG)
        first = max(0, min(self._place - _MOST_LISTED // 2, len(self._models) - _MOST_LISTED))
        for place, model in list(enumerate(self._models))[first : first + _MOST_LISTED]:
            is_chosen = place == self._place
            kind = LineKind.PLAIN if is_chosen else LineKind.QUIET
            mark = choose_sign(self.app, *(("● ", "chosen: ") if is_chosen else ("○ ",)))
            yield Line("        ", f"{mark}{clean_line(model)}", kind)
        if (count := len(self._models)) > 1:
            key = fill_in_keys("{server_next_model=m}", self.app)
            yield Line("        ", f"{key} next model: {self._place + 1} of {count}", LineKind.QUIET)
        if self._notice:
            yield Line("        ", clean_line(self._notice), LineKind.WARNING)
        yield Line("file    ", clean_line(shorten_home(self.proposal.file)), LineKind.STRONG)
        if self.proposal.is_new:
            yield Line("        ", "a new file", LineKind.QUIET)
        yield Line("", "")
        yield from build_changed_lines(self.proposal.lines or ("  nothing: it says so already",))

    def action_choose_next(self) -> None:
        """Show what another model would write; it has to be read before it can be approved."""
        if len(self._models) > 1 and not self._is_looking:
            self._is_looking = True
            self.run_worker(self._show_model((self._place + 1) % len(self._models)), group="choose")

    def action_accept(self) -> None:
        """Agree to what was read, unless something else is about to be shown."""
        if not self._is_looking:
            super().action_accept()

    async def _show_model(self, place: int) -> None:
        try:
            self.proposal = await self._servers.propose(self._port, self._server, self._models[place])
            self._place, self._notice = place, ""
        except QuorumError as error:
            self._notice = str(error)
        finally:
            self._is_looking = False
        self.show_anew()

    def on_screen_resume(self) -> None:
        """Another question was on top: no key that was meant for it answers this one."""
        if self.is_awake:
            self.arm()
