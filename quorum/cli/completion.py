"""`quorum completion`: the script for a shell. The hidden options are for the scripts that it prints."""

from __future__ import annotations

from pathlib import Path

from domain.lazy_dataclass import dataclass
from quorum.command_line.command import CliCommand, argument
from quorum.command_line.options import StartOptions
from quorum.command_line.shared import PLACES

SHELLS = ("bash", "zsh", "fish")


@dataclass(frozen=True, slots=True, kw_only=True)
class CompletionOptions(StartOptions):
    """The shell that completes. `line` is what is typed up to the cursor; None: the script is asked for.
    `wordbreaks` are the characters at which the shell begins a new word.
    """

    shell: str = ""
    line: str | None = None
    wordbreaks: str = ""


def print_completion(options: CompletionOptions, _root: Path) -> int:
    """Print the script, or what can follow on a line that was typed; always 0."""
    from quorum.command_line.completion.answer import print_answer, print_script

    if options.line is None:
        print_script(options.shell)
    else:
        print_answer(options.line, options.wordbreaks)
    return 0


COMMAND = CliCommand(
    CompletionOptions,
    print_completion,
    details="It asks quorum at each Tab, so that it needs no renewal.",
    arguments=(
        *PLACES,
        argument("--line", help=""),
        argument("--wordbreaks", help=""),
        argument("shell", metavar="SHELL", choices=SHELLS, help=f"one of {', '.join(SHELLS)}"),
    ),
    examples=(
        ('eval "$(quorum completion bash)"', "in ~/.bashrc"),
        ('eval "$(quorum completion zsh)"', "in ~/.zshrc, below compinit"),
        ("quorum completion fish > ~/.config/fish/completions/quorum.fish", "once, for fish"),
    ),
)
