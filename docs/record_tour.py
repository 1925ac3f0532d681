"""Records the guided tour from the real app as an asciicast: `.venv/bin/python docs/record_tour.py`.

Drives the installed `quorum --demo` in a pseudo-terminal as a person would, and writes docs/images/tour.cast,
which any asciicast player shows. Nothing in it is made up but the pauses, which are those of a reader.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path

import pexpect

CAST = Path(__file__).parent / "images" / "tour.cast"
COLUMNS, ROWS = 110, 34
LONGEST_PAUSE_SECS = 2.5
ENTER, F2, ESCAPE, CTRL_C = "\r", "\x1bOQ", "\x1b", "\x03"
ACTS = (
    # what is waited for, how long it is looked at, and what is pressed then
    ("offline/offline", 2.0, ENTER),
    ("2/8", 2.0, ENTER),
    ("y yes", 2.5, "y"),
    ("4/8", 2.0, ENTER),
    ("python3 -m unittest", 2.5, "y"),
    ("5/8", 2.0, ENTER),
    ("6/8", 2.0, ENTER),
    ("files", 2.5, ESCAPE),
    ("6/8", 0.5, F2),
    ("7/8", 1.0, "\x13"),  # the timeline
    ("imeline", 2.5, ESCAPE),
    ("7/8", 0.5, "/"),
    ("/", 2.0, CTRL_C),
    ("7/8", 0.5, F2),
    ("8/8", 2.5, CTRL_C),
    ("again quits", 0.2, CTRL_C),
)


class Recording:
    """A running app, and all it painted with the time of each piece."""

    def __init__(self, folder: str) -> None:
        self.pieces: list[tuple[float, str]] = []
        self._began = time.monotonic()
        programs = Path(folder, ".local/bin")  # it is called by its name, as where it was installed
        programs.mkdir(parents=True)
        (programs / "quorum").symlink_to(Path(sys.executable).parent / "quorum")
        self._process = pexpect.spawn(
            "quorum",
            ["--demo"],
            cwd=folder,
            env={
                "PATH": f"{programs}:/usr/local/bin:/usr/bin:/bin",  # programs as most machines have them
                "HOME": folder,
                "TMPDIR": folder,
                "LANG": "C.UTF-8",
                "TERM": "xterm-256color",
                "COLORTERM": "truecolor",
            },
            dimensions=(ROWS, COLUMNS),
            encoding="utf-8",
            codec_errors="replace",
        )

    def watch(self, secs: float) -> None:
        """Take down what is painted for so long."""
        end = time.monotonic() + secs
        while (left := end - time.monotonic()) > 0:
            try:
                piece = self._process.read_nonblocking(65536, timeout=left)
            except pexpect.TIMEOUT:
                return
            except pexpect.EOF:
                return
            self.pieces.append((time.monotonic() - self._began, piece))

    def wait_for(self, text: str) -> None:
        """Until this is painted."""
        place = len(self.pieces)
        end = time.monotonic() + 30
        while text not in "".join(piece for _, piece in self.pieces[max(0, place - 40) :]):
            if time.monotonic() > end:
                raise SystemExit(f"{text!r} was never painted")
            self.watch(0.1)

    def press(self, key: str) -> None:
        """Press a key."""
        self._process.send(key)


def cast(pieces: list[tuple[float, str]]) -> str:
    """The recording as an asciicast, version 2, long pauses shortened."""
    head = {"version": 2, "width": COLUMNS, "height": ROWS, "title": "quorum: the guided tour"}
    lines = [json.dumps(head)]
    shown = before = 0.0
    for at, piece in pieces:
        shown += min(at - before, LONGEST_PAUSE_SECS)
        before = at
        lines.append(json.dumps([round(shown, 3), "o", piece], ensure_ascii=False))
    return "\n".join(lines) + "\n"


def main() -> None:
    """Record, and write the file."""
    with tempfile.TemporaryDirectory() as folder:
        recording = Recording(folder)
        for text, secs, key in ACTS:
            recording.wait_for(text)
            recording.watch(secs)
            recording.press(key)
        recording.watch(3)
        # the folder's name is another each time, and no part of the tour
        pieces = [(at, piece.replace(folder, "/tmp")) for at, piece in recording.pieces]
    CAST.write_text(cast(pieces), encoding="utf-8")
    print(f"{CAST}: {len(pieces)} pieces, {pieces[-1][0]:.0f} s")


if __name__ == "__main__":
    main()
