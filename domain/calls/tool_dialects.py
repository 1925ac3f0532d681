"""Which models are offered a tool that only some are trained on."""

from __future__ import annotations

import re

PATCH_TOOL = "apply_patch"
# GPT from 4.1 on, the open ones, the reasoning models and Codex, under whatever provider they are named.
_TRAINED_ON_PATCHES = re.compile(r"(?:^|[^a-z0-9])(?:gpt-(?:4\.1|oss|[5-9])|o[3-9](?![a-z0-9])|codex)")


def is_offered(tool: str, model: str) -> bool:
    """Whether a model, named "provider/model", is offered a tool without anybody having asked for it."""
    return tool != PATCH_TOOL or _TRAINED_ON_PATCHES.search(model.casefold()) is not None
