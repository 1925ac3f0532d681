"""Custom slash commands on disk: where they are found, what their frontmatter says, and what is refused."""

import os
from pathlib import Path

import pytest

from quorum.domain.instructions.custom_command import CustomCommand
from quorum.domain.instructions.instruction import InstructionScope
from quorum.infrastructure.instructions.trusted_offers import CommandFiles


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "project/.git").mkdir(parents=True)
    (tmp_path / "home").mkdir()
    return tmp_path / "project"


def put(folder: Path, name: str, text: str) -> Path:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def found(project: Path, cwd: Path | None = None) -> dict[str, CustomCommand]:
    environ = {"HOME": str(project.parent / "home")}
    return {command.qualified_name: command for command in CommandFiles(cwd or project, environ).find()}


def only(project: Path) -> CustomCommand:
    (command,) = found(project).values()
    return command


def test_they_are_found_from_the_root_to_the_working_directory_and_at_home(project: Path) -> None:
    home = project.parent / "home"
    put(project, ".claude/commands/review.md", "Review it.")
    put(project, ".agents/commands/front/page.md", "A page.")
    put(project, "pkg/.claude/commands/build.md", "Build it.")
    put(home, ".claude/commands/mine.md", "Mine.")
    put(home, ".config/quorum/commands/own.md", "Own.")

    assert set(found(project)) == {"project:review", "project:front:page", "user:mine", "user:own"}
    assert "project:build" in found(project, project / "pkg")


def test_the_nearest_stands_last(project: Path) -> None:
    put(project, ".claude/commands/fix.md", "outer")
    put(project, "pkg/.agents/commands/fix.md", "inner")

    assert found(project, project / "pkg")["project:fix"].body == "inner"


def test_the_frontmatter_says_what_it_takes(project: Path) -> None:
    put(
        project,
        ".claude/commands/commit.md",
        "---\ndescription: Commit what is staged\nargument-hint: [message]\nmodel: haiku\n"
        "allowed-tools: Bash(git add:*), Bash(git commit -m *), Read\narguments: message\n"
        "---\n\nCommit $message\n",
    )
    commit = only(project)

    assert commit.description == "Commit what is staged"
    assert commit.argument_hint == "[message]"
    assert commit.model == "haiku"
    assert commit.allowed_tools == ("Bash(git add:*)", "Bash(git commit -m *)", "Read")
    assert commit.parameters == ("message",)
    assert commit.body.strip() == "Commit $message"
    assert (commit.problem, commit.notices) == ("", ())


@pytest.mark.parametrize("written", ["[file] [name]", "[--init] [--verify]", "<a> [b|c]", "[one]", '"[a] <b>"'])
def test_hints_as_other_agents_take_them_are_read_as_they_are_written(project: Path, written: str) -> None:
    put(project, ".claude/commands/a.md", f"---\nargument-hint: {written}\ndescription: This: that\n---\nText")

    assert only(project).problem == ""
    assert only(project).argument_hint == written.strip('"')
    assert only(project).description == "This: that"


def test_lists_of_tools_are_read_in_every_form(project: Path) -> None:
    forms = ["Read, Bash(ls *)", '["Read", "Bash(ls *)"]', "\n  - Read\n  - Bash(ls *)"]
    for number, written in enumerate(forms):
        put(project, f".claude/commands/c{number}.md", f"---\nallowed-tools: {written}\n---\nText")

    assert {command.allowed_tools for command in found(project).values()} == {("Read", "Bash(ls *)")}


def test_without_frontmatter_the_first_line_describes_it(project: Path) -> None:
    put(project, ".claude/commands/a.md", "\n# Tidy the imports\n\nOf all files.")

    assert only(project).description == "Tidy the imports"


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ('---\ndescription: x\nmodel: "a\n---\nText', 4, "no YAML"),
        ("---\ndescription: x\n", 1, "has no end"),
        ("---\n- a\n---\nText", 2, "no list of fields"),
        ("---\nmodel: a\nmodel: b\n---\nText", 3, "stands there twice"),
        ("---\nmodel:\n  a: b\n---\nText", 2, "one text is expected"),
        ("---\nallowed-tools:\n  a: b\n---\nText", 2, "a list is expected"),
        ("---\narguments: a-b\n---\nText", 2, "the name of an argument"),
        ("---\na: \x07\n---\nText", 2, "a character that is not allowed"),
        (f"---\na: {'[' * 5_000}\n---\nText", 1, "nested deeper"),
        ("---\na: &a [*a]\nb: *x\n---\nText", 3, "no YAML"),
    ],
)
def test_broken_frontmatter_names_file_and_line_and_leaves_the_others_alone(
    project: Path, text: str, line: int, said: str
) -> None:
    file = put(project, ".claude/commands/bad.md", text)
    put(project, ".claude/commands/good.md", "Good.")

    assert found(project)["project:good"].problem == ""
    problem = found(project)["project:bad"].problem
    assert problem.startswith(f"{file}, line {line}: ")
    assert said in problem


def test_an_unknown_field_is_reported_with_its_place_and_the_command_works(project: Path) -> None:
    file = put(project, ".claude/commands/a.md", "---\nname: a\ndiscription: x\n---\nText")

    assert only(project).problem == ""
    (notice,) = only(project).notices
    assert notice.startswith(f"{file}, line 3: quorum does not know discription")
    assert "did you mean description?" in notice


def test_an_empty_file_and_one_that_is_too_large_say_why_they_cannot_be_used(project: Path) -> None:
    put(project, ".claude/commands/empty.md", "---\ndescription: x\n---\n")
    put(project, ".claude/commands/large.md", "x" * 300_000)

    assert "holds no text" in found(project)["project:empty"].problem
    assert "larger than" in found(project)["project:large"].problem


def test_nothing_outside_the_project_is_read_through_a_link(project: Path) -> None:
    outside = put(project.parent, "outside/secret.md", "secret")
    folder = project / ".claude/commands"
    folder.mkdir(parents=True)
    (folder / "out.md").symlink_to(outside)
    (folder / "sub").symlink_to(outside.parent)
    (project / ".agents").symlink_to(outside.parent)
    put(outside.parent, "commands/through.md", "secret")
    put(project, "shared/inside.md", "inside")
    (folder / "inside.md").symlink_to(project / "shared/inside.md")

    assert set(found(project)) == {"project:inside"}


def test_what_is_no_file_or_cannot_be_typed_does_not_count(project: Path) -> None:
    folder = project / ".claude/commands"
    folder.mkdir(parents=True)
    os.mkfifo(folder / "pipe.md")
    (folder / "dir.md").mkdir()
    (folder / "dangling.md").symlink_to(folder / "nothing.md")
    for name in ("two words.md", "esc\x1b[2J.md", "-x.md", ".hidden.md", "notes.txt"):
        put(folder, name, "text")

    assert found(project) == {}


def test_of_a_huge_folder_only_the_first_files_are_read(project: Path) -> None:
    folder = project / ".claude/commands"
    folder.mkdir(parents=True)
    for number in range(700):
        (folder / f"c{number:04}.md").write_text("text")

    assert len(found(project)) == 500


def test_the_digest_is_over_the_bytes_of_the_file(project: Path) -> None:
    file = put(project, ".claude/commands/a.md", "one")
    before = only(project).digest
    file.write_text("two")

    assert only(project).digest != before


def test_in_the_home_folder_itself_its_commands_are_the_persons_own(project: Path) -> None:
    home = project.parent / "home"
    put(home, ".claude/commands/mine.md", "Mine.")

    assert [command.scope for command in found(project, home).values()] == [InstructionScope.USER]
