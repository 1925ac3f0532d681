"""Which answers tell of work as done."""

from __future__ import annotations

import pytest

from quorum.domain.textual_calls.claims import claims_work


@pytest.mark.parametrize(
    "text",
    [
        "I have created the file `hello.py`.",
        "I've updated src/calc.py so that it adds.",
        "Okay, I ran the tests and they pass.",
        "Sure! I successfully deleted the folder.",
        "The file notes.txt has been created.",
        "I have run the tests.",
        "The tests were run. All of them are green.",
        "All tests pass.",
        "12 tests passed",
        "All 3 files have been successfully renamed.",
        "Done. I have also installed the packages.",
        "Here is the result:\n\nI executed `ls` and saw three files.",
        "`calc.py` was modified.",
        "<tool_response>\nx = 1\n</tool_response>",
        "Observation: x = 1",
    ],
)
def test_what_says_that_a_file_was_changed_or_a_command_run_is_a_claim(text: str) -> None:
    assert claims_work(text)


@pytest.mark.parametrize(
    "text",
    [
        "done",
        "I run the tests.",
        "No file was changed.",
        "Hello! How can I help?",
        "I have not created the file yet.",
        "I would have created the file `a.py`, but I may not.",
        "Should I say that the file was deleted?",
        "If the tests pass, the branch has been merged.",
        "The file was added in version 2.",
        "Git was created by Linus Torvalds in 2005.",
        "I've updated the function:\n\n```python\ndef f(): ...\n```",
        "You have created the file `a.py`.",
        "```\nI have created the file a.py\n```",
        "A test passes when its assertion holds.",
        "The command `rm` has removed files for decades, once you type it.",
        "I've added a comma to your sentence.",
        "I can create the file. Shall I?",
        "I read the task. It needs a file `a.py`.",
        "Files are listed with `ls`.",
    ],
)
def test_what_says_no_such_thing_is_none(text: str) -> None:
    assert not claims_work(text)
