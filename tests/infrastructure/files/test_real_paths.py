"""Where many paths lead."""

import os
from pathlib import Path

from quorum.infrastructure.files.opened_path import RealPaths


def test_each_path_leads_where_the_system_says(tmp_path: Path) -> None:
    (tmp_path / "real" / "inner").mkdir(parents=True)
    (tmp_path / "real" / "file").write_text("")
    (tmp_path / "folder").symlink_to("real")
    (tmp_path / "real" / "link").symlink_to("../folder/inner")
    (tmp_path / "real" / "loop").symlink_to("loop")
    (tmp_path / "broken").symlink_to("nowhere/at/all")
    names = (
        "real",
        "folder",
        "folder/file",
        "folder/link",
        "folder/link/new",
        "real/loop",
        "broken",
        "broken/new",
    )
    paths = RealPaths()

    for path in ("/", *(str(tmp_path / name) for name in names)):
        assert paths.resolve(path) == os.path.realpath(path)
