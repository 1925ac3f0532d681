"""`quorum hooks try`: one hook, tried on a call that is written in a file."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from infrastructure.hooks.registrations import build_hook_registrations
from infrastructure.hooks.trial import find_registration, read_call, try_hook
from infrastructure.settings_conversion import list_key_names
from quorum.options import Options
from quorum.settings import load


def print_trial(options: Options, root: Path) -> int:
    """Print what the hook makes of the call; always 0. Raises ConfigError."""
    assert options.call_file is not None
    call = read_call(options.call_file)
    settings = load(options, root).settings
    registrations = build_hook_registrations(
        settings.hooks, workspace=root, environ=os.environ, secret_names=list_key_names(settings)
    )
    print(asyncio.run(try_hook(find_registration(registrations, options.hook), call)))
    return 0
