from pathlib import Path

from domain.calls.effects import ChangeKind, effects_between
from infrastructure.store.snapshots.watch import WorkspaceWatch


async def test_every_way_of_changing_a_file_is_seen(tmp_path: Path) -> None:
    for name in ("same", "rewritten", "removed", "moved", "made_executable", "replaced"):
        (tmp_path / name).write_text("12345")
    (tmp_path / "deep" / "er").mkdir(parents=True)
    watch = WorkspaceWatch([str(tmp_path)])
    before = await watch.look()

    (tmp_path / "rewritten").write_text("54321")
    (tmp_path / "removed").unlink()
    (tmp_path / "moved").rename(tmp_path / "deep" / "moved")
    (tmp_path / "made_executable").chmod(0o755)
    (tmp_path / "other").write_text("12345")
    (tmp_path / "other").replace(tmp_path / "replaced")
    (tmp_path / "deep" / "er" / "link").symlink_to("/etc/passwd")

    effects = effects_between(before, await watch.look(), frozenset())
    assert effects.complete
    assert {str(Path(c.path).relative_to(tmp_path)): c.kind for c in effects.changes} == {
        "rewritten": ChangeKind.MODIFIED,
        "removed": ChangeKind.DELETED,
        "moved": ChangeKind.DELETED,
        "deep/moved": ChangeKind.CREATED,
        "made_executable": ChangeKind.MODIFIED,
        "replaced": ChangeKind.MODIFIED,
        "deep/er/link": ChangeKind.CREATED,
    }


async def test_looking_changes_nothing_and_follows_no_link(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    inside = tmp_path / "inside"
    outside.mkdir()
    inside.mkdir()
    (outside / "secret").write_text("x")
    (inside / "link").symlink_to(outside)
    look = await WorkspaceWatch([str(inside)]).look()
    assert list(look.marks) == [str(inside / "link")]


async def test_only_the_named_paths_are_looked_at_where_there_are_any(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).write_text(name)
    watch = WorkspaceWatch([str(tmp_path)])
    look = await watch.look([str(tmp_path / "a"), str(tmp_path / "not there")])
    assert list(look.marks) == [str(tmp_path / "a")]


async def test_what_git_keeps_for_itself_is_left_out_and_its_settings_are_not(tmp_path: Path) -> None:
    for name in ("objects/ab/cd", "hooks/pre-commit", "config"):
        path = tmp_path / ".git" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
    look = await WorkspaceWatch([str(tmp_path)]).look()
    assert {str(Path(path).relative_to(tmp_path)) for path in look.marks} == {
        ".git/hooks/pre-commit",
        ".git/config",
    }


async def test_our_own_files_are_passed_over_though_somebody_names_them(tmp_path: Path) -> None:
    for name in ("state/quorum/sessions.db", "state/quorum-notes", "a", "ledger.sqlite"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
    own = str(tmp_path / "state" / "quorum")
    watch = WorkspaceWatch([str(tmp_path)], passed_over=[own, str(tmp_path / "ledger.sqlite")])
    look = await watch.look()
    assert {str(Path(path).relative_to(tmp_path)) for path in look.marks} == {"state/quorum-notes", "a"}
    assert (await watch.look([f"{own}/sessions.db", own])).marks == {}


async def test_a_look_that_had_to_stop_early_says_so(tmp_path: Path) -> None:
    for number in range(5):
        (tmp_path / str(number)).touch()
    assert not (await WorkspaceWatch([str(tmp_path)], most_files=3).look()).complete
    ticks = iter(range(100))
    slow = WorkspaceWatch([str(tmp_path)], longest_secs=2.0, clock=lambda: float(next(ticks)))
    assert not (await slow.look()).complete
