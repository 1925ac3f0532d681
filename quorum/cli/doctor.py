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
        from quorum.infrastructure.doctor.sandbox_proof import report_proof

        proven = asyncio.run(report_proof(os.environ))
        print(render_findings(proven))
        return int(any(finding.state != "ok" for finding in proven))
    loaded: LoadedSettings | ConfigError
    try:
        loaded = load(options, root, needs_project=False)
    except ConfigError as error:  # one finding among others: that is what a doctor is for
        loaded = error
    findings = asyncio.run(diagnose(loaded, os.environ, probe=options.probe, stored_key=KeyRing().get_key))
    print(render_findings(findings))
    return int(any(finding.state == "fail" for finding in findings))


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
