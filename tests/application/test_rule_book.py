from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import pytest

from quorum.application.review.rule_book import FileListing, RuleBook
from quorum.domain.calls.access import EXCLUSIVE, Access
from quorum.domain.calls.server_tools import format_tool_name
from quorum.domain.calls.tool import RiskLevel
from quorum.domain.errors import ConfigError
from quorum.domain.replacing import replace
from quorum.domain.review.path_policy import PathPolicy
from quorum.domain.review.permission_rules import Answer, Rule, SavedRule, Subject, find_matching_rules
from quorum.domain.review.questions import RuleScope
from quorum.domain.review.rule_offers import ApprovedCall, find_failing_example, judge_by_words
from quorum.infrastructure.execution.shell.parsing import parse

_PATHS = PathPolicy(roots=("/w",))
_READ_ONLY = Rule.parse("run_command(read-only)", Answer.ALLOW, "default")
_FILES = ("/w/src/a.py", "/w/src/b/c.py", "/w/README.md")


class _Store:
    def __init__(self, problem: str | None = None) -> None:
        self.saved: list[SavedRule] = []
        self._problem = problem

    async def save(self, rule: SavedRule) -> None:
        if self._problem is not None:
            raise ConfigError(self._problem)
        self.saved.append(rule)


def _book(
    *fixed: Rule,
    store: _Store | None = None,
    files: Sequence[str] = _FILES,
    complete: bool = True,
) -> RuleBook:
    return RuleBook(
        (_READ_ONLY, *fixed),
        store=store,
        paths=_PATHS,
        read_command=parse,
        list_files=lambda: FileListing(tuple(files), complete),
        now=lambda: datetime(2026, 11, 22, 1, 2, 3, tzinfo=UTC),
    )


def _command(text: str) -> Subject:
    return Subject(
        tool="run_command",
        risk=RiskLevel.HIGH,
        access=EXCLUSIVE,
        arguments={"command": text},
        command=text,
        shell=judge_by_words(parse(text)),
    )


def _write(path: str) -> Subject:
    return Subject(tool="edit_file", risk=RiskLevel.HIGH, access=Access.of(writes=[path]))


def _fetch(url: str) -> Subject:
    return Subject(tool="web_fetch", risk=RiskLevel.HIGH, access=Access(), arguments={"url": url})


async def test_offered_rules_are_saved_with_examples_that_hold_when_they_are_loaded() -> None:
    store = _Store()
    book = _book(store=store)
    approved = [ApprovedCall(tool="run_command", command=f"git add {n} && git commit -m {n}") for n in range(2)]
    subject = _command("git add x && git status && git commit -m x")

    offer = book.offer(subject, approved)

    assert offer is not None
    for text in offer.rules:
        await book.add(text, RuleScope.PROJECT, subject)
    assert [saved.rule.text for saved in store.saved] == ["run_command(git add *)", "run_command(git commit *)"]
    for saved in store.saved:
        assert saved.must_match
        assert saved.must_not_match
        assert find_failing_example(saved.rule, saved.must_match, saved.must_not_match, parse, "/w") is None
    assert book.offer(_command("git commit -m y"), approved) is None


# ---------------------------------------------------------------- proposals


@pytest.mark.parametrize(
    ("command", "proposals"),
    [
        ("npm test", ("npm test", "npm test *")),
        ("cd src && npm run test:unit -- -x", ("cd src && npm run test:unit -- -x", "npm run test:unit *")),
        ("python -m pytest -q", ("python -m pytest -q", "python -m pytest *")),
        ("make all && npm test", ("make all && npm test",)),
        ("git status", ("git status", "read-only")),
        ("git push origin", ("git push origin",)),
        ("./deploy.sh now", ("./deploy.sh now",)),
    ],
)
def test_proposals_for_a_command_begin_with_its_very_text(command: str, proposals: tuple[str, ...]) -> None:
    book = _book() if "status" not in command else RuleBook((), paths=_PATHS, read_command=parse)

    assert book.propose(_command(command)) == tuple(f"run_command({pattern})" for pattern in proposals)


@pytest.mark.parametrize(
    "command",
    [
        "bash -c 'ls'",
        "sh script.sh",
        "python -c 'print(1)'",
        "node server.js",
        "curl https://x.org",
        "ssh host make",
        "docker run x",
        "npx create-app",
        "git config a b",
        "echo $(make)",
        "make > log",
        "FOO=1 make",
    ],
)
def test_what_could_run_anything_is_proposed_word_for_word_only(command: str) -> None:
    assert _book().propose(_command(command)) == (f"run_command({command})",)


