"""What a call reads and writes: the ground on which the order of calls is decided."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import force_setattr

from quorum.domain.text.paths import is_below_any


class Access(Struct, frozen=True, kw_only=True):
    """The resources a call touches: canonical absolute paths, or `state:<name>`.

    A path stands for itself and all below it. `exclusive` conflicts with everything. `secret` are paths that
    hold a secret as things stand, whatever they are called: they are asked about like sensitive files.
    `outside` are those that lay outside the workspace: the call reaches them only once that was approved.
    """

    reads: frozenset[str] = frozenset()
    writes: frozenset[str] = frozenset()
    exclusive: bool = False
    secret: frozenset[str] = frozenset()
    outside: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        """Raises TypeError for resources that are not texts: an access may come from the code of a plug-in."""
        force_setattr(self, "reads", _normalise_resources(self.reads))
        force_setattr(self, "writes", _normalise_resources(self.writes))
        force_setattr(self, "secret", _normalise_resources(self.secret))
        force_setattr(self, "outside", _normalise_resources(self.outside))

    @classmethod
    def of(
        cls,
        *,
        reads: Iterable[str] = (),
        writes: Iterable[str] = (),
        secret: Iterable[str] = (),
        outside: Iterable[str] = (),
    ) -> Access:
        """An access of exactly these resources."""
        return cls(
            reads=_normalise_resources(reads),
            writes=_normalise_resources(writes),
            secret=_normalise_resources(secret),
            outside=_normalise_resources(outside),
        )

    @property
    def is_concurrency_safe(self) -> bool:
        """Whether calls with such an access may run beside each other: they change nothing."""
        return not self.exclusive and not self.writes


def _normalise_resources(given: Iterable[str]) -> frozenset[str]:
    resources = frozenset([given] if isinstance(given, str) else given)
    if not all(isinstance(each, str) for each in resources):
        raise TypeError("the resources of an access must be texts")
    return resources


EXCLUSIVE = Access(exclusive=True)


def has_conflict(first: Access, second: Access) -> bool:
    """Return whether order matters: one call writes what the other touches, or either is exclusive."""
    if first.exclusive or second.exclusive:
        return True
    return _touch(first.writes, second.writes | second.reads) or _touch(second.writes, first.reads)


def _touch(some: frozenset[str], others: frozenset[str]) -> bool:
    return any(_overlap(one, other) for one in some for other in others)


def _overlap(one: str, other: str) -> bool:
    return is_below_any(one, (other,)) or is_below_any(other, (one,))
