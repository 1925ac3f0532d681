"""The families of models whose textual calls can be read: the values of the setting `tool_parser`."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

ToolParser: TypeAlias = Literal[
    "",
    "hermes",
    "qwen-coder",
    "llama",
    "mistral",
    "deepseek",
    "glm",
    "kimi",
    "granite",
    "gpt-oss",
    "functionary",
    "gemma",
    "minimax",
    "command",
    "lfm2",
    "internlm",
    "phi",
    "nemotron",
    "json",
]
TOOL_PARSERS: tuple[ToolParser, ...] = tuple(each for each in get_args(ToolParser) if each)
"""In the order in which they are tried where the family is not known."""

_MARKS = ("{", "<", "[", ">>>")


def may_hold_call(text: str) -> bool:
    """Whether a text has what calls of every family have: a quick answer, of which only the no is certain."""
    return any(mark in text for mark in _MARKS)
