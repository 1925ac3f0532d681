"""Commands that stand in the words of a program which starts them, whatever options stand in front.

What takes which option differs from program to program and from version to version. So a command begins behind
`--`, or with the first word that is the name of a program which the tables know.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

STARTERS = frozenset(
    {
        # proot(1) 5.3, bubblewrap 0.8, flatpak 1.14, util-linux 2.38, shadow 4.13, libcap 2.66
        *("proot", "bwrap", "flatpak-spawn", "unshare", "nsenter", "setpriv", "runuser", "chroot", "script"),
        *(
            "prlimit",
            "choom",
            "setarch",
            "linux32",
            "linux64",
            "i386",
            "x86_64",
            "uname26",
            "capsh",
            "fakechroot",
        ),
        *("run0", "systemd-run", "systemd-nspawn", "systemd-inhibit", "systemd-cat", "gnome-session-inhibit"),
        *("machinectl", "firejail", "cgexec", "cpulimit", "trickle", "faketime", "sandbox-exec", "arch"),
        # who runs it: gosu 1.16, su-exec 0.2, s6 2.11, daemontools 0.76, runit 2.1
        *("gosu", "su-exec", "s6-setuidgid", "s6-envdir", "s6-softlimit", "chpst", "envdir", "envuidgid"),
        *("setuidgid", "setlock", "softlimit", "supervise", "daemon", "start-stop-daemon", "dumb-init", "tini"),
        *("gksudo", "kdesu", "kdesudo", "lxqt-sudo", "sg"),
        # on other machines: pssh 2.3, pdsh 2.34, clustershell 1.9, mosh 1.4, autossh 1.4
        *("pssh", "parallel-ssh", "pdsh", "clush", "dsh", "mussh", "mosh", "autossh", "et", "wsl"),
        # many times, later, or when files change: parallel 20221122, entr 5.3, watchexec 1.20, task-spooler 1.0
        *("parallel", "sem", "rush", "xe", "entr", "watchexec", "onchange", "nodemon", "chokidar", "retry"),
        *("tsp", "nq", "task-spooler", "ts", "ifne", "dtach", "abduco", "reptyr", "nohup", "lockf"),
        # in terminals
        *("xterm", "gnome-terminal", "konsole", "alacritty", "kitty", "foot", "x-terminal-emulator", "urxvt"),
        *("xfce4-terminal", "lxterminal", "terminator", "tilix", "rlfe", "ledit", "screen", "byobu"),
        # under observation, and as other machines
        *("heaptrack", "gdb", "lldb", "qemu-x86_64", "qemu-arm", "box64"),
        *("qemu-aarch64", "qemu-i386", "toybox", "coproc", "errno", "dbus-launch", "rootlesskit", "shifter"),
        # with variables, packages or allotted machines
        *("envconsul", "summon", "dotenvx", "dotenv", "nox", "salloc", "qsub", "bsub", "ch-run", "lando"),
        *("distrobox-enter", "vcsh", "mr"),
    }
)
"""They have no other use than to start something, or start what they are given as a program."""
_STARTS = {
    # tmux 3.3
    "tmux": (
        *("new-session", "new", "new-window", "neww", "split-window", "splitw", "respawn-pane", "respawnp"),
        *("respawn-window", "respawnw", "run-shell", "run", "if-shell", "if", "pipe-pane", "pipep"),
        *("display-popup", "popup", "send-keys", "send", "set-hook", "bind-key", "bind", "confirm-before"),
    ),
    "podman": ("unshare", "machine"),
    "kubectl": ("run", "debug"),
    "oc": ("rsh", "debug", "run"),
    "guix": ("shell", "environment", "time-machine"),
    **dict.fromkeys(("mise", "rtx"), ("x", "exec")),
    **dict.fromkeys(("singularity", "apptainer"), ("exec", "run", "shell")),
    "buildah": ("run", "unshare"),
    "rustup": ("run",),
    "cargo": ("watch",),
    "launchctl": ("asuser", "bsexec"),
    "perf": ("stat", "record", "trace", "mem", "c2c"),
    "rr": ("record",),
    "coz": ("run",),
    "sops": ("exec-env", "exec-file"),
    **dict.fromkeys(("railway", "render", "platform"), ("run", "ssh", "exec")),
    **dict.fromkeys(("consul", "flux", "vault"), ("exec", "lock", "run", "agent")),
    **dict.fromkeys(("minikube", "docker-machine", "ddev", "cf"), ("ssh", "exec", "run-task")),
    **dict.fromkeys(("lerna", "nx", "tox", "devcontainer", "rush", "turbo"), ("exec", "run", "--")),
    **dict.fromkeys(("just", "task"), ("--command", "-c", "--")),
    "cmd": ("/c", "/C", "/k"),
}
"""Programs that do so for some of their commands."""
_TAKES_NAMES = frozenset({"run", "start", "add", "activate"})
_COMMANDS = _TAKES_NAMES | {"exec", "x", "ssh", "rsh", "shell", "exec-env", "exec-file", "build-env"}
"""What programs of which nothing is known call it. Some take a single word for the name of a script, a service
or a package, and that may be called like a program."""
_NAMING = frozenset(
    {"--what", "--who", "--why", "--name", "--title", "--label", "--unit", "-t", "-T", "-S", "-n"}
)
"""Options with a value that may be called like a program."""
_NAMING_BY_PROGRAM = {
    "nox": frozenset({"-s", "--session", "--sessions", "-e", "-k", "--tags"}),
    "watchexec": frozenset({"-w", "--watch", "-e", "--exts", "-f", "--filter", "-i", "--ignore"}),
    "nodemon": frozenset({"-w", "--watch", "-e", "--ext", "-i", "--ignore"}),
    "tmux": frozenset({"-s", "-c", "-F", "-L", "-f", "-ds", "-dn"}),
    # screen(1) 4.9: letters may stand together
    "screen": frozenset({"-r", "-R", "-x", "-d", "-D", "-c", "-e", "-p", "-dr", "-dR", "-DR", "-RR", "-DRR"})
    | {"-dmS", "-DmS", "-AdmS", "-LdmS", "-dmLS", "-mS"},
}
"""Those of single programs, where others have the same letters for something else."""
_NOTHING = frozenset[str]()
_DASHES = ("--", "---")
_TEXTS = frozenset(
    {
        *("-c", "--command", "--cmd", "-x", "--exec", "--wrap", "-e", "-s", "--run", "--execute", "--call"),
        *("-lc", "-ic", "-qc", "-dc", "--shell-command", "/c", "/C", "/k"),
    }
)
"""The options behind which a text for a shell stands."""
_TAKES_TEXTS = frozenset(
    {
        *("concurrently", "run-p", "run-s", "start-server-and-test", "pee", "mispipe", "condor_run", "gita"),
        *("foreach", "repo", "expect", "hyperfine"),
    }
)
"""They start each of their words that is a text."""
_NO_TEXT = frozenset({"echo", "printf", "gdb", "lldb", "git"})
"""Their texts are in languages of their own, or none that run."""


_KNOWN: set[str] = set()


def note_programs(names: Iterable[str]) -> None:
    """Take programs for known: each table does so with its own when it is loaded."""
    _KNOWN.update(names)


def may_start(program: str) -> bool:
    """Whether the words of a program may hold a command that it starts. Most programs start none."""
    return program not in _KNOWN or program in STARTERS or program in _STARTS or program == "script"


def find_started_words(program: str, words: Sequence[str]) -> Sequence[str]:
    """The command that a program starts which stands in its words: its name and its own words, or none."""
    if program == "script" and _TEXTS.isdisjoint(words):  # a file, and behind it a command
        file = next((place for place, word in enumerate(words) if not word.startswith("-")), len(words))
        return _find_command(words[file + 1 :], program)
    if program in STARTERS:
        return _find_command(words, program)
    if program in _STARTS:
        place = next((place for place, word in enumerate(words) if word in _STARTS[program]), None)
        return () if place is None else _find_command(words[place + (words[place] != "--") :], program)
    if program in _KNOWN:
        return ()
    if "--" in words and (behind := words[words.index("--") + 1 :]) and _is_known(behind[0]):
        return behind
    command = next((word for word in words if not word.startswith("-") or word in _DASHES), "")
    if command not in _COMMANDS:
        return ()
    started = _find_command(words[words.index(command) + 1 :], program)
    return () if command in _TAKES_NAMES and len(started) == 1 else started


def _find_command(words: Sequence[str], program: str) -> Sequence[str]:
    naming = _NAMING | _NAMING_BY_PROGRAM.get(program, _NOTHING)
    for place, word in enumerate(words):
        if word in _DASHES and words[place + 1 :] and _is_known(words[place + 1]):
            return words[place + 1 :]
    pairs = enumerate(zip(("", *words), words, strict=False))
    return next((words[at:] for at, (option, word) in pairs if option not in naming and _is_known(word)), ())


def _is_known(word: str) -> bool:
    folder, _, name = word.rpartition("/")
    return name[:1].isalnum() and name in _KNOWN and (not folder or folder.endswith("bin"))


def list_started_texts(program: str, words: Sequence[str]) -> Iterator[str]:
    """The texts among the words of a program that it hands to a shell, as far as the words tell."""
    starts = program in STARTERS or program in _STARTS or program in _TAKES_TEXTS
    if not starts and program in _KNOWN:
        return
    if " " not in "".join(words) or program in _NO_TEXT or "$" in program:
        return
    takes_all = starts or any(word in _COMMANDS for word in words[:2])
    for place, word in enumerate(words):
        option, has_value, value = word.partition("=")
        if has_value and option in _TEXTS:
            word = value
        elif not (takes_all or (place and words[place - 1] in _TEXTS)):
            continue
        if " " in word and (named := word.split(None, 1)) and _is_known(named[0]):
            yield word
