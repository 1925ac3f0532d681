"""A real model behind a real llama-server: the share of first answers that end in the right call, of ballots
that are read, and of the prompt that the server reuses, with and without `tool_parser`; and how often it does a
task of reading, editing and testing.

    make test-real LLAMA_SERVER=/path/to/llama-server GGUF=/path/to/model.gguf
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

from quorum.application.review.ballot_paper import (
    QuorumPolicy,
    make_call_paper,
    render_question,
    request_ballot,
)
from quorum.application.structured_answer import Unreadable
from quorum.domain.calls.execution import Seal, ToolExecutionContext
from quorum.domain.calls.packet import ReviewPacket
from quorum.domain.calls.tool import TOOL_PARSERS, ToolCall
from quorum.domain.review.requested_scope import RequestedScope
from quorum.infrastructure.models.registry import ProviderRegistry
from quorum.infrastructure.models.shared.api_client import ProviderSettings

PROMPTS = (
    ("Read src/calc.py.", "read_file"),
    ("List the files in src.", "list_directory"),
    ("Read README.md with read_file.", "read_file"),
    ("Use grep_search to find def add.", "grep_search"),
    ("Use run_command to run ls.", "run_command"),
    ("Read notes.txt.", "read_file"),
)
TASK = (
    "Read calc.py. Then replace `return a - b` with `return a + b` in it with edit_file. "
    "Then run: python3 test_calc.py"
)
TASK_FILES = {
    "calc.py": "def add(a, b):\n    return a - b\n",
    "test_calc.py": "from calc import add\n\nassert add(2, 3) == 5\nprint('passed')\n",
}
COMMANDS = ("ls -la", "git status", "python -m pytest -q", "rm notes.txt", "touch a.txt")
FILES = {
    "src/calc.py": "def add(a, b):\n    return a - b\n",
    "README.md": "# demo\n",
    "notes.txt": "TODO: x\n",
}


def main() -> int:
    """Measure, print a line for each share, and return 1 where the parser made nothing better."""
    options = read_options()
    with tempfile.TemporaryDirectory() as folder:
        port = find_free_port()
        server = start_server(options, port, Path(folder) / "server.log")
        try:
            wait_until_loaded(port)
            before = measure_calls(Path(folder) / "before", port, "", options.prompts)
            after = measure_calls(Path(folder) / "after", port, options.parser, options.prompts)
            read = asyncio.run(measure_ballots(port, options.ballots))
            done = [do_task(Path(folder) / "task", port, options.parser) for _ in range(options.tasks)]
        finally:
            server.terminate()
            server.wait()
    print(f"right first call without a parser: {before} of {options.prompts}")
    print(f"right first call with tool_parser = {options.parser!r}: {after} of {options.prompts}")
    print(f"ballots read: {read} of {options.ballots}")
    print(f"tasks done: {sum(done)} of {options.tasks}")
    return int(after < before or (options.ballots > 0 and read == 0))


def read_options() -> argparse.Namespace:
    """The options; a server and a model must be there."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--server", type=Path, required=True, help="the program llama-server")
    parser.add_argument("--model", type=Path, required=True, help="a model as .gguf")
    parser.add_argument("--parser", choices=TOOL_PARSERS, default="json")
    parser.add_argument("--prompts", type=int, default=len(PROMPTS), choices=range(1, len(PROMPTS) + 1))
    parser.add_argument("--ballots", type=int, default=len(COMMANDS), choices=range(len(COMMANDS) + 1))
    parser.add_argument("--tasks", type=int, default=2)
    parser.add_argument("--window", type=int, default=16_384)
    parser.add_argument("--temperature", type=float, default=0.4)
    options = parser.parse_args()
    for path in (options.server, options.model):
        if not path.is_file():
            parser.error(f"there is no file {str(path)!r}: set LLAMA_SERVER and GGUF (docs/local-models.md)")
    return options


