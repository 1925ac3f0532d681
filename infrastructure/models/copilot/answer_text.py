"""The text of one answer, which the CLI may tell in several messages."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class _Part:
    """The text of one message. `cut` is set where the token limit ended it and the CLI had it go on."""

    message_id: str
    text: str = ""
    whole: bool = False
    cut: bool = False


class AnswerText:
    """The messages of an answer, put together: what goes on after a cut follows at once, else an empty line.

    What `add` and `finish` return is what is to be told now.
    """

    def __init__(self) -> None:
        self._parts: list[_Part] = []

    def add(self, message_id: str, text: str) -> str:
        """Take a piece of a message."""
        if not text:
            return ""
        before = ""
        if not self._parts or self._parts[-1].message_id != message_id:
            self._parts.append(_Part(message_id))
            before = self._separator(len(self._parts) - 1)
        self._parts[-1].text += text
        return before + text

    def finish(self, message_id: str, content: str) -> str:
        """Take a message that is complete; its content counts, whatever was told of it before."""
        part = next((part for part in self._parts if part.message_id == message_id), None)
        if part is None:
            told = self.add(message_id, content)
            if told:
                self._parts[-1].whole = True
            return told
        rest = content[len(part.text) :] if content.startswith(part.text) else ""
        part.text, part.whole = content, True
        return rest

    def cut(self) -> None:
        """The token limit ended the message in progress."""
        if self._parts and not self._parts[-1].whole:
            self._parts[-1].cut = True

    def begin_again(self) -> None:
        """The message in progress is void: the CLI asks for it once more."""
        if self._parts and not self._parts[-1].whole and not self._parts[-1].cut:
            self._parts.pop()

    def __str__(self) -> str:
        """The whole text."""
        return "".join(self._separator(index) + part.text for index, part in enumerate(self._parts))

    def _separator(self, index: int) -> str:
        if index == 0:
            return ""
        before = self._parts[index - 1]
        return "" if before.cut and not before.whole else "\n\n"
