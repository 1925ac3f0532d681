from __future__ import annotations

import pytest

from quorum.domain.shell.command_spec import (
    CommandSpec,
    NotReadOnly,
    Operands,
    PathUse,
    Reading,
    Style,
    parse_use,
)
from quorum.domain.shell.read_only_commands import READ_ONLY_COMMANDS, list_refused_options

SPEC = CommandSpec(options="-a -b -n= -f=@ -c=? -NUM --all --number= --file=@ --color=?")


def paths(spec: CommandSpec, *words: str) -> list[str]:
    return [use.path for use in parse_use(spec, "x", words).paths]


def read_only(command: str, *words: str) -> list[PathUse]:
    return list(parse_use(READ_ONLY_COMMANDS[command], command, words).paths)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("-a", "p"), ["p"]),
        (("-ab", "p"), ["p"]),
        (("-n", "5", "p"), ["p"]),
        (("-n5", "p"), ["p"]),
        (("-abn", "5", "p"), ["p"]),
        (("-c", "p"), ["p"]),
        (("-cred", "p"), ["p"]),
        (("-5", "p"), ["p"]),
        (("-f", "q", "p"), ["q", "p"]),
        (("-afq", "p"), ["q", "p"]),
        (("--file=q", "p"), ["q", "p"]),
        (("--file", "q", "p"), ["q", "p"]),
        (("--number", "5", "p"), ["p"]),
        (("--color", "p"), ["p"]),
        (("--color=always", "p"), ["p"]),
        # Where options must stand in front, -a is a file here.
        (("p", "-a"), ["p", "-a"]),
        (("p", "-n", "/x", "--", "q"), ["p", "q", "-n", "/x", "--"]),
        (("--", "-a"), ["-a"]),
        # A file may be called like this; not every program takes it for standard input.
        (("-", "p"), ["-", "p"]),
        ((), []),
    ],
)
def test_options_take_their_values_and_the_rest_are_paths(words: tuple[str, ...], expected: list[str]) -> None:
    assert paths(SPEC, *words) == expected


@pytest.mark.parametrize(
    "words",
    [
        ("-x",),
        ("-ax",),
        ("-abx5",),
        ("--unknown",),
        ("--al",),
        ("--all=yes",),
        ("--col",),
        ("--unknown=5",),
        ("-n",),
        ("-5x",),
        ("---all",),
        # A path for some parsers, a path behind a sign for others.
        ("-f=p",),
        ("-af=p",),
    ],
)
def test_an_option_that_is_not_listed_exactly_is_refused_by_name(words: tuple[str, ...]) -> None:
    with pytest.raises(NotReadOnly, match=r"^x -"):
        parse_use(SPEC, "x", words)


def test_whole_words_are_never_taken_for_bundles() -> None:
    spec = CommandSpec(options="-a -b -ab", style=Style.WHOLE_WORDS)

    assert parse_use(spec, "x", ("-ab",)).options == {"-ab"}
    with pytest.raises(NotReadOnly):
        parse_use(spec, "x", ("-ba",))


def test_a_needed_option_must_be_there() -> None:
    spec = CommandSpec(options="-v", needed=frozenset({"-v"}), operands=Operands.TEXTS)

    assert parse_use(spec, "x", ("-v", "name")).operands == ("name",)
    with pytest.raises(NotReadOnly, match="only to read with -v"):
        parse_use(spec, "x", ("name",))


def test_a_needed_option_behind_an_operand_may_be_an_operand() -> None:
    spec = CommandSpec(options="-v -n=", needed=frozenset({"-v", "-n"}), operands=Operands.TEXTS)

    for words in (("name", "-v"), ("name", "-n", "5"), ("--", "name", "-v"), ("-", "-v")):
        with pytest.raises(NotReadOnly, match="only to read with -n or -v"):
            parse_use(spec, "x", words)


def test_a_program_that_reads_its_words_itself_takes_options_anywhere() -> None:
    spec = CommandSpec(options="-n= -v", permutes=True, needed=frozenset({"-v"}))

    assert paths(spec, "p", "-n", "/x", "-v") == ["p"]


def test_a_pattern_given_behind_an_operand_may_be_a_file() -> None:
    assert [use.path for use in read_only("grep", "x", "-e", "/y", "a")] == ["x", "a", "-e", "/y"]
    assert [use.path for use in read_only("rg", "x", "-e", "/y", "a")] == ["x", "a"]


