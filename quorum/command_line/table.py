"""All commands, in the order in which the help lists them; each is loaded when it is asked for.

A module declares `COMMAND`, which is a `CliCommand`, or a `CommandGroup` of several actions.
"""

from __future__ import annotations

APP_MODULE = "quorum.cli.app"
"""Declares what `quorum` does without a command."""

COMMANDS: dict[str, tuple[str, str]] = {
    "run": ("quorum.cli.run", "Answer one prompt without the full-screen app."),
    "ask": ("quorum.cli.ask", "Answer one question with tools that only look."),
    "discuss": (
        "quorum.cli.discuss",
        "Have several models answer one question, review each other and agree on a text.",
    ),
    "debate": (
        "quorum.cli.debate",
        "Have one model answer a question and others object to the answer, and rule on each objection.",
    ),
    "review": ("quorum.cli.review", "Have several models review a change; by default what is not committed."),
    "agent": ("quorum.cli.agent", "Have another agent work, such as Claude Code, and review what it asks for."),
    "acp": ("quorum.cli.acp", "Serve an editor that speaks the Agent Client Protocol, on stdin and stdout."),
    "sessions": (
        "quorum.cli.sessions",
        "List, find, show, rename, diff, export, fork, verify, anchor, delete or resume sessions.",
    ),
    "share": ("quorum.cli.share", "Write a session as one HTML file, which checks itself in a browser."),
    "pr": (
        "quorum.cli.pull_request",
        "Print or post what was approved, voted and checked on the work of a branch.",
    ),
    "usage": ("quorum.cli.usage", "Print tokens and costs of recorded sessions, by model, day and project."),
    "staged": ("quorum.cli.staged", "List, show, apply, discard and take back changes that wait in layers."),
    "inbox": ("quorum.cli.inbox", "List and answer decisions that wait in any session."),
    "board": ("quorum.cli.board", "List what waits for you, which sessions are open, and which ended last."),
    "fleet": ("quorum.cli.fleet", "Have workers on one or several machines run many sessions."),
    "config": ("quorum.cli.config", "Show, check, find or change the settings; trust what a project asks for."),
    "models": ("quorum.cli.models", "List the models that your keys can use, with windows and prices."),
    "permissions": ("quorum.cli.permissions", "Try, replay, list and remove permission rules."),
    "keys": ("quorum.cli.keys", "Keep API keys in the keyring of this machine."),
    "mcp": ("quorum.cli.mcp", "List, add, remove, log in to and test MCP servers."),
    "hooks": ("quorum.cli.hooks", "Test the hooks of your quorum.toml."),
    "db": ("quorum.cli.db", "Show, upgrade or copy the database that keeps sessions."),
    "bench": ("quorum.cli.bench", "Measure the review of calls on labelled ones."),
    "import": (
        "quorum.cli.importing",
        "Take over rules, MCP servers, instructions and sessions of other agents.",
    ),
    "gate": ("quorum.cli.gate", "Decide about one call of another agent, read from stdin: allow, ask or deny."),
    "doctor": ("quorum.cli.doctor", "Check what works on this machine and what does not."),
    "rpc": ("quorum.cli.rpc", "Send one request to a listening quorum and print the result as JSON."),
    "serve": ("quorum.cli.serve", "Open the app in a browser, and answer reviews on a page for a phone."),
    "completion": (
        "quorum.cli.completion",
        "Print the script that has a shell complete commands, options, models and sessions.",
    ),
    "version": ("quorum.cli.version", "Print the version, as quorum --version does."),
    "help": ("quorum.cli.help", "Print what a command does, its options and examples."),
}
"""The module that declares a command, and its line in the list of commands, by its name."""
