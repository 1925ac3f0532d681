"""What stays protected in a layer, where all else is an effect for review."""

from __future__ import annotations

from pathlib import Path

import pytest

from quorum.domain.errors import ConfigError
from quorum.domain.review.path_policy import OwnCode
from quorum.infrastructure.config.policy_table import NO_POLICY
from quorum.infrastructure.config.schema import Settings
from quorum.infrastructure.managed_policy import build_folder_check
from quorum.infrastructure.storage import build_path_policy


@pytest.mark.parametrize(
    ("name", "is_protected"),
    [
        (".github/workflows/ci.yml", False),
        ("AGENTS.md", False),
        (".vscode/settings.json", False),
        ("src/app.py", False),
        (".git/config", True),
        (".GIT/hooks/pre-commit", True),
        ("sub/.git/index", True),
        ("named.toml", True),
        ("hook.py", True),
    ],
)
def test_what_quorum_and_git_obey_before_the_review_stays_protected(
    tmp_path: Path, name: str, is_protected: bool
) -> None:
    root = tmp_path.resolve()
    policy = build_path_policy(
        Settings(),
        [root],
        config_files=[root / "named.toml"],
        code=OwnCode(places=(str(root / "hook.py"),)),
        is_layered=True,
    )

    assert policy.is_protected(str(root / name)) is is_protected


@pytest.mark.parametrize("name", [".env", "id_rsa", "sub/server.pem"])
def test_sensitive_files_stay_so(tmp_path: Path, name: str) -> None:
    root = tmp_path.resolve()

    assert build_path_policy(Settings(), [root], is_layered=True).is_sensitive(str(root / name))


def test_a_workspace_that_holds_files_of_quorum_is_refused(tmp_path: Path) -> None:
    root = tmp_path.resolve()

    with pytest.raises(ConfigError, match="files of its own in the workspace"):
        build_path_policy(Settings(), [root], [root / "ledger.sqlite"], is_layered=True)
    build_path_policy(Settings(), [root], [root / "ledger.sqlite"])


def test_no_folder_can_be_added(tmp_path: Path) -> None:
    root, other = (tmp_path / "w").resolve(), (tmp_path / "other").resolve()
    root.mkdir()
    other.mkdir()
    policy = build_path_policy(Settings(), [root], is_layered=True)

    with pytest.raises(ConfigError, match="a layer, which holds the workspace alone"):
        build_folder_check(policy, NO_POLICY, {}).resolve(str(other))
