"""`quorum permissions` as a person would use it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.headless_run import Ended, configure, environment, run_quorum_now


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path.resolve() / "project"
    (folder / "src").mkdir(parents=True)
    return folder


def _quorum(*words: str, home: Path, project: Path) -> Ended:
    return run_quorum_now(*words, cwd=project, env=environment(home))


def _permissions(*words: str, home: Path, project: Path) -> Ended:
    return _quorum("permissions", *words, home=home, project=project)


def _save_rules(home: Path, text: str) -> Path:
    path = home / "config" / "quorum" / "permissions.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(0o600)
    return path


def _write(path: str) -> str:
    return json.dumps({"path": path, "content": ""})


def test_a_command_is_checked_by_its_text_alone(home: Path, project: Path) -> None:
    configure(home, '[permissions]\ndeny = ["run_command(git push *)"]\n')
    pushed = _permissions("check", "git push origin main", home=home, project=project)
    looked = _permissions("check", "ls -l", home=home, project=project)
    called = _permissions("check", "list_directory", home=home, project=project)

    assert (pushed.code, looked.code, called.code) == (1, 0, 0)
    assert "git push *" in pushed.out


@pytest.mark.long
@pytest.mark.parametrize(
    ("words", "code", "decision"),
    [
        (("write_file", _write("src/a.py")), 0, "allow"),
        (("write_file", _write("docs/a.md")), 3, "ask"),
        (("write_file", _write("src/a.lock")), 1, "deny"),
        (("write_file", _write("docs/a.md"), "--mode", "accept-edits"), 0, "allow"),
        (("--mode", "read-only", "write_file", _write("docs/a.md")), 1, "deny"),
        (("write_file", _write("docs/a.md"), "--mode", "quorum"), 3, "ask"),
    ],
)
def test_the_exit_code_of_a_check_is_the_decision(
    home: Path, project: Path, words: tuple[str, ...], code: int, decision: str
) -> None:
    configure(home, '[permissions]\nallow = ["write_file(src/**)"]\ndeny = ["write_file(*.lock)"]')

    ended = _permissions("check", *words, home=home, project=project)

    assert (ended.code, ended.err) == (code, "")
    assert ended.out.startswith(f"decision: {decision}\n")


@pytest.mark.long
@pytest.mark.parametrize(
    ("command", "code"),
    [("cat > a.md <<'E'\ncurl x | sh; rm -rf /\nE", 0), ("sh <<'E'\nrm -r data\nE", 3)],
)
def test_guards_of_the_program_read_commands_by_the_grammar_of_the_shell(
    home: Path, project: Path, command: str, code: int
) -> None:
    configure(home, "")
    given = json.dumps({"command": command})

    ended = _permissions("check", "--mode", "auto", "run_command", given, home=home, project=project)

    assert (ended.code, ended.err) == (code, "")


@pytest.mark.long
def test_a_check_names_the_rules_that_spoke_and_where_they_stand(home: Path, project: Path) -> None:
    configure(home, '[permissions]\nallow = ["write_file(src/**)"]\ndeny = ["write_file(*.lock)"]')

    ended = _permissions("check", "write_file", _write("src/a.lock"), home=home, project=project)

    own = home / "config" / "quorum" / "quorum.toml"
    assert ended.out.splitlines() == [
        "decision: deny",
        "mode:     ask",
        f"because:  the rule write_file(*.lock) denies it (permissions.deny, {own})",
        f"writes:   {project / 'src/a.lock'}",
        f"rule:     deny write_file(*.lock) (permissions.deny, {own})",
        f"rule:     allow write_file(src/**) (permissions.allow, {own})",
    ]


@pytest.mark.long
def test_a_check_runs_nothing_and_needs_no_model(home: Path, project: Path) -> None:
    configure(home, 'permissions.allow = ["run_command"]\nmodels.decision = "openai/some-model"')

    ended = _permissions("check", "run_command", '{"command": "touch made; false"}', home=home, project=project)

    assert ended.code == 0
    assert list(project.iterdir()) == [project / "src"]


def test_a_command_is_looked_at_as_in_a_run(home: Path, project: Path) -> None:
    proved = _permissions("check", "run_command", '{"command": "ls src"}', home=home, project=project)
    other = _permissions("check", "run_command", '{"command": "ls > x"}', home=home, project=project)

    assert (proved.code, other.code) == (0, 3)
    assert "rule:     allow run_command(read-only) (permissions.allow, default)" in proved.out
    assert "command:  it writes" in other.out


@pytest.mark.long(after=2)
@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("check", "writefile", "{}"), 'there is no tool "writefile"; did you mean write_file?'),
        (("check", "write_file", "{"), "the arguments are no JSON"),
        (("check", "write_file", "[]"), "the arguments must be a JSON object"),
        (("check", "write_file", "{}"), "these arguments do not fit write_file: 'path' is a required property"),
        (("check", "write_file"), "these arguments do not fit write_file: 'path' is a required property"),
        (("check",), "the following arguments are required: TOOL"),
        (("remove", "1"), "there is no saved rule 1; there are none"),
        (("remove", "one"), "'one' is not the number of a rule"),
        pytest.param(("remove", "9" * 5000), "is not the number of a rule", id="more digits than Python reads"),
        (("list", "all"), "unrecognized arguments: all"),
        (("forget",), "invalid choice: 'forget'"),
    ],
)
def test_what_cannot_be_done_is_reported_and_ends_with_2(
    home: Path, project: Path, words: tuple[str, ...], sentence: str
) -> None:
    ended = _permissions(*words, home=home, project=project)

    assert (ended.code, ended.out) == (2, "")
    assert sentence in ended.err


@pytest.mark.long
def test_saved_rules_are_listed_with_a_number_and_can_be_removed(home: Path, project: Path) -> None:
    saved = _save_rules(
        home,
        f'[[rule]]\nallow = "write_file(src/**)"\nscope = "{project}"\nsaved = "2026-01-01T00:00:00Z"\n'
        '[[rule]]\nallow = "write_file(docs/**)"\nscope = "/elsewhere"\nsaved = "2026-01-02T00:00:00Z"\n',
    )

    listed = _permissions("list", home=home, project=project)
    before = _permissions("check", "write_file", _write("src/a"), home=home, project=project)
    removed = _permissions("remove", "1", home=home, project=project)
    after = _permissions("check", "write_file", _write("src/a"), home=home, project=project)

    assert listed.out.splitlines() == [
        "    allow run_command(read-only)  (permissions.allow, default)",
        f"  1 allow write_file(src/**)  (saved for {project}; {saved}:1)",
        f"  2 allow write_file(docs/**)  (not in force here; saved for /elsewhere; {saved}:5)",
    ]
    assert removed.out == "removed allow write_file(src/**)\n"
    assert (before.code, removed.code, after.code) == (0, 0, 3)
    assert "docs/**" in saved.read_text(encoding="utf-8")


@pytest.mark.long
def test_a_saved_rule_that_fails_its_examples_is_reported_and_not_used(home: Path, project: Path) -> None:
    _save_rules(home, '[[rule]]\nallow = "write_file(**)"\nscope = "user"\nmust_not_match = ["docs/a"]\n')

    ended = _permissions("check", "write_file", _write("src/a"), home=home, project=project)

    assert ended.code == 3
    assert "the saved rule allow write_file(**) fails its examples" in ended.err


@pytest.mark.long
def test_a_damaged_file_of_saved_rules_keeps_quorum_from_starting(home: Path, project: Path) -> None:
    _save_rules(home, "[[rule]\n")

    ended = _quorum("run", "read a.py", home=home, project=project)

    assert (ended.code, ended.out) == (2, "")
    assert "permissions.toml:1: this is not TOML" in ended.err
