"""`quorum hooks try`: one hook, tried on a call that is written in a file."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path

from domain.errors import ConfigError
from domain.text.json_value import JsonObject
from infrastructure.building_blocks import key_names
from infrastructure.hooks.registrations import hook_registrations
from infrastructure.hooks.trial import find_registration, try_hook
from quorum.cli.settings import load
from quorum.options import Options


def print_trial(options: Options, root: Path) -> int:
    """Print what the hook makes of the call; always 0. Raises ConfigError."""
    assert options.call_file is not None
    call = _call_in(options.call_file)
    settings = load(options, root).settings
    registrations = hook_registrations(
        settings.hooks, workspace=root, environ=os.environ, secret_names=key_names(settings)
    )
    print(asyncio.run(try_hook(find_registration(registrations, options.hook), call)))
    return 0


def _call_in(file: Path) -> JsonObject:
    try:
        call = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(f"{file} cannot be read as JSON: {error}") from error
    if not isinstance(call, dict):
        raise ConfigError(f"{file} must hold one JSON object, the call")
    return call
