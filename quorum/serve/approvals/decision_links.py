"""Links to decisions: each is about one packet, for one browser, and works once."""

from __future__ import annotations

import secrets
from dataclasses import dataclass

_MOST_LINKS = 256
_LINK_BYTES = 18


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionTarget:
    """What a link decides about: the question of this digest, of this app, shown to the browser of `csrf`."""

    csrf: str
    app: str
    digest: str


class DecisionLinks:
    """Makes and redeems links. The oldest gives way to a new one."""

    def __init__(self) -> None:
        self._targets: dict[str, DecisionTarget] = {}

    def link_to(self, target: DecisionTarget) -> str:
        """The link of a target: the one that was made before, if it was not used."""
        for link, known in self._targets.items():
            if known == target:
                return link
        while len(self._targets) >= _MOST_LINKS:
            del self._targets[next(iter(self._targets))]
        link = secrets.token_urlsafe(_LINK_BYTES)
        self._targets[link] = target
        return link

    def find(self, link: str, csrf: str) -> DecisionTarget | None:
        """What a link is about; None where it was used, or made for another browser."""
        target = self._targets.get(link)
        return target if target is not None and target.csrf == csrf else None

    def redeem(self, link: str, csrf: str) -> DecisionTarget | None:
        """The same, and the link is used up."""
        target = self.find(link, csrf)
        if target is not None:
            del self._targets[link]
        return target
