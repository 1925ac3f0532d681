"""`read_file` on notebooks: cells to read, the JSON to edit, and what only looks like a notebook."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorum.domain.conversation.history import Conversation
from quorum.infrastructure.files.workspace import Workspace
from quorum.infrastructure.tools.builtin import read_file as module
from quorum.infrastructure.tools.builtin.read_file import ReadFile, render_cells
from quorum.infrastructure.tools.builtin.seen import SeenFiles
from tests.infrastructure.tools.calling import call, show
from tests.infrastructure.tools.test_mentioned_files import file_in
from tests.support.examples import examples
from tests.support.real_session import SessionStage

CELLS = [
    {"cell_type": "markdown", "metadata": {}, "source": ["# Title\n", "text"]},
    {
        "cell_type": "code",
        "metadata": {},
        "source": "x = 1\nx",
        "outputs": [{"output_type": "execute_result", "data": {"text/plain": "SECRET OUTPUT"}}],
    },
    {"cell_type": "code", "metadata": {}, "source": [], "outputs": []},
]
NOTE = (
    "[a notebook as its cells, without outputs; the line numbers count here only. "
    "Edits change the JSON of the file: read that first, with raw=true]"
)


def a_notebook(cells=CELLS) -> str:
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1)


@pytest.fixture
def conversation():
    return Conversation()


@pytest.fixture
def seen(conversation):
    return SeenFiles(conversation)


@pytest.fixture
def read_file(tmp_path, seen):
    return ReadFile(Workspace([tmp_path]), seen)


def test_a_notebook_is_read_as_its_cells_without_outputs(tmp_path, read_file):
    (tmp_path / "a.ipynb").write_text(a_notebook())

    assert call(read_file, path="a.ipynb") == (
        "1\t[cell 0, markdown]\n2\t# Title\n3\ttext\n"
        "4\t[cell 1, code, 1 output not shown]\n5\tx = 1\n6\tx\n"
        f"7\t[cell 2, code]\n{NOTE}"
    )


def test_its_lines_are_read_in_pages_like_any_others(tmp_path, read_file):
    (tmp_path / "a.ipynb").write_text(a_notebook())

    page = call(read_file, path="a.ipynb", offset=4, limit=2)

    assert page.startswith("4\t[cell 1, code, 1 output not shown]\n5\tx = 1\n[lines 4-5 of 7;")


def test_raw_is_the_json_of_the_file_and_only_that_counts_as_seen(tmp_path, conversation, read_file, seen):
    path = tmp_path / "a.ipynb"
    path.write_text(a_notebook())

    show(conversation, read_file, path="a.ipynb")
    assert seen.find_knowledge(str(path)) is None
    raw = show(conversation, read_file, path="a.ipynb", raw=True)

    assert raw.startswith('1\t{\n2\t "cells": [')
    assert "SECRET OUTPUT" in raw
    assert seen.find_knowledge(str(path)) is not None


@pytest.mark.parametrize(
    "content",
    [
        "no JSON",
        "[]",
        "{}",
        '{"cells": 3}',
        '{"cells": [1]}',
        '{"worksheets": []}',
        "[" * 100_000,
        '{"cells": [',
    ],
)
def test_what_is_no_notebook_is_read_as_the_text_that_it_is(tmp_path, conversation, read_file, seen, content):
    (tmp_path / "a.ipynb").write_text(content)

    shown = show(conversation, read_file, path="a.ipynb")

    assert shown.startswith(f"1\t{content[:50]}")
    assert NOTE not in shown
    assert seen.find_knowledge(str(tmp_path / "a.ipynb")) is not None


def test_a_notebook_of_fifty_megabytes_is_shown_as_the_json_that_it_is(tmp_path, read_file, monkeypatch):
    monkeypatch.setattr(module, "LARGEST_NOTEBOOK_BYTES", 1_000)
    (tmp_path / "a.ipynb").write_text(a_notebook([*CELLS, {"cell_type": "raw", "source": "x" * 1_000}]))

    assert "# Title" in call(read_file, path="a.ipynb")
    assert call(read_file, path="a.ipynb").startswith("1\t{")


def test_cells_of_rubbish_are_named_and_nothing_in_them_forges_a_line(tmp_path, read_file):
    cells = [{"cell_type": "co\nde\x1b", "source": {"a": 1}}, {"source": ["ok", 3, None, "\n"]}, {}]
    (tmp_path / "a.ipynb").write_text(a_notebook(cells))

    lines = call(read_file, path="a.ipynb").split("\n")

    assert [line.split("\t")[-1][:8] for line in lines[:4]] == ["[cell 0,", "[cell 1,", "ok", "[cell 2,"]
    assert "\x1b" not in lines[0]


def test_a_notebook_without_cells_is_empty(tmp_path, read_file):
    (tmp_path / "a.ipynb").write_text(a_notebook([]))

    assert call(read_file, path="a.ipynb") == "a.ipynb is empty"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["cells", "source", "outputs"]), inner),
)


@examples(60)
@given(JSON)
def test_no_json_whatsoever_fails(value):
    shown = render_cells(json.dumps(value))
    assert shown is None or isinstance(shown, str)


@pytest.mark.long
def test_the_largest_notebook_is_taken_apart(tmp_path, read_file):
    cells = [{"cell_type": "code", "source": ["x = 1\n"] * 50, "outputs": [{"data": "y" * 3_000}]}] * 5_000
    (tmp_path / "a.ipynb").write_text(json.dumps({"cells": cells})[: module.LARGEST_NOTEBOOK_BYTES])

    assert "x = 1" in call(read_file, path="a.ipynb")


async def test_a_mentioned_notebook_is_attached_as_its_cells(tmp_path):
    stage = SessionStage(tmp_path)
    (stage.root / "a.ipynb").write_text(a_notebook())

    file = await file_in(stage, "see @a.ipynb:2-3")

    assert file.content == "2\t# Title\n3\ttext"
    assert "raw=true" in file.note
