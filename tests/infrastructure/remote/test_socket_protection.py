from __future__ import annotations

from pathlib import Path

from infrastructure.config.schema import Settings
from infrastructure.session_paths import own_paths, path_policy


def test_the_socket_is_quorums_own_for_file_tools_guards_and_the_sandbox(tmp_path: Path) -> None:
    listening = tmp_path / "q"
    settings = Settings()

    own = own_paths(settings, [tmp_path], {"HOME": str(tmp_path / "home")}, (), (listening,))
    policy = path_policy(settings, [tmp_path], own)

    assert listening in own
    assert policy.is_protected(str(listening))
    assert policy.is_sensitive(str(listening))
