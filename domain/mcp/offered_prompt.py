"""A prompt as an MCP server offers it, and the slash command that a person types for it."""

from __future__ import annotations

import re
import shlex

from msgspec import Struct

from quorum.domain.text.printable import make_printable

MOST_PROMPTS = 100
"""How many prompts of one server are offered."""

_LONGEST_DESCRIPTION = 300
_UNFIT = re.compile(r"[^A-Za-z0-9_-]")
_NAMED_WORD = re.compile(r"(?P<name>[^\s=]+)=(?P<value>.*)", re.DOTALL)


class PromptParameter(Struct, frozen=True):
    """One value that a prompt takes."""

    name: str
    is_required: bool = False


class OfferedPrompt(Struct, frozen=True, kw_only=True):
    """What a server says of one of its prompts. `description` is text from outside, on one line."""

    server: str
    name: str
    description: str = ""
    parameters: tuple[PromptParameter, ...] = ()

    @property
    def command(self) -> str:
        """What is typed for it, without the slash: `mcp__SERVER__PROMPT`."""
        return f"mcp__{self.server}__{_UNFIT.sub('_', self.name)}"[:64]

    @property
    def usage(self) -> str:
        """Its parameters as they are typed; those in brackets may be left out."""
        words = (f"{_show(each.name)}=…" for each in self.parameters)
        return " ".join(
            word if each.is_required else f"[{word}]" for word, each in zip(words, self.parameters, strict=True)
        )


def make_offered_prompt(
    server: str, name: str, description: str, parameters: tuple[PromptParameter, ...]
) -> OfferedPrompt:
    """The prompt with its description on one line of at most 300 characters."""
    text = make_printable(" ".join(description.split()), newlines=False)[:_LONGEST_DESCRIPTION]
    return OfferedPrompt(server=server, name=name, description=text, parameters=parameters)


def assign_arguments(prompt: OfferedPrompt, typed: str) -> dict[str, str]:
    """The values by the names of the parameters: words `NAME=VALUE`, and the others in their order.

    The last parameter without a name takes all words that are left. Raises ValueError, whose text is for the
    person, where a required one is missing or there are words for which there is no parameter.
    """
    try:
        words = shlex.split(typed)
    except ValueError:  # a lone quote is a character like any other
        words = typed.split()
    names = {each.name for each in prompt.parameters}
    values: dict[str, str] = {}
    plain: list[str] = []
    for word in words:
        found = _NAMED_WORD.fullmatch(word)
        if found is not None and found["name"] in names:
            values[found["name"]] = found["value"]
        else:
            plain.append(word)
    free = [each.name for each in prompt.parameters if each.name not in values]
    for place, name in enumerate(free):
        if place < len(plain):
            is_last = place == len(free) - 1
            values[name] = " ".join(plain[place:]) if is_last else plain[place]
    if len(plain) > len(free) and not free:
        raise ValueError(f"it takes no {' '.join(plain[:3])!r}; it takes: {prompt.usage or 'nothing'}")
    missing = [each.name for each in prompt.parameters if each.is_required and not values.get(each.name)]
    if missing:
        raise ValueError(f"it needs {', '.join(map(_show, missing))}; type /{prompt.command} {prompt.usage}")
    return values


def _show(name: str) -> str:
    return make_printable(name, newlines=False)[:60]