def find_free_port() -> int:
    """A port that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def start_server(options: argparse.Namespace, port: int, log: Path) -> subprocess.Popen[bytes]:
    """The server, with its libraries beside it."""
    command = [options.server, "-m", options.model, "--jinja", "--device", "none", "-np", "1"]
    command += [
        "--temp",
        str(options.temperature),
        "-c",
        str(options.window),
        "--host",
        "127.0.0.1",
        "--port",
        str(port),
    ]
    environment = {**os.environ, "LD_LIBRARY_PATH": str(options.server.parent)}
    return subprocess.Popen(command, env=environment, stdout=log.open("wb"), stderr=subprocess.STDOUT)


def wait_until_loaded(port: int) -> None:
    """Wait for the model, two minutes at most."""
    for _ in range(240):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=2):
                return
        except OSError:
            time.sleep(0.5)
    raise SystemExit("the server does not answer; see whether it starts by hand")


def measure_calls(folder: Path, port: int, parser: str, prompts: int) -> int:
    """How many prompts lead to the right tool first."""
    right = 0
    for prompt, tool in PROMPTS[:prompts]:
        report = run_prompt(folder, port, parser, prompt, FILES, turns=1)
        called = list_called(report)
        right += called[:1] == [tool]
        usage = report.get("usage", {})
        read, cached = usage.get("input", 0), usage.get("cache_read", 0)
        reused = f"{cached / (read + cached):.1%}" if read + cached else "none"
        print(f"{prompt!r}: {report.get('status')}, {called}, {reused} of the prompt reused", flush=True)
    return right


def do_task(folder: Path, port: int, parser: str) -> bool:
    """Whether the file is corrected and the test was run."""
    report = run_prompt(folder, port, parser, TASK, TASK_FILES, "--mode", "auto", turns=10)
    called = list_called(report)
    test = [sys.executable, "test_calc.py"]
    passes = subprocess.run(test, cwd=folder / "project", capture_output=True, check=False).returncode == 0
    print(f"task: {report.get('status')}, {called}, the test {'passes' if passes else 'fails'}", flush=True)
    return passes and "run_command" in called


def list_called(report: dict[str, Any]) -> list[str]:
    """The tools that a run called."""
    return [call.get("tool", "") for call in report.get("calls", [])]


def run_prompt(
    folder: Path, port: int, parser: str, prompt: str, files: dict[str, str], *options: str, turns: int
) -> dict[str, Any]:
    """The report of a run in a project of these files."""
    project = folder / "project"
    for name, text in files.items():
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(text, encoding="utf-8")
    settings = folder / "quorum.toml"
    settings.write_text(
        f'[models]\ndecision = "local/model"\n[agent]\nmax_tool_turns = {turns}\n[providers.local]\n'
        f'type = "openai-chat"\nbase_url = "http://127.0.0.1:{port}/v1"\ntimeout_secs = 600\n'
        "max_output_tokens = 300\n"  # a small model may repeat itself until its window is full
        f'tool_parser = "{parser}"\n',
        encoding="utf-8",
    )
    home = {
        name: str(folder / "home") for name in ("HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME")
    }
    command: list[str | Path] = [
        sys.executable,
        "-m",
        "quorum",
        "run",
        "--config",
        settings,
        "--output",
        "json",
        *options,
        prompt,
    ]
    done = subprocess.run(
        command, cwd=project, env={**os.environ, **home}, capture_output=True, text=True, check=False
    )
    report: dict[str, Any] = json.loads(done.stdout or "{}")
    return report


async def measure_ballots(port: int, ballots: int) -> int:
    """How many votes on a command can be read."""
    settings = ProviderSettings(
        type="openai-chat", base_url=f"http://127.0.0.1:{port}/v1", api_key_env="", timeout_secs=600
    )
    registry = ProviderRegistry({"local": settings}, environ={})
    policy = QuorumPolicy(reviewers=("local/model",), vote_timeout_secs=600)
    read = 0

    async def count(_response: object) -> None:
        return

    for command in COMMANDS[:ballots]:
        context = ToolExecutionContext(call_id="c", batch_id="b", call_index=0, turn_index=0)
        call = ToolCall(native_id="c", tool_name="run_command", arguments={"command": command})
        packet = ReviewPacket(
            call=call, context=context, seal=Seal(cwd="/workspace", unsealed="it is only judged")
        )
        paper = make_call_paper(render_question(RequestedScope(task=f"Run {command}"), packet))
        try:
            ballot = await request_ballot(registry, policy, "local/model", paper, count=count)
        except Unreadable as problem:
            print(f"ballot on {command!r}: {problem}", flush=True)
        else:
            read += 1
            print(f"ballot on {command!r}: {ballot.vote.value}, {ballot.confidence:.2f}", flush=True)
    await registry.aclose()
    return read


if __name__ == "__main__":
    raise SystemExit(main())
