from __future__ import annotations

from pathlib import Path

from quorum.infrastructure.permissions.in_force import RuleFileListing


def test_the_files_of_the_workspace_are_listed_without_what_nobody_means(tmp_path: Path) -> None:
    for name in ("a.py", "src/b.py", ".git/config", "node_modules/x.js"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")

    listing = RuleFileListing((tmp_path,))()

    assert set(listing.paths) == {str(tmp_path / "a.py"), str(tmp_path / "src/b.py")}
    assert listing.complete


def test_a_large_workspace_is_listed_in_part(tmp_path: Path) -> None:
    for number in range(20):
        (tmp_path / str(number)).write_text("")

    listing = RuleFileListing((tmp_path,), most=5)()

    assert len(listing.paths) == 5
    assert not listing.complete


def test_links_are_not_followed_and_what_cannot_be_read_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to(tmp_path)

    listing = RuleFileListing((tmp_path, tmp_path / "missing"))()

    assert listing.paths == (str(tmp_path / "loop"),)
