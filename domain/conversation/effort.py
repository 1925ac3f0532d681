"""How much a model reasons before it answers."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum


class Effort(StrEnum):
    """The reasoning effort of a request, in the terms of the APIs. DEFAULT asks for none in particular."""

    DEFAULT = "default"
    NONE = "none"
    MINIMAL = "minimal"
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    XHIGH = "xhigh"
    MAX = "max"


def find_effort(configured: Mapping[str, Effort], model: str, *roles: str) -> Effort:
    """The effort set for a model, "provider/model", else that of the first of these roles that has one."""
    found = (configured[name] for name in (model, *roles) if name in configured)
    return next(found, Effort.DEFAULT)


def format_model(model: str, effort: Effort | None) -> str:
    """The model, with its effort where one is set, as `openai/gpt-5.4 (high)`."""
    return f"{model} ({effort.value})" if effort not in (None, Effort.DEFAULT) else model
