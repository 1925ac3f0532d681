"""`quorum doctor`: what would keep a session from working."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from quorum.command_line.command import CliCommand, flag
from quorum.command_line.options import StartOptions
from quorum.command_line.shared import DEBUG, MODELS, PLACES, SAFE


@dataclass(frozen=True, slots=True, kw_only=True)
class DoctorOptions(StartOptions):
    """Whether providers are asked (`probe`), or the sandbox is attacked (`prove`)."""

    probe: bool = False
    prove: bool = False


def _print_diagnosis(options: DoctorOptions, root: Path) -> int:
    """Print what was found; 1 where something fails, else 0."""
    import asyncio

    from quorum.domain.errors import ConfigError
    from quorum.infrastructure.config.loading import LoadedSettings
    from quorum.infrastructure.doctor.diagnosis import diagnose
    from quorum.infrastructure.doctor.finding import render_findings
    from quorum.infrastructure.secrets.key_ring import KeyRing
    from quorum.settings import load

    if options.prove:
        return _prove_sandbox()
    loaded: LoadedSettings | ConfigError
    try:
        loaded = load(options, root, needs_project=False)
    except ConfigError as error:  # one finding among others: that is what a doctor is for
        loaded = error
    findings = asyncio.run(diagnose(loaded, os.environ, probe=options.probe, stored_key=KeyRing().get_key))
    print(render_findings(findings))
    return int(any(finding.state == "fail" for finding in findings))


def _prove_sandbox() -> int:
    """Attack the sandbox and print what held; 1 where not all of it did. No signal that can be caught has it
    leave something behind."""
    import asyncio
    import signal
    import threading

    from quorum.infrastructure.doctor.finding import Finding, render_findings
    from quorum.infrastructure.doctor.sandbox_proof import report_proof
    from quorum.run_signals import INTERRUPTED

    async def prove() -> tuple[Finding, ...]:
        proving = asyncio.ensure_future(report_proof(os.environ))
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGTERM, signal.SIGHUP):
                if signal.getsignal(number) is signal.SIG_DFL:
                    asyncio.get_running_loop().add_signal_handler(number, proving.cancel)
        return await proving

    try:
        proven = asyncio.run(prove())
    except asyncio.CancelledError:
        return INTERRUPTED
    print(render_findings(proven))
    return int(any(finding.state != "ok" for finding in proven))


COMMAND = CliCommand(
    DoctorOptions,
    _print_diagnosis,
    details="Exit code 1: something has to be put right.",
    arguments=(
        flag("--probe", help="also send each provider one small request"),
        flag("--prove", help="attack the sandbox, without harm, and say line by line what held"),
        *MODELS,
        *PLACES,
        SAFE,
        DEBUG,
    ),
    examples=(
        ("quorum doctor", "check without sending anything"),
        ("quorum doctor --prove", "see whether the sandbox holds on this machine"),
        ("quorum doctor --probe -m ollama/qwen3", "ask this model and the others one short question"),
    ),
)
