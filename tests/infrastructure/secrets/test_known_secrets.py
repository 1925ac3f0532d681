from __future__ import annotations

import base64
import json
import os
import threading
from pathlib import Path

import pytest

from quorum.domain.events.masking import SecretMask
from quorum.domain.review.path_policy import PathPolicy
from quorum.infrastructure.secrets import known
from quorum.infrastructure.secrets.file_values import find_secrets
from quorum.infrastructure.secrets.known import SessionSecrets
from quorum.infrastructure.settings_conversion import list_key_names
from tests.support.settings_machine import Machine

KEY = "q7Zrt9vX2m4kPwd3Ls8Y"
BODY = ("MIIEpAIBAAKCAQEAq7Zrt9vX2m4kPwd3Ls8Yc5Nb6T9Zb1Yc2Xd3We4Vf5Ug6Th7\n") * 3
PEM = f"-----BEGIN PRIVATE {'KEY'}-----\n{BODY}-----END PRIVATE {'KEY'}-----\n"
LOGIN = base64.b64encode(f"me:{KEY}".encode()).decode()


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def secrets_of(machine: Machine) -> tuple[SecretMask, SessionSecrets]:
    mask = SecretMask()
    policy = PathPolicy(roots=(str(machine.repository),))
    settings = machine.load().settings
    return mask, SessionSecrets(mask, settings=settings, environ=machine.environ, policy=policy)


def test_keys_of_the_environment_are_known_by_the_name_of_their_variable(machine: Machine) -> None:
    machine.user(
        '[providers.mine]\ntype = "openai-chat"\nbase_url = "http://h/v1"\napi_key_env = "PLAINNAME"\n'
    )
    machine.environ |= {
        "PLAINNAME": "just some words",
        "ANTHROPIC_API_KEY": KEY,
        "MY_DB_PASSWORD": "correct horse 1",
        "AWS_SESSION_TOKEN": "IQoJb3JpZ2lu//x",
    }
    mask, secrets = secrets_of(machine)

    secrets.learn_surroundings()

    assert mask.mask_text(f"{KEY} | just some words | correct horse 1 | IQoJb3JpZ2lu//x") == (
        "[secret:ANTHROPIC_API_KEY] | [secret:PLAINNAME] | [secret:MY_DB_PASSWORD] | [secret:AWS_SESSION_TOKEN]"
    )


def test_a_secret_of_commands_is_known_from_the_start_whatever_its_name(machine: Machine) -> None:
    machine.user('[tools.run_command.secrets.FORGE]\nhosts = ["forge.example"]\n')
    machine.environ["FORGE"] = KEY
    mask, secrets = secrets_of(machine)

    secrets.learn_surroundings()

    assert mask.mask_text(f"it is {KEY}") == "it is [secret:FORGE]"
    assert "FORGE" in list_key_names(machine.load().settings)  # which no command gets


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("AWS_REGION", "eu-central-1"),
        ("SSH_AUTH_SOCK", "/run/user/1000/keyring/ssh"),
        ("TOKENIZERS_PARALLELISM", "disabled1"),
        ("DB_PASSWORD", "postgres"),
        ("API_KEY", "changeme-please"),
        ("GITHUB_TOKEN_FILE", "token-9.txt"),
        ("SECRET_COUNT", "12345678"),
        ("SECRET_KEY_PATH", "~/keys/one"),
        ("SHORT_TOKEN", "1234567"),
        ("PUBLIC_KEY_TOKEN", "b77a5c561934e089"),
        ("GRANT_TOKEN", "access_token"),
    ],
)
def test_what_is_no_secret_is_left_alone_whatever_it_is_called(name: str, value: str, machine: Machine) -> None:
    machine.environ[name] = value
    mask, secrets = secrets_of(machine)

    secrets.learn_surroundings()

    assert mask.mask_known(f"x {value} y") == f"x {value} y"


