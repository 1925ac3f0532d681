import os
from pathlib import Path

import pytest

from quorum.domain.sessions.trust import Standing
from quorum.infrastructure.config.tools_table import WebTable
from tests.support.settings_machine import Machine


def test_an_unknown_key_is_named_with_file_line_and_the_nearest_known_one(machine: Machine):
    machine.user("# comment\n\n[agent]\nmax_tool_turn = 3\n")

    assert machine.refusal() == (
        f"{machine.user_file}:4: there is no setting agent.max_tool_turn; did you mean agent.max_tool_turns?"
    )


@pytest.mark.parametrize(
    ("text", "nearest"),
    [
        ("max_tool_turns = 3", "agent.max_tool_turns"),
        ("[agnet]\nmax_tool_turns = 3", "agent"),
        ("[tools]\ntimeout_secs = 3", "tools.run_command.timeout_secs"),
        ("[providers.x]\ntype = 'offline'\napi_key = 'sk'", "providers.x.api_key_env"),
        ("[providers.x]\ntype = 'offline'\nurl = 'http://h'", "providers.x.base_url"),
    ],
)
def test_the_nearest_known_key_is_found_in_other_tables_too(machine: Machine, text: str, nearest: str):
    machine.user(text)

    assert machine.refusal().endswith(f"did you mean {nearest}?")


def test_an_unknown_key_like_no_other_brings_the_known_ones_of_its_table(machine: Machine):
    machine.user("[tools.web]\ncolour = 'auto'")

    assert machine.refusal().endswith(f"[tools.web] knows {', '.join(WebTable.__struct_fields__)}")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "agent.max_tool_turns = 'ten'",
            'must be a whole number from 1 to 10000, not "ten"',
        ),
        ("agent.max_tool_turns = 0", "must be a whole number from 1 to 10000, not 0"),
        (
            "agent.max_tool_turns = true",
            "must be a whole number from 1 to 10000, not true",
        ),
        ("agent.max_tool_turns = {}", "must be a whole number from 1 to 10000, not {}"),
        ("agent = 5", "agent must be a table, not 5"),
        ("[[agent]]\nx = 1", "agent must be a table, not [{ x = 1 }]"),
        ("tools.enabled = 'read_file'", 'tools.enabled must be a list of strings, not "read_file"'),
        ("tools.enabled = [1]", "tools.enabled must be a list of strings, not [1]"),
        ("tui.notifications = 1", "tui.notifications must be true or false, not 1"),
        ("tui.theme = 2026-01-01", "tui.theme must be the name of a theme, not 2026-01-01"),
        ("models.decision = 'gpt'", 'models.decision must be "provider/model"'),
        ("providers.openai.timeout_secs = nan", "must be a number above 0 up to 3600, not nan"),
        ("providers.openai.timeout_secs = inf", "must be a number above 0 up to 3600, not inf"),
        ("providers.openai.base_url = 'localhost'", "must be an address that starts with http:// or https://"),
        ("providers.openai.base_url = 'http://[x'", "must be an address that starts with http:// or https://"),
        ("providers.'a/b'.type = 'offline'", '"a/b" cannot be a name in [providers]'),
        ("providers.x.max_retries = 1", "providers.x.type is missing; it must be one of anthropic"),
        ("[providers.x]", "providers.x.type is missing"),
    ],
)
def test_a_wrong_value_is_reported_with_what_was_expected_and_found(machine: Machine, text: str, sentence: str):
    machine.user(text)

    refusal = machine.refusal()

    assert sentence in refusal
    assert refusal.startswith(f"{machine.user_file}:1: ")


def test_a_word_that_is_nearly_right_is_corrected(machine: Machine):
    machine.user('review.mode = "readonly"')

    assert machine.refusal().endswith('not "readonly"; did you mean "read-only"?')


def test_all_problems_of_all_sources_are_reported_together(machine: Machine):
    machine.user("[agent]\nmax_tool_turns = 0\n[review]\nmood = 1\n")
    machine.standing = Standing.TRUSTED
    machine.project("tui.notifications = 'yes'")
    machine.environ["QUORUM_AGENT__MAX_TURNS"] = "3"

    lines = machine.refusal(overrides={"review.mod": "ask"}).splitlines()

    assert [line.split(": ")[0] for line in lines] == [
        f"{machine.user_file}:2",
        f"{machine.user_file}:4",
        f"{machine.project_file}:1",
        "environment QUORUM_AGENT__MAX_TURNS",
        "command line",
    ]


@pytest.mark.long
def test_a_file_full_of_mistakes_does_not_fill_the_screen(machine: Machine):
    machine.user("\n".join(f"wrong{number} = 1" for number in range(5000)))

    assert len(machine.refusal().splitlines()) == 20


