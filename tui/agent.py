"""What the app needs of an agent; the application layer is behind it, and nothing of it is imported here."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:
    from application.ports import LineSource, Observer, Person
    from domain.mode import Mode
    from domain.report import RunReport


class Agent(Protocol):
    """One session. Events of its turns arrive at the observer it was composed with."""

    @property
    def session_id(self) -> str:
        """The session's id."""
        ...

    @property
    def model(self) -> str:
        """The model's full name, "provider/model"."""
        ...

    async def set_model(self, model: str) -> None:
        """Choose another model, for requests not yet sent and for one that waits to be repeated.

        Raises ProviderError, and leaves all as it was, where it cannot be had.
        """
        ...

    @property
    def providers(self) -> tuple[str, ...]:
        """The names of the providers whose models can be chosen."""
        ...

    async def list_models(self, provider: str) -> tuple[str, ...]:
        """The models a provider lists, each as "provider/model". Raises ProviderError."""
        ...

    @property
    def mode(self) -> Mode:
        """The review mode in force."""
        ...

    async def set_mode(self, mode: Mode) -> None:
        """Change the review mode, for calls not yet decided on."""
        ...

    async def execute(self, prompt: str) -> RunReport:
        """Carry one prompt to its end.

        Failures of a provider are in the report. A task cancelled in here closes what it opened and still
        returns a report, with status INTERRUPTED.
        """
        ...

    async def go_on(self) -> RunReport:
        """Take up a turn that failed or was interrupted where it stopped. Ends as `execute` does."""
        ...

    def open_output(self, blob_id: str) -> LineSource:
        """The lines of a stored output, read as they are needed. Raises BlobError."""
        ...


ComposeAgent: TypeAlias = "Callable[[Person, Observer], Awaitable[Agent]]"
