"""Recorded traffic of real providers and the server that replays it, where they are present."""

from __future__ import annotations

import importlib.util
import os
import sys
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest

FOLDER = Path(os.environ.get("QUORUM_WIRE") or Path(__file__).parents[3] / "shared" / "wire")

needs_recordings = pytest.mark.skipif(
    not (FOLDER / "replay_server.py").is_file(),
    reason=f"no recorded traffic at {FOLDER}; set QUORUM_WIRE to the folder that holds it",
)


@cache
def replay_module() -> ModuleType:
    """The replay server's module, loaded from the folder of recordings."""
    spec = importlib.util.spec_from_file_location("replay_server", FOLDER / "replay_server.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["replay_server"] = module
    spec.loader.exec_module(module)
    return module
