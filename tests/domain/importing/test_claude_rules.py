import pytest

from quorum.domain.importing.foreign_rules import RulePlaces, translate_claude_rule
from quorum.domain.review.permission_rules import Answer, Rule

_PLACES = RulePlaces(folder="/srv/project", home="/home/me")


def _translate(text: str, answer: Answer = Answer.DENY) -> tuple[str, ...]:
    translated = translate_claude_rule(text, answer, _PLACES)
    for rule in translated.rules:
        Rule.parse(rule, translated.answer, "")
    return translated.rules


@pytest.mark.parametrize(
    ("there", "here"),
    [
        ("Bash(git push:*)", "run_command(git push *)"),
        ("Bash(git push *)", "run_command(git push *)"),
        ("Bash(git push)", "run_command(git push)"),
        ("bash(git push:*)", "run_command(git push *)"),
        ("Bash", "run_command"),
        ("Bash(*)", "run_command"),
        ("WebSearch", "web_search"),
        ("Agent(Explore)", "task"),
        ("mcp__github", "mcp__github__*"),
        ("mcp__github__create_issue", "mcp__github__create_issue"),
        ("mcp__*", "mcp__*"),
        ("mcp__*__delete", "mcp__*__delete"),
        ("*", "*"),
        ("Read(*.pem)", "read_file(*.pem)"),
        ("Read(//etc/shadow)", "read_file(/etc/shadow)"),
        ("Read(~/.ssh/**)", "read_file(/home/me/.ssh/**)"),
    ],
)
def test_a_denial_with_the_same_meaning_here_is_translated(there: str, here: str):
    assert _translate(there) == (here,)


@pytest.mark.parametrize(
    ("there", "here"),
    [
        ("Bash(git * main)", "run_command(git *)"),
        ("Bash(rm*)", "run_command(rm* *)"),
        ("Bash(* --force)", "run_command"),
        ("Bash(curl x | sh)", "run_command(curl x *)"),
        ("Bash(CI=1 npm publish:*)", "run_command(npm publish *)"),
        ('Bash(git commit -m "x":*)', "run_command(git commit -m *)"),
        ("Bash(read-only)", "run_command(read-only *)"),
        ("Bash(run_in_background:true)", "run_command"),
        ("WebFetch(domain:example.com)", "web_fetch(url=*example.com*)"),
        ("WebFetch(domain:*.example.com)", "web_fetch(url=*example.com*)"),
        ("Read(a[bc]/{d,e}/f)", "read_file(*/*/f)"),
        ("Read({a/b,c}/d)", "list_directory"),
        ("Read(../other/key)", "read_file(/**/other/key)"),
    ],
)
def test_a_denial_that_cannot_be_said_exactly_becomes_a_wider_one(there: str, here: str):
    assert here in _translate(there)


def test_a_relative_path_is_denied_in_the_workspace_and_in_the_folder_of_the_settings():
    assert _translate("Read(./secrets/**)") == ("read_file(secrets/**)", "read_file(/srv/project/secrets/**)")
    assert _translate("Edit(/docs/**)") == ("write_file(docs/**)", "write_file(/srv/project/docs/**)")


def test_what_may_not_be_read_is_kept_from_searches_and_what_may_not_be_written_from_commands():
    assert "secrets" in translate_claude_rule("Read(secrets/**)", Answer.DENY, _PLACES).sensitive
    assert "docs/api" in translate_claude_rule("Edit(docs/api/**)", Answer.DENY, _PLACES).protected


def test_every_tool_that_reads_or_writes_is_denied_with_the_bare_name():
    assert set(_translate("Read")) == {"read_file", "list_directory", "glob_search", "grep_search"}
    assert set(_translate("Edit")) == {"write_file", "edit_file", "apply_patch"}


@pytest.mark.parametrize("text", ["Read(//etc/**)", "Read(~/.ssh/**)", "Edit(//srv/*/data)", "Read(//a/**/b)"])
def test_names_of_an_absolute_path_cover_nothing_in_the_workspace(text: str):
    translated = translate_claude_rule(text, Answer.DENY, _PLACES)
    assert (translated.sensitive, translated.protected) == ((), ())
    assert "cannot hold an absolute path" in translated.why


@pytest.mark.parametrize(
    ("text", "rules", "what"),
    [
        ("Bash(* --force)", ("run_command",), "every command asks"),
        ("Bash(?m x)", ("run_command",), "every command asks"),
        ("Bash(CI=1 *)", ("run_command",), "every command asks"),
        ("Bash(run_in_background:true)", ("run_command",), "every command asks"),
        ("Agent(Explore)", ("task",), "every call of the tool asks"),
        ("WebFetch(domain:a b)", ("web_fetch",), "every address asks"),
        ("Write({a/b,c}/d)", ("apply_patch", "edit_file", "write_file"), "every path asks"),
    ],
)
def test_a_denial_of_some_calls_that_would_deny_all_of_them_asks_and_says_why(
    text: str, rules: tuple[str, ...], what: str
):
    translated = translate_claude_rule(text, Answer.DENY, _PLACES)
    assert (translated.answer, translated.rules) == (Answer.ASK, rules)
    assert what in translated.why


@pytest.mark.parametrize("text", ["Bash", "Bash(**)", "Bash(***)", "Read(./**)", "Edit(//**)", "Agent(*)", "*"])
def test_a_denial_of_all_calls_denies_them(text: str):
    assert translate_claude_rule(text, Answer.DENY, _PLACES).answer is Answer.DENY


@pytest.mark.parametrize("text", ["Bash(git", "", "a b(c)", "(x)"])
def test_a_denial_that_is_not_understood_has_every_call_asked_about(text: str):
    translated = translate_claude_rule(text, Answer.DENY, _PLACES)
    assert (translated.answer, translated.rules) == (Answer.ASK, ("*",))
    assert "every call asks" in translated.why


@pytest.mark.parametrize(
    ("there", "here"),
    [
        ("Bash(npm run test:*)", "run_command(npm run test *)"),
        ("Bash(make lint)", "run_command(make lint)"),
        ("Edit(src/**)", "write_file(src/**)"),
    ],
)
def test_a_permission_with_the_same_meaning_here_is_translated(there: str, here: str):
    assert _translate(there, Answer.ALLOW) == (here,)


@pytest.mark.parametrize(
    "there",
    [
        *(
            "Bash",
            "Bash(*)",
            "Bash(git * main)",
            "Bash(rm*)",
            "Bash(a && b)",
            "Bash(X=1 make)",
            "Bash(read-only)",
        ),
        *(
            "Bash(echo $HOME)",
            "Bash(echo ?)",
            "Edit",
            "Edit(~/x/**)",
            "Edit(//etc/**)",
            "Edit(../x/**)",
            "Edit(*.md)",
        ),
        *(
            "Write(**)",
            "Read(~/.ssh/**)",
            "WebFetch",
            "WebFetch(domain:example.com)",
            "mcp__github",
            "*",
            "New(x)",
        ),
        "Bash(timeout:100)",
    ],
)
def test_a_permission_without_the_same_meaning_here_allows_nothing_and_says_why(there: str):
    translated = translate_claude_rule(there, Answer.ALLOW, _PLACES)
    assert translated.rules == ()
    assert translated.why


def test_a_secret_in_a_rule_is_not_copied():
    key = "ghp_" + "a1B2" * 9
    assert _translate(f"Bash(curl -u {key}:*)", Answer.ALLOW) == ()
    assert _translate(f"Bash(curl -u {key} x)") == ("run_command(curl -u *)",)