def test_the_line_is_right_behind_values_of_several_lines(machine: Machine):
    machine.user('[review]\nprotected = [\n  "a = 1",\n  # ]\n  "[agent]",\n]\nmode = 5\n')

    assert machine.refusal().startswith(f"{machine.user_file}:7: review.mode")


@pytest.mark.parametrize("wrong", ["api_key_env = 'sk-ant-secret'", "headers = 'sk-ant-secret'"])
def test_a_key_pasted_in_the_wrong_place_is_not_repeated(machine: Machine, wrong: str):
    machine.user(f"[providers.openai]\n{wrong}\n")

    assert "secret" not in machine.refusal()


def test_a_password_in_an_address_is_not_repeated(machine: Machine):
    machine.user("providers.openai.base_url = 'htp://me:secret@host'")

    assert "secret" not in machine.refusal()


def test_text_of_a_file_reaches_no_terminal_as_control_characters(machine: Machine):
    machine.user('"\\u001b[31m\\u202e" = 1\nreview.mode = "\\u009b\\u0007"\n')

    assert all(line.isprintable() for line in machine.refusal().splitlines())


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"agent.max_tool_turns = \n", ":1: this is not TOML: Invalid value; a text needs quotes"),
        (b"[agent]\nmode = ask\n", ":2: this is not TOML: Invalid value; a text needs quotes"),
        (b"[agent\n", ":1: this is not TOML: "),
        (b"a = 1\na = 2\n", ":2: this is not TOML: "),
        (b"a = '\x1b'\n", ":1: this is not TOML: "),
        (b"ok = 1\nx = '\xff'\n", ":2: the file is not UTF-8; save it as UTF-8"),
        ("agent".encode("utf-16"), ":1: the file is not UTF-8"),
        (b"x = 1" + b"0" * 5000, "holds a number or date that is out of range"),
        (b"x = " + b"[" * 5000 + b"]" * 5000, "is nested too deeply"),
    ],
)
def test_a_file_that_is_no_toml_is_reported_with_its_line(machine: Machine, content: bytes, sentence: str):
    machine.user_file.write_bytes(content)

    refusal = machine.refusal()

    assert refusal.startswith(str(machine.user_file))
    assert sentence in refusal
    assert "\n" not in refusal


@pytest.mark.parametrize("depth", [66, 100, *range(440, 500, 3), 5_000])
def test_no_depth_of_nesting_gets_past_the_sentence(machine: Machine, depth: int):
    machine.user(f"agent.max_tool_turns = {'[' * depth}{']' * depth}")

    assert str(machine.user_file) in machine.refusal()


def test_a_byte_order_mark_does_no_harm(machine: Machine):
    machine.user_file.write_bytes(b"\xef\xbb\xbfagent.max_tool_turns = 4\r\n")

    assert machine.load().settings.agent.max_tool_turns == 4


def test_a_missing_file_that_was_named_is_an_error(machine: Machine):
    refusal = machine.refusal(config_file=machine.home / "none.toml")

    assert refusal.startswith(f"the configuration file {machine.home / 'none.toml'} does not exist;")


def test_a_folder_a_pipe_and_a_device_are_no_files_of_settings(machine: Machine):
    pipe = machine.home / "pipe.toml"
    os.mkfifo(pipe)

    assert f"{machine.home} is a folder" in machine.refusal(config_file=machine.home)
    assert f"{pipe} is not a regular file" in machine.refusal(config_file=pipe)
    assert "/dev/zero is not a regular file" in machine.refusal(config_file=Path("/dev/zero"))


def test_a_huge_file_is_refused_without_being_read(machine: Machine):
    with machine.project_file.open("wb") as file:
        file.truncate(100_000_000)

    assert "is 100,000,000 bytes long" in machine.refusal()


def test_a_link_in_a_circle_is_an_error(machine: Machine):
    machine.project_file.symlink_to(machine.project_file)

    assert f"{machine.project_file} cannot be read: Too many levels of symbolic links" in machine.refusal()


# ------------------------------------------------------------------ files that were made to keep us busy

