"""Takes secrets out of what a host answers: a host that repeats what it got would hand them to the command."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from quorum.infrastructure.execution.network.command_secrets import CommandSecret


class AnswerFilter:
    """Has in the place of each secret what the command knows, or as many asterisks: lengths stay what they are.

    What is compressed or encoded otherwise passes.
    """

    def __init__(self, secrets: Iterable[CommandSecret]) -> None:
        self._words: dict[bytes, bytes] = {}
        self._held = b""
        for each in secrets:
            is_as_long = len(each.placeholder) == len(each.value)
            self.hide(each.value.encode(), each.placeholder.encode() if is_as_long else b"")

    def hide(self, word: bytes, known: bytes = b"") -> None:
        """Take this out, too."""
        self._words[word] = known or b"*" * len(word)

    def clean(self, text: bytes) -> bytes:
        """A whole text without secrets."""
        for word, known in self._words.items():
            text = text.replace(word, known)
        return text

    def feed(self, piece: bytes) -> bytes:
        """What of a longer text may be passed on: its end is held back where a secret may begin there."""
        text = self.clean(self._held + piece)
        start = min(self._find_beginnings(text), default=len(text))
        self._held = text[start:]
        return text[:start]

    def end(self) -> bytes:
        """The rest of the longer text."""
        rest, self._held = self._held, b""
        return rest

    def _find_beginnings(self, text: bytes) -> Iterator[int]:
        """Where at the end a part of a secret stands that may go on."""
        for word in self._words:
            place = max(0, len(text) - len(word) + 1)
            while (place := text.find(word[:1], place)) >= 0:
                if word.startswith(text[place:]):
                    yield place
                    break
                place += 1