def test_passwords_in_addresses_and_values_of_headers_are_known(machine: Machine) -> None:
    machine.environ["DATABASE_URL"] = "postgres://app:p%40ss-w0rd@db/x"
    machine.user(
        '[providers.mine]\ntype = "openai-chat"\nbase_url = "http://me:hunter2two@h/v1"\n'
        f'headers = {{ "X-Auth" = "Bearer {KEY}", "X-Team" = "tools" }}\n'
    )
    mask, secrets = secrets_of(machine)

    secrets.learn_surroundings()

    assert "p@ss-w0rd" not in mask.mask_known("is p@ss-w0rd")
    assert "hunter2two" not in mask.mask_known("is hunter2two")
    assert KEY not in mask.mask_known(f"is {KEY}")
    assert mask.mask_known("the tools") == "the tools"


FILES = {
    "dotenv": (".env", f"# a comment\nexport APP_KEY='{KEY}'  \nDEBUG=true\nPORT=8080\n", [KEY]),
    "dotenv, odd": (
        ".env.local",
        f'A_SECRET = "with \\"quotes\\" and blanks"\nB_TOKEN={KEY} # why\n',
        ['with "quotes" and blanks', KEY],
    ),
    "json": ("credentials.json", json.dumps({"a": [{"clientSecret": KEY, "name": "production"}]}), [KEY]),
    "ini": (".aws/credentials", f"[default]\nregion = eu\naws_secret_access_key = {KEY}/+x\n", [f"{KEY}/+x"]),
    "toml": (".pypirc", f'[pypi]\nusername = "__token__"\npassword = "pypi-{KEY}"\n', [f"pypi-{KEY}"]),
    "npmrc": (".npmrc", f"//registry.example.com/:_authToken={KEY}\nfund=false\n", [KEY]),
    "netrc": (".netrc", f"machine h login me\n  password {KEY}\n", [KEY]),
    "pgpass": (".pgpass", f"db:5432:app:me:{KEY}\n", [KEY]),
    "git": (".git-credentials", f"https://me:{KEY}@example.com\n", [KEY]),
    "containers": (".docker/config.json", json.dumps({"auths": {"h": {"auth": LOGIN}}}), [KEY, LOGIN]),
    "private key": ("server.pem", PEM, [BODY.splitlines()[0], PEM]),
    "by its form": (".env", f"SOMETHING={KEY}x9y8\n", [f"{KEY}x9y8"]),
    "with commas": (".env", "A_PASSWORD=one,two;three#4 # why\n", ["one,two;three#4"]),
    "over lines": (".env", f'A_TOKEN="first {KEY}\nsecond"\nB=1\n', [f"first {KEY}\nsecond"]),
    "in backticks": (".env", f"A_TOKEN=`{KEY}`\n", [KEY]),
    "in a list": ("credentials.yml", f"all:\n  - password: {KEY}\n", [KEY]),
    "connection string": (".env", f'DB_CONNECTION_STRING="Server=db;User Id=me;Password={KEY}"\n', [KEY]),
    "alone": ("master.key", f"{KEY}\n", [KEY]),
    "private key in dotenv": (".env", 'SIGN="' + PEM.replace("\n", "\\n") + '"\n', [PEM]),
}  # fmt: skip


@pytest.mark.parametrize(("place", "text", "values"), FILES.values(), ids=FILES)
def test_the_secrets_in_sensitive_files_of_the_workspace_are_known(
    place: str, text: str, values: list[str], machine: Machine
) -> None:
    file = machine.repository / "deep" / "er" / place
    file.parent.mkdir(parents=True)
    file.write_text(text, encoding="utf-8")
    mask, secrets = secrets_of(machine)

    secrets.gather()

    for value in values:
        assert mask.mask_known(f"it says {value}!") != f"it says {value}!"
    for word in ("production", "true", "8080", "default", "username"):
        assert mask.mask_known(f"x {word} y") == f"x {word} y"


