"""Writing to a terminal that is slow, stalled or gone."""

import os
import threading
import tty

import pytest

from quorum.tui.terminal.writer import TerminalWriter

SCREEN = "x" * 10_000


class Pty:
    """A pseudo-terminal, and a writer to it."""

    def __init__(self):
        self.ours, theirs = os.openpty()
        tty.setraw(theirs)
        self.file = os.fdopen(theirs, "w", encoding="utf-8")
        self.writer = TerminalWriter(self.file)
        self.writer.start()

    def close(self):
        """Take the terminal away."""
        if self.ours >= 0:
            os.close(self.ours)
            self.ours = -1

    def read(self, count):
        data = b""
        while len(data) < count:
            data += os.read(self.ours, count - len(data))
        return data


@pytest.fixture
def pty():
    made = Pty()
    yield made
    made.writer.stop()
    made.close()
    made.writer.join(60)
    made.file.close()


def test_what_is_written_arrives_in_order_and_all_of_it_before_the_end(pty):
    for number in range(1000):
        pty.writer.write(f"{number} é\n")
        if number % 100 == 99:
            expected = "".join(f"{each} é\n" for each in range(number - 99, number + 1)).encode()
            assert pty.read(len(expected)) == expected

    pty.writer.write("last")
    pty.writer.stop()
    assert pty.read(4) == b"last"


def test_a_terminal_that_is_gone_is_reported_and_blocks_nobody(pty):
    reported = threading.Event()
    pty.writer.call_when_gone(reported.set)
    pty.close()

    for _ in range(100):
        pty.writer.write(SCREEN)

    assert reported.wait(60)
    pty.writer.stop()
    assert not pty.writer.is_alive()


def test_who_waits_for_a_stalled_terminal_goes_on_when_it_goes_away(pty):
    wrote = threading.Thread(target=lambda: [pty.writer.write(SCREEN) for _ in range(100)], daemon=True)
    wrote.start()
    pty.read(1)  # it has begun, and nothing more is read
    pty.close()

    wrote.join(60)
    assert not wrote.is_alive()


@pytest.mark.long
def test_nobody_waits_for_a_stalled_terminal_any_more_once_there_is_a_hurry(pty):
    wrote = threading.Thread(target=lambda: [pty.writer.write(SCREEN) for _ in range(100)], daemon=True)
    wrote.start()
    pty.read(1)
    pty.writer.hurry()

    wrote.join(60)
    assert not wrote.is_alive()
    pty.writer.stop()  # returns, although the terminal takes nothing


def test_after_the_end_nothing_is_written_and_nobody_waits(pty):
    pty.writer.stop()

    for _ in range(100):
        pty.writer.write(SCREEN)

    pty.close()


def test_a_terminal_that_some_program_made_non_blocking_gets_everything(pty):
    os.set_blocking(pty.file.fileno(), False)

    pty.writer.write(SCREEN * 10)

    assert pty.read(len(SCREEN) * 10) == (SCREEN * 10).encode()
