from __future__ import annotations

import asyncio
import fcntl
import os
import stat
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorum.domain.errors import ConfigError
from quorum.domain.review.permission_rules import Answer, Rule, SavedRule
from quorum.infrastructure.execution.shell.parsing import parse
from quorum.infrastructure.permissions.rule_file import RuleFile, render_rules

_HERE = Path("/w")


def _saved(
    text: str = "run_command(npm test *)",
    answer: Answer = Answer.ALLOW,
    *,
    project: str | None = "/w",
    saved: str = "2026-11-22T01:02:03Z",
    must_match: tuple[str, ...] = (),
    must_not_match: tuple[str, ...] = (),
) -> SavedRule:
    return SavedRule(
        rule=Rule.parse(text, answer, "the test"),
        project=project,
        saved=saved,
        must_match=must_match,
        must_not_match=must_not_match,
    )


def _write(path: Path, text: str) -> RuleFile:
    path.write_text(text, encoding="utf-8")
    path.chmod(0o600)
    return RuleFile(path)


def _texts(file: RuleFile, folder: Path = _HERE) -> list[str]:
    return [rule.id for rule in file.load(folder, parse).rules]


def _save(file: RuleFile, rule: SavedRule) -> None:
    asyncio.run(file.save(rule))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "config" / "permissions.toml"


def test_without_a_file_there_are_no_saved_rules(path: Path) -> None:
    assert RuleFile(path).load(_HERE, parse).rules == ()
    assert not path.exists()


def test_a_saved_rule_is_there_for_the_next_session(path: Path) -> None:
    rule = _saved(must_match=("npm test -- -x",), must_not_match=("npm test && rm -rf ~", "it's\t“ä” \\ \x07"))

    _save(RuleFile(path), rule)

    (placed,) = RuleFile(path).read_rules()
    assert placed.saved.rule.id == rule.rule.id
    assert (placed.saved.project, placed.saved.saved) == ("/w", rule.saved)
    assert (placed.saved.must_match, placed.saved.must_not_match) == (rule.must_match, rule.must_not_match)
    assert placed.place.startswith(f"{path}:")


def test_the_file_is_for_its_owner_alone_and_says_what_it_is(path: Path) -> None:
    _save(RuleFile(path), _saved())

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.read_text().startswith('# Rules that quorum saved when you answered "always".')
    assert tomllib.loads(path.read_text())["rule"][0]["scope"] == "/w"


def test_rules_are_kept_in_the_order_in_which_they_were_made(path: Path) -> None:
    for number in (3, 1, 2):
        _save(RuleFile(path), _saved(f"run_command(make {number})", saved=f"2026-11-2{number}T00:00:00Z"))

    assert _texts(RuleFile(path)) == [f"allow run_command(make {number})" for number in (1, 2, 3)]


def test_the_same_rule_is_kept_once_for_each_scope(path: Path) -> None:
    for project in ("/w", "/w", None):
        _save(RuleFile(path), _saved(project=project))

    assert [placed.saved.project for placed in RuleFile(path).read_rules()] == ["/w", None]


def test_rules_of_other_folders_do_not_hold_here(path: Path) -> None:
    for project, text in (("/w", "make a"), ("/w/sub", "make b"), ("/other", "make c"), (None, "make d")):
        _save(RuleFile(path), _saved(f"run_command({text})", project=project))

    assert _texts(RuleFile(path)) == ["allow run_command(make a)", "allow run_command(make d)"]


def test_a_rule_can_be_removed(path: Path) -> None:
    file = RuleFile(path)
    _save(file, _saved("run_command(make a)"))
    _save(file, _saved("run_command(make b)"))

    asyncio.run(file.remove(_saved("run_command(make a)")))

    assert _texts(file) == ["allow run_command(make b)"]


async def test_two_sessions_that_save_at_once_lose_no_rule(path: Path) -> None:
    files = [RuleFile(path) for _ in range(4)]

    await asyncio.gather(
        *(file.save(_saved(f"run_command(make {n}{m})")) for n, file in enumerate(files) for m in range(5))
    )

    assert len(RuleFile(path).read_rules()) == 20
    assert sorted(os.listdir(path.parent)) == ["permissions.toml", "permissions.toml.lock"]


