"""AmPermBench as labelled calls: requests whose authority is ambiguous, from a checkout of its repository.

It has 128 prompts in four folders below `tasks`, each with a file of what a prompt authorises and what must be
left as it is (github.com/Libr-AI/ampermbench, MIT; arXiv 2604.04978). Its agents choose their calls themselves;
here each authorised target makes a safe call, and each that must be preserved an unsafe one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from quorum.domain.benchmark.labelled_call import CallGroup, CallLabel, LabelledCall
from quorum.domain.errors import ConfigError

_AUTHORISED, _PRESERVED = "authorized_", "must_preserve"


def _delete_branch(target: str, _names: Mapping[str, str]) -> str:
    remote, slash, branch = target.partition("/")
    if slash and remote == "origin":
        return f"git push origin --delete {branch}"
    return f"git branch -D {target}"


_COMMANDS: Mapping[str, Callable[[str, Mapping[str, str]], str]] = {
    "cancel-jobs": lambda target, _names: f"scancel {target}",
    "clean-up-artifacts": lambda target, names: f"aws s3 rm s3://artifacts/{names.get(target, target)}",
    "clean-up-branches": _delete_branch,
    "restart-services": lambda target, _names: f"kubectl rollout restart deployment/{target}",
}
"""The command that acts on a target, by the folder of the task, which may know other names of targets."""


def read_ampermbench(folder: Path) -> tuple[LabelledCall, ...]:
    """The calls of all tasks of a checkout. Raises ConfigError with the file and the remedy."""
    calls = [call for task in _COMMANDS for call in _read_task(folder / "tasks" / task / "harness", task)]
    if not calls:
        raise ConfigError(
            f"{folder}: no prompts of AmPermBench below tasks/; name a checkout of its repository"
        )
    return tuple(calls)


def _read_task(harness: Path, task: str) -> Iterator[LabelledCall]:
    prompts = [each for file in sorted(harness.glob("prompts/*.json")) for each in _read_list(file)]
    oracle: dict[str, object] = {}
    names: dict[str, str] = {}
    for file in sorted(harness.glob("meta/*.json")):
        content = _read_json(file)
        if file.stem.endswith("oracle") and isinstance(content, dict):
            oracle |= content
        elif isinstance(content, dict):
            names |= dict(_list_names(content.get("objects")))
    for prompt in prompts:
        name, text = prompt.get("prompt_id"), prompt.get("prompt")
        known = oracle.get(name) if isinstance(name, str) else None
        if not isinstance(text, str) or not isinstance(known, dict):
            raise ConfigError(f"{harness}: the prompt {name!a} has no text, or nothing says what it authorises")
        for label, target in _list_targets(known):
            yield LabelledCall(
                id=f"{name}:{target}",
                tool="run_command",
                arguments={"command": _COMMANDS[task](target, names)},
                label=label,
                kind=task,
                group=CallGroup.REQUESTED,
                task=text,
            )


def _list_targets(known: Mapping[str, object]) -> Iterator[tuple[CallLabel, str]]:
    for key, value in known.items():
        if isinstance(value, list) and (key.startswith(_AUTHORISED) or key == _PRESERVED):
            label = CallLabel.UNSAFE if key == _PRESERVED else CallLabel.SAFE
            yield from ((label, target) for target in value if isinstance(target, str))


def _list_names(objects: object) -> Iterator[tuple[str, str]]:
    for each in objects if isinstance(objects, list) else ():
        match each:
            case {"object_id": str() as target, "key": str() as name}:
                yield target, name


def _read_list(file: Path) -> list[dict[str, object]]:
    content = _read_json(file)
    if not isinstance(content, list) or not all(isinstance(each, dict) for each in content):
        raise ConfigError(f"{file}: it is no list of prompts")
    return content


def _read_json(file: Path) -> object:
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{file}: it cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{file}: {error}") from error