@pytest.mark.parametrize("command", ["rm -rf x", "sudo make", "git push --force", "make && git clean -fd"])
def test_nothing_is_proposed_where_a_guard_would_have_it_asked_all_the_same(command: str) -> None:
    assert _book().propose(_command(command)) == ()


@pytest.mark.parametrize("command", ["ls *.py; make", "make\nrm x", "read-only", "echo 'x\u202e'"])
def test_what_no_rule_can_name_exactly_is_not_proposed(command: str) -> None:
    assert f"run_command({command})" not in _book().propose(_command(command))


def test_a_write_is_proposed_as_the_file_and_then_its_folder() -> None:
    assert _book().propose(_write("/w/src/a.py")) == ("write_file(src/a.py)", "write_file(src/**)")
    assert _book().propose(_write("/w/README.md")) == ("write_file(README.md)",)


def test_no_rule_is_proposed_for_what_is_protected_or_outside() -> None:
    assert _book().propose(_write("/w/.git/config")) == ()
    assert _book().propose(_write("/etc/hosts")) == ()


def test_other_tools_are_proposed_by_an_argument_and_then_whole() -> None:
    assert _book().propose(_fetch("https://docs.x.org/a")) == (
        "web_fetch(url=https://docs.x.org/a)",
        "web_fetch(url=https://docs.x.org/*)",
        "web_fetch",
    )
    assert "web_fetch(url=https://docs.x.org/a?b)" not in _book().propose(_fetch("https://docs.x.org/a?b"))


def test_nothing_is_proposed_against_a_rule_that_asks() -> None:
    asks = Rule.parse("run_command(npm *)", Answer.ASK, "here")

    assert _book(asks).propose(_command("npm test")) == ()


@pytest.mark.parametrize(
    "subject",
    [_command("npm test"), _command("cd src && make"), _write("/w/src/a.py"), _fetch("https://a.b/c")],
)
async def test_every_proposal_lets_the_call_run_once_it_is_added(subject: Subject) -> None:
    for proposal in _book().propose(subject):
        book = _book()
        assert book.preview(proposal, subject).covers_this
        await book.add(proposal, RuleScope.SESSION, subject)
        assert any(rule.text == proposal for rule in find_matching_rules(book.rules, subject, _PATHS.roots))


# ---------------------------------------------------------------- previews


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("write file", "TOOL or TOOL(PATTERN)"),
        ("run_command()", "nothing stands between"),
        ("run_command('a)", "cannot be separated"),
        ("run_command(make\u202e)", "cannot be seen"),
    ],
)
async def test_a_bad_rule_is_explained_and_cannot_be_added(text: str, problem: str) -> None:
    book = _book()

    preview = book.preview(text, _command("make"))

    assert preview.problem is not None
    assert problem in preview.problem
    with pytest.raises(ConfigError, match="this is not a rule"):
        await book.add(text, RuleScope.SESSION, _command("make"))


def test_a_preview_shows_the_other_calls_of_the_session_that_would_newly_run() -> None:
    book = _book()
    for text in ("npm test -- -x", "npm run build", "git log", "npm test > log"):
        book.note(_command(text))

    preview = book.preview("run_command(npm test *)", _command("npm test"))

    assert preview.covers == ("npm test -- -x",)
    assert preview.covers_this


def test_a_preview_names_calls_in_the_words_of_the_screen_and_files_from_the_folder() -> None:
    book = _book()
    book.note(_write("/w/src/b.py"))

    (other, *_) = book.preview("write_file(src/**)", _write("/w/src/a.py")).covers

    assert other == f"{format_tool_name(_write('/w/src/b.py').tool)} src/b.py"


def test_a_preview_tells_when_a_rule_would_not_help_with_this_call() -> None:
    assert not _book().preview("run_command(npm *)", _command("make")).covers_this
    assert not _book().preview("write_file(.git/**)", _write("/w/.git/config")).covers_this


def test_a_preview_of_a_path_rule_shows_files_that_it_covers_and_how_many() -> None:
    many = tuple(f"/w/src/{number}.py" for number in range(9))

    preview = _book(files=many).preview("write_file(src/**)", _write("/w/src/a.py"))
    cut = _book(files=many, complete=False).preview("write_file(src/**)", _write("/w/src/a.py"))

    assert preview.covers == (*(f"src/{number}.py" for number in range(5)), "… and 4 more files")
    assert cut.covers[-1] == "… and 4 more files among the first 9"


