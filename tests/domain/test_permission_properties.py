import shlex

from hypothesis import given
from hypothesis import strategies as st

from quorum.domain.calls.access import EXCLUSIVE, Access
from quorum.domain.calls.tool import RiskLevel
from quorum.domain.review.decision import decide
from quorum.domain.review.mode import Mode
from quorum.domain.review.path_policy import PathPolicy
from quorum.domain.review.permission_rules import Answer, Rule, Subject, find_matching_rules
from quorum.domain.review.rule_offers import judge_by_words
from quorum.domain.shell.command_line import CommandLine, Redirect, SimpleCommand

_ROOTS = ("/w",)
_PATHS = PathPolicy(roots=_ROOTS)
_STRICTNESS = {Answer.ALLOW: 0, Answer.ASK: 1, Answer.DENY: 2}
_OPERATORS = st.sampled_from(["&&", "||", ";", "|"])
_PLAIN = st.sampled_from(
    [
        "git",
        "log",
        "npm",
        "test",
        "run",
        "rm",
        "-rf",
        "x",
        "ls",
        "--output=x",
        "sudo",
        "make",
        "find",
        "a b",
        "*",
    ]
)
_WORDS = st.lists(_PLAIN, min_size=1, max_size=5).map(tuple)
_REDIRECTS = st.lists(
    st.builds(
        Redirect,
        st.sampled_from([">", ">>", "<", ">&"]),
        st.sampled_from(["x", "/dev/null", "1", "/etc/passwd"]),
    ),
    max_size=2,
).map(tuple)
_COMMANDS = st.builds(SimpleCommand, _WORDS, _REDIRECTS, st.just(()), _OPERATORS)
_LINES = st.builds(
    CommandLine,
    st.lists(_COMMANDS, min_size=1, max_size=4).map(tuple),
    st.one_of(st.none(), st.none(), st.just("a substitution")),
)
_PATTERNS = st.one_of(
    st.just("run_command(read-only)"),
    st.just("run_command"),
    st.builds(
        lambda words, star: f"run_command({shlex.join(words)}{' *' if star else ''})",
        st.lists(st.sampled_from(["git", "log", "npm", "test", "rm", "ls", "make"]), min_size=1, max_size=3),
        st.booleans(),
    ),
)
_RULES = st.lists(
    st.builds(lambda text, answer: Rule.parse(text, answer, "here"), _PATTERNS, st.sampled_from(Answer)),
    max_size=5,
)


def _text(line: CommandLine) -> str:
    pieces = []
    for part in line.commands:
        redirects = " ".join(f"{redirect.operator}{redirect.target}" for redirect in part.redirects)
        pieces.append(f"{shlex.join(part.words)} {redirects}".strip() + f" {part.then or ';'}")
    return " ".join(pieces)


def _subject(line: CommandLine) -> Subject:
    text = _text(line)
    return Subject(
        tool="run_command",
        risk=RiskLevel.HIGH,
        access=EXCLUSIVE,
        arguments={"command": text},
        command=text,
        shell=judge_by_words(line),
    )


def _allows(rules: list[Rule], subject: Subject) -> bool:
    return any(rule.answer is Answer.ALLOW for rule in find_matching_rules(rules, subject, _ROOTS))


@given(_RULES, _LINES, _COMMANDS)
def test_a_part_that_no_rule_allows_alone_is_not_allowed_behind_others(
    rules: list[Rule], line: CommandLine, extra: SimpleCommand
) -> None:
    together = CommandLine((*line.commands, extra), line.unclear)

    if not _allows(rules, _subject(CommandLine((extra,), line.unclear))):
        assert not _allows(rules, _subject(together))


@given(_RULES, _LINES)
def test_no_pattern_allows_what_cannot_be_taken_apart(rules: list[Rule], line: CommandLine) -> None:
    opaque = CommandLine(line.commands, "a substitution")
    patterns = [rule for rule in rules if rule.pattern is not None]

    assert not _allows(patterns, _subject(opaque))


@given(_RULES, _LINES)
def test_an_allow_rule_never_covers_a_write_to_a_file_beside_the_words(
    rules: list[Rule], line: CommandLine
) -> None:
    patterns = [rule for rule in rules if rule.pattern is not None]
    writing = SimpleCommand(("make",), (Redirect(">", "/home/me/.bashrc"),))

    assert not _allows(patterns, _subject(CommandLine((*line.commands, writing))))


@given(_RULES, _RULES, _LINES, st.sampled_from(Mode))
def test_another_ask_or_deny_rule_never_makes_an_answer_milder(
    rules: list[Rule], more: list[Rule], line: CommandLine, mode: Mode
) -> None:
    subject = _subject(line)
    restricting = [rule for rule in more if rule.answer is not Answer.ALLOW]

    def answer(given_rules: list[Rule]) -> Answer:
        return decide(subject, mode=mode, paths=_PATHS, rules=given_rules).answer

    assert _STRICTNESS[answer([*rules, *restricting])] >= _STRICTNESS[answer(rules)]


@given(_RULES, _RULES, _LINES, st.sampled_from(Mode))
def test_another_allow_rule_never_makes_an_answer_stricter(
    rules: list[Rule], more: list[Rule], line: CommandLine, mode: Mode
) -> None:
    subject = _subject(line)
    allowing = [rule for rule in more if rule.answer is Answer.ALLOW]

    def answer(given_rules: list[Rule]) -> Answer:
        return decide(subject, mode=mode, paths=_PATHS, rules=given_rules).answer

    assert _STRICTNESS[answer([*rules, *allowing])] <= _STRICTNESS[answer(rules)]


@given(_RULES, _LINES, _COMMANDS)
def test_more_parts_never_escape_a_rule_that_denies(
    rules: list[Rule], line: CommandLine, extra: SimpleCommand
) -> None:
    denying = [rule for rule in rules if rule.answer is Answer.DENY and rule.pattern != "read-only"]
    longer = CommandLine((*line.commands, extra), line.unclear)

    assert set(find_matching_rules(denying, _subject(line), _ROOTS)) <= set(
        find_matching_rules(denying, _subject(longer), _ROOTS)
    )


@given(
    st.lists(st.sampled_from(["/w/src/a", "/w/src/b/c", "/w/x", "/etc/passwd", "state:plan"]), min_size=1),
    st.sampled_from(["src/**", "src/a", "*", "/etc/*", "**"]),
)
def test_an_allow_rule_for_paths_covers_each_of_them_or_nothing(paths: list[str], pattern: str) -> None:
    rule = Rule.parse(f"write_file({pattern})", Answer.ALLOW, "here")

    def covered(*written: str) -> bool:
        subject = Subject(tool="write_file", risk=RiskLevel.HIGH, access=Access.of(writes=written))
        return bool(find_matching_rules((rule,), subject, _ROOTS))

    assert covered(*paths) is all(covered(path) for path in paths)
