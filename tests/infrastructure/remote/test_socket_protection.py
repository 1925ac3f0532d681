from __future__ import annotations

from pathlib import Path

from quorum.infrastructure.config.schema import Settings
from quorum.infrastructure.storage import build_path_policy, list_own_paths


def test_the_socket_is_quorums_own_for_file_tools_guards_and_the_sandbox(tmp_path: Path) -> None:
    listening = tmp_path / "q"
    settings = Settings()

    own = list_own_paths(settings, [tmp_path], {"HOME": str(tmp_path / "home")}, (), (listening,))
    policy = build_path_policy(settings, [tmp_path], own)

    assert listening in own
    assert policy.is_protected(str(listening))
    assert policy.is_sensitive(str(listening))
