"""What the offer of a local server of models needs; the entry point knows the files behind it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalServerProposal:
    """What would be written to have a server's model: the `lines` that go (`-`) and come (`+`) in a `file`.

    `model` is its full name, "provider/model"; `is_new`: there is no such file yet.
    """

    model: str
    file: str
    is_new: bool
    lines: tuple[str, ...]


class LocalServers(Protocol):
    """Asks the servers of models on this machine, and writes settings that use one."""

    async def list_models(self, port: int) -> tuple[str, ...]:
        """The models that the server on this port lists, by its own names. Raises ProviderError."""
        ...

    async def propose(self, port: int, name: str, model: str) -> LocalServerProposal:
        """What would have to be written to use this model of the server `name`. Raises ConfigError."""
        ...

    async def accept(self, proposal: LocalServerProposal) -> str:
        """Write that, if it is still what would change; why another model counts all the same, else empty.

        Raises ConfigError, and then nothing is written.
        """
        ...


OpenLocalServers: TypeAlias = Callable[[], LocalServers]
"""Those of this machine, with the settings of this run."""
