"""`quorum run`: one prompt without a screen."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from infrastructure.config.loading import LoadedSettings
from tui.command_line import Options
from tui.entry.complaints import UsageError, complain
from tui.entry.settings import load


def run_prompt(options: Options, root: Path) -> int:
    """Carry the prompt to its end and print the answer; the exit code that tells how it ended.

    Raises UsageError for an empty prompt, ConfigError and ProviderError.
    """
    prompt = _prompt(options)
    loaded = load(options, root)
    complain(loaded.warnings)
    return asyncio.run(_answer(options, root, loaded, prompt))


def _prompt(options: Options) -> str:
    prompt = options.prompt or ""
    if prompt == "-":
        prompt = sys.stdin.read() if sys.stdin else ""  # None where it is closed
    if not prompt.strip():
        raise UsageError("the prompt is empty; say what to do, or - to read it from stdin")
    return prompt


async def _answer(options: Options, root: Path, loaded: LoadedSettings, prompt: str) -> int:
    from tui.entry.composition import compose
    from tui.headless import HeadlessPrinter, Nobody, run_headless

    printer = HeadlessPrinter(options.output, quiet=options.quiet, verbose=options.verbose)
    container = compose(loaded, root, Nobody(), printer)
    complain(container.saved_rules().warnings)
    try:
        return await run_headless(container.run_agent(), prompt, printer)
    finally:
        await container.gateway().aclose()