def test_one_operand_too_many_may_be_written_to() -> None:
    with pytest.raises(NotReadOnly, match="may write to b"):
        read_only("uniq", "a", "b")


def test_an_option_behind_the_operand_may_be_one_operand_too_many() -> None:
    with pytest.raises(NotReadOnly, match="may take -c for a file"):
        read_only("uniq", "a", "-c")


def test_without_a_path_a_listing_reads_the_working_directory() -> None:
    assert read_only("ls") == [PathUse(".", Reading.NAMES)]
    assert read_only("find", "-name", "x") == [PathUse(".", Reading.NAMES)]
    assert read_only("cat") == []


def test_the_first_operand_of_a_search_is_no_path_unless_the_pattern_is_an_option() -> None:
    assert read_only("grep", "/etc", "a") == [PathUse("a", Reading.FILE)]
    assert read_only("grep", "-e", "x", "a", "b") == [PathUse("a", Reading.FILE), PathUse("b", Reading.FILE)]


def test_a_recursive_search_reads_all_below_narrowed_by_endings() -> None:
    assert read_only("grep", "-rn", "x", "src") == [PathUse("src", Reading.ALL_BELOW)]
    assert read_only("grep", "-r", "--include=*.py", "x") == [PathUse(".", Reading.ALL_BELOW, (".py",))]
    assert read_only("grep", "-r", "x", "--include=*.py") == [
        PathUse(".", Reading.ALL_BELOW, (".py",)),
        PathUse("--include=*.py", Reading.ALL_BELOW, (".py",)),
    ]
    assert read_only("rg", "-g*.py", "-g", "*.c", "x") == [PathUse(".", Reading.VISIBLE_BELOW, (".py", ".c"))]


def test_a_pattern_that_is_no_ending_narrows_nothing() -> None:
    assert read_only("rg", "-g*.py", "-gx*", "x") == [PathUse(".", Reading.ALL_BELOW)]
    assert read_only("rg", "-g*.*", "x") == [PathUse(".", Reading.ALL_BELOW)]
    assert read_only("rg", "-g!!x", "x") == [PathUse(".", Reading.ALL_BELOW)]


@pytest.mark.parametrize("option", ["--exclude=x", "--exclude-from=x"])
def test_an_exclusion_in_front_lets_files_in_that_no_pattern_selects(option: str) -> None:
    found = read_only("grep", "-r", option, "--include=*.py", "x", "src")

    assert PathUse("src", Reading.ALL_BELOW) in found


def test_hidden_files_are_left_out_only_by_those_that_leave_them_out() -> None:
    assert read_only("rg", "x") == [PathUse(".", Reading.VISIBLE_BELOW)]
    assert read_only("rg", "-g!x", "x") == [PathUse(".", Reading.VISIBLE_BELOW)]
    assert read_only("rg", "-.", "x") == [PathUse(".", Reading.ALL_BELOW)]
    assert read_only("rg", "--type=sh", "x") == [PathUse(".", Reading.ALL_BELOW)]


@pytest.mark.parametrize("script", ["1p", "1,5p", "$p", "1,$p", "1,+3p", "1,5p;9p", "1p; 3p", "/x/p"])
def test_sed_prints_lines_by_number_and_by_pattern(script: str) -> None:
    assert read_only("sed", "-n", script, "a") == [PathUse("a", Reading.FILE)]


@pytest.mark.parametrize("script", ["1w x", "s/a/b/e", "e", "1,5p;1w x", "p\nw x", "r /etc/passwd", "1p\n", ""])
def test_sed_does_nothing_else(script: str) -> None:
    with pytest.raises(NotReadOnly):
        read_only("sed", "-n", script, "a")


@pytest.mark.parametrize("query", [".", ".a.b[]", ".environment", "keys | length"])
def test_jq_filters_read_their_input(query: str) -> None:
    assert read_only("jq", "-r", query, "a") == [PathUse("a", Reading.FILE)]


@pytest.mark.parametrize(
    "query",
    [
        "env",
        "$ENV.KEY",
        "$ ENV",
        "$\tENV.KEY",
        "$#\nENV",
        "$ __loc__",
        ".a, env.KEY",
        'import "x" as x; .',
        'include "x"; .',
        "\nenv",
    ],
)
def test_jq_filters_that_read_more_are_refused(query: str) -> None:
    with pytest.raises(NotReadOnly):
        read_only("jq", query)


