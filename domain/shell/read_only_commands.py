"""The commands that only read, each with the options and operands for which that is so.

Left out on purpose: what runs other programs (`env`, `rg --pre`, `sort --compress-program`, `diff --paginate`;
`find -exec` and `xargs` have modules of their own), what writes (`sort -o`, `tree -o`, `uniq IN OUT`), what
follows links out of the workspace (`ls -L`, `diff -r`), what takes its list of files from a file (`wc
--files0-from`), what shows the environment (`printenv`, `env`) or the command lines of other programs, in which
passwords may stand (`ps`), what speaks to the network or the kernel (`dig`, `ping`, `who --lookup`, `ss`,
`hostname -I`), what never ends (`tail -f`, `tail +1f`), what a file of the project can steer (`cargo`, `npm`,
`go`, also for their versions), and what reads its words in a way of its own (`xxd`, `strings`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from quorum.domain.shell.command_spec import CommandSpec, NotReadOnly, Operands, Reading, Style, parse_use
from quorum.domain.shell.git_commands import parse_git_use

_TEXTS = CommandSpec(operands=Operands.TEXTS)
_CHECKSUM = CommandSpec(options="-b -t -z --tag --binary --text --zero")
_VERSION = CommandSpec(
    options="--version -V", operands=Operands.NONE, needed=frozenset({"--version", "-V"}), most_operands=0
)
# Of most, `-V` or `-v` means something else.
_VERSION_LONG = CommandSpec(
    options="--version", operands=Operands.NONE, needed=frozenset({"--version"}), most_operands=0
)
_GREP = CommandSpec(
    options=(
        "-n -i -v -w -x -c -l -L -o -q -s -h -H -r -R -E -F -P -G -a -I -Z -z -b -y -T -NUM -A= -B= -C= -m= "
        "-e= -f=@ --line-number --ignore-case --no-ignore-case --invert-match --word-regexp --line-regexp "
        "--count --files-with-matches --files-without-match --only-matching --quiet --silent --no-messages "
        "--no-filename --with-filename --recursive --dereference-recursive --extended-regexp --fixed-strings "
        "--perl-regexp --basic-regexp --text --null --byte-offset --initial-tab --color=? --colour=? "
        "--after-context= --before-context= --context= --max-count= --regexp= --file=@ --include= --exclude= "
        "--exclude-dir= --exclude-from=@ --label="
    ),
    operands=Operands.TEXT_THEN_PATHS,
    searching=frozenset({"-r", "--recursive"}),
    following=frozenset({"-R", "--dereference-recursive"}),
    no_text=frozenset({"-e", "-f", "--regexp", "--file"}),
    narrowing=frozenset({"--include"}),
    widening=frozenset({"--exclude", "--exclude-from"}),
)
_RG = CommandSpec(
    options=(
        "-n -N -i -S -s -v -w -x -c -l -o -q -F -P -U -H -I -0 -a -u -. -p -A= -B= -C= -e= -f=@ -g= -t= -T= "
        "-m= -M= -d= -r= -j= --line-number --no-line-number --ignore-case --smart-case --case-sensitive "
        "--invert-match --word-regexp --line-regexp --count --count-matches --files --files-with-matches "
        "--files-without-match --only-matching --quiet --fixed-strings --pcre2 --multiline --multiline-dotall "
        "--with-filename --no-filename --null --text --unrestricted --hidden --no-ignore --no-ignore-vcs "
        "--pretty --heading --no-heading --column --no-column --trim --vimgrep --json --stats --type-list "
        "--passthru --no-messages --no-config --crlf --after-context= --before-context= --context= --regexp= "
        "--file=@ --glob= --iglob= --type= --type-not= --max-count= --max-columns= --max-depth= "
        "--max-filesize= --replace= --sort= --sortr= --color= --colors= --engine= --encoding= --threads= "
        "--context-separator= --version"
    ),
    operands=Operands.TEXT_THEN_PATHS,
    reading=Reading.VISIBLE_BELOW,
    default=True,
    permutes=True,
    revealing=frozenset({"-u", "-.", "--unrestricted", "--hidden", "--iglob", "-t", "--type"}),
    no_text=frozenset({"-e", "-f", "--regexp", "--file", "--files", "--type-list"}),
    narrowing=frozenset({"-g", "--glob"}),
)
_FIND = CommandSpec(
    options=(
        "-P -name= -iname= -path= -ipath= -wholename= -regex= -iregex= -regextype= -type= -xtype= -maxdepth= "
        "-mindepth= -size= -mtime= -mmin= -atime= -amin= -ctime= -cmin= -newer=@ -newermt= -perm= -user= "
        "-group= -uid= -gid= -links= -inum= -empty -readable -writable -executable -nouser -nogroup -true "
        "-false -not -a -and -o -or -prune -quit -depth -mount -xdev -daystart -noleaf -print -print0 -printf= "
        "-ls"
    ),
    reading=Reading.NAMES,
    style=Style.WHOLE_WORDS,
    default=True,
)
_LS = CommandSpec(
    options=(
        "-a -A -b -B -c -C -d -f -F -g -G -h -i -k -l -m -n -N -o -p -q -Q -r -R -s -S -t -u -U -v -x -X -1 "
        "--all --almost-all --author --classify=? --color=? --directory --file-type --format= --full-time "
        "--group-directories-first --human-readable --ignore= --indicator-style= --inode --literal --no-group "
        "--numeric-uid-gid --quote-name --quoting-style= --recursive --reverse --si --size --sort= --time= "
        "--time-style="
    ),
    reading=Reading.NAMES,
    default=True,
)
_DIFF = CommandSpec(
    options=(
        "-u -U= -c -C= -q -s -N -w -b -B -E -i -y -a -d -t -T -W= -x= -I= --unified=? --context=? --brief "
        "--report-identical-files --new-file --ignore-all-space --ignore-space-change --ignore-blank-lines "
        "--ignore-case --ignore-trailing-space --side-by-side --suppress-common-lines --strip-trailing-cr "
        "--text --minimal --color=? --label= --width= --exclude= --normal"
    ),
)

# Printing and deleting lines, and one substitution: other commands of sed write files and run programs. Seds
# differ in whether a mark in brackets or behind a backslash ends a pattern. So the mark of a substitution
# stands three times in all, with harmless flags behind the last, and a pattern of lines has no mark in it, not
# even behind a backslash: whoever reads such a script in another way finds an error in it.
_SED_LINE = r"(?:[0-9]+|\$)"
_SED_PATTERN = r"/(?:[^/\\\n]|\\[^/\n])+/"
_SED_SCRIPT = (
    rf"{_SED_LINE}(?:,(?:{_SED_LINE}|\+[0-9]+))?p(?:; ?{_SED_LINE}(?:,{_SED_LINE})?p)*"
    rf"|(?:{_SED_LINE}(?:,(?:{_SED_LINE}|\+[0-9]+))?|{_SED_PATTERN}(?:,(?:{_SED_LINE}|\+[0-9]+))?)!?[pdq=]"
    r"|s([/|,#@:!%_^=+])(?:(?!\1)[^\n])*\1(?:(?!\1)[^\n])*\1[0-9gIip]*"
)
# Filters that read the environment or other files are left out, and with them any that so much as name them.
# Blanks and comments may stand between a $ and its name, so names are refused wherever they are.
_JQ_FILTER = r"(?sa)(?!.*(?:\benv\b|\bgetenv\b|ENV|\bimport\b|\binclude\b|\bmodulemeta\b|__)).*"
# `+5` and `-5cf` are of the syntax before POSIX, in which an `f` at the end follows the file for ever.
_OLD_TAIL = r"(?s)\+.*|-[^-].*f"

# Programs of awk that neither run programs nor open files, and do not show the environment. What compares with
# `>` cannot be distinguished from what writes; with ARGV and its like a program names files to read.
_AWK_PROGRAM = (
    r"(?sa)(?!.*(?:[|>@]|\\\n|system|getline|ENVIRON|PROCINFO|ARGV|ARGC|ARGIND|SYMTAB|FUNCTAB|extension|load"
    r"|include|textdomain)).*"
)

# Only conversions that print: in bash `%n` sets a variable, such as PATH. In front an option could be -v.
_FORMAT = r"(?s)(?!-)(?:[^%]|%[-+ #0'.*0-9hlLjztq]*[%bqdiouxXaAeEfFgGcs])+"

READ_ONLY_COMMANDS: Mapping[str, CommandSpec] = {
    "awk": CommandSpec(
        options="-F= -v=",
        operands=Operands.TEXT_THEN_PATHS,
        first=_AWK_PROGRAM,
        # Variables in capitals may be awk's own. What has no = can only be a separator.
        values=r"(?s)[a-z_][a-z0-9_]*=[^\\]*|=?[^=]*",
    ),
    "arch": CommandSpec(operands=Operands.NONE),
    "base64": CommandSpec(options="-d -D -w= --decode --wrap="),
    "basename": CommandSpec(options="-a -z -s= --multiple --zero --suffix=", operands=Operands.TEXTS),
    "cat": CommandSpec(
        options=(
            "-n -b -s -A -e -t -v -E -T -u --number --number-nonblank --squeeze-blank --show-all --show-ends "
            "--show-tabs --show-nonprinting"
        )
    ),
    "cksum": CommandSpec(),
    "cmp": CommandSpec(
        options="-s -l -b -n= -i= --silent --quiet --verbose --print-bytes --bytes= --ignore-initial=",
    ),
    "column": CommandSpec(options="-t -s= -o= -x --table --separator= --output-separator="),
    "comm": CommandSpec(options="-1 -2 -3 -i --check-order --nocheck-order --output-delimiter= --total"),
    "command": CommandSpec(options="-v -V", operands=Operands.TEXTS, needed=frozenset({"-v", "-V"})),
    "cut": CommandSpec(
        options=(
            "-d= -f= -c= -b= -s -n -z --delimiter= --fields= --characters= --bytes= --only-delimited "
            "--complement --output-delimiter="
        )
    ),
    "date": CommandSpec(
        options=(
            "-u -R -I=? -d= -r=@ --utc --universal --rfc-email --iso-8601=? --rfc-3339= --date= --reference=@"
        ),
        operands=Operands.TEXTS,
        most_operands=1,
        first=r"(?s)\+.*",
        # A time zone may be the name of any file.
        values=r"(?s)(?!.*TZ=).*",
    ),
    "df": CommandSpec(
        options="-h -H -k -m -T -i -P -a -l --human-readable --inodes --print-type --total --output=?",
        reading=Reading.NAMES,
    ),
    "diff": _DIFF,
    "dirname": CommandSpec(options="-z --zero", operands=Operands.TEXTS),
    "du": CommandSpec(
        options=(
            "-s -h -a -c -k -m -b -x -S -0 -d= -t= --summarize --human-readable --all --total --bytes "
            "--apparent-size --max-depth= --exclude= --threshold= --one-file-system --si --time=?"
        ),
        reading=Reading.NAMES,
        default=True,
    ),
    "echo": _TEXTS,
    "egrep": _GREP,
    "expand": CommandSpec(options="-i -t= --initial --tabs="),
    "false": _TEXTS,
    "fgrep": _GREP,
    "file": CommandSpec(
        options="-b -i -h -k -N -r -0 --brief --mime --mime-type --mime-encoding --no-dereference",
    ),
    "find": _FIND,
    "fold": CommandSpec(options="-w= -s -b --width= --spaces --bytes"),
    "free": CommandSpec(
        options="-h -b -k -m -g -t -w --human --bytes --kibi --mebi --gibi --total --wide",
        operands=Operands.NONE,
    ),
    "grep": _GREP,
    "groups": CommandSpec(operands=Operands.NONE),
    "head": CommandSpec(options="-n= -c= -q -v -z -NUM --lines= --bytes= --quiet --silent --verbose"),
    "hostname": CommandSpec(options="-s --short", operands=Operands.NONE),
    "id": CommandSpec(options="-u -g -G -n -r --user --group --groups --name --real", operands=Operands.TEXTS),
    "join": CommandSpec(options="-1= -2= -t= -a= -v= -j= -o= -e= -i --header --check-order --nocheck-order"),
    "jq": CommandSpec(
        options=(
            "-r -c -e -n -s -S -M -C -a -j -R --raw-output --compact-output --exit-status --null-input --slurp "
            "--sort-keys --monochrome-output --color-output --ascii-output --join-output --raw-input --tab "
            "--indent= --stream"
        ),
        operands=Operands.TEXT_THEN_PATHS,
        first=_JQ_FILTER,
        permutes=True,
    ),
    "logname": CommandSpec(operands=Operands.NONE),
    "ls": _LS,
    "lsblk": CommandSpec(options="-a -b -d -f -J -l -m -n -p -o=", operands=Operands.NONE),
    "lscpu": CommandSpec(operands=Operands.NONE),
    "md5sum": _CHECKSUM,
    "mount": CommandSpec(operands=Operands.NONE),
    # Without -n it asks the network for names.
    "netstat": CommandSpec(
        options="-n -t -u -l -a -i -s -4 -6", operands=Operands.NONE, needed=frozenset({"-n"})
    ),
    "nl": CommandSpec(options="-b= -n= -w= -s= -v= -i= -p --body-numbering= --number-format= --number-width="),
    "bash": _VERSION_LONG,
    "cc": _VERSION_LONG,
    "clang": _VERSION_LONG,
    "cmake": _VERSION_LONG,
    "g++": _VERSION_LONG,
    "gcc": _VERSION_LONG,
    "make": _VERSION_LONG,
    "ninja": _VERSION_LONG,
    "perl": _VERSION_LONG,
    "ruby": _VERSION_LONG,
    "node": CommandSpec(options="--version -v", operands=Operands.NONE, needed=frozenset({"--version", "-v"})),
    "nproc": CommandSpec(options="--all --ignore=", operands=Operands.NONE),
    "od": CommandSpec(
        options="-A= -t= -N= -j= -w=? -a -b -c -d -i -o -s -v -x --format= --read-bytes= --skip-bytes=",
    ),
    "paste": CommandSpec(options="-d= -s -z --delimiters= --serial"),
    "printf": CommandSpec(operands=Operands.TEXTS, first=_FORMAT),
    "pwd": CommandSpec(options="-L -P", operands=Operands.NONE),
    "python": _VERSION,
    "python3": _VERSION,
    "readlink": CommandSpec(options="-f -e -m -n -q -s -v -z --canonicalize", reading=Reading.NAMES),
    "realpath": CommandSpec(
        options=(
            "-e -m -q -s -z -L -P --canonicalize-existing --canonicalize-missing --relative-to=@ "
            "--relative-base=@"
        ),
        reading=Reading.NAMES,
    ),
    "rev": CommandSpec(),
    "rg": _RG,
    "sed": CommandSpec(
        options="-n -E -r -z --quiet --silent --regexp-extended",
        operands=Operands.TEXT_THEN_PATHS,
        first=_SED_SCRIPT,
    ),
    "seq": CommandSpec(options="-w -s= -f= --equal-width --separator= --format=", operands=Operands.TEXTS),
    "sha1sum": _CHECKSUM,
    "sha256sum": _CHECKSUM,
    "sha512sum": _CHECKSUM,
    "sort": CommandSpec(
        options=(
            "-b -c -C -d -f -g -h -i -M -n -r -R -s -u -V -z -k= -t= --ignore-leading-blanks --check=? "
            "--dictionary-order --ignore-case --general-numeric-sort --human-numeric-sort --month-sort "
            "--numeric-sort --reverse --random-sort --stable --unique --version-sort --zero-terminated --key= "
            "--field-separator="
        )
    ),
    "stat": CommandSpec(
        options="-c= -f -t -L -x --format= --printf= --terse --file-system", reading=Reading.NAMES
    ),
    "tac": CommandSpec(options="-b -r -s= --before --regex --separator="),
    "tail": CommandSpec(
        options="-n= -c= -q -v -z -NUM --lines= --bytes= --quiet --silent --verbose",
        obsolete=_OLD_TAIL,
    ),
    "test": CommandSpec(
        options="-a -b -c -d -e -f -g -h -k -L -o -p -r -s -S -u -w -x -O -G -N -n -z -nt -ot -ef",
        reading=Reading.NAMES,
        style=Style.WHOLE_WORDS,
    ),
    "tr": CommandSpec(
        options="-c -C -d -s -t --complement --delete --squeeze-repeats --truncate-set1",
        operands=Operands.TEXTS,
    ),
    # Its letters take their values from the words that follow, however they are bundled: one letter, one word.
    "tree": CommandSpec(
        options=(
            "-a -d -f -i -p -s -h -u -g -D -F -q -N -Q -r -t -v -U -C -n -J -X -L= -P= -I= --dirsfirst "
            "--noreport --prune --du --si --matchdirs --ignore-case"
        ),
        reading=Reading.NAMES,
        style=Style.WHOLE_WORDS,
        default=True,
    ),
    "true": _TEXTS,
    "tty": CommandSpec(options="-s", operands=Operands.NONE),
    "type": CommandSpec(options="-a -t -p -P -f", operands=Operands.TEXTS),
    "uname": CommandSpec(options="-a -s -n -r -v -m -p -i -o --all", operands=Operands.NONE),
    "uniq": CommandSpec(
        options=(
            "-c -d -D -i -u -z -f= -s= -w= --count --repeated --all-repeated=? --ignore-case --unique "
            "--skip-fields= --skip-chars= --check-chars= --group=?"
        ),
        most_operands=1,
    ),
    "uptime": CommandSpec(options="-p -s --pretty --since", operands=Operands.NONE),
    "users": CommandSpec(operands=Operands.NONE),
    "wc": CommandSpec(options="-l -w -c -m -L --lines --words --bytes --chars --max-line-length"),
    "which": CommandSpec(options="-a --all", operands=Operands.TEXTS),
    "who": CommandSpec(options="-a -b -H -m -q -r -s -T -u --boot --heading --count", operands=Operands.NONE),
    "whoami": CommandSpec(operands=Operands.NONE),
}

# Those that are no programs but part of the shell.
SHELL_BUILTINS = frozenset({"cd", "command", "echo", "false", "printf", "pwd", "test", "true", "type"})


def list_refused_options(words: Sequence[str]) -> frozenset[str]:
    """The words of a command that are options not known only to read, as given; none for an unknown command.

    A pattern that allows `sort *` is not meant to allow `sort -o FILE`: it should not cover these.
    """
    refused: set[str] = set()
    name, rest = words[0], list(words[1:])
    while (word := _find_refused_option(name, rest)) is not None:
        refused.add(word)
        rest.remove(word)
    return frozenset(refused)


def _find_refused_option(name: str, words: Sequence[str]) -> str | None:
    try:
        if name == "git":
            parse_git_use(words)
        elif (spec := READ_ONLY_COMMANDS.get(name)) is not None:
            parse_use(spec, name, words)
    except NotReadOnly as objection:
        return objection.word
    return None