# Each of these would take minutes, or all the memory there is.
KEEPS_BUSY = {
    "a dotted key": (f"{'a.' * 100_000}a = 1", "nested too deeply"),
    "a quoted one": (f"""{'"a" . ' * 100_000}a = 1""", "nested too deeply"),
    "one in a table": (f"x = {{ {'a.' * 100_000}a = 1 }}", "nested too deeply"),
    "a header": (f"[{'a.' * 100_000}a]", "nested too deeply"),
    "many wrong tables": ('[[hooks]]\nevent = "on_turn_end"\n' * 20_000, ":1: hooks[0] needs either"),
    "many long statements": (
        "".join(f'k{n} = """' + "x\n" * 150 + '"""\n' for n in range(2_500)),
        ":1: there is no setting k0",
    ),
    "many patterns": (
        "[review]\nsensitive = [" + ", ".join(f"'*{n}*a*'" for n in range(50_000)) + "]",
        ":2: review.sensitive: 50,000 patterns are too many; at most 500",
    ),
    "a long pattern": (f"[review]\nprotected = ['{'*a' * 300}']", "a pattern has more than 200 characters"),
    "many rules": (
        "[permissions]\ndeny = [" + "'run_command(a*)', " * 50_000 + "]",
        ":2: permissions.deny: 50,000 rules are too many",
    ),
}


@pytest.mark.long(after=1)
@pytest.mark.parametrize(("text", "sentence"), KEEPS_BUSY.values(), ids=KEEPS_BUSY)
def test_a_strange_file_cannot_keep_the_start_waiting(text: str, sentence: str, machine: Machine):
    machine.standing = Standing.TRUSTED
    machine.project(text)

    assert sentence in machine.refusal()


WRONG = {
    "a word": ("[tui]\nlayout = 'round'", "tui.layout must be"),
    "a type": ("[models]\ndecision = 3", "models.decision must be"),
    "a key": ("[tui]\nthem = 'x'", "there is no setting tui.them"),
    "a hook": ("[[hooks]]\nevent = 'never'\ncommand = ['x']", "hooks[0].event must be"),
    "a rule": ("[permissions]\ndeny = ['run_command(* x)']", "is not a rule"),
    "a server": ("[providers.x]\ntype = 'y'", "providers.x.type must be"),
    "a table": ("tools = 3", "tools must be a table"),
}


def test_a_hook_that_is_named_as_in_earlier_versions_is_told_its_name_of_now(machine: Machine):
    machine.user(
        '[[hooks]]\nevent = "before_tool_call"\n'
        'python = "infrastructure.hooks.examples.rate_limiter:RateLimiter"\nsettings = { per_minute = 3 }'
    )

    (warning,) = machine.load().warnings

    assert warning.endswith('is now called "quorum.hooks.rate_limiter:RateLimiter"; write that')


@pytest.mark.parametrize(("text", "sentence"), WRONG.values(), ids=WRONG)
@pytest.mark.parametrize("standing", [Standing.UNKNOWN, Standing.CHANGED])
def test_what_is_wrong_in_a_file_that_is_not_trusted_is_a_notice_and_no_error(
    text: str, sentence: str, standing: Standing, machine: Machine
):
    machine.user("agent.max_tool_turns = 7")
    machine.standing = standing
    machine.project(text)

    loaded = machine.load()

    (warning,) = (one for one in loaded.warnings if sentence in one)
    assert warning.startswith(f"{machine.project_file}:")
    assert warning.endswith("so this is ignored")
    assert loaded.settings.agent.max_tool_turns == 7


@pytest.mark.parametrize(("text", "sentence"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_in_a_trusted_file_is_an_error(text: str, sentence: str, machine: Machine):
    machine.standing = Standing.TRUSTED
    machine.project(text)

    assert sentence in machine.refusal()


def test_a_value_that_an_untrusted_file_replaces_is_kept_for_where_its_own_turns_out_wrong(machine: Machine):
    machine.user("tui.theme = 'nord'")
    machine.project("tui.theme = 'nosuch'")

    assert machine.load().covered == {"tui.theme": "nord"}
    machine.standing = Standing.TRUSTED
    assert machine.load().covered == {}


def test_what_looks_deep_in_a_text_or_a_comment_is_read(machine: Machine):
    machine.user("# a.b.c.d.e.f.g.h\n[review]\nprotected = ['" + "a.b/" * 40 + "']\n")

    assert machine.load().settings.review.protected == ("a.b/" * 40,)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ('"of"', 'or a list of hosts, for example ["pypi.org", "*.pythonhosted.org"], not "of"'),
        ("3", "must be off, auto, on, or a list of hosts"),
        ("[3]", "must be off, auto, on, or a list of hosts"),
        ('["https://pypi.org"]', "is neither a host nor a range of addresses"),
        ('["*.org"]', "'*.org' is wider than a host: write a name such as"),
        ('["b\u00fccher.example"]', 'write it as "xn--bcher-kva.example"'),
    ],
)
def test_what_the_network_of_commands_cannot_be_is_said_with_what_it_can(
    machine: Machine, value: str, said: str
) -> None:
    machine.user(f"[tools.run_command]\nnetwork = {value}")

    assert said in machine.refusal()
