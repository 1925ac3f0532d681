"""What a layer changed shows as effects of single paths, and nothing else does."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from quorum.infrastructure.staging.layer_folder import read_layer
from quorum.infrastructure.staging.workspace_layer import has_effects
from tests.infrastructure.staging.layer_bench import LayerBench, describe_tree


def test_each_changed_path_is_one_effect(bench: LayerBench) -> None:
    bench.write("changed", "one\n")
    bench.write("deleted", "a\n")
    bench.write("mode", "m\n")
    bench.write("folder/first", "1\n")
    bench.work("echo two >> changed; rm deleted; chmod 700 mode; ln -s mode link; echo n > new; rm -r folder")

    assert bench.list_effects() == {
        "changed": "replace",
        "deleted": "delete",
        "folder/first": "delete",
        "link": "create",
        "mode": "mode",
        "new": "create",
    }
    changed = bench.find("changed")
    assert (changed.added, changed.removed, changed.conflict) == (1, 0, "")


def test_what_was_only_touched_is_no_effect(bench: LayerBench) -> None:
    bench.write("file", "same\n")
    bench.write("other", "same\n")
    bench.work("touch file; cp other copy; cat copy > other; rm copy; mkdir gone; rmdir gone")

    assert bench.read_effects().is_empty
    assert not has_effects(read_layer(bench.stored.folder))


def test_a_file_that_was_only_touched_does_not_hide_what_the_person_does_later(bench: LayerBench) -> None:
    bench.write("file", "same\n")
    bench.work("touch file")
    assert bench.read_effects().is_empty
    bench.write("file", "of the person\n")

    assert bench.do(lambda: Path("file").read_text()) == "of the person\n"


def test_a_folder_that_was_made_anew_hides_what_was_in_it(bench: LayerBench) -> None:
    bench.write("d/old", "old\n")
    bench.write("d/same", "same\n")
    bench.write("d/inner/deep", "deep\n")
    bench.work("rm -r d; mkdir -p d/inner; echo same > d/same; echo new > d/new")

    assert bench.list_effects() == {"d/inner/deep": "delete", "d/new": "create", "d/old": "delete"}


def test_folders_are_effects_only_where_they_are_empty_or_their_modes_differ(bench: LayerBench) -> None:
    bench.write("d/file", "f\n")
    (bench.workspace / "hollow").mkdir()
    bench.work("mkdir -p a/b; mkdir c; touch c/file; chmod 700 d; rmdir hollow")

    assert bench.list_effects() == {"a/b/": "create", "c/file": "create", "d/": "mode", "hollow/": "delete"}


def test_files_become_folders_and_folders_files(bench: LayerBench) -> None:
    bench.write("file", "f\n")
    bench.write("folder/in", "i\n")
    bench.work("rm file; mkdir file; echo x > file/x; rm -r folder; echo y > folder")

    expected = {"file": "delete", "file/x": "create", "folder": "create", "folder/in": "delete"}
    assert bench.list_effects() == expected


def test_a_renamed_file_names_the_one_that_it_was(bench: LayerBench) -> None:
    bench.write("src/a.py", "print(1)\n")
    bench.write("src/b.py", "print(1)\n")
    bench.work("mkdir lib; mv src/a.py lib/a.py; mv src/b.py lib/c.py")

    assert bench.find("lib/a.py").renamed_from == "src/a.py"
    assert bench.find("lib/c.py").renamed_from == "src/b.py"


def test_attributes_alone_are_an_effect(bench: LayerBench) -> None:
    bench.write("file", "f\n")
    bench.do(lambda: os.setxattr("file", "user.mark", b"1"))

    assert bench.list_effects() == {"file": "mode"}


def test_pipes_and_sockets_are_named_and_never_applied(bench: LayerBench) -> None:
    bench.work("mkfifo pipe; echo n > new")

    assert bench.list_effects() == {"new": "create", "pipe": "other"}
    assert bench.apply().paths == ("new",)
    assert not (bench.workspace / "pipe").exists()


def test_what_git_ignores_as_the_workspace_has_it_is_marked(bench: LayerBench) -> None:
    bench.write(".gitignore", "build/\n")
    bench.write(".git/HEAD", "ref: refs/heads/main\n")
    bench.work("mkdir -p build node_modules; echo 1 > build/a; echo 2 > node_modules/b")
    bench.work("echo src > .gitignore; echo 3 > src")

    ignored = {each.path: each.ignored for each in bench.read_effects().effects}
    assert ignored == {".gitignore": False, "build/a": True, "node_modules/b": True, "src": False}


def test_a_text_of_the_person_that_git_ignores_is_read_as_others_are(bench: LayerBench) -> None:
    bench.write(".gitignore", "out/\n*.local\n*.o\n")
    bench.write(".git/HEAD", "ref: refs/heads/main\n")
    for path in ("notes.local", "gone.local", "out/a.local", "node_modules/a.local", "a.o"):
        bench.write(path, "\0" if path == "a.o" else "1\n")
    bench.work("for each in *.local */*.local *.o; do echo 2 >> $each; done; rm gone.local; echo 3 > new.local")

    effects = {each.path: each for each in bench.read_effects().effects}
    assert {path for path, each in effects.items() if not each.ignored} == {"notes.local", "gone.local"}
    assert (effects["notes.local"].added, effects["gone.local"].removed) == (1, 1)
    assert len(effects) == 6


def test_names_that_are_no_utf_8_are_read_applied_and_undone(bench: LayerBench) -> None:
    name = os.fsdecode(b"caf\xe9 \n,:")
    bench.write(name, "old\n")
    before = describe_tree(bench.workspace)
    bench.do(lambda: Path(name).write_text("new\n"))

    assert bench.apply().paths == (name,)
    assert bench.read(name) == "new\n"
    assert bench.undo().is_done
    assert describe_tree(bench.workspace) == before


@pytest.mark.parametrize("path", ["../secret", "link/x", "missing", "/etc/passwd", "link", ""])
def test_content_is_read_of_files_of_the_layer_alone(bench: LayerBench, path: str) -> None:
    (bench.workspace.parent / "secret").write_text("s")
    bench.work("ln -s / link; echo new > new")

    async def read(path: str) -> bytes | None:
        with bench.opened() as layer:
            return await layer.read_content(path, before=False)

    assert asyncio.run(read("new")) == b"new\n"
    assert asyncio.run(read(path)) is None


def test_the_digest_is_that_of_what_stands_there(bench: LayerBench) -> None:
    bench.write("a", "1\n")
    bench.work("echo 2 > a")
    first = bench.read_effects().digest
    assert bench.read_effects().digest == first
    bench.work("echo 3 > a")
    assert bench.read_effects().digest != first
