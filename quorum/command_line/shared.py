"""Options that several commands have. A command lists those that change what it does."""

from __future__ import annotations

from pathlib import Path

from quorum.command_line.command import Argument, ArgumentGroup, argument, flag
from quorum.command_line.values import parse_count, parse_dollars, parse_seconds, parse_session_name
from quorum.tui.keys.choices import CONSENSUS_LEVELS, EFFORTS, MODES, SCOPES, STRATEGIES

RESUME = "--resume"
SESSION_HELP = "a session id, a unique prefix of it, or latest"
QUIET = "print only errors on stderr"
QUIET_APP = "print no parting words on stderr"
VERBOSE = "print more on stderr"


def list_places(*, quiet: str = "", verbose: str = "") -> tuple[Argument, ...]:
    """--config and --workdir, and --quiet and --verbose: listed with these help texts, hidden without one.

    The two are taken by every command, so that an alias may hold them.
    """
    return (
        argument(
            "--config", dest="config_file", metavar="FILE", type=Path, help="read this quorum.toml and no other"
        ),
        argument("-C", "--workdir", metavar="DIR", type=Path, help="work in this folder"),
        flag("-q", "--quiet", help=quiet),
        flag("-v", "--verbose", help=verbose),
    )


PLACES = list_places()
PLACES_OF_PROMPTS = list_places(quiet=QUIET, verbose=VERBOSE)
FOLDERS = argument(
    "--add-dir",
    dest="add_dirs",
    metavar="DIR",
    type=Path,
    action="append",
    help="add this folder to the workspace; repeat for more",
)
CHOICE_OF_EFFECTS = (
    argument(
        "--leave-out",
        metavar="PATH",
        dest="left_out",
        action="append",
        help="leave this file, folder or ref in the layer; repeat for more",
    ),
    argument(
        "--include",
        metavar="PATH",
        dest="included",
        action="append",
        help="apply this protected file, too; repeat for more",
    ),
    argument(
        "--overwrite",
        metavar="PATH",
        dest="overwritten",
        action="append",
        help="replace what you changed there yourself meanwhile; repeat for more",
    ),
)
SAFE = flag(
    "--safe",
    help="use nothing that you or the project added, such as hooks, servers, instructions, rules that allow",
)
DEBUG = flag("--debug", help="write a log for a bug report; its place is printed at the end")
MODELS = (
    argument(
        "-m",
        "--model",
        dest="models",
        metavar="[ROLE=]MODEL",
        action="append",
        help='the model, as "provider/model"; of another role: exploration=, ask=, moderator=, and, as often '
        "as there are models, decision_fallback=, review= and participants=",
    ),
    argument(
        "--effort",
        dest="models.effort.decision",
        metavar="EFFORT",
        choices=EFFORTS,
        help=f"how much the model reasons before it answers: {', '.join(EFFORTS)}",
    ),
)
MODE = argument(
    "--mode",
    dest="review.mode",
    metavar="MODE",
    choices=MODES,
    help=f"the review mode, which says who decides whether a risky call may run: {', '.join(MODES)}",
)
SCOPE = argument(
    "--scope",
    dest="agent.phase_scope",
    metavar="SCOPE",
    choices=SCOPES,
    help=f"how far the session goes: {', '.join(SCOPES)}; plan-only changes nothing and makes a plan",
)
CONSENSUS = (
    argument(
        "--consensus",
        dest="agent.consensus_level",
        metavar="LEVEL",
        choices=CONSENSUS_LEVELS,
        help="who answers: solo, one model with its tools, or ensemble, several models without tools, which "
        "score each other's answers",
    ),
    argument(
        "--strategy",
        dest="agent.strategy",
        metavar="STRATEGY",
        choices=STRATEGIES,
        help="how an ensemble comes to one answer: quorum, by scores for each other's answers, or debate, by "
        "objections to one of them",
    ),
)
LIMITS = (
    argument(
        "--max-tool-turns",
        dest="agent.max_tool_turns",
        metavar="N",
        type=parse_count,
        help="stop after this many rounds of tool calls",
    ),
    argument(
        "--max-cost-usd",
        dest="agent.max_cost_usd",
        metavar="USD",
        type=parse_dollars,
        help="the most that the session may cost, in US dollars",
    ),
    argument(
        "--max-tokens",
        dest="agent.max_tokens",
        metavar="N",
        type=parse_count,
        help="the most tokens that the session may use",
    ),
    argument(
        "--max-time",
        dest="agent.max_time_secs",
        metavar="SECONDS",
        type=parse_seconds,
        help="end a turn after so many seconds",
    ),
)
SESSION = argument("session", metavar="ID", type=parse_session_name, help=SESSION_HELP)
FORK = flag("--fork", help="with one of these: continue in a copy of that session")
CONTINUE = flag(
    "--continue", dest="continues", help="resume the latest session of this folder, or start a new one"
)
CONTINUED = ArgumentGroup(
    (
        CONTINUE,
        argument(RESUME, metavar="ID", type=parse_session_name, help=f"continue this session: {SESSION_HELP}"),
    ),
    is_exclusive=True,
)
OUTPUT = argument(
    "--output",
    metavar="FORMAT",
    choices=("text", "json", "stream-json"),
    help="what stdout carries: text, json or stream-json",
)
IMAGES = argument(
    "--image",
    dest="images",
    metavar="FILE",
    type=Path,
    action="append",
    help="attach this image or PDF to the prompt; repeat for more",
)
PROMPT = argument("prompt", metavar="PROMPT", help="the prompt; - reads it from stdin")
OF_PROMPTS = (OUTPUT, IMAGES, *MODELS, *LIMITS, *PLACES_OF_PROMPTS, SAFE, DEBUG, PROMPT)
EXIT_CODES = "The exit code tells how it ended: docs/headless.md lists the codes."
