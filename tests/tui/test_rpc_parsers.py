from __future__ import annotations

from pathlib import Path

import pytest

from quorum.cli.rpc import RpcOptions
from quorum.command_line.reading import parse


def test_nothing_listens_unless_it_is_asked_for() -> None:
    options = parse([]).options

    assert (options.listen, options.headless, options.listen_approve) == (None, False, None)


def test_where_and_how_to_listen_is_read() -> None:
    words = ["--headless", "--listen", "q.sock", "--size", "120x40", "--listen-approve", "3", "go on"]

    path, _, options = parse(words)

    assert (path, options.prompt) == ((), "go on")
    assert (options.listen, options.headless) == (Path("q.sock"), True)
    assert (options.screen_size, options.listen_approve) == ((120, 40), 3)


def test_without_a_terminal_the_screen_has_a_usual_size() -> None:
    assert parse(["--headless", "--listen", "q"]).options.screen_size == (80, 24)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--headless"], "go with --listen SOCKET"),
        (["--listen-approve", "3"], "go with --listen SOCKET"),
        (["--listen", "q", "--size", "80x24"], "--size goes with --headless"),
        (["--headless", "--listen", "q", "--size", "9x5"], "not a size from 10x5 to 500x300"),
        (["--headless", "--listen", "q", "--size", "80x4"], "not a size"),
        (["--headless", "--listen", "q", "--size", "501x300"], "not a size"),
        (["--headless", "--listen", "q", "--size", "80"], "not a size"),
        (["--listen", "q", "--listen-approve", "x"], "not the number of an open descriptor"),
        (["run", "--listen", "q", "go"], "unrecognized arguments"),
        (["rpc", "state.get"], "--socket"),
        (["rpc", "--socket", "q"], "METHOD"),
        (["rpc", "--socket", "q", "a", "{}", "more"], "unrecognized arguments"),
    ],
)
def test_what_does_not_go_together_is_refused(
    words: list[str], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ending:
        parse(words)

    assert ending.value.code == 2
    assert expected in capsys.readouterr().err


@pytest.mark.parametrize("words", [["rpc", "--socket", "q", "m"], ["--socket", "q", "rpc", "m"]])
def test_a_request_needs_a_socket_and_a_method(words: list[str]) -> None:
    path, _, options = parse(words)

    assert path == ("rpc",)
    assert options == RpcOptions(socket=Path("q"), method="m", params="{}", token=None)


def test_a_request_may_have_parameters_and_a_token() -> None:
    options = parse(["rpc", "--socket", "q", "--token-fd", "4", "m", '{"a": 1}']).options

    assert options == RpcOptions(socket=Path("q"), method="m", params='{"a": 1}', token=4)


def test_a_word_of_a_prompt_is_no_command() -> None:
    assert parse(["--listen", "rpc"]).options.listen == Path("rpc")


def test_the_help_names_the_remote_control(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parse(["--help"])

    printed = capsys.readouterr().out
    assert all(
        option in printed for option in ("--listen SOCKET", "--headless", "--size", "--listen-approve FD")
    )
