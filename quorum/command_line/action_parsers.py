"""The parsers of `quorum config`, `hooks`, `keys` and `permissions`, one for each action."""

from __future__ import annotations

from pathlib import Path

from quorum.command_line.argument_parser import CommandParser, Example, parse_rule_number
from quorum.command_line.shared_options import add_limits, add_mode, add_models, add_places


def _build_config_show() -> CommandParser:
    parser = CommandParser(
        "quorum config show",
        "Print every setting with its value and where it comes from.",
        examples=(
            Example("quorum config show", "as a session in this folder would have them"),
            Example("quorum config show --mode auto", "with an option, which overrides files and environment"),
        ),
    )
    _add_overrides(parser)
    return parser


def _build_config_check() -> CommandParser:
    parser = CommandParser(
        "quorum config check",
        "Check the configuration files, and say which ones are read.",
        examples=(Example("quorum config check --config ci/quorum.toml", "check one file"),),
    )
    _add_overrides(parser)
    return parser


def _add_overrides(parser: CommandParser) -> None:
    add_models(parser)
    add_mode(parser)
    add_limits(parser)
    add_places(parser)


def _build_config_path() -> CommandParser:
    return _build_plain("quorum config path", "Print where the configuration files are looked for.")


def _build_config_init() -> CommandParser:
    return _build_plain(
        "quorum config init",
        "Write the commented reference of all settings to your own file.",
        "A file that is there already is not replaced.",
    )


def _build_config_trust() -> CommandParser:
    return _build_plain(
        "quorum config trust",
        "Trust what the project's files ask for, as they are now.",
        "It shows what that is first. After any change of a file it is asked about again.",
    )


def _build_config_untrust() -> CommandParser:
    return _build_plain("quorum config untrust", "Trust none of the project's files any more.")


def _build_config_keys() -> CommandParser:
    return _build_plain("quorum config keys", "List what keys do, by the names that [tui.keys] takes.")


def _build_config_set() -> CommandParser:
    parser = CommandParser(
        "quorum config set",
        "Write one setting to your own file; everything else in it is kept.",
        examples=(
            Example("quorum config set tui.theme nord", "your own file"),
            Example("quorum config set --project review.mode ask", "the project's file"),
        ),
    )
    _add_project(parser)
    parser.add_argument("setting", metavar="KEY", help="the setting, such as tui.theme")
    parser.add_argument("value", metavar="VALUE", help="its value, as text or as TOML")
    return parser


def _build_config_unset() -> CommandParser:
    parser = CommandParser(
        "quorum config unset",
        "Take one setting out of your own file.",
        examples=(Example("quorum config unset tui.theme", "the default counts again"),),
    )
    _add_project(parser)
    parser.add_argument("setting", metavar="KEY", help="the setting, such as tui.theme")
    return parser


def _add_project(parser: CommandParser) -> None:
    parser.add_argument("--project", action="store_true", help="in the project's file, not your own")
    add_places(parser)


def _build_hooks_test() -> CommandParser:
    parser = CommandParser(
        "quorum hooks test",
        "Test a hook of your quorum.toml with one call, and print what it answers.",
        examples=(Example("quorum hooks test no-secrets --call call.json", "the call stands in call.json"),),
    )
    parser.add_argument(
        "--call",
        metavar="FILE",
        type=Path,
        required=True,
        help='JSON of the call: {"tool", "arguments", "risk", "paths", "result", "messages"}',
    )
    add_places(parser)
    parser.add_argument("hook", metavar="NAME", help="the hook's name")
    return parser


def _build_permissions_check() -> CommandParser:
    parser = CommandParser(
        "quorum permissions check",
        "Print what would be decided about one call, and why.",
        "Nothing runs. The exit code is 0 for allow, 1 for deny, 3 for ask.",
        examples=(
            Example('quorum permissions check run_command \'{"command": "git push"}\'', "a command"),
            Example(
                'quorum permissions check --mode accept-edits write_file \'{"path": "a", "content": ""}\'',
                "an edit in another review mode",
            ),
        ),
    )
    add_models(parser)
    add_mode(parser)
    add_places(parser)
    parser.add_argument("tool", metavar="TOOL", help="the name of the tool")
    parser.add_argument("arguments", metavar="JSON", help="its arguments, an object")
    return parser


def _build_permissions_list() -> CommandParser:
    return _build_plain("quorum permissions list", "Print every rule, and where it stands.")


def _build_permissions_remove() -> CommandParser:
    parser = _build_plain("quorum permissions remove", "Remove a saved rule.")
    parser.add_argument("number", metavar="N", type=parse_rule_number, help="its number in the list")
    return parser


def _build_keys_set() -> CommandParser:
    parser = CommandParser(
        "quorum keys set",
        "Keep the key of a provider in the keyring of this machine.",
        examples=(
            Example("quorum keys set openai", "asks for the key; it is not shown"),
            Example("pass show openai | quorum keys set openai", "the key from stdin, as one line"),
        ),
    )
    _add_provider(parser)
    return parser


def _build_keys_list() -> CommandParser:
    return _build_plain(
        "quorum keys list", "Print for which providers there is a key, and where it comes from; never the key."
    )


def _build_keys_remove() -> CommandParser:
    parser = CommandParser("quorum keys remove", "Remove the key of a provider from the keyring.")
    _add_provider(parser)
    return parser


def _add_provider(parser: CommandParser) -> None:
    add_places(parser)
    parser.add_argument("provider", metavar="PROVIDER", help="the provider, as in quorum.toml")


def _build_plain(prog: str, summary: str, details: str = "") -> CommandParser:
    parser = CommandParser(prog, summary, details)
    add_places(parser)
    return parser


CONFIG_PARSERS = {
    "show": _build_config_show,
    "check": _build_config_check,
    "path": _build_config_path,
    "init": _build_config_init,
    "set": _build_config_set,
    "unset": _build_config_unset,
    "trust": _build_config_trust,
    "untrust": _build_config_untrust,
    "keys": _build_config_keys,
}
HOOKS_PARSERS = {"test": _build_hooks_test}
PERMISSIONS_PARSERS = {
    "check": _build_permissions_check,
    "list": _build_permissions_list,
    "remove": _build_permissions_remove,
}
KEYS_PARSERS = {"set": _build_keys_set, "list": _build_keys_list, "remove": _build_keys_remove}
