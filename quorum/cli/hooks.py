"""`quorum hooks test`: one hook, tested with a call that is written in a file."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from quorum.command_line.command import CliCommand, CommandGroup, argument
from quorum.command_line.options import StartOptions
from quorum.command_line.shared import PLACES

_EXAMPLE = ("quorum hooks test no-secrets --call call.json", "the call stands in call.json")


@dataclass(frozen=True, slots=True, kw_only=True)
class HookTestOptions(StartOptions):
    """Which hook is tested, and the file of the call."""

    hook: str = ""
    call: Path = Path()


def _print_trial(options: HookTestOptions, root: Path) -> int:
    """Print what the hook makes of the call; always 0. Raises ConfigError."""
    import asyncio

    from quorum.infrastructure.hooks.registrations import build_hook_registrations
    from quorum.infrastructure.hooks.trial import find_registration, read_call, try_hook
    from quorum.infrastructure.settings_conversion import list_key_names
    from quorum.settings import load

    call = read_call(options.call)
    settings = load(options, root).settings
    registrations = build_hook_registrations(
        settings.hooks, workspace=root, environ=os.environ, secret_names=list_key_names(settings)
    )
    print(asyncio.run(try_hook(find_registration(registrations, options.hook), call)))
    return 0


COMMAND = CommandGroup(
    {
        "test": CliCommand(
            HookTestOptions,
            _print_trial,
            summary="Test a hook of your quorum.toml with one call, and print what it answers.",
            arguments=(
                argument(
                    "--call",
                    metavar="FILE",
                    type=Path,
                    required=True,
                    help='JSON of the call: {"tool", "arguments", "risk", "paths", "result", "messages"}',
                ),
                *PLACES,
                argument("hook", metavar="NAME", help="the hook's name"),
            ),
            examples=(_EXAMPLE,),
        )
    },
    example=_EXAMPLE,
)