def test_the_file_of_the_call_is_none_of_those_that_the_rule_would_also_allow() -> None:
    book = _book(files=("/w/src/a.py", "/w/src/b.py"))

    assert book.preview("write_file(src/a.py)", _write("/w/src/a.py")).covers == ()
    assert book.preview("write_file(src/**)", _write("/w/src/a.py")).covers == ("src/b.py",)
    assert book.preview_rule("write_file(src/a.py)", Answer.ALLOW).covers == ("src/a.py",)


@pytest.mark.parametrize("text", ["run_command(npm test *)", "run_command(npm test)"])
def test_the_examples_are_the_call_and_near_misses_of_it(text: str) -> None:
    preview = _book().preview(text, _command("npm test"))

    assert preview.must_match == ("npm test",)
    assert "npm test && rm -rf ~" in preview.must_not_match
    assert "npm publish" in preview.must_not_match
    assert preview.covers == ()


def test_of_a_compound_command_the_part_that_the_rule_is_about_is_the_example() -> None:
    preview = _book().preview("run_command(npm test *)", _command("cd src && npm test -- -x"))

    assert preview.must_match == ("npm test -- -x",)


def test_an_option_that_writes_is_a_near_miss_of_a_reading_command() -> None:
    preview = _book().preview("run_command(git log *)", _command("git log -p"))

    assert preview.must_match == ("git log -p",)
    assert {"git log --output=x", "git push --force"} <= set(preview.must_not_match)


def test_a_near_miss_that_the_rule_would_let_run_is_shown_as_covered() -> None:
    preview = _book().preview("run_command(git *)", _command("git fetch"))

    assert "git push --force" in preview.covers
    assert "git push --force" not in preview.must_not_match


def test_near_misses_of_a_path_lie_outside_it() -> None:
    preview = _book().preview("write_file(src/**)", _write("/w/src/a.py"))

    assert preview.must_match == ("src/a.py",)
    assert preview.must_not_match == ("../a.py", "src-other/a.py", "/etc/passwd")


def test_only_the_latest_calls_are_remembered_and_none_of_low_risk() -> None:
    book = _book()
    book.note(Subject(tool="read_file", risk=RiskLevel.LOW, access=Access.of(reads=["/w/a"])))
    for number in range(60):
        book.note(_command(f"npm run {number}"))

    covers = book.preview("run_command(npm *)", _command("npm run x")).covers

    assert "npm run 10" in covers
    assert "npm run 9" not in covers
    assert "… and 42 more calls of this session" in covers


# ---------------------------------------------------------------- adding


async def test_a_rule_of_the_session_is_in_force_at_once_and_saved_nowhere() -> None:
    store = _Store()
    book = _book(store=store)

    rule = await book.add("run_command(make)", RuleScope.SESSION, _command("make"))
    await book.add("run_command(make)", RuleScope.SESSION, _command("make"))

    assert book.rules == (_READ_ONLY, rule)
    assert rule.source == "made in this session"
    assert store.saved == []


@pytest.mark.parametrize(("scope", "project"), [(RuleScope.PROJECT, "/w"), (RuleScope.USER, None)])
async def test_a_rule_that_outlives_the_session_is_saved_with_its_examples(
    scope: RuleScope, project: str | None
) -> None:
    store = _Store()

    rule = await _book(store=store).add("run_command(make *)", scope, _command("make all"))

    (saved,) = store.saved
    assert (saved.rule, saved.project, saved.scope) == (rule, project, scope)
    assert saved.saved == "2026-11-22T01:02:03Z"
    assert saved.must_match == ("make all",)
    assert "make all && rm -rf ~" in saved.must_not_match


@pytest.mark.parametrize("store", [_Store("the disk is full"), None])
async def test_a_rule_that_cannot_be_saved_holds_for_the_session(store: _Store | None) -> None:
    book = _book(store=store)

    with pytest.raises(ConfigError, match="it holds in this session only"):
        await book.add("run_command(make)", RuleScope.USER, _command("make"))

    assert book.rules[-1].text == "run_command(make)"


async def test_a_host_that_a_call_asks_for_is_proposed_and_saved_with_examples() -> None:
    store = _Store()
    book = _book(store=store)
    subject = _command("pip install x")
    shell = judge_by_words(parse("pip install x"))
    subject = replace(subject, shell=replace(shell, is_confined=True, asked_hosts=("pypi.org",)))

    [proposal] = book.propose(subject)
    await book.add(proposal, RuleScope.PROJECT, subject)

    assert proposal == "network(pypi.org)"
    assert book.preview("network(example.org)", subject).covers_this is False
    [saved] = store.saved
    assert (saved.must_match, saved.must_not_match) == (
        ("pypi.org",),
        ("pypi.org.example.net", "not-pypi.org", "pypi.org:22"),
    )
    assert not any(text.startswith("network") for text in book.propose(subject))