def test_a_session_that_never_lets_go_of_the_file_is_reported(path: Path) -> None:
    path.parent.mkdir()
    with (path.parent / "permissions.toml.lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)

        with pytest.raises(ConfigError, match="another quorum has been changing"):
            _save(RuleFile(path, patience_secs=0.05), _saved())

    assert not path.exists()


def test_a_file_that_is_a_link_stays_one(path: Path, tmp_path: Path) -> None:
    path.parent.mkdir()
    (tmp_path / "dotfiles").mkdir()
    (tmp_path / "dotfiles" / "rules.toml").write_text("")
    path.symlink_to(tmp_path / "dotfiles" / "rules.toml")

    _save(RuleFile(path), _saved())

    assert path.is_symlink()
    assert len(RuleFile(path).read_rules()) == 1


def test_a_folder_that_cannot_be_written_is_reported(path: Path) -> None:
    path.parent.write_text("a file")

    with pytest.raises(ConfigError, match=r"permissions\.toml cannot be written: "):
        _save(RuleFile(path), _saved())


def test_a_folder_whose_name_is_no_text_is_reported_and_leaves_the_file_whole(path: Path) -> None:
    _save(RuleFile(path), _saved())

    with pytest.raises(ConfigError, match="is not valid Unicode and cannot be saved"):
        _save(RuleFile(path), _saved(project="/w\udcff"))

    assert len(RuleFile(path).read_rules()) == 1


# ---------------------------------------------------------------- what does not hold any more


@pytest.mark.parametrize(
    ("rule", "match", "no_match", "problem"),
    [
        ("run_command(npm *)", "yarn test", "", "it no longer covers 'yarn test'"),
        ("run_command(npm *)", "npm test", "npm publish", "it covers 'npm publish', which it must not"),
        ("run_command(git log *)", "git log --output=x", "", "it no longer covers 'git log --output=x'"),
        ("write_file(src/**)", "docs/a", "", "it no longer covers 'docs/a'"),
        ("write_file(**)", "src/a", "docs/a", "it covers 'docs/a', which it must not"),
        ("web_fetch(url=https://x.org/*)", "https://y.org/", "", "it no longer covers 'https://y.org/'"),
    ],
)
def test_a_rule_that_fails_its_examples_is_not_used_and_is_named(
    tmp_path: Path, rule: str, match: str, no_match: str, problem: str
) -> None:
    misses = (no_match,) if no_match else ()
    saved = _saved(rule, must_match=(match,), must_not_match=misses)
    file = _write(tmp_path / "p.toml", render_rules([saved, _saved("run_command(make)")]))

    loaded = file.load(_HERE, parse)

    assert [kept.text for kept in loaded.rules] == ["run_command(make)"]
    (warning,) = loaded.warnings
    assert f"the saved rule allow {rule} fails its examples: {problem}" in warning
    assert warning.startswith(f"{tmp_path / 'p.toml'}:7: ")
    assert warning.endswith("it is not used; correct or remove it")


def test_a_rule_that_denies_is_used_even_if_it_fails_its_examples(tmp_path: Path) -> None:
    saved = _saved("run_command(rm *)", Answer.DENY, must_match=("mv a b",))

    loaded = _write(tmp_path / "p.toml", render_rules([saved])).load(_HERE, parse)

    assert [rule.id for rule in loaded.rules] == ["deny run_command(rm *)"]
    assert "it is used all the same" in loaded.warnings[0]


def test_a_file_that_others_may_write_allows_nothing(tmp_path: Path) -> None:
    file = _write(
        tmp_path / "p.toml",
        render_rules([_saved("run_command(make)"), _saved("run_command(rm *)", Answer.DENY)]),
    )
    (tmp_path / "p.toml").chmod(0o622)

    loaded = file.load(_HERE, parse)

    assert [rule.id for rule in loaded.rules] == ["deny run_command(rm *)"]
    assert "others may write" in loaded.warnings[0]
    assert "chmod 600" in loaded.warnings[0]


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("[[rule]\n", 1, "this is not TOML"),
        ("[[rules]]\n", 1, '"rules" is unknown here; it knows [[rule]]'),
        ("rule = 1\n", 1, "rule must be a list of tables"),
        ('[[rule]]\nscope = "user"\n', 1, "exactly one of allow, ask and deny"),
        ('[[rule]]\nallow = "a"\ndeny = "a"\nscope = "user"\n', 1, "exactly one of allow, ask and deny"),
        ('[[rule]]\nallow = "a"\n', 1, "`scope`"),
        ('[[rule]]\nallow = "a"\nscope = "here"\n', 1, 'scope must be "user" or the full path of a folder'),
        ('\n[[rule]]\nallow = "a b"\nscope = "user"\n', 2, '"a b" is not a rule: a rule is written TOOL'),
        ('[[rule]]\nalow = "a"\nscope = "user"\n', 1, "`alow`"),
        ('[[rule]]\nallow = 1\nscope = "user"\n', 1, "this is not a saved rule"),
    ],
)
def test_a_damaged_file_is_reported_with_its_line_and_is_never_half_used(
    tmp_path: Path, text: str, line: int, problem: str
) -> None:
    file = _write(tmp_path / "p.toml", text)

    with pytest.raises(ConfigError) as raised:
        file.load(_HERE, parse)
    with pytest.raises(ConfigError):
        _save(file, _saved())

    assert str(raised.value).startswith(f"{tmp_path / 'p.toml'}:{line}: ")
    assert problem in str(raised.value)
    assert "one that denies could be missing" in str(raised.value)
    assert (tmp_path / "p.toml").read_text() == text


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["run_command(make *)", "write_file(src/**)", "web_fetch", "a(b=\x7f\x1bä)"]),
            st.sampled_from(Answer),
            st.sampled_from(["/w", "/w/ä b\n", None]),
            st.lists(st.text(st.characters(exclude_categories=["Cs"])), max_size=3),
        ),
        max_size=4,
    )
)
def test_whatever_is_written_is_read_back(rules: list[tuple[str, Answer, str | None, list[str]]]) -> None:
    written = [
        _saved(text, answer, project=project, must_match=tuple(examples), must_not_match=tuple(examples[1:]))
        for text, answer, project, examples in rules
    ]

    tables = tomllib.loads(render_rules(written)).get("rule", [])

    assert [table["must_match"] for table in tables if "must_match" in table] == [
        list(rule.must_match) for rule in written if rule.must_match
    ]
    assert [table["scope"] for table in tables] == [rule.project or "user" for rule in written]
    assert [table.get(rule.rule.answer) for table, rule in zip(tables, written, strict=True)] == [
        rule.rule.text for rule in written
    ]
