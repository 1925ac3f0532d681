"""The steps of the tour: what is said, what is put into the prompt, and what leads on to the next."""

from __future__ import annotations

from typing import NamedTuple


class TourStep(NamedTuple):
    """One step. `on`: the name of the event that leads on; empty: only the person's key does.

    `if_rejected` is said instead of `says` where the person rejected the change of the step before, and
    `if_unchanged` where there was none for another reason.
    """

    says: str
    prompt: str = ""
    on: str = ""
    if_rejected: str = ""
    if_unchanged: str = ""


TOUR = (
    TourStep(
        "Welcome. This temporary folder is for the tour and is deleted after it. A simple interpreter"
        " takes the place of the model. Tools, reviews and the ledger are real. Enter sends the text "
        "in the prompt.",
        "read shop.py and test_shop.py, find TODO",
        "turn_finished",
    ),
    TourStep(
        "Three read-only calls: they ran in parallel, without asking. Ctrl+O opens and closes "
        "details. Next, a change of a file: press Enter.",
        'replace "price + quantity" with "price * quantity" in shop.py',
        "review_requested",
    ),
    TourStep(
        "A review: the exact change, bound to the file as it is now. The dialog ignores keys for a "
        "moment, so that your typing cannot answer it. y is yes, n is no, r gives a "
        "reason, e changes the call, a creates a rule.",
        "",
        "turn_finished",
    ),
    TourStep(
        "The card shows what really changed. Commands are reviewed in the same way, unless they are "
        "proven to be read-only. Enter asks to run the tests, y is yes.",
        "run `python3 -m unittest -q`",
        "turn_finished",
        if_rejected="You rejected the change: nothing was changed, and the model reads that. Commands "
        "are reviewed in the same way, unless they are proven to be read-only. Enter asks"
        " to run the tests, which find the mistake; y is yes.",
        if_unchanged="No change was made: the file is as it was. Commands are reviewed in the same "
        "way, unless they are proven to be read-only. Enter asks to run the tests, which"
        " find the mistake; y is yes.",
    ),
    TourStep(
        "Your own commands begin with ! and need no review. The model sees the output (with !! it "
        "does not). Press Enter.",
        "!cat shop.py",
        "own_command_finished",
    ),
    TourStep(
        "Everything is recorded and can be undone, files too. Enter shows what undo would change; "
        "then choose, or leave with Esc.",
        "/undo",
        "session_rewound",
    ),
    TourStep(
        "Look around: Ctrl+T opens another session and Alt+← returns, Ctrl+S shows the timeline, "
        "Ctrl+F finds, @ mentions files, / lists commands, ? shows all keys. F2 continues.",
    ),
    TourStep(
        "End of the tour. /quit leaves and deletes this folder. In your own project, with "
        "ANTHROPIC_API_KEY or OPENAI_API_KEY set or a server in quorum.toml, quorum works like this "
        "with a model.",
    ),
)
