"""What one decision loads: the gate is a process for each call, and nearly all of its time is imports."""

from __future__ import annotations

import json
import os
import subprocess
import sys

from tests.support.gate_rig import GateRig

UNNEEDED = (
    "acp",
    "aiohttp",
    "anthropic",
    "charset_normalizer",
    "copilot",
    "httpx",
    "quorum.infrastructure.container",
    "quorum.infrastructure.mcp",
    "keyring",
    "mcp",
    "openai",
    "pathspec",
    "textual",
    "tree_sitter",
)


def test_a_decision_loads_no_model_no_screen_and_no_server(rig: GateRig) -> None:
    program = (
        "import os, sys, quorum.__main__ as program\n"
        "os._exit = sys.exit  # which runs what is below\n"
        "try:\n    program.main(['gate', '--dialect', 'claude'])\n"
        f"finally:\n    print([name for name in {UNNEEDED!r} if name in sys.modules])"
    )
    call = json.dumps(rig.payload("Read", file_path=rig.file("a.txt")))

    done = subprocess.run(
        [sys.executable, "-c", program],
        input=call,
        capture_output=True,
        text=True,
        check=True,
        env=dict(os.environ),
    )

    answer, loaded = done.stdout.splitlines()
    assert json.loads(answer)["hookSpecificOutput"]["permissionDecision"] == "allow"
    assert loaded == "[]"