def test_public_keys_binary_and_huge_files_and_pipes_are_passed_over(machine: Machine) -> None:
    folder = machine.repository
    (folder / "id_rsa.pub").write_text(f"ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABgQ{KEY} me@host\n")
    (folder / "store.p12").write_bytes(b"\0\1" + KEY.encode())
    (folder / ".env.huge").write_text(f"A_TOKEN={KEY}\n" + "x" * 300_000)
    os.mkfifo(folder / "fifo.pem")
    (folder / "gone.pem").symlink_to("nowhere")
    mask, secrets = secrets_of(machine)

    secrets.gather()

    assert mask.mask_known(KEY) == KEY


def test_source_code_teaches_no_words_though_it_is_called_credentials(machine: Machine) -> None:
    (machine.repository / "credentials.py").write_text(
        "access_token = self._frozen_reading\nsecret = other_thing\n"
    )
    mask, secrets = secrets_of(machine)

    secrets.gather()

    assert mask.mask_known("self._frozen_reading other_thing") == "self._frozen_reading other_thing"


def test_files_that_are_not_sensitive_are_not_read(machine: Machine) -> None:
    (machine.repository / "settings.ini").write_text(f"A_TOKEN={KEY}\n")
    mask, secrets = secrets_of(machine)

    secrets.gather()

    assert mask.mask_known(KEY) == KEY
    assert not secrets.learn_if_sensitive(machine.repository / "settings.ini")


def test_a_file_that_has_changed_is_learnt_again_and_its_old_secrets_stay_known(machine: Machine) -> None:
    file = machine.repository / ".env"
    file.write_text(f"A_TOKEN={KEY}\n")
    mask, secrets = secrets_of(machine)
    secrets.gather()
    file.write_text(f"A_TOKEN={KEY[::-1]}\n")

    assert secrets.learn_if_sensitive(file)
    assert not secrets.learn_from_file(file)
    assert mask.mask_text(f"{KEY} {KEY[::-1]}") == "[secret:A_TOKEN] [secret:A_TOKEN]"
    assert not secrets.learn_from_file(machine.repository / "no such file")


def test_what_lies_near_the_top_is_found_before_what_lies_deep_and_rubbish_is_passed_by(
    machine: Machine,
) -> None:
    for folder, value in (("node_modules/p", "n" + KEY), ("a/b/c", "d" + KEY)):
        (machine.repository / folder).mkdir(parents=True)
        (machine.repository / folder / ".env").write_text(f"T_TOKEN={value}\n")
    mask, secrets = secrets_of(machine)

    secrets.gather()

    assert mask.mask_known("d" + KEY) == "[secret:T_TOKEN]"
    assert mask.mask_known("n" + KEY) == "n" + KEY


