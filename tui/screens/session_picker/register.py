"""The sessions to choose from: those that fit what is typed, those of this folder first or alone."""

from __future__ import annotations

from collections.abc import Sequence

from domain.sessions.past_session import SessionSummary
from domain.text.ages import with_tilde


class Register:
    """Every session with a turn, the one used last first, and which of them are of the folder `cwd`."""

    def __init__(self, sessions: Sequence[SessionSummary], cwd: str) -> None:
        self._cwd = cwd
        begun = [one for one in sessions if one.turns]  # in others there is nothing to go on with
        here = [one for one in begun if one.cwd == cwd]
        elsewhere = [one for one in begun if one.cwd != cwd]
        self._searched = [(_searchable(one), one) for one in (*here, *elsewhere)]
        self.here, self.everywhere = len(here), len(self._searched)

    def is_here(self, session: SessionSummary) -> bool:
        """Whether a session is of this folder."""
        return session.cwd == self._cwd

    def fitting(self, query: str, *, everywhere: bool) -> list[SessionSummary]:
        """Those with every word of the query in title, folder, model or id; upper and lower case are alike."""
        words = query.casefold().split()
        among = self._searched if everywhere else self._searched[: self.here]
        return [session for text, session in among if all(word in text for word in words)]


def _searchable(session: SessionSummary) -> str:
    return "\n".join(
        (session.title, with_tilde(session.cwd), session.cwd, session.model, session.id)
    ).casefold()
