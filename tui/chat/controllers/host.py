"""What every controller of the chat stands on: the screen as it sees it, and the session it acts on."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from textual.app import App
    from textual.selection import Selection
    from textual.widget import Widget

    from quorum.tui.agent.turns import Turns
    from quorum.tui.session.session import Session

_STILL_STARTING = "still starting; {} in a moment"
_ACTION = "action_"

CHANGES = "changes"
"""The group of the workers that change what holds for the prompts after them."""


class ChatHost(Protocol):
    """The screen behind the controllers."""

    @property
    def app(self) -> App[Any]:
        """The app, on which further screens open. It is there once the screen is mounted."""
        ...

    @property
    def notice(self) -> str:
        """The remark in the status bar; empty where there is none."""
        ...

    @property
    def refusal(self) -> str:
        """The remark, if it says why something cannot be done."""
        ...

    @property
    def refusals(self) -> int:
        """How often it was said that something cannot be done."""
        ...

    @property
    def selections(self) -> Mapping[Widget, Selection]:
        """What is selected with the mouse, by the widget that it is in."""
        ...

    def clear_selection(self) -> None: ...

    def say(self, notice: str) -> None:
        """Show a remark in the status bar until the next key; an empty one takes it away."""
        ...

    def refuse(self, reason: str) -> None:
        """Say why what was asked for cannot be done; empty where it can. A program that asked is told so."""
        ...

    def tell(self, sentence: str, *, refuses: bool = True) -> None:
        """Add a sentence on what failed to the transcript, and say it where its end is out of sight; without
        `refuses` it warns of something that is done all the same."""
        ...

    def refresh_state(self) -> None:
        """Show what is known of the session anew."""
        ...

    def run_worker(
        self,
        work: Coroutine[Any, Any, None] | Callable[[], Coroutine[Any, Any, None]],
        *,
        group: str = "default",
        exclusive: bool = False,
    ) -> object:
        """Run something beside the handling of messages, until its end or the screen's; `exclusive` ends what
        else runs in its group."""
        ...

    async def wait_for_changes(self) -> bool:
        """Wait for the workers of CHANGES; False where one of them failed."""
        ...


class CurrentSession:
    """The session of a chat: there is none before the first is open, and while another one is being opened.

    Where it cannot be acted on, `refuse` gets the reason.
    """

    def __init__(self, turns: Turns, refuse: Callable[[str], object]) -> None:
        self.session: Session | None = None
        self._before: Session | None = None
        self._turns, self._refuse = turns, refuse

    @property
    def last(self) -> Session | None:
        """The session; while another one is being opened, the one before."""
        return self.session or self._before

    def begin_opening(self) -> None:
        """Another session is being opened: this one rests, and what is sent waits."""
        self._turns.hold()
        self._before, self.session = self.session, None

    def stay(self) -> None:
        """The other one could not be opened: this one continues."""
        self.session = self._before

    def require_session(self, wish: str) -> Session | None:
        """The session; where there is none yet, the person is asked to repeat the command later."""
        if self.session is None:
            self._refuse(_STILL_STARTING.format(wish))
        return self.session

    def get_resting(self, wish: str) -> Session | None:
        """The session while no turn runs."""
        session = self.require_session(wish)
        if session is not None and (busy := self._turns.busy):
            self._refuse(busy)
            return None
        return session

    def get_writable(self, wish: str) -> Session | None:
        """The session while no turn runs, if anything may be added to it."""
        session = self.get_resting(wish)
        if session is not None and session.agent.record.in_use:
            self._refuse(session.refusal)
            return None
        return session


def collect_actions(*controllers: object) -> dict[str, Callable[..., object]]:
    """The actions of controllers, as Textual looks for them: `action_NAME`, each of one controller only."""
    found: dict[str, Callable[..., object]] = {}
    for controller in controllers:
        for name in dir(type(controller)):
            if name.startswith(_ACTION):
                assert name not in found, f"two controllers have an {name}"
                found[name] = getattr(controller, name)
    return found
