"""Which files speak to the model, as they lie on a disk."""

import errno
import os
from pathlib import Path

import pytest

from quorum.domain.instructions.instruction import InstructionScope
from quorum.infrastructure.instructions.instruction_files import InstructionFiles


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "repository"
    (root / ".git").mkdir(parents=True)
    (root / "pkg/deep").mkdir(parents=True)
    return root


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def files_in(cwd: Path, home: Path) -> InstructionFiles:
    environ = {"HOME": str(home), "XDG_CONFIG_HOME": str(home / "config")}
    return InstructionFiles(cwd, environ, lambda path: ".env" in path)


def test_the_persons_own_comes_first_and_the_nearest_of_the_project_last(root: Path, tmp_path: Path) -> None:
    write(tmp_path / "config/quorum/AGENTS.md", "mine")
    write(root / "AGENTS.md", "root")
    write(root / "pkg/AGENTS.md", "pkg")
    write(tmp_path / "AGENTS.md", "outside of the repository")

    found = files_in(root / "pkg", tmp_path).read_at_start()

    assert [file.parts[0].text for file in found] == ["mine", "root", "pkg"]
    assert [file.scope for file in found] == [InstructionScope.USER, *[InstructionScope.PROJECT] * 2]
    assert found[2].label == "pkg/AGENTS.md"


def test_claude_md_counts_where_a_folder_has_no_agents_md(root: Path, tmp_path: Path) -> None:
    write(root / "CLAUDE.md", "of the root")
    write(root / "pkg/AGENTS.md", "agents")
    write(root / "pkg/CLAUDE.md", "not read")

    found = files_in(root / "pkg", tmp_path).read_at_start()

    assert [file.parts[0].text for file in found] == ["of the root", "agents"]


def test_files_below_are_found_for_the_folders_that_are_named(root: Path, tmp_path: Path) -> None:
    write(root / "AGENTS.md", "root")
    write(root / "pkg/AGENTS.md", "pkg")
    write(root / "pkg/deep/AGENTS.md", "deep")
    write(root / "other/AGENTS.md", "other")
    files = files_in(root, tmp_path)

    found = files.find_below([str(root / "pkg/deep"), str(tmp_path), str(root)])

    assert [file.parts[0].text for file in found] == ["pkg", "deep"]


def test_a_link_that_is_changed_while_it_is_followed_is_passed_over(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(root / "AGENTS.md", "root, with @swapped.md")
    write(root / "pkg/other.md", "other")
    for link in (root / "pkg/AGENTS.md", root / "swapped.md"):
        link.symlink_to(root / "pkg/other.md")
    files = files_in(root, tmp_path)

    def find_no_link(path: str) -> str:
        raise OSError(errno.EINVAL, "Invalid argument", path)

    monkeypatch.setattr(os, "readlink", find_no_link)

    assert [file.parts[0].text for file in files.read_at_start()] == ["root, with @swapped.md"]
    assert files.find_below([str(root / "pkg")]) == ()


def test_imports_are_followed_in_order_to_a_depth_of_five_and_never_in_circles(
    root: Path, tmp_path: Path
) -> None:
    write(
        root / "AGENTS.md",
        "See @docs/1.md and @./AGENTS.md, not `@docs/code.md` nor\n```\n@docs/code.md\n```\n",
    )
    for n in range(1, 8):
        write(root / f"docs/{n}.md", f"{n}: @{n + 1}.md, back to @../AGENTS.md")
    write(root / "docs/code.md", "no import")

    (file,) = files_in(root, tmp_path).read_at_start()

    assert [part.label for part in file.parts] == ["AGENTS.md", *(f"docs/{n}.md" for n in range(1, 6))]
    assert file.parts[2].imported_by == "docs/1.md"


@pytest.mark.parametrize(
    "name", ["../secret.md", "/etc/hostname", "docs/.env", "missing.md", "fifo", "docs", "link.md"]
)
def test_what_lies_elsewhere_is_sensitive_or_no_file_is_not_imported(
    name: str, root: Path, tmp_path: Path
) -> None:
    write(tmp_path / "secret.md", "secret")
    write(root / "docs/.env", "KEY=1")
    os.mkfifo(root / "fifo")
    (root / "link.md").symlink_to(tmp_path / "secret.md")
    write(root / "AGENTS.md", f"@{name}")

    (file,) = files_in(root, tmp_path).read_at_start()

    assert len(file.parts) == 1


def test_the_person_may_import_what_they_like(root: Path, tmp_path: Path) -> None:
    write(tmp_path / "config/quorum/AGENTS.md", "@../../notes.md")
    write(tmp_path / "notes.md", "a note")

    (file,) = files_in(root, tmp_path).read_at_start()

    assert [part.text for part in file.parts] == ["@../../notes.md", "a note"]


def test_a_link_inside_the_project_counts_and_one_that_leads_out_does_not(root: Path, tmp_path: Path) -> None:
    write(root / "CLAUDE.md", "shared")
    (root / "AGENTS.md").symlink_to("CLAUDE.md")
    write(tmp_path / "outside.md", "outside")
    (root / "pkg/AGENTS.md").symlink_to(tmp_path / "outside.md")

    found = files_in(root / "pkg", tmp_path).read_at_start()

    assert [file.parts[0].text for file in found] == ["shared"]


@pytest.mark.parametrize("content", [b"", b" \n", b"\xff\xfe\x00bytes", b"a\r\nb"])
def test_odd_files_end_nothing(content: bytes, root: Path, tmp_path: Path) -> None:
    (root / "AGENTS.md").write_bytes(content)

    found = files_in(root, tmp_path).read_at_start()

    assert len(found) == bool(content.strip())
    assert all("\r\n" not in file.parts[0].text for file in found)
