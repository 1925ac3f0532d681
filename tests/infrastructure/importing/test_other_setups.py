import json
from pathlib import Path

from quorum.domain.importing.foreign_session import TakeoverItem, TakeoverKind
from quorum.infrastructure.importing.places import ImportPlaces
from quorum.infrastructure.importing.takeover import read_setups
from tests.support.settings_machine import Machine


def _write(file: Path, content: object) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content if isinstance(content, str) else json.dumps(content, indent=1), encoding="utf-8")


def _read(machine: Machine, agent: str) -> list[TakeoverItem]:
    places = ImportPlaces(
        home=machine.home, root=machine.repository, own=machine.user_file.parent, environ=machine.environ
    )
    setups = read_setups([agent], places)
    assert not [problem for setup in setups for problem in setup.problems]
    return [finding for setup in setups for finding in setup.findings]


def _rules(findings: list[TakeoverItem]) -> set[str]:
    return {f"{each.rule.answer} {text}" for each in findings if each.rule for text in each.rule.rules}


def _servers(findings: list[TakeoverItem]) -> dict[str, object]:
    return {name: values for each in findings for name, values in each.server.items()}


def test_opencode(machine: Machine):
    folder = machine.home / ".config/opencode"
    _write(
        folder / "opencode.json",
        {
            "permission": {
                "bash": {"*": "ask", "git push *": "deny", "git status *": "allow"},
                "edit": "deny",
                "read": {"*.env": "deny", "*": "allow"},
                "webfetch": "sometimes",
            },
            "tools": {"websearch": False, "bash": True},
            "mcp": {
                "gh": {"type": "local", "command": ["npx", "x"], "environment": {"T": "1"}, "enabled": False},
                "web": {
                    "type": "remote",
                    "url": "https://a.example/mcp",
                    "headers": {"Authorization": "Bearer {env:TOK}"},
                },
            },
        },
    )
    _write(folder / "command/fix.md", "do it")
    _write(folder / "plugin/x.js", "")

    findings = _read(machine, "opencode")

    assert _rules(findings) == {
        *("ask run_command", "deny run_command(git push *)", "allow run_command(git status *)"),
        *(
            "deny write_file",
            "deny edit_file",
            "deny apply_patch",
            "deny read_file(*.env)",
            "ask *",
            "deny web_search",
        ),
    }
    assert _servers(findings) == {
        "gh": {"command": ["npx", "x"], "pass_env": ["T"], "enabled": False},
        "web": {"url": "https://a.example/mcp", "bearer_token_env": "TOK"},
    }
    assert [each.target for each in findings if each.kind is TakeoverKind.COMMAND] == [
        str(machine.user_file.parent / "commands/fix.md")
    ]
    assert "never run here" in next(each.why for each in findings if each.kind is TakeoverKind.HOOK)


def test_gemini_cli(machine: Machine):
    folder = machine.home / ".gemini"
    _write(
        folder / "settings.json",
        {
            "tools": {
                "exclude": ["run_shell_command(rm -rf)", "write_file"],
                "allowed": ["run_shell_command(git status)"],
            },
            "mcp": {"excluded": ["bad"]},
            "mcpServers": {
                "gh": {"command": "npx", "args": ["x"], "excludeTools": ["delete_repo"], "trust": True},
                "old": {"url": "https://a.example/sse"},
                "new": {"httpUrl": "https://a.example/mcp"},
            },
        },
    )
    _write(
        folder / "policies/mine.toml",
        '[[rule]]\ntoolName = "run_shell_command"\ncommandPrefix = ["npm publish"]\n'
        'decision = "deny"\npriority = 1\n'
        '[[rule]]\ntoolName = "grep_search"\nargsPattern = "id_rsa"\ndecision = "deny"\n'
        '[[rule]]\nmcpName = "db"\ndecision = "ask_user"\n'
        '[[rule]]\ntoolName = "run_shell_command"\ncommandPrefix = "ls"\n'
        'decision = "allow"\nmodes = ["yolo"]\n',
    )
    _write(folder / "commands/x.toml", 'prompt = "x"')

    findings = _read(machine, "gemini")

    assert _rules(findings) == {
        *("deny run_command(rm -rf *)", "deny apply_patch", "deny edit_file", "deny write_file"),
        *("allow run_command(git status *)", "deny mcp__bad__*", "deny mcp__gh__delete_repo"),
        *("deny run_command(npm publish* *)", "ask grep_search", "ask mcp__db__*"),
    }
    assert _servers(findings) == {"gh": {"command": ["npx", "x"]}, "new": {"url": "https://a.example/mcp"}}
    assert "type sse" in next(each.why for each in findings if each.there.startswith("old"))
    assert "Markdown alone" in next(each.why for each in findings if each.kind is TakeoverKind.COMMAND)


def test_copilot_cli(machine: Machine):
    folder = machine.home / ".copilot"
    _write(folder / "settings.json", {"deniedUrls": ["https://bad.example"], "allowedUrls": ["ok.example"]})
    _write(
        folder / "mcp-config.json",
        {
            "mcpServers": {
                "gh": {"type": "local", "command": "npx", "args": ["x"], "tools": ["*"], "env": {"T": "1"}},
                "few": {"type": "http", "url": "https://a.example/mcp", "tools": ["read"]},
            }
        },
    )
    _write(folder / "copilot-instructions.md", "be brief")

    findings = _read(machine, "copilot")

    assert _rules(findings) == {"deny web_fetch(url=*bad.example*)"}
    assert _servers(findings) == {
        "gh": {"command": ["npx", "x"], "pass_env": ["T"]},
        "few": {"url": "https://a.example/mcp", "tools": ["read"]},
    }
    assert [each.target for each in findings if each.target] == [str(machine.user_file.parent / "AGENTS.md")]


def test_kimi_code(machine: Machine):
    folder = machine.home / ".kimi-code"
    _write(
        folder / "config.toml",
        '[permission]\ndeny = ["Bash(rm *)"]\nallow = ["Bash(make lint)"]\n'
        '[[permission.rules]]\ndecision = "deny"\npattern = "Read(*.pem)"\n'
        '[[permission.rules]]\ndecision = "perhaps"\npattern = "Write"\n',
    )
    _write(folder / "mcp.json", {"mcpServers": {"gh": {"command": "npx", "args": ["x"]}}})

    findings = _read(machine, "kimi")

    assert _rules(findings) == {
        *("deny run_command(rm *)", "allow run_command(make lint)", "deny read_file(*.pem)", "ask *"),
    }
    assert _servers(findings) == {"gh": {"command": ["npx", "x"]}}


def test_kimi_cli(machine: Machine):
    server = {"url": "https://a.example/mcp", "transport": "http", "headers": {"Authorization": "Bearer x"}}
    _write(machine.home / ".kimi/mcp.json", {"mcpServers": {"iss": server, "odd": "x"}})

    findings = _read(machine, "kimi")

    assert _servers(findings) == {"iss": {"url": "https://a.example/mcp", "bearer_token_env": "ISS_TOKEN"}}
    assert "no table of settings" in findings[1].why
