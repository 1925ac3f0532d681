"""Instruction files and the room they get."""

from hypothesis import given
from hypothesis import strategies as st

from quorum.domain.instructions.instruction import (
    Instruction,
    InstructionFile,
    InstructionScope,
    fit_instructions,
)
from quorum.domain.instructions.prompt_part import Environment, RepositoryState
from quorum.domain.replacing import replace


def a_file(text: str, folder: str = "/w", *imported: str) -> InstructionFile:
    first = Instruction(file=f"{folder}/AGENTS.md", label="AGENTS.md", text=text)
    others = (
        Instruction(file=f"{folder}/{n}.md", label=f"{n}.md", text=each, imported_by="AGENTS.md")
        for n, each in enumerate(imported)
    )
    return InstructionFile(folder=folder, scope=InstructionScope.PROJECT, parts=(first, *others))


def test_where_all_fits_nothing_is_left_out() -> None:
    files = (a_file("outer\n"), a_file("inner\n", "/w/a"))

    assert fit_instructions(files, 100) == files


def test_the_nearest_file_gets_room_first_and_a_text_is_cut_after_a_line() -> None:
    outer, inner = fit_instructions((a_file("one\ntwo\n"), a_file("near\n", "/w/a")), 10)

    assert (inner.parts[0].text, inner.parts[0].left_out) == ("near\n", 0)
    assert (outer.parts[0].text, outer.parts[0].left_out) == ("one\n", 4)


@given(st.lists(st.lists(st.text(), min_size=1, max_size=3), max_size=4), st.integers(0, 200))
def test_the_limit_is_kept_and_every_byte_is_accounted_for(texts: list[list[str]], room: int) -> None:
    files = tuple(a_file(first, f"/w/{n}", *rest) for n, (first, *rest) in enumerate(texts))
    fitted = fit_instructions(files, room)

    kept = [part for file in fitted for part in file.parts]
    given_parts = [part for file in files for part in file.parts]
    assert sum(len(part.text.encode("utf-8", "replace")) for part in kept) <= room
    for whole, part in zip(given_parts, kept, strict=True):
        assert whole.text.startswith(part.text)
        size = len(whole.text.encode("utf-8", "replace"))
        assert size == len(part.text.encode("utf-8", "replace")) + part.left_out


def test_the_digest_tells_apart_what_each_file_and_each_import_says() -> None:
    files = (a_file("ab"), a_file("a", "/w", "b"), a_file("", "/w", "ab"), a_file("ba"))

    assert len({file.digest for file in files}) == len(files)


def test_a_copy_of_a_folder_has_the_digest_of_its_file() -> None:
    assert a_file("a", "/w", "b").digest == a_file("a", "/v", "b").digest


def test_a_model_reads_of_its_surroundings_in_plain_lines() -> None:
    environment = Environment(
        cwd="/w/pkg",
        platform="Linux 6.1 (x86_64)",
        shell="bash",
        date="2026-11-23",
        repository=RepositoryState(root="/w", branch="main", changes=1),
        sandboxed=True,
        command_timeout_secs=60,
        max_tool_turns=100,
    )

    lines = "\n".join(environment.lines)
    assert 'repository /w, on "main", 1 file with uncommitted changes, as the session began' in lines
    for part in ("/w/pkg", "Linux 6.1", "2026-11-23", "in a sandbox", "60 seconds", "100 rounds"):
        assert part in lines
    assert "Working directory: /w/pkg, where relative paths start" in lines

    at_its_root = "\n".join(replace(environment, cwd="/w").lines)
    assert 'Git: repository, on "main"' in at_its_root
