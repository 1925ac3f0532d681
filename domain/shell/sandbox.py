"""Whether commands run in a sandbox, and if not, why: what the person sees and what reviewers read."""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct

OPENS_GIT = "opens .git, but for its settings and hooks, to this and later commands of the session"
"""How the seal of a call says that it asks for that; a record of its approval is known by it."""
OFFERS_GIT = f"{OPENS_GIT}, once you approve it"
"""How the seal says that of a call that does not ask for it, and changes the repository."""


class SandboxOn(Struct, frozen=True, kw_only=True):
    """Commands run in a sandbox. `program` is the path of what makes it, `version` what that calls itself."""

    program: str
    version: str

    @property
    def description(self) -> str:
        """One sentence for the person."""
        return (
            f"{self.version} ({self.program}): commands write in the workspace only, protected paths excepted, "
            "and see no home, no other process and none of our files"
        )


class SandboxOff(Struct, frozen=True, kw_only=True):
    """Commands run without a sandbox, or, where it is required, not at all.

    `why` is a clause without its full stop, `remedy` says what the person can do.
    """

    why: str
    remedy: str
    required: bool = False

    @property
    def description(self) -> str:
        """One sentence for the person."""
        return f"{self.why}; {'no command runs' if self.required else 'commands run with your rights'}"


SandboxState: TypeAlias = SandboxOn | SandboxOff

Keys: TypeAlias = Literal["all", "own", "none"]
"""Which of the kernel's keys a process reaches: all, those of a session keyring of its own, or none."""
