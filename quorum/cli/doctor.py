"""`quorum doctor`: what would keep a session from working."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from domain.errors import ConfigError
from infrastructure.config.loading import LoadedSettings
from infrastructure.doctor.diagnosis import diagnose
from infrastructure.doctor.finding import render_findings
from infrastructure.secrets.key_ring import KeyRing
from quorum.options import Options
from quorum.settings import load


def print_diagnosis(options: Options, root: Path) -> int:
    """Print what was found; 1 where something fails, else 0."""
    loaded: LoadedSettings | ConfigError
    try:
        loaded = load(options, root, needs_project=False)
    except ConfigError as error:  # one finding among others: that is what a doctor is for
        loaded = error
    findings = asyncio.run(diagnose(loaded, os.environ, probe=options.probe, stored_key=KeyRing().get_key))
    print(render_findings(findings))
    return int(any(finding.state == "fail" for finding in findings))
