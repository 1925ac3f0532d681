"""Per program: the options and operands that the `*` of a permission rule stands for.

`-a` stands alone, `-n=` takes a value, `--color=?` a value that can only be attached. Left out on purpose is

- what runs a program or loads code: `--upload-pack`, `--exec`, `-exec`, `--eval`, `--config` of cargo,
  `--trailer`, `-S`, plugins, formatters and preloaded modules;
- what reads a file that the option names: `-F`, `--pathspec-from-file`, `-f` of make, configuration files;
- what writes to a file that it names: `-o`, `--output`, `--junitxml`, `--basetemp`, `OUT` in `uniq IN OUT`;
- what sets a folder or settings under which the program does something else: `-C`, `-c`, `VARIABLE=value`.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

_INSIDE = r"(?![/~])(?!(?:.*/)?\.\.(?:/|\Z))"
"""A path from outside of the project holds other code, or other files to write."""
_OPERAND = rf"(?!@){_INSIDE}.*"
"""Many programs read their arguments from FILE for `@FILE`."""
_VALUE = r"(?!@)(?!-[A-Za-z-]).*"
"""`@FILE` is read also where a value stands, and a value may be handed to another program, as `-x` of that."""
_NO_SETTING = rf"(?!@){_INSIDE}[^=]*"
"""For make, `A=b` sets a variable, such as the one that names the program of a recipe."""
_NO_TRANSPORT = r"(?!.*::).*"
"""For git, `NAME::ADDRESS` runs the program `git-remote-NAME`."""
_NO_SWITCH = rf"(?!@){_INSIDE}.*"
"""Programs that come from Windows write options with a slash."""
_NO_ADDRESS = rf"(?!@){_INSIDE}[^:]*"
"""deno loads code from `https://…`, `npm:…` and `jsr:…`."""
_PLAIN = r"[A-Za-z0-9_./:,+-]*"
"""A text that means itself, also where a shell reads it again."""
_NOTHING = r"(?!)"


class StarTable(Struct, frozen=True):
    """What a `*` covers of one program.

    `operands` is what an operand must look like, in full, `values` the value of an option. `passed` are
    options behind `--` that go to another program; None: operands stand there. `whole`: each option is a word
    of its own, `-race`, never a bundle of letters. `is_proposed`: whether a rule that ends in `*` is
    proposed. `has_commands`: the first operand is a command; one without a table is covered only where the
    rule names it. `reads`: how many operands are read; the program writes to the file that the next one
    names, which stands in the rule or is not covered. `is_mostly_reading`: it is known to read, but for uses
    that the operands decide on.
    """

    options: str = ""
    operands: str = _OPERAND
    values: str = _VALUE
    passed: str | None = None
    whole: bool = False
    is_proposed: bool = True
    has_commands: bool = False
    reads: int | None = None
    is_mostly_reading: bool = False


_EVERYWHERE = (
    "--help --version --verbose --quiet -q --silent --color=? --colors=? --no-color --no-colors --watch=? "
    "--no-watch --coverage=? --no-coverage --ci=? --bail=? --dry-run --json --all --debug=? "
    "--passWithNoTests"
)
ANY_PROGRAM = StarTable(_EVERYWHERE, operands=".*", is_proposed=False)
"""A program about which nothing is known."""

# What runs the program named behind it; only one that has a table of its own counts.
RUNNERS = (
    *(("uv", "run"), ("poetry", "run"), ("pipenv", "run"), ("bundle", "exec"), ("npx",)),
    ("coverage", "run", "-m"),
    ("python", "-m"),  # of any version
)

# Behind `--`, a script of the project gets its own arguments; these mean little in every test runner.
_TO_SCRIPT = f"{_EVERYWHERE} -b -h -q -v -x -w -g= -t= --grep= --runInBand --testNamePattern= --updateSnapshot"
_PYTEST_OPTIONS = (
    "-x -v -q -s -l -h -k= -m= -n= -r= --lf --ff --nf --sw --co --tb= --maxfail= --durations= --no-header "
    "--no-summary --capture= --color= --collect-only --exitfirst --verbose --quiet --last-failed "
    "--failed-first --stepwise --cov=? --no-cov --disable-warnings --timeout= --reruns= --version --help "
    "--verbosity= --strict-markers --showlocals"
)
_CARGO = (
    "-q -v -j= -p= --quiet --verbose --jobs= --package= --release --all --workspace --all-features "
    "--all-targets --features= --no-default-features --lib --bins --bin= --tests --test= --examples "
    "--example= --benches --bench= --exclude= --locked --offline --frozen --message-format= --color= "
    "--profile= --keep-going"
)
_LIBTEST = (
    "--nocapture --ignored --include-ignored --exact --list --show-output --test-threads= -q --quiet --skip="
)
_GO = "-v -race -short -tags= -trimpath -a -n -x -p= -json -mod=? -cover"
_GO_TEST = (
    f"{_GO} -run= -skip= -count= -bench= -benchmem -benchtime= -timeout= -failfast -parallel= -list= "
    "-shuffle= -cpu= -vet=? -covermode="
)
_NODE_PACKAGES = (
    "-D -E -P -O -S --save --save-dev --save-exact --save-optional --production --no-save --omit= "
    "--include= --no-audit --no-fund --no-optional --ignore-scripts --legacy-peer-deps --frozen-lockfile "
    "--prefer-offline --offline --silent --depth= --json --long --all --dev --prod --verbose --dry-run "
    "--immutable"
)

_PROGRAMS: Mapping[str, StarTable] = {
    "bandit": StarTable("-r -l -i -q -v --recursive --quiet --verbose"),
    "black": StarTable(
        "-q -v -l= -S -C --check --diff --quiet --verbose --line-length= --fast --safe --color --version"
    ),
    "clippy": StarTable(),
    "ctest": StarTable(
        "-V -VV -N -Q -j= -R= -E= -L= -LE= --output-on-failure --rerun-failed --verbose --timeout= --parallel= "
        "--stop-on-failure --progress --schedule-random --no-tests=?",
        whole=True,
    ),
    "eslint": StarTable(
        "--fix --fix-dry-run --quiet --max-warnings= --ext= --cache --color --no-color --debug --version"
    ),
    "flake8": StarTable(
        "-v -q -j= --verbose --quiet --count --statistics --show-source --select= --ignore= --extend-ignore= "
        "--max-line-length= --max-complexity= --exclude= --jobs= --exit-zero --version"
    ),
    "gofmt": StarTable("-l -d -s -w -e -r=", whole=True),
    "hadolint": StarTable("-V -t= -f= --no-fail --no-color --failure-threshold= --ignore= --format= --verbose"),
    "isort": StarTable(
        "-c -q -v -l= --check --check-only --diff --quiet --verbose --profile= --line-length= --version"
    ),
    "jest": StarTable(
        "-b -i -o -t= -u -w= --bail=? --ci --clearCache --colors --coverage --detectOpenHandles "
        "--findRelatedTests --forceExit --json --listTests --maxWorkers= --onlyChanged --passWithNoTests "
        "--runInBand --silent --testNamePattern= --testPathPattern= --updateSnapshot --verbose --watch "
        "--watchAll --watch=? --no-watch"
    ),
    # `-n` and `-k` change how, `-f`, `-C`, `-I` and `--eval` what: a makefile of anybody's making.
    "make": StarTable(
        "-b -B -k -n -s -q -t -w -i -r -R -j=? -l=? --always-make --keep-going --dry-run --just-print "
        "--silent --quiet --question --jobs=? --load-average=? --no-print-directory --print-directory "
        "--output-sync=? --trace --version --warn-undefined-variables",
        operands=r"(?!@)[^=]*",
    ),
    "mypy": StarTable(
        "-v -p= -m= --strict --verbose --ignore-missing-imports --no-incremental --show-error-codes "
        "--pretty --package= --module= --check-untyped-defs --disallow-untyped-defs --no-error-summary "
        "--show-column-numbers --exclude= --follow-imports= --python-version= --platform= --version"
    ),
    "ninja": StarTable("-v -n -j= -k= -l= -d= --verbose --quiet --version"),
    "nox": StarTable(
        "-s= -e= -k= -t= -l -r -R -v -x -p= --session= --sessions= --list --reuse-existing-virtualenvs "
        "--tags= --python= --stop-on-first-error --verbose",
        passed=_PYTEST_OPTIONS,
    ),
    "phpunit": StarTable(
        "--filter= --group= --exclude-group= --testsuite= --testdox --stop-on-failure --stop-on-error "
        "--verbose --debug --colors=? --list-tests --version"
    ),
    "prettier": StarTable(
        "-c -l -w -u --check --write --list-different --no-color --version --tab-width= --no-semi"
    ),
    "pylint": StarTable(
        "-E -j= -v --errors-only --jobs= --disable= --enable= --score= --reports= --verbose --version"
    ),
    "pyright": StarTable("--outputjson --stats --warnings --verbose --level= --skipunannotated --version"),
    "pytest": StarTable(_PYTEST_OPTIONS),
    "rspec": StarTable(
        "-e= -t= -b -c -w -p=? --example= --tag= --fail-fast=? --order= --seed= --backtrace --color "
        "--profile=? --only-failures --next-failure --dry-run --version"
    ),
    "rubocop": StarTable(
        "-a -A -l -x --autocorrect --autocorrect-all --lint --only= --except= --parallel --debug --version"
    ),
    "ruff": StarTable(
        "-q -v -s -w -e -n --fix --fix-only --no-fix --unsafe-fixes --check --diff --quiet --verbose "
        "--silent --select= --ignore= --extend-select= --line-length= --no-cache --watch --statistics "
        "--show-fixes --output-format= --preview --target-version= --exit-zero --version"
    ),
    "rustfmt": StarTable("-l -v -q --check --edition= --verbose --quiet --version"),
    "shellcheck": StarTable(
        "-a -s= -f= -S= -e= -i= -C=? --severity= --shell= --format= --exclude= --color=? --version"
    ),
    "stylelint": StarTable("-q --fix --quiet --cache --color --no-color --max-warnings= --version"),
    "tox": StarTable(
        "-e= -q -v -r -p=? --recreate --parallel=? --skip-missing-interpreters=? --version",
        passed=_PYTEST_OPTIONS,
    ),
    "tsc": StarTable(
        "-w -v --noEmit --watch --strict --skipLibCheck --pretty --incremental --listFiles "
        "--version --noEmitOnError --target= --module= --jsx= --lib= --esModuleInterop --diagnostics",
        whole=True,
    ),
    "unittest": StarTable("-v -q -f -b -c -k= --verbose --quiet --failfast --buffer --catch --locals"),
    "yamllint": StarTable("-s -f= --strict --no-warnings --list-files --format= --version"),
    "vitest": StarTable(
        "-t= -u -w --run --watch=? --coverage --silent --bail= --passWithNoTests --testNamePattern= "
        "--update --changed --no-color --hideSkippedTests --no-watch"
    ),
}

# Programs of which a runner starts only their commands, `npx playwright test`.
_WITH_COMMANDS = ("biome", "playwright", "vite")

_SUBCOMMANDS: Mapping[str, Mapping[str, StarTable]] = {
    "biome": {
        name: StarTable(
            "--write --fix --unsafe --staged --changed --verbose --colors=? --max-diagnostics= "
            "--diagnostic-level= --error-on-warnings"
        )
        for name in ("check", "ci", "format", "lint")
    },
    "bun": {
        "test": StarTable(
            "-t= --test-name-pattern= --bail=? --timeout= --rerun-each= --only --todo --coverage -u "
            "--update-snapshots"
        )
    },
    "cargo": {
        "bench": StarTable(f"{_CARGO} --no-run", passed=_LIBTEST),
        "build": StarTable(_CARGO),
        "check": StarTable(_CARGO),
        "clippy": StarTable(f"{_CARGO} --no-deps --fix --allow-dirty", passed="-D= -W= -A= -F="),
        "doc": StarTable(f"{_CARGO} --no-deps --document-private-items"),
        "fmt": StarTable("-q -v -p= --all --check --package= --quiet --verbose", passed="--check"),
        "test": StarTable(f"{_CARGO} --no-run --no-fail-fast --doc", passed=_LIBTEST),
        "tree": StarTable(
            "-e= -i= -p= -d -q -v --edges= --invert= --depth= --duplicates --prefix= --workspace --all-features"
        ),
    },
    "cmake": {
        "--build": StarTable(
            "-j=? -t= -v --parallel=? --target= --clean-first --verbose",
            passed="-j=? -v -k",
            operands=_NO_SETTING,
            values=r"(?![@-])[^=]*",
        )
    },
    "coverage": {
        "report": StarTable(
            "-m -i --show-missing --ignore-errors --skip-covered --skip-empty --include= --omit= --fail-under= "
            "--precision= --sort="
        )
    },
    "dart": {
        "analyze": StarTable("--fatal-infos --fatal-warnings --no-fatal-warnings"),
        "test": StarTable(
            "-n= -N= -t= -x= -r= -j= --name= --plain-name= --tags= --exclude-tags= --reporter= --concurrency= "
            "--timeout= --run-skipped --no-retry"
        ),
    },
    # `deno test` may do nothing but compute, unless an option lets it: none of those is here.
    "deno": {
        "check": StarTable("-q --quiet --all", operands=_NO_ADDRESS),
        "fmt": StarTable("-q --quiet --check"),
        "lint": StarTable("-q --quiet --json --compact --fix", operands=_NO_ADDRESS),
        "test": StarTable(
            "-q --quiet --fail-fast=? --filter= --parallel --shuffle=? --no-run --doc --trace-leaks",
            operands=_NO_ADDRESS,
        ),
    },
    # MSBuild gets what dotnet does not know, such as `-flp:logfile=…`: no letter has its value attached.
    "dotnet": {
        "build": StarTable(
            "-c= -f= -v= -r= --configuration= --framework= --no-restore --no-incremental --nologo --runtime=",
            operands=_NO_SWITCH,
            whole=True,
        ),
        "format": StarTable(
            "--verify-no-changes --no-restore --severity= --include= --exclude=",
            operands=_NO_SWITCH,
            whole=True,
        ),
        "test": StarTable(
            "-c= -f= -v= -t --configuration= --framework= --no-build --no-restore --nologo --filter= "
            "--list-tests --blame",
            operands=_NO_SWITCH,
            whole=True,
        ),
    },
    "flutter": {
        "analyze": StarTable("--fatal-infos --fatal-warnings --no-fatal-infos --no-fatal-warnings --no-pub"),
        "test": StarTable(
            "-t= -x= -j= -r= --name= --plain-name= --tags= --exclude-tags= --coverage --no-pub --timeout= "
            "--reporter= --concurrency= --update-goldens"
        ),
    },
    "go": {
        "build": StarTable(_GO, whole=True),
        "doc": StarTable("-all -c -cmd -short -src -u", whole=True),
        "fmt": StarTable("-n -x", whole=True),
        "list": StarTable(f"{_GO} -m -u -e -f= -deps -test -versions -find", whole=True),
        "mod": StarTable("-v -x -e -go= -json -print -m -vendor", whole=True),
        "test": StarTable(_GO_TEST, whole=True),
        "vet": StarTable(f"{_GO} -c=", whole=True),
    },
    "golangci-lint": {
        "run": StarTable(
            "-v -E= -D= -j= --verbose --fast --fix --timeout= --new --new-from-rev= --enable= --disable= "
            "--tests=? --build-tags= --concurrency="
        )
    },
    "gradle": {
        name: StarTable(
            "-x= -q -i -s --info --stacktrace --quiet --offline --parallel --rerun-tasks --continue "
            "--no-daemon --tests= --exclude-task= --warning-mode= --console=",
            whole=True,
        )
        for name in ("build", "check", "test")
    },
    "mix": {
        "compile": StarTable("--warnings-as-errors --force --all-warnings"),
        "credo": StarTable("--strict --all"),
        "format": StarTable("--check-formatted --dry-run"),
        "test": StarTable(
            "--trace --failed --stale --seed= --only= --exclude= --include= --max-failures= "
            "--warnings-as-errors --slowest= --cover"
        ),
    },
    "mvn": {
        name: StarTable(
            "-q -B -o -U -e -X -am -pl= -T= -DskipTests --quiet --batch-mode --offline --also-make "
            "--projects= --fail-fast",
            # A goal with a colon is one of any plugin there is.
            operands=r"[A-Za-z-]+",
            whole=True,
        )
        for name in ("compile", "package", "test", "verify")
    },
    "next": {
        # The operand is the folder whose configuration, which is code, is loaded.
        "build": StarTable("-d --debug --profile --no-lint", operands=_NOTHING),
        "lint": StarTable("--fix --quiet --strict"),
    },
    "npm": {
        "ci": StarTable(_NODE_PACKAGES),
        # Whatever is named runs its install scripts: no operand is a small step further.
        "install": StarTable(_NODE_PACKAGES, operands=".*", is_proposed=False),
        "ls": StarTable(_NODE_PACKAGES, operands=".*"),
        "outdated": StarTable(_NODE_PACKAGES, operands=".*"),
        "run": StarTable("-s --silent --if-present", passed=_TO_SCRIPT, is_proposed=False),
        "test": StarTable("-s --silent --if-present", passed=_TO_SCRIPT),
    },
    "pip": {
        "check": StarTable("-q -v --quiet --verbose"),
        "freeze": StarTable("-l -q -v --local --user --all --exclude-editable"),
        "list": StarTable("-l -o -e -q -v --local --outdated --uptodate --editable --format= --not-required"),
        "show": StarTable("-f -q -v --files --verbose"),
    },
    "playwright": {
        "test": StarTable(
            "-g= -x -j= -u --grep= --grep-invert= --headed --workers= --project= --retries= --list "
            "--last-failed --max-failures= --timeout= --repeat-each= --shard= --update-snapshots=?"
        )
    },
    "pnpm": {
        "install": StarTable(_NODE_PACKAGES, operands=".*", is_proposed=False),
        "list": StarTable(_NODE_PACKAGES, operands=".*"),
        "outdated": StarTable(_NODE_PACKAGES, operands=".*"),
        "run": StarTable("-s --silent --if-present", passed=_TO_SCRIPT, is_proposed=False),
        "test": StarTable("-s --silent --if-present", passed=_TO_SCRIPT),
    },
    "poetry": {
        "check": StarTable("-q -v --lock --strict --quiet --verbose"),
        "install": StarTable(
            "-q -v --no-root --sync --only= --with= --without= --extras= --all-extras --dry-run"
        ),
        "lock": StarTable("-q -v --no-update --regenerate --quiet"),
        "show": StarTable(
            "-t -l -o -a -T --tree --latest --outdated --all --top-level --only= --with= --without="
        ),
    },
    "pre-commit": {
        "run": StarTable("-a -v --all-files --verbose --show-diff-on-failure --color= --from-ref= --to-ref=")
    },
    "swift": {
        "build": StarTable(
            "-c= -v -q -j= --configuration= --verbose --quiet --target= --product= --build-tests --jobs="
        ),
        "test": StarTable(
            "-c= -v -q --configuration= --verbose --quiet --filter= --skip= --parallel --list-tests "
            "--enable-code-coverage"
        ),
    },
    "terraform": {
        "fmt": StarTable("-check -diff -recursive -list=? -write=? -no-color", whole=True),
        "validate": StarTable("-json -no-color", whole=True),
    },
    "uv": {
        "lock": StarTable(
            "-q -v -U -P= --upgrade --upgrade-package= --check --locked --frozen --offline --dry-run"
        ),
        "sync": StarTable(
            "-q -v --all-extras --extra= --group= --all-groups --dev --no-dev --locked --frozen --offline"
        ),
        "tree": StarTable(
            "-q -v -d= --depth= --invert --package= --all-groups --outdated --locked --frozen --no-dedupe"
        ),
    },
    "vite": {
        "build": StarTable(
            "-m= -l= --mode= --minify=? --sourcemap=? --emptyOutDir --logLevel= --clearScreen=?",
            operands=_NOTHING,
        )
    },
    "yarn": {
        "install": StarTable(_NODE_PACKAGES, operands=_NOTHING),
        "list": StarTable(_NODE_PACKAGES),
        "run": StarTable(_TO_SCRIPT, passed=_TO_SCRIPT, is_proposed=False),
        "test": StarTable(_TO_SCRIPT, passed=_TO_SCRIPT),
    },
    # `git *` covers these commands and those that only read; the others are written in the rule. Operands that
    # are programs or settings are not covered either.
    "git": {
        "add": StarTable(
            "-A -u -v -n -f -N --all --update --verbose --dry-run --force --intent-to-add --ignore-removal "
            "--refresh --renormalize --ignore-errors",
        ),
        "bisect": StarTable(operands=r"(?!run\Z).*", is_proposed=False),
        "checkout": StarTable(
            "-b= -B= -q -t -f -d --quiet --track=? --no-track --detach --orphan= --ours --theirs --force",
            is_proposed=False,
        ),
        "cherry-pick": StarTable(
            "-n -x -m= --abort --continue --skip --quit --no-commit --no-edit", is_proposed=False
        ),
        "clean": StarTable("-n -d -f -x -X -q --dry-run --force --quiet", is_proposed=False),
        "clone": StarTable(
            "-b= -q -v --branch= --depth= --single-branch --quiet --bare", _NO_TRANSPORT, is_proposed=False
        ),
        "commit": StarTable(
            "-m= -a -q -s -v -i -o --message= --all --amend --no-edit --allow-empty --allow-empty-message "
            "--quiet --signoff --author= --date= --fixup= --squash= --dry-run --verbose --include --only "
            "--reset-author --no-gpg-sign",
            values=".*",  # a message
        ),
        "config": StarTable(operands=_NOTHING, is_proposed=False),
        "fetch": StarTable(
            "-p -t -n -v -q -f -a -P -j= -4 -6 --all --prune --tags --no-tags --prune-tags --depth= "
            "--deepen= --unshallow --verbose --quiet --progress --no-progress --jobs= --force --append "
            "--atomic --dry-run --shallow-since= --set-upstream --multiple --no-recurse-submodules --keep "
            "--ipv4 --ipv6",
            operands=_NO_TRANSPORT,
        ),
        "init": StarTable("-b= -q --initial-branch= --bare --quiet", is_proposed=False),
        "merge": StarTable(
            "-m= -q -n --ff-only --no-ff --ff --squash --no-commit --commit --abort --continue --quit "
            "--quiet --no-edit --autostash --no-stat --stat",
            is_proposed=False,
        ),
        "mv": StarTable("-f -k -n -v --force --dry-run --verbose", is_proposed=False),
        "pull": StarTable(
            "-q -v -p -r --rebase=? --no-rebase --ff-only --ff --no-ff --quiet --verbose --prune --tags "
            "--autostash --all --depth=",
            operands=_NO_TRANSPORT,
            is_proposed=False,
        ),
        "push": StarTable(
            "-u -n -q -v -f -d --set-upstream --tags --dry-run --quiet --verbose --follow-tags --progress "
            "--atomic --all --force --force-with-lease=? --delete --prune --mirror",
            operands=_NO_TRANSPORT,
            is_proposed=False,
        ),
        "rebase": StarTable(
            "-q -v --abort --continue --skip --quit --onto= --autostash --no-autostash --quiet --verbose "
            "--root",
            is_proposed=False,
        ),
        "reset": StarTable("-q --soft --mixed --hard --keep --merge --quiet", is_proposed=False),
        "restore": StarTable(
            "-S -W -s= -q --staged --worktree --source= --quiet --ours --theirs", is_proposed=False
        ),
        "revert": StarTable("-n -m= --abort --continue --skip --quit --no-commit --no-edit", is_proposed=False),
        "rm": StarTable("-r -f -n -q --cached --force --dry-run --quiet --ignore-unmatch", is_proposed=False),
        "show-ref": StarTable(
            "-d -q -s=? --heads --tags --branches --verify --quiet --hash=? --abbrev=? --head --dereference"
        ),
        "stash": StarTable(
            "-m= -u -k -q -a -S --message= --include-untracked --keep-index --no-keep-index --index --quiet "
            "--all --staged",
            is_proposed=False,
        ),
        "submodule": StarTable("-q --quiet --init", operands=r"(?!foreach\Z)(?!.*::).*", is_proposed=False),
        "switch": StarTable(
            "-c= -C= -d -q -t --create= --force-create= --detach --quiet --track=? --no-track --orphan= "
            "--guess",
            is_proposed=False,
        ),
        "worktree": StarTable(
            "-b= -B= -f -d -q -n -v --detach --force --quiet --lock --porcelain", is_proposed=False
        ),
    },
}

_CONVERTERS: Mapping[str, str] = {
    "xxd": "-a -b -c= -C -d -e -E -g= -i -l= -n= -o= -p -ps -r -s= -u",
    **dict.fromkeys(
        ("cjpeg", "djpeg", "jpegtran", "lessc", "lz4", "objcopy", "pdf2ps", "pdftohtml"), _EVERYWHERE
    ),
    **dict.fromkeys(
        ("pdftops", "pdftotext", "ps2pdf", "qpdf", "rst2html", "rst2latex", "rst2man"), _EVERYWHERE
    ),
    **dict.fromkeys(("sass", "wkhtmltopdf"), _EVERYWHERE),
}
"""What reads one file and writes to the second, and their options."""

PROGRAMS: Mapping[tuple[str, ...], StarTable] = {
    **{(name,): table for name, table in _PROGRAMS.items()},
    **{
        (name,): StarTable(options, operands=".*", whole=True, is_proposed=False, reads=1)
        for name, options in _CONVERTERS.items()
    },
    **{(name, sub): table for name, subs in _SUBCOMMANDS.items() for sub, table in subs.items()},
    ("date",): StarTable(operands=r"\+.*", is_proposed=False, is_mostly_reading=True),  # others set the clock
    ("hostname",): StarTable(is_proposed=False, reads=0, is_mostly_reading=True),
    ("uniq",): StarTable(
        "-c -d -D -i -u -z -f= -s= -w= --skip-fields= --skip-chars= --check-chars=",
        operands=".*",
        is_proposed=False,
        reads=1,
        is_mostly_reading=True,
    ),
    **{(name,): StarTable(operands=_NOTHING, is_proposed=False, has_commands=True) for name in _WITH_COMMANDS},
    # Other commands of git may run what their arguments or settings name.
    ("git",): StarTable(operands=_NOTHING, is_proposed=False, has_commands=True),
    # What they are given is put into the text of a shell command, as it is.
    ("just",): StarTable(operands=_PLAIN, is_proposed=False),
    ("task",): StarTable(operands=_PLAIN, is_proposed=False),
}