def test_folders_that_show_the_system_take_no_part_of_the_search(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = machine.repository / "proc"
    for number in range(30):
        (shown / str(number)).mkdir(parents=True)
    (machine.repository / "project").mkdir()
    (machine.repository / "project/.env").write_text(f"T_TOKEN={KEY}\n")
    monkeypatch.setattr(known, "SYSTEM_FOLDERS", (str(shown),))
    monkeypatch.setattr(known, "_MOST_ENTRIES", 6)
    mask, secrets = secrets_of(machine)

    secrets.gather()

    assert mask.mask_known(KEY) == "[secret:T_TOKEN]"


def test_several_threads_may_teach_one_mask(machine: Machine) -> None:
    mask, secrets = secrets_of(machine)
    files = []
    for number in range(8):
        file = machine.repository / f"{number}.env"
        file.write_text("".join(f"K{number}_{line}_TOKEN={KEY}{number}z{line}q\n" for line in range(20)))
        files.append(file)
    threads = [threading.Thread(target=secrets.learn_from_file, args=(file,)) for file in files]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    values = [f"{KEY}{number}z{line}q" for number in range(8) for line in range(20)]
    assert [value for value in values if mask.mask_known(value) == value] == []


TWO_TO_THE_18TH = 1 << 18
ENDLESS = {
    **{"lines": "\n", "blanks": " ", "letters": "a", "dots": "a.", "odd lines": "\n \t", "colons": "a:"},
    **{"quotes": "a='", "private keys": f"-----BEGIN PRIVATE {'KEY'}-----\n", "addresses": "a://u:p"},
    **{"brackets": "[", "objects": '{"a":', "words": "x=b ", "commas": "x=y,,,", "values": "x=\n"},
    **{"passwords": "password ", "backslashes": 'x="\\'},
}


# Were the time for a file the square of its length, each of these would keep the start waiting for minutes.
@pytest.mark.long(after=3)
@pytest.mark.parametrize("name", [".env", ".netrc", ".pgpass", "credentials.json"])
@pytest.mark.parametrize("word", ENDLESS.values(), ids=ENDLESS)
def test_a_file_that_was_made_to_keep_us_busy_takes_a_moment(name: str, word: str) -> None:
    for text in (word * (TWO_TO_THE_18TH // len(word)), "x=y" + word * (TWO_TO_THE_18TH // len(word)) + "z"):
        assert sum(1 for _ in find_secrets(text, name)) < TWO_TO_THE_18TH


def test_json_that_is_as_deep_as_can_be_parsed_is_looked_through() -> None:
    found = 0
    for depth in range(100, 1000, 20):
        text = "[" * depth + json.dumps({"a_token": KEY}) + "]" * depth
        found += any(secret.value == KEY for secret in find_secrets(text, "credentials.json"))

    assert found > 20


@pytest.mark.long
def test_a_folder_full_of_secrets_is_learnt_as_far_as_there_is_room(machine: Machine) -> None:
    for number in range(4):
        lines = (f"A{line}_TOKEN={KEY}{number}z{line}\n" for line in range(4_000))
        (machine.repository / f"{number}.env").write_text("".join(lines))
    mask, secrets = secrets_of(machine)

    secrets.gather()

    assert mask.mask_known(f"{KEY}0z7!") == "[secret:A7_TOKEN]!"


@pytest.mark.parametrize(
    "value", ["curl https://h/x | sh", "make;reboot", "x${IFS}y-1234", "a&b-12345", "one two three"]
)
def test_what_a_file_calls_a_secret_and_could_be_a_command_is_not_hidden_from_who_approves_calls(
    value: str, machine: Machine
) -> None:
    (machine.repository / ".env").write_text(f"A_TOKEN='{value}'\nB_TOKEN={KEY}\n")
    mask, secrets = secrets_of(machine)

    secrets.gather()

    assert value not in mask.mask_text(f"run {value}") or "://" in value
    assert mask.in_review.mask_text(f"echo {KEY}; run {value}") == f"echo [secret:B_TOKEN]; run {value}"


@pytest.mark.parametrize(
    "use",
    [
        *("sh $A_TOKEN", 'sh "${A_TOKEN}"', "$A_TOKEN", "cat ~/$A_TOKEN", "B=$A_TOKEN; sh $B"),
        *("B_TOKEN=$A_TOKEN; sh $B_TOKEN", "eval sh '$A'_TOKEN", "n=A; n=${n}_TOKEN; sh ${!n}"),
        *("printenv A_TOKEN | sh", "ssh $A_TOKEN"),
    ],
)
def test_what_is_assigned_and_used_as_anything_but_a_value_is_legible_to_who_approves_it(
    use: str, machine: Machine
) -> None:
    (machine.repository / ".env").write_text(f"A_TOKEN={KEY}\n")
    mask, secrets = secrets_of(machine)

    secrets.gather()

    assert KEY in mask.in_review.mask_text(f"export A_TOKEN={KEY}; {use}")
    assert KEY not in mask.mask_text(f"export A_TOKEN={KEY}; {use}")


@pytest.mark.parametrize(
    "use",
    [
        *("", "make", 'curl -H "Authorization: Bearer $A_TOKEN" https://example.org', "connect(token=A_TOKEN)"),
        *('B_TOKEN=$A_TOKEN; deploy --token "$B_TOKEN"', "export A_TOKEN; make", "A_TOKEN_OLD=x sh x"),
    ],
)
def test_what_is_used_as_a_value_alone_stays_hidden_from_who_approves_it(use: str, machine: Machine) -> None:
    (machine.repository / ".env").write_text(f"A_TOKEN={KEY}\n")
    mask, secrets = secrets_of(machine)

    secrets.gather()

    assert KEY not in mask.in_review.mask_text(f"A_TOKEN={KEY}; {use}")


def test_keys_under_odd_names_are_known_where_they_look_like_keys(machine: Machine) -> None:
    names = ("OPENAI_KEY", "GITHUB_TOKEN_RO", "API_KEY_2", "SESSION_COOKIE", "DEPLOY_AUTH_HEADER", "MY_JWT")
    machine.environ |= {name: f"{KEY}{number}q" for number, name in enumerate(names)}
    machine.environ |= {"KEYMAP": "dvorak-programmer-1", "GIT_COMMIT": f"{KEY}9q", "KEY_SHA256": f"{KEY}8q"}
    mask, secrets = secrets_of(machine)

    secrets.learn_surroundings()

    for number, name in enumerate(names):
        assert mask.mask_known(f"{KEY}{number}q") == f"[secret:{name}]"
    for value in ("dvorak-programmer-1", f"{KEY}9q", f"{KEY}8q"):
        assert mask.mask_known(value) == value


def test_the_secrets_within_a_variable_that_holds_json_are_known_one_by_one(machine: Machine) -> None:
    machine.environ["GOOGLE_CREDENTIALS"] = json.dumps({"type": "x", "private_key": PEM, "api_key": KEY})
    mask, secrets = secrets_of(machine)

    secrets.learn_surroundings()

    assert mask.mask_known(f"it is {KEY}") == "it is [secret:api_key]"
    assert BODY.splitlines()[0] not in mask.mask_known(PEM)


@pytest.mark.parametrize("value", ["not-needed", "no-key-required", "lm-studio", "your-api-key", "unused"])
def test_what_stands_for_no_key_is_left_alone(value: str, machine: Machine) -> None:
    machine.environ["OPENAI_API_KEY"] = value
    mask, secrets = secrets_of(machine)

    secrets.learn_surroundings()

    assert mask.mask_known(f"pip install x  # {value}") == f"pip install x  # {value}"


@pytest.mark.parametrize(
    "value",
    [
        "--upload-pack=./x1",
        "scripts/migrate_v2.py",
        "deploy@198.51.100.7:/tmp/x",
        "db2.example.com:8443",
        "feature/login-2024",
        "left-pad@1.3.0",
        "python3.11",
    ],
)
@pytest.mark.parametrize(
    ("place", "text"),
    [
        (".env", "API_KEY={}\n"),
        (".netrc", "machine h password {}\n"),
        (".env", 'DB_CONNECTION_STRING="Server=db;Password={}"\n'),
    ],
)
def test_a_file_cannot_have_an_option_a_path_or_a_host_taken_for_a_secret(
    value: str, place: str, text: str, machine: Machine
) -> None:
    machine.repository.joinpath(place).write_text(text.format(value), encoding="utf-8")
    mask, secrets = secrets_of(machine)

    secrets.gather()

    assert mask.mask_known(f"git fetch {value} origin") == f"git fetch {value} origin"


def test_a_weak_password_of_a_file_is_kept_out_of_records_and_legible_to_who_approves_it(
    machine: Machine,
) -> None:
    machine.repository.joinpath(".env").write_text("DB_PASSWORD=hunter22x\n", encoding="utf-8")
    mask, secrets = secrets_of(machine)

    secrets.gather()

    assert mask.mask_text("psql hunter22x") == "psql [secret:DB_PASSWORD]"
    assert mask.in_review.mask_text("psql hunter22x") == "psql hunter22x"


@pytest.mark.parametrize("value", [f"-{KEY}", f"{KEY}.internal.net", f"a/{KEY}"])
def test_what_looks_random_is_kept_out_of_records_however_it_begins(value: str, machine: Machine) -> None:
    machine.repository.joinpath(".env").write_text(f"API_KEY='{value}'\n", encoding="utf-8")
    mask, secrets = secrets_of(machine)

    secrets.gather()

    assert mask.mask_known(f"is {value}!") == "is [secret:API_KEY]!"
