"""Random command lines for the shell gate: most are plain, some hide what they do."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from random import Random

from quorum.domain.shell.git_commands import GIT_COMMANDS
from quorum.domain.shell.read_only_commands import READ_ONLY_COMMANDS

# Names that exist where the lines run; see `tests/support/traced_stage.py`.
PLAIN_OPERANDS = (
    "a",
    "a",
    "a",
    "b c",
    "x.py",
    "c.json",
    "sub",
    "sub/d",
    ".",
    "plain",
    "nowhere",
    "/dev/null",
    "0",
)
ODD_OPERANDS = (
    *(
        "-",
        "--",
        "-v",
        "-n",
        "-e",
        "-l",
        "-r",
        "-f",
        "-x",
        "+1",
        "+1f",
        "=a",
        "0",
        "1",
        "2",
        "12",
        "",
        "!",
        "(",
    ),
    *(".env", "sub/key.pem", "link_out", "link_dir", "link_dir/secret", "link_env", "dash/-", "plain/../.env"),
    *("..", "../outside", "../outside/secret", "../home/a", "~", "~/a", ".git", ".git/config", "a_pipe"),
    *(
        "/proc/self/environ",
        "hidden",
        "revealed",
        "gitfile",
        "pwn",
        "@a",
        "*.py",
        "-*",
        "*",
        "?",
        "[a]",
        "{a,b}",
    ),
    *("$HOME/a", "${HOME}", "$(touch pwn)", "`touch pwn`", "<(touch pwn)", "eval", "touch pwn #"),
)
VALUES = (
    "1",
    "2",
    "-1",
    "+1",
    "1f",
    "f",
    ":",
    "x",
    "-x",
    "a",
    ".env",
    "../outside/secret",
    "*.py",
    ".e*",
    "!a",
    "-",
)
SCRIPTS: Mapping[str, Sequence[str]] = {
    "sed": ("1p", "1,5p", "$p", "1p;2p", "1w pwn", "w pwn", "e", "r .env", "s/x/y/w pwn", "1e touch pwn"),
    "jq": (
        ".",
        ".a",
        "keys",
        "env",
        "$ENV",
        "$ ENV",
        "$__loc__",
        "input_filename",
        "$#\nENV",
        '"\\(env)"',
        "[inputs]",
    ),
    "printf": ("%s", "x", "%s\\n", "%n", "%b", "%d", "-v", "%(%Y)T"),
    "date": ("+%F", "+x", "0101"),
    "grep": ("x", "KEY", "-x", "secret", ""),
    "rg": ("x", "KEY", "-x", "secret"),
    "awk": (
        *("{print $1}", "NR==1{n+=$2} END{print n}", "/x/", "{print FILENAME}", "{print;print ENVIRON[1]}"),
        *(
            'BEGIN{system("touch pwn")}',
            '{print > "pwn"}',
            '{print | "touch pwn"}',
            'BEGIN{getline < ".env"; print}',
        ),
        *('BEGIN{ARGV[1]=".env"; ARGC=2} {print}', 'BEGIN{sys\\\ntem("touch pwn")}', "{ARGC=3} {print}"),
    ),
}
# Names that the shell puts in place of a word, of which some are options, links, or must not be read.
GLOBS = (
    "*.py",
    "*.json",
    "sub/*",
    "plain/*",
    "*/d",
    "?",
    "a*",
    "*c",
    "*",
    "d*/*",
    "link*/*",
    "re*/*",
    "../*",
    "*/",
)
VALUES_OF_LOOPS = (
    *("a", "x.py", "c.json", "sub/d", "plain", "*.py", "plain/*", "*.json", "./*.py"),
    *("'b c'", ".env", "-l", "link_out", "?", "*", "sub/*", "d*/*", "link*/*", "*/", "../*", "no*e/x*", "0"),
    "$HOME",
)
ASSIGNMENTS = (
    "LC_ALL=C",
    "LANG=C.UTF-8",
    "TZ=UTC",
    "PAGER=cat",
    "PATH=.venv/bin",
    "LC_ALL=../x",
    "FOO=1",
    "IFS=a",
)
# What the gate must not be talked into: options that write, follow links, run programs or read a list of files.
HARMFUL: Mapping[str, Sequence[str]] = {
    "sort": ("-o", "-oa", "--output=pwn", "--compress-program=touch", "--files0-from=a", "-T."),
    "uniq": ("pwn",),
    "find": ("-delete", "-exec", "-L", "-fprint", "-fls", "-ok", "-follow", "-files0-from"),
    "tree": ("-o", "-l", "--fromfile", "-opwn"),
    "tail": ("-f", "-F", "--follow", "-cf", "+1f", "--retry", "-5f"),
    "grep": ("-R", "-f", "--file=.env", "-f=.env", "-ef", "--include=*.env"),
    "rg": (
        "--pre=touch",
        "-z",
        "-L",
        "-uuu",
        "-f=../outside/secret",
        "--no-ignore",
        "-f.env",
        "-g=!.env",
        "-.",
    ),
    "ls": ("-L", "-H", "-RL", "--dereference"),
    "du": ("-L", "-D", "--files0-from=a"),
    "wc": ("--files0-from=a",),
    "sed": ("-i", "-f", "-s", "-e", "-ni", "-nf"),
    "file": ("-f", "-C", "-m", "-z", "-L"),
    "date": ("-f", "-s", "--file=.env"),
    "diff": ("-r", "--to-file=.env", "-l", "--from-file=.env"),
    "stat": ("-L",),
    "jq": ("-f", "--rawfile", "-L", "--slurpfile", "--args", "-n"),
    "command": ("-p", "-pv"),
    "git": ("--output=pwn", "--ext-diff", "--textconv", "-Opwn", "--no-index", "-c", "--git-dir=x"),
}
UNLISTED = (
    "touch",
    "rm",
    "eval",
    "exec",
    "builtin",
    "xargs",
    "env",
    "sh",
    "source",
    "nohup",
    "time",
    "f",
    "tee",
)
REDIRECTS = (
    *(" </dev/null", " >/dev/null", " 2>/dev/null", " 2>&1", " >&2", " < a", " <a", " <sub/d"),
    *(
        "</dev/null",
        ">/dev/null",
        "0</dev/null",
        "1>/dev/null",
        "2>&1",
        "<a",
        "0<a",
        " 0<a",
        " 3<a",
        "7</dev/null",
    ),
    *(
        " >pwn",
        " 2>pwn",
        ">pwn",
        " >>pwn",
        " >|pwn",
        " &>pwn",
        " <>pwn",
        " >&pwn",
        " >&-",
        " <&0",
        "{x}<a",
        " <<<a",
    ),
    *(
        " <.env",
        " < ../outside/secret",
        " <link_out",
        " <-",
        " <dash/-",
        " < a_pipe",
        " >&1<a",
        " 2>&1</dev/null",
    ),
)
TOUCHING = ("</dev/null", ">/dev/null", "<a", "<x.py", "<>a", ">&1")
JOINTS = (
    *(
        " && ",
        " && ",
        " | ",
        " | ",
        "; ",
        "\n",
        " || ",
        "&&",
        "|",
        " & ",
        " |& ",
        " ! ",
        " && \\\n",
        " |\n# c\n",
    ),
    *("\n\n # c\n", ";\n", " # c\n", "\\\n"),
)
FRAMES: Sequence[Callable[[str], str]] = (
    lambda line: f"f() {{ {line}; }}; f",
    lambda line: f"({line})",
    lambda line: f"{{ {line}; }}",
    lambda line: f"x=1 {line}",
    lambda line: f"! {line}",
    lambda line: f"{line} #",
    lambda line: f"{line} \\",
    lambda line: f"alias ls='touch pwn'; {line}",
    lambda line: f"[[ -f a ]] && {line}",
    lambda line: f"# first\n{line} # {line}\npwd",
    lambda line: f"ls \\\n -l && \\\n {line}",
    lambda line: f"ls\\\n{line}",
    lambda line: f"echo 'a\n{line}' # \\\n{line}",
    lambda line: f'{line}; echo $? "is $?"',
    lambda line: f"{line} &>/dev/null",
)
_OPTION_OF_GIT = tuple(GIT_COMMANDS)
# The versions of interpreters are slow to print and show nothing.
_NAMES = tuple(sorted({*READ_ONLY_COMMANDS, "cd"} - {"node", "python", "python3"}))


class CommandTexts:
    """An endless row of command lines, the same ones for the same seed."""

    def __init__(self, seed: int | str) -> None:
        self._random = Random(seed)

    def next(self) -> str:
        """One line: one to three commands, seldom within another construct."""
        count = self._random.choice((1, 1, 1, 2, 2, 3))
        line = self._command()
        for _ in range(count - 1):
            line += self._some(JOINTS[:7], JOINTS, odds=0.1) + self._command()
        if self._chance(0.04):
            line = self._loop(line)
        return self._random.choice(FRAMES)(line) if self._chance(0.05) else line

    def _loop(self, line: str) -> str:
        count = self._random.choice((1, 2))
        values = " ".join(self._some(VALUES_OF_LOOPS[:9], VALUES_OF_LOOPS, odds=0.3) for _ in range(count))
        use = self._random.choice(
            (
                *("cat $f", 'wc -l "$f"', 'echo "is $f: ${f}"', "ls plain/$f", "head -2 ${f}", 'wc < "$f"'),
                *('grep -n x "$f"', 'echo "-- $f" | cat', 'sort "-$f"', "cd $f", "grep $f a", "$f", 'ls "$f/"'),
                *('for g in *; do diff "$f" "$g"; done', 'cat "plain/$f"', 'command cat "$f"', "awk $f"),
            )
        )
        begin, end = self._random.choice(
            (("; do ", "; done"), ("\ndo\n", "\ndone"), (" ;do\n # c\n", " # c\ndone"))
        )
        name = self._some(("f",), ("PATH", "IFS", "g"), odds=0.05)
        start = self._some(("",), ("cd sub && ", "cd dash; ", "ls | ", "cd plain || "), odds=0.3)
        return f"{start}for {name} in {values}{begin}{self._random.choice((use, f'{use}; {line}'))}{end}"

    def _find(self) -> str:
        reader = self._random.choice(
            ("cat", "head -2", "grep -n x", "wc -l", "sort", "ls -l", "grep -r x", "uniq", "rm")
        )
        start = self._random.choice(("plain", "plain", "a", "sub", ".", "0", "dash", "link_dir", "-l"))
        tests = self._random.choice(
            ("", "-type f ", "-name '*.py' ", "-name b -o ", "! -name '*.py' ", "-name -exec ")
        )
        end = self._random.choice((" {} +", " {} \\;", " {} ';'", " a {} +", " x{} \\;", " \\;"))
        return f"find {start} {tests}-exec {reader}{end}"

    def _xargs(self) -> str:
        names, end = self._random.choice(
            (
                *(
                    ("find {} -type f", ""),
                    ("find {} -name '*.py'", ""),
                    ("find {} -print0", "-0"),
                    ("ls {}", ""),
                ),
                *(
                    ("grep -rl x {}", ""),
                    ("grep -rlZ x {}", "-0"),
                    ("rg -l x {}", ""),
                    ("rg --files -0 {}", "-0"),
                ),
                *(("find {} -name b -o -print", ""), ("find {} -print0 -name '*.py'", "-0"), ("cat {}", "")),
                *(("grep -r x -l {}", ""), ("grep -r x {} -l", ""), ("find {} -print0", ""), ("find {}", "-0")),
                *(("find {} -ls", ""), ("find {} 2>&1", ""), ("find {} 2>/dev/null", ""), ("echo {}", "")),
                *(("find {} < a", ""), ("cd {}; find", ""), ("grep -l x {}/*", ""), ("find {} -newer a", "")),
            )
        )
        start = self._some(
            ("plain", "clean", "clean", "./clean", "words"),
            ("a", ".", "0", "dash", "link_dir", "-l", "", "../outside", "revealed", "'b c'", "words/-d", "sub"),
            odds=0.3,
        )
        filters = ("sort -u", "head -2", "grep -v y", "tail -n 1", "uniq")
        odd = ("cat .env", "head -c 9", "grep -n .", "sort a", "sed -n 1p", "tr a b", "sort < a", "grep . -v")
        pipe = [names.format(start)]
        while self._chance(0.25):
            pipe.append(self._some(filters, odd, odds=0.3))
        options = self._some(
            (end, f"{end} -r", f"{end} -n 1", f"{end} -n1 -P2", end),
            ("-0", "-I{}", "-I {}", "-I% ", "-d '\\n'", "-d x", "-a a", "-t", "-p", "-L1", "-E x", "--", "-i"),
            odds=0.25,
        )
        reader = self._some(
            (
                "cat",
                "wc -l",
                "head -2",
                "grep -n x",
                "grep -n x --",
                "ls -l",
                "cat a",
                "echo",
                "",
                "basename -a",
            ),
            (
                *("grep", "grep -r x", "sort -o", "head -n", "grep -f", "awk", "sed -n", "uniq", "rm", "sh -c"),
                *(
                    "touch",
                    "printf",
                    "cat {}",
                    "cat x{}",
                    "xargs cat",
                    "find",
                    "git diff",
                    "echo {}",
                    "tail -f",
                ),
            ),
            odds=0.3,
        )
        pipe.append(" ".join(filter(None, ("xargs", options, reader))))
        return self._random.choice((" | ", " | ", " | ", "|", " | ", " |& ", "; ")).join(pipe)

    def _command(self) -> str:
        if self._chance(0.03):
            name, words = self._random.choice(UNLISTED), [self._random.choice(PLAIN_OPERANDS)]
        elif self._chance(0.06):
            name, words = "command", self._words_behind_command()
        elif self._chance(0.04):
            name, words = (
                "cd",
                [self._random.choice(("sub", "dash", "plain", "0", "link_dir", "-", ".git"))][
                    : self._random.randint(0, 4)
                ],
            )
        elif self._chance(0.08):
            name, words = "git", self._words_of_git()
        else:
            name = self._random.choice(_NAMES)
            words = self._words(name, READ_ONLY_COMMANDS[name].options if name != "cd" else "")
        if name == "find" and self._chance(0.3):
            return self._find()
        if self._chance(0.03):
            return self._xargs()
        prefix = ""
        if self._chance(0.03):
            prefix = self._some(ASSIGNMENTS[:4], ASSIGNMENTS, odds=0.3) + " "
        if self._chance(0.04):
            prefix += self._random.choice(
                ("command ", "/bin/", "/usr/bin/", "./", "command command ", "/nowhere/")
            )
        line = prefix + " ".join((name, *map(self._quoted, words)))
        while self._chance(0.08):
            line += " " + self._random.choice(GLOBS)
        if self._chance(0.08):
            # To bash the number is a descriptor, to a reader of words it is one of them.
            line += " " + self._random.choice(("0", "1", "2", "12")) + self._random.choice(TOUCHING)
        while self._chance(0.12):
            line += self._random.choice(REDIRECTS)
        return line

    def _words_behind_command(self) -> list[str]:
        words = [self._random.choice(UNLISTED), self._random.choice(PLAIN_OPERANDS)]
        if self._chance(0.3):
            words = ["eval", "touch pwn #"]
        words.insert(self._random.randint(0, len(words)), self._random.choice(("-v", "-V", "--", "-p")))
        return words

    def _words_of_git(self) -> list[str]:
        command = self._random.choice(_OPTION_OF_GIT)
        return [command, *self._words("git", GIT_COMMANDS[command].arguments.options)]

    def _words(self, name: str, options: str) -> list[str]:
        words: list[str] = []
        known = options.split()
        if needed := sorted(READ_ONLY_COMMANDS[name].needed) if name in READ_ONLY_COMMANDS else []:
            words += [[self._random.choice(needed)], []][self._chance(0.2)]
        for _ in range(self._random.choice((0, 0, 1, 1, 2, 3))):
            words += self._option(name, known)
        if name in SCRIPTS:
            words.append(self._random.choice(SCRIPTS[name]))
        for _ in range(self._random.choice((0, 1, 1, 1, 2))):
            words.append(self._some(PLAIN_OPERANDS, ODD_OPERANDS, odds=0.2))
        while self._chance(0.25):
            words += self._option(name, known)
        if self._chance(0.08):
            self._random.shuffle(words)
        return words

    def _option(self, name: str, known: Sequence[str]) -> list[str]:
        if name in HARMFUL and self._chance(0.08):
            return [self._random.choice(HARMFUL[name])]
        if not known or self._chance(0.02):
            return ["-" + self._random.choice("abcdefhlnoprstuvxzELRT")] if self._chance(0.3) else []
        option, equals, kind = self._random.choice(known).partition("=")
        if option == "-NUM":
            return ["-3"]
        if not equals or (kind == "?" and self._chance(0.5)):
            return [option]
        value = self._random.choice(VALUES)
        if kind == "@" and self._chance(0.7):
            value = "a"
        if kind == "?" or self._chance(0.4):
            return [f"{option}={value}" if option.startswith("--") else option + value]
        return [option, value]

    def _quoted(self, word: str) -> str:
        """The word in one of the shell's ways, mostly so that it stays what it is."""
        match self._random.random():
            case odds if odds < 0.7:
                return word if self._chance(0.1) else shlex.quote(word)
            case odds if odds < 0.8:
                return "'" + word.replace("'", "") + "'"
            case odds if odds < 0.9:
                return '"' + word + '"'
            case odds if odds < 0.95:
                place = self._random.randint(0, len(word))
                return f'{shlex.quote(word[:place])}"{word[place:]}"' if word else '""'
            case _:
                return word

    def _some(self, usual: Sequence[str], seldom: Sequence[str], *, odds: float) -> str:
        return self._random.choice(seldom if self._chance(odds) else usual)

    def _chance(self, odds: float) -> bool:
        return self._random.random() < odds
