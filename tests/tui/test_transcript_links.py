import pytest

from quorum.domain.calls.tool import RiskLevel
from quorum.domain.events import event as ev
from quorum.tui.transcript.cells.lines import find_addresses, is_web
from tests.support.app_stage import on_stage
from tests.tui.transcript_scenes import TranscriptApp, completed, finished, planned, started

RUN = ("run_command", {"command": "make test"}, RiskLevel.HIGH, ())


@pytest.fixture(autouse=True)
def _own_state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def opened(tmp_path, monkeypatch):
    """Tells what was opened in the browser, which is a program that the person named."""
    browser, addresses = tmp_path / "browser", tmp_path / "addresses"
    browser.write_text(f'#!/bin/sh\necho "$1" >> {addresses}\n')
    browser.chmod(0o755)
    monkeypatch.setenv("BROWSER", str(browser))
    monkeypatch.setenv("DISPLAY", ":0")
    for name in ("SSH_CONNECTION", "SSH_TTY"):
        monkeypatch.delenv(name, raising=False)
    return lambda: addresses.read_text().split() if addresses.exists() else []


def links(app):
    return [
        (text, style.link)
        for y in range(app.view.size.height)
        for text, style, _ in app.view.render_line(y)
        if style and style.link
    ]


def where(view, text):
    for y in range(view.size.height):
        line = view.render_line(y).text
        if text in line:
            return line.index(text), y
    raise AssertionError(text)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("see https://example.org/a?b=1#c, and", ["https://example.org/a?b=1#c"]),
        ("(https://example.org/a_(b)).", ["https://example.org/a_(b)"]),
        ("<https://example.org> http://localhost:8000/", ["https://example.org", "http://localhost:8000/"]),
        ("https://例え.jp/漢字", ["https://例え.jp/漢字"]),
        ("https://cut.example/of…", []),
        ("file:///etc/passwd javascript:alert(1) ftp://a/b https://", []),
    ],
)
def test_addresses_are_found_without_the_sentence_around_them(text, found):
    assert [text[start:end] for start, end in find_addresses(text)] == found


def test_a_million_brackets_after_an_address_are_counted_once():
    text = f"(https://example.com/a){')' * 1_000_000}."  # counted for each of them it takes hours
    assert [text[start:end] for start, end in find_addresses(text)] == ["https://example.com/a"]


@pytest.mark.parametrize(
    "target",
    ["javascript:alert(1)", "file:///x", "data:text/html,x", "https://", "vscode://x", "httpsx://a", "a"],
)
def test_only_the_web_counts_as_the_web(target):
    assert not is_web(target)


@pytest.mark.parametrize("width", [40, 80, 200])
async def test_addresses_in_answers_and_outputs_are_links_of_the_terminal_also_when_broken(width):
    address = "https://example.org/a/long/way/to/go/before/the/end/of/it/is/reached"
    app = TranscriptApp()
    async with app.run_test(size=(width, 40)):
        app.show([ev.TurnStarted(prompt=f"see {address}"), completed(f"at {address}, I think")])
        app.show([planned(RUN), started("run_command", {}), finished("run_command", f"went to {address}\n")])
        app.view.toggle_fold_all()
        app.view.flush()
        shown = links(app)
    assert {target for _, target in shown} == {address}
    assert "".join(text for text, _ in shown) == address * 3


async def test_a_target_that_is_no_web_address_is_no_link_of_the_terminal():
    app = TranscriptApp()
    async with app.run_test(size=(80, 20)):
        app.show([completed("[a](src/a.py) [b](mailto:me@example.net) [c](javascript:x) [d](ftp://x/y)")])
        assert links(app) == []
        assert "a (src/a.py) b (mailto:me@example.net)" in app.lines()[1]


async def test_a_click_tells_where_a_link_leads_and_another_opens_it(tmp_path, opened):
    async with on_stage(tmp_path) as stage:
        view = stage.app.chat.transcript
        view.apply(completed("go to [https://good.example](https://evil.example/x)"))
        view.flush()
        place = where(view, "https://good.example")
        await stage.pilot.click(view, offset=place)
        await stage.shows("leads to https://evil.example/x · another click opens it")
        assert opened() == []
        await stage.pilot.click(view, offset=(place[0] + 1, place[1]))
        await stage.shows("opened https://evil.example/x")
        assert opened() == ["https://evil.example/x"]


@pytest.mark.long
async def test_another_target_is_shown_before_it_is_opened_too(tmp_path, opened):
    async with on_stage(tmp_path) as stage:
        view = stage.app.chat.transcript
        view.apply(completed("https://one.example and https://two.example"))
        view.flush()
        for text in ("https://one", "https://two", "https://one"):
            await stage.pilot.click(view, offset=where(view, text))
            await stage.shows(f"leads to {text}.example")
        assert opened() == []


async def test_nothing_but_the_web_is_opened(tmp_path, opened):
    async with on_stage(tmp_path) as stage:
        view = stage.app.chat.transcript
        view.apply(completed("[run](vscode://evil/x)"))
        view.flush()
        for step in (0, 1):
            await stage.pilot.click(view, offset=(where(view, "run")[0] + step, 1))
            await stage.shows("leads to vscode://evil/x · no web address: not opened")
        assert opened() == []


async def test_where_no_browser_can_appear_the_address_is_copied(tmp_path, opened, monkeypatch):
    monkeypatch.setenv("SSH_TTY", "/dev/pts/1")
    async with on_stage(tmp_path, size=(140, 20)) as stage:
        view = stage.app.chat.transcript
        view.apply(completed("https://one.example/"))
        view.flush()
        x, y = where(view, "https://one")
        await stage.pilot.click(view, offset=(x, y))
        await stage.pilot.click(view, offset=(x + 1, y))
        await stage.shows("no browser can be opened here · copied 20 characters of the address")
        assert stage.app.clipboard == "https://one.example/"
        assert opened() == []
