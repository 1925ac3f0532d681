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
        "Welcome. This folder is made for the tour and thrown away after it. No model is asked: a plain "
        "interpreter plays one. Tools, reviews and the record are the real ones. Enter sends what stands in"
        " the prompt.",
        "read shop.py and test_shop.py, find TODO",
        "turn_finished",
    ),
    TourStep(
        "Three calls, none of which can do harm, so nobody was asked, and they ran side by side. Ctrl+O "
        "opens and closes details. Now something that changes a file: Enter.",
        'replace "price + quantity" with "price * quantity" in shop.py',
        "review_requested",
    ),
    TourStep(
        "A review: the exact change, bound to the file as it is now. The keys sleep for a moment, so that "
        "nothing you were typing answers it. n rejects, r with a reason, e edits, a makes a rule; y "
        "approves.",
        "",
        "turn_finished",
    ),
    TourStep(
        "What really changed is told on the card. Commands are reviewed in the same way, unless they are "
        "proved to only read. Enter runs the tests, y lets them.",
        "run `python3 -m unittest -q`",
        "turn_finished",
        if_rejected="You rejected the change, so nothing was changed, and the model was told. Commands are "
        "reviewed in the same way, unless they are proved to only read. Enter runs the tests, which find the "
        "mistake; y lets them.",
        if_unchanged="No change was made, so the file is as it was. Commands are reviewed in the same way, "
        "unless they are proved to only read. Enter runs the tests, which find the mistake; y lets them.",
    ),
    TourStep(
        "A command of your own needs no review: it begins with !, and the model learns of it (with !! it "
        "does not). Enter.",
        "!cat shop.py",
        "own_command_finished",
    ),
    TourStep(
        "Everything is on record and can be taken back, files too. Enter shows what that would change; then"
        " choose, or leave with Esc.",
        "/undo",
        "session_rewound",
    ),
    TourStep(
        "Have a look around: Ctrl+T opens a session beside this one and Alt+← comes back, Ctrl+S shows the "
        "timeline, Ctrl+F finds, @ names files, / lists commands, ? shows all keys. F2 goes on.",
    ),
    TourStep(
        "That was the tour. /quit leaves, and this folder goes. In a project of yours, with "
        "ANTHROPIC_API_KEY or OPENAI_API_KEY set or a server in quorum.toml, quorum works like this with a "
        "model.",
    ),
)