@pytest.mark.parametrize("name", sorted(READ_ONLY_COMMANDS))
def test_no_command_is_known_with_an_option_nobody_listed(name: str) -> None:
    spec = READ_ONLY_COMMANDS[name]
    if spec.operands is Operands.TEXTS and not spec.options and spec.first is None:
        assert parse_use(spec, name, ("--unheard-of",)).paths == ()
        return

    with pytest.raises(NotReadOnly):
        parse_use(spec, name, ("--unheard-of",))


@pytest.mark.parametrize("name", sorted(READ_ONLY_COMMANDS))
def test_every_listed_option_is_taken_and_every_path_among_them_is_seen(name: str) -> None:
    spec = READ_ONLY_COMMANDS[name]
    for entry in spec.options.split():
        option, equals, kind = entry.partition("=")
        words = ("-5",) if option == "-NUM" else (option, *(("/value",) if equals and kind != "?" else ()))
        if spec.needed and option not in spec.needed:
            continue

        use = parse_use(spec, name, words)

        assert ("/value" in [path.path for path in use.paths]) == (kind == "@")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("find", ("-delete",)),
        ("find", ("-exec", "rm", "{}", "+")),
        ("find", ("-execdir", "rm", "{}", "+")),
        ("find", ("-ok", "rm", ";")),
        ("find", ("-fprint", "x")),
        ("find", ("-fprintf", "x", "%p")),
        ("find", ("-fls", "x")),
        ("find", ("-L", ".")),
        ("sort", ("-o", "x")),
        ("sort", ("-uox",)),
        ("tree", ("-o", "x")),
        ("tree", ("-Po", "x", "y")),
        ("rg", ("--pre", "sh")),
        ("rg", ("--pre=sh",)),
        ("rg", ("-L", "x")),
        ("diff", ("-l", "a", "b")),
        ("tail", ("-f", "a")),
        ("tail", ("-F", "a")),
        ("tail", ("--follow", "a")),
        ("tail", ("+1f", "a")),
        ("tail", ("+f", "a")),
        ("tail", ("-cf", "a")),
        ("tail", ("-5f", "a")),
        ("date", ("-d", 'TZ="/x" now')),
        ("date", ("--date=TZ=/x",)),
        ("wc", ("--files0-from=a",)),
        ("date", ("-s", "x")),
        ("date", ("0101",)),
        ("hostname", ("x",)),
        ("file", ("-f", "a")),
        ("test", ("-v", "a[x]")),
        ("printf", ("-v", "x", "y")),
        ("printf", ("--", "y")),
        ("printf", ("%n", "PATH")),
        ("printf", ("%s %-5.2ln", "x", "PATH")),
        ("printf", ("%%%n", "PATH")),
        ("printf", ("%*n", "1", "PATH")),
        ("printf", ("100%",)),
        ("python3", ("-c", "x")),
        ("python3", ("--version", "x.py")),
        ("command", ("rm", "x")),
        ("command", ("rm", "x", "-v")),
        ("command", ("eval", "touch x #", "-v")),
        ("command", ("--", "rm", "-V")),
        ("sed", ("1w x", "-n", "a")),
        ("node", ("x.js", "--version")),
    ],
)
def test_options_that_do_more_than_read_are_not_listed(name: str, words: tuple[str, ...]) -> None:
    with pytest.raises(NotReadOnly):
        read_only(name, *words)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("sort -u a", set()),
        ("sort -o a b", {"-o"}),
        ("sort -uob a", {"-uob"}),
        ("find . -name x -delete -exec rm {} +", {"-delete", "-exec"}),
        ("git log -3 --output=x --ext-diff", {"--output=x", "--ext-diff"}),
        ("git -c core.pager=x log", {"-c"}),
        ("git commit --amend", set()),
        ("git branch new", set()),
        ("uniq a b", set()),
        ("pytest -x --pdb", set()),
        ("sort -o -o", {"-o"}),
    ],
)
def test_refused_options_are_those_that_no_harmless_use_has(line: str, expected: set[str]) -> None:
    assert list_refused_options(line.split()) == expected
