"""What has to be on the disk is so before what depends on it: so a loss of power, too, leaves all or nothing.

That shows the order in which the kernel is asked, and not what a disk does that says so before it is.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from quorum.infrastructure.git_worktrees import GitWriter
from quorum.infrastructure.staging import change_journal
from quorum.infrastructure.staging.layer_repository import make_empty_repository
from tests.infrastructure.staging.effects_of_all_kinds import prepare_bench
from tests.infrastructure.staging.layer_bench import LayerBench


class DiskOrder:
    """Notes which files and folders are written to the disk, and which names change, by their real paths."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.done: list[tuple[str, str]] = []
        monkeypatch.setattr(os, "fsync", self._wrap(os.fsync, lambda number: ("sync", _locate(number))))
        monkeypatch.setattr(os, "rename", self._wrap(os.rename, lambda old, new: ("rename", str(new))))
        for name in ("move", "exchange"):
            work = getattr(change_journal, name)
            noted = self._wrap(work, lambda _old, _from, new, to: ("name", f"{_locate(to)}/{new}"))
            monkeypatch.setattr(change_journal, name, noted)

    def _wrap(self, work: Callable[..., Any], describe: Callable[..., tuple[str, str]]) -> Callable[..., Any]:
        def noted(*arguments: Any) -> Any:
            said = describe(*arguments)
            result = work(*arguments)
            self.done.append(said)
            return result

        return noted

    def wrap_naming(self, replace: Callable[..., None]) -> Callable[..., None]:
        """As `replace`, with a note."""
        return self._wrap(replace, lambda _old, new: ("replace", str(new)))

    def find(self, what: str, path: Path) -> int:
        """When that was done the first time."""
        return self.done.index((what, str(path)))

    def list_places(self, what: str, path: Path) -> list[int]:
        return [place for place, done in enumerate(self.done) if done == (what, str(path))]

    def list_named(self, root: Path) -> list[int]:
        """When names below a folder changed."""
        named = (place for place, (what, path) in enumerate(self.done) if what == "name")
        return [place for place in named if Path(self.done[place][1]).is_relative_to(root)]


def _locate(number: int) -> str:
    return os.readlink(f"/proc/self/fd/{number}")


def require_synced_between(order: DiskOrder, places: list[Path], after: int, before: int) -> None:
    """Each was written to the disk in this span."""
    for each in places:
        assert any(after < place < before for place in order.list_places("sync", each)), each


@pytest.fixture
def changed(tmp_path: Path, layers: None) -> LayerBench:
    return prepare_bench(tmp_path / "one")


def test_new_files_and_the_journal_are_on_the_disk_before_the_first_name_changes_and_all_before_it_holds(
    changed: LayerBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    order = DiskOrder(monkeypatch)

    assert changed.apply().is_done

    place, root = changed.stored.folder / "applies/1", changed.workspace
    begun, held = order.find("rename", place / "journal"), order.find("rename", place / "done")
    names = order.list_named(root)
    assert names
    assert begun < min(names) < max(names) < held
    staged = [Path(path) for what, path in order.done[:begun] if what == "sync"]
    assert {each for each in staged if each.parent == place / "stage"}
    require_synced_between(order, [place / "stage", place / "journal.new"], -1, begun)
    require_synced_between(order, [place], begun, min(names))
    folders = {Path(order.done[each][1]).parent for each in names}
    folders = {each for each in folders if each.exists()} | {place / "stage"}
    require_synced_between(order, sorted(folders), max(names), held)
    assert any(each > held for each in order.list_places("sync", place))


def test_what_is_known_of_a_layer_and_of_the_files_below_is_on_the_disk_before_it_has_its_name(
    changed: LayerBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    order = DiskOrder(monkeypatch)
    monkeypatch.setattr(os, "replace", order.wrap_naming(os.replace))

    assert changed.apply().is_done

    folder = changed.stored.folder
    for name in ("meta.json", "known.json"):
        assert order.find("sync", folder / f"{name}.new") < order.find("replace", folder / name)


def test_what_is_taken_back_is_on_the_disk_before_the_journal_says_so(
    changed: LayerBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert changed.apply().is_done
    order = DiskOrder(monkeypatch)

    assert changed.undo().is_done

    place, root = changed.stored.folder / "applies/1", changed.workspace
    begun, over = order.find("rename", place / "undoing"), order.find("rename", place / "undone")
    names = order.list_named(root)
    assert names
    assert begun < min(names) < max(names) < over
    require_synced_between(order, [place], begun, min(names))
    require_synced_between(order, [root, place / "stage"], max(names), over)


def test_git_has_a_ref_on_the_disk_before_it_has_its_name(tmp_path: Path) -> None:
    make_empty_repository(tmp_path)
    git, told = GitWriter(tmp_path, {"PATH": os.defpath}), tmp_path / "told"
    tree = git.run("write-tree").decode().strip()
    who = {f"GIT_{each}_{key}": "a" for each in ("AUTHOR", "COMMITTER") for key in ("NAME", "EMAIL")}
    commit = git.run_in_environment(who, "commit-tree", tree, "-m", "first").decode().strip()

    git.run_in_environment({"GIT_TRACE2_EVENT": str(told)}, "update-ref", "refs/heads/made", commit)

    counts = [
        each for line in told.read_text().splitlines() if (each := json.loads(line)).get("category") == "fsync"
    ]
    assert sum(int(each["value"]) for each in counts if each["key"] == "fsync/hardware-flush") == 1
