"""What the inbox hides of a call that can be approved there."""

from __future__ import annotations

from pathlib import Path
from typing import cast

from quorum.application.ports.storage import ContentStore, SessionArchive
from quorum.infrastructure.config.schema import Settings
from quorum.session_store import SessionStore


def test_words_that_a_file_of_the_workspace_calls_secret_are_shown_unless_they_look_random(
    tmp_path: Path,
) -> None:
    token = "q7ZkT2vX9bLr4mWc8sNd"
    (tmp_path / ".env").write_text(f"API_KEY='deploy production'\nSCRIPT=tools-release.py\nTOKEN={token}\n")
    store = SessionStore(
        archive=cast("SessionArchive", None),
        contents=cast("ContentStore", None),
        settings=Settings(),
        root=tmp_path,
        cwd=str(tmp_path),
    )

    command = f"python3 tools-release.py 'deploy production' {token}"

    assert token not in store.build_review_mask()(command)
    assert "python3 tools-release.py 'deploy production'" in store.build_review_mask()(command)
    assert "deploy production" not in store.build_mask()(command)
