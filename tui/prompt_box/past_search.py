"""Looking for an earlier prompt by a part of it, as shells do."""

from __future__ import annotations

from collections.abc import Sequence


class PastSearch:
    """Goes through what was typed before, the newest first, each text once. Upper and lower case are alike."""

    def __init__(self, entries: Sequence[str]) -> None:
        self._entries = list(dict.fromkeys(reversed(entries)))
        self.query = ""
        self._found = self._entries
        self._place = -1

    @property
    def present(self) -> str | None:
        """The prompt that is found; None where none is, or nothing is looked for yet."""
        return self._found[self._place] if 0 <= self._place < len(self._found) else None

    @property
    def count(self) -> tuple[int, int]:
        """The place of the present prompt among those that fit, from 1, and how many these are."""
        return self._place + 1, len(self._found)

    def look_for(self, query: str) -> None:
        """Look for this instead. What is shown stays where it fits; else the next older one that does comes,
        else the newest."""
        shown = self.present
        self.query = query
        wanted = query.lower()
        self._found = [entry for entry in self._entries if wanted in entry.lower()]
        if not query:
            self._place = -1
            return
        place = 0 if shown is None else self._entries.index(shown)
        older = (entry for entry in self._entries[place:] if wanted in entry.lower())
        best = next(older, self._found[0] if self._found else None)
        self._place = self._found.index(best) if best is not None else -1

    def older(self) -> bool:
        """Go to the next older one; False where there is none."""
        if self._place + 1 >= len(self._found):
            return False
        self._place += 1
        return True

    def newer(self) -> bool:
        """Go to the next newer one; False where there is none."""
        if self._place <= 0:
            return False
        self._place -= 1
        return True
