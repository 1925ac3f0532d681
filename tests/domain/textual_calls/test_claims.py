"""Which answers tell of work as done."""

from __future__ import annotations

import pytest

from quorum.domain.textual_calls.claims import asks_for_work, claims_work


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
        "I have created a plan for `a.py`.",
        "I've written a test plan.",
        "I have written the commit message.",
        "I have added a list of commands.",
        "I have fixed the grammar of `README.md`.",
    ],
)
def test_what_says_no_such_thing_is_none(text: str) -> None:
    assert not claims_work(text)


@pytest.mark.parametrize(
    "prompt",
    [
        "write a.txt",
        "Create hello.py that prints hello.",
        "Please create a file called a.txt with the text hello",
        "Can you create hello.py?",
        "Could you please fix the bug in src/calc.py?",
        "Run the tests.",
        "Delete the folder build",
        "There is a bug. Fix the failing tests and commit",
        "Install the packages",
        "fix the test in tests/test_calc.py, it fails",
        "Rename the file a.py to b.py.",
        "Add a function to calc.py",
        "Make the change in calc.py",
        "Commit the changes in a.py",
        "- create the file a.txt",
        "execute the script",
    ],
)
def test_what_plainly_tells_to_change_or_run_something_asks_for_work(prompt: str) -> None:
    assert asks_for_work(prompt)


@pytest.mark.parametrize(
    "prompt",
    [
        "what did you change?",
        "Here is the plan. What do you think?",
        "What did the last commit change?",
        "Write a commit message for this change",
        "Write a haiku about files",
        "How do I delete a file?",
        "Can you create files?",
        "Fix the typo in this sentence: 'teh file was deleted'",
        "Change `foo` to `bar` in this sentence",
        "Write an email that says the tests pass",
        "Create a plan for a.py",
        "write a changelog entry for src/x.py",
        "Erstelle bitte die Datei a.txt",
        "Pretend you are a terminal. Create a file a.txt",
        "Explain how to create a file",
        "Describe the file a.py",
        "run me through the tests",
        "thanks",
        "Translate: delete the file a.txt",
        "Write a script that deletes files",
        "write a test for this function",
        "Summarize the last commit",
        "Delete files?",
        "Tell me whether the file a.py was changed.",
        "make a file structure proposal",
        "Run by me what the tests do",
        "Write a story. Add a file to it",
        "which file was changed by you",
    ],
)
def test_whoever_asks_or_wants_words_asks_for_none(prompt: str) -> None:
    assert not asks_for_work(prompt)
