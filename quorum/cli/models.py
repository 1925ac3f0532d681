"""`quorum models`: what the providers list for the keys that are there, with windows and prices."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from quorum.command_line.command import CliCommand, argument, flag
from quorum.command_line.options import StartOptions
from quorum.command_line.shared import PLACES

if TYPE_CHECKING:
    from quorum.domain.text.json_value import JsonObject
    from quorum.infrastructure.doctor.diagnosis import ListedModel

_EXAMPLE = ("quorum models", "all models that your keys can use")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelsOptions(StartOptions):
    """Whose models are listed, and whether as JSON; no provider: all that could be asked."""

    providers: tuple[str, ...] = ()
    json: bool = False


def _print_models(options: ModelsOptions, root: Path) -> int:
    """Print them; 1 where a provider could not be asked. Raises ConfigError and UsageError."""
    import asyncio

    from quorum.errors import UsageError, complain
    from quorum.infrastructure.doctor.diagnosis import list_usable_models
    from quorum.infrastructure.secrets.key_ring import KeyRing
    from quorum.settings import load

    loaded = load(options, root, needs_project=False)
    if unknown := [name for name in options.providers if name not in loaded.settings.providers]:
        known = ", ".join(loaded.settings.providers)
        raise UsageError(f"there is no provider {unknown[0]}; the providers are {known}")
    listed, failed = asyncio.run(
        list_usable_models(loaded, os.environ, KeyRing().get_key, only=options.providers)
    )
    if options.json:
        from quorum.application.export.session_json import encode_ascii_json

        errors: JsonObject = {name: str(error) for name, error in failed.items()}
        print(encode_ascii_json({"models": [_encode(each) for each in listed], "errors": errors}, indent=1))
    else:
        print("\n".join(_render(listed)), end="\n" if listed else "")
    complain([f"{name}: {error}" for name, error in failed.items()])
    if not listed and not failed:
        complain(
            [
                "no provider could be asked: set a key, as ANTHROPIC_API_KEY or with "
                "`quorum keys set anthropic`, or configure a server; `quorum doctor` says what each one lacks"
            ]
        )
        return 1
    return int(bool(failed))


def _encode(model: ListedModel) -> JsonObject:
    price = model.price
    prices: JsonObject = (
        {} if price is None else {"input_usd": str(price.input), "output_usd": str(price.output)}
    )
    return {
        "model": model.name,
        "window": model.window,
        "roles": list(model.roles),
        "paid_by_plan": model.is_by_plan,
        **prices,
    }


def _render(models: Sequence[ListedModel]) -> list[str]:
    if not models:
        return []
    from quorum.domain.text.printable import make_printable

    heads = ("MODEL", "WINDOW", "IN", "OUT", "")
    rows = [heads, *(_list_cells(each) for each in models)]
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    lines = [
        f"{row[0]:<{widths[0]}}  {row[1]:>{widths[1]}}  {row[2]:>{widths[2]}}  {row[3]:>{widths[3]}}  {row[4]}"
        for row in rows
    ]
    return [make_printable(line.rstrip()) for line in (*lines, "IN and OUT are USD per million tokens")]


def _list_cells(model: ListedModel) -> tuple[str, str, str, str, str]:
    window = f"{model.window:,}" if model.window else "?"
    if model.is_by_plan:
        prices = ("plan", "plan")
    elif model.price is None:
        prices = ("?", "?")
    else:
        prices = (f"{model.price.input:f}", f"{model.price.output:f}")
    return (model.name, window, *prices, ", ".join(model.roles))


COMMAND = CliCommand(
    ModelsOptions,
    _print_models,
    details="Each provider that has what it needs is asked for its list, and nothing else is sent. ? is not "
    "known. Exit code 1: one could not be asked.",
    arguments=(
        flag("--json", help="print JSON"),
        *PLACES,
        argument("providers", metavar="PROVIDER", nargs="*", help="only of these providers"),
    ),
    examples=(_EXAMPLE, ("quorum models anthropic --json", "those of one provider, for a script")),
)
