"""Loads what answers a prompt without a screen, and has it do so."""

from __future__ import annotations

import gc
from pathlib import Path

from quorum.command_line.options import PromptOptions
from quorum.run_signals import RunSignals


def answer_prompt(options: PromptOptions, root: Path, signals: RunSignals) -> int:
    """Carry the prompt to its end and print the answer; the exit code. Raises as `run_prompt` does."""
    gc.disable()  # until everything is imported; the composed session turns it on again
    from quorum.starting import explain_start_failures

    with explain_start_failures():
        from quorum.headless.session import run_prompt

        if options.leave_open:
            from quorum.headless.leave_open import run_leaving_open as run_prompt
    return run_prompt(options, root, signals)
