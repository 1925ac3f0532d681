"""What a layer plants is found in the files that it holds, also behind links, and in a bounded time."""

from __future__ import annotations

from pathlib import Path

from quorum.infrastructure.staging.entered_layer import list_planted


def test_new_and_changed_files_that_programs_start_are_named_and_no_others(tmp_path: Path) -> None:
    upper, lower = tmp_path / "up", tmp_path / "low"
    for place, content in (
        ("up/.git/hooks/pre-commit", "x"),
        ("up/.git/config", "[core]\n\tfsmonitor = x\n\tbare = false\n"),
        ("low/.git/config", "[core]\n\tbare = false\n"),
        ("up/sub/Makefile", "all:\n"),
        ("low/sub/Makefile", "all:\n"),
        ("up/node_modules/a/package.json", '{"scripts": {"postinstall": "x"}}'),
        ("up/app.py", "x"),
    ):
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).write_text(content)
    (upper / ".envrc").symlink_to("elsewhere")

    assert list_planted(str(upper), str(lower)) == (
        ".envrc adds a program that direnv runs",
        ".git/config has git run programs: core.fsmonitor",
        ".git/hooks/pre-commit adds a program that git runs",
    )


def test_of_many_the_first_are_named_and_the_others_counted(tmp_path: Path) -> None:
    for number in range(12):
        (tmp_path / f"{number:02}.mk").write_text("x")

    *named, more = list_planted(str(tmp_path), str(tmp_path / "none"))

    assert len(named) == 8
    assert more == "and 4 more files have programs start something"
