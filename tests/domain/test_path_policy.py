from __future__ import annotations

import pytest

from quorum.domain.review.path_policy import OwnCode, PathPolicy, extract_last_names, is_git_folder_name

POLICY = PathPolicy(roots=("/w",), own=("/home/me/.config/quorum",))


@pytest.mark.parametrize(
    "path",
    [
        *(".git/hooks/pre-commit", ".hg/hgrc", ".jj/repo/config.toml", ".husky/pre-commit", "lefthook.yml"),
        *(".githooks/pre-push", ".pre-commit-config.yaml", "web/.lintstagedrc.js"),
        *(
            "AGENTS.md",
            "sub/CLAUDE.md",
            ".mcp.json",
            ".claude/settings.json",
            ".cursor/rules/a.mdc",
            ".codex/x",
        ),
        *(".gemini/settings.json", ".agents/skills/x/SKILL.md", "opencode.json"),
        *(".devcontainer/devcontainer.json", ".devcontainer.json", ".vscode/tasks.json", "a.code-workspace"),
        *(".exrc", ".vimrc", ".nvimrc", ".nvim.lua", ".dir-locals.el", ".helix/languages.toml"),
        *(".Rprofile", ".irbrc", ".ghci", ".ocamlinit", ".iex.exs", ".pdbrc", "QWEN.md", ".crush.json"),
        *(".envrc", "mise.toml", ".mise.toml", "mise.local.toml", ".config/mise/config.toml", ".tool-versions"),
        *(".cargo/config.toml", "rust-toolchain.toml", ".yarnrc.yml", ".mvn/jvm.config", ".bashrc", ".zshenv"),
        *(".github/workflows/a.yml", ".gitlab-ci.yml", ".circleci/config.yml", "Jenkinsfile", ".travis.yml"),
        *("azure-pipelines.yml", "azure-pipelines-nightly.yml", "bitbucket-pipelines.yml", ".buildkite/p.yml"),
        *(
            ".drone.yml",
            ".woodpecker.yml",
            ".woodpecker/a.yml",
            ".forgejo/workflows/a.yml",
            ".gitea/workflows/a.yml",
        ),
    ],
)
def test_what_runs_on_its_own_is_protected(path: str) -> None:
    assert POLICY.is_protected(f"/w/{path}")
    assert POLICY.is_protected(f"/w/sub/{path.upper()}")


@pytest.mark.parametrize(
    "path", ["src/main.py", "package.json", "Makefile", "README.md", "git/x", "docs/mise/a.md"]
)
def test_what_a_project_is_made_of_is_not_protected(path: str) -> None:
    assert not POLICY.is_protected(f"/w/{path}")


@pytest.mark.parametrize(
    "path",
    [
        *(
            ".env",
            ".env.local",
            ".envrc",
            "prod.env",
            ".dev.vars",
            "terraform.tfstate",
            "terraform.tfstate.backup",
        ),
        *(
            "terraform.tfstate.1699.backup",
            ".vault-token",
            "auth.json",
            ".netrc",
            ".pgpass",
            ".npmrc",
            ".pypirc",
        ),
        *("credentials.json", "gcp-credentials.json", "service-account-prod.json", "client_secret_1.json"),
        *(
            "kubeconfig",
            "dev.kubeconfig",
            ".kube/config",
            ".docker/config.json",
            "a.pem",
            "a.jks",
            "deploy_rsa",
        ),
        *("secrets.toml", ".bash_history", ".ssh/.env.example"),
    ],
)
def test_what_holds_secrets_is_sensitive(path: str) -> None:
    assert POLICY.is_sensitive(f"/w/{path}")
    assert POLICY.is_sensitive(f"/w/sub/{path.upper()}")


@pytest.mark.parametrize("ending", ["example", "sample", "template", "dist"])
def test_examples_of_environments_are_sensitive_only_where_they_are_named(ending: str) -> None:
    named = PathPolicy(roots=("/w",), sensitive=(".env.*", f".env.{ending}"))

    assert not POLICY.is_sensitive(f"/w/a/.env.{ending}")
    assert POLICY.is_sensitive(f"/w/a/.env.{ending}.local")
    assert named.is_sensitive(f"/w/a/.env.{ending}")


@pytest.mark.parametrize(
    "name",
    [
        ".git",
        ".GIT",
        ".g\u200cit",
        "\ufeff.gi\u202et",
        "GIT~1",
        "git~2",
        ".git.",
        ".git . ",
        ".git::$INDEX_ALLOCATION",
    ],
)
def test_names_that_some_file_system_takes_for_git_are_protected(name: str) -> None:
    assert is_git_folder_name(name)
    assert POLICY.is_protected(f"/w/sub/{name}/config")


@pytest.mark.parametrize("name", ["git", ".gitx", "git~", "git~a", ".git~1x", "agit~1", ".git:$x", "..", ""])
def test_other_names_are_not_taken_for_git(name: str) -> None:
    assert not is_git_folder_name(name)


@pytest.mark.parametrize("name", ["ENV~1", ".e\u200dnv", ".env. ", ".env::$DATA", "NPMRC~1", "x.pem."])
def test_names_that_some_file_system_takes_for_sensitive_ones_are_sensitive(name: str) -> None:
    assert POLICY.is_sensitive(f"/w/{name}")


@pytest.mark.parametrize("name", ["GEMINI~1.MD", "NETLIF~1"])
def test_a_name_that_is_short_has_no_shorter_one(name: str) -> None:
    assert not POLICY.is_protected(f"/w/{name}")


@pytest.mark.parametrize("path", ["/home/me/.CONFIG/quorum/config.toml", "/home/me/.config/quorum. /x"])
def test_own_files_are_identified_by_any_spelling(path: str) -> None:
    assert POLICY.is_protected(path)
    assert POLICY.is_sensitive(path)


@pytest.mark.parametrize(
    ("pattern", "name", "covered"),
    [
        *(
            ("?x", "ax", True),
            ("?x", "x", False),
            ("a?", "ab", True),
            ("[ab]c", "bc", True),
            ("[ab]c", "cc", False),
        ),
        *(
            ("*", "a", True),
            ("a*b", "axb", True),
            ("a*b", "axbc", False),
            ("*a*", "bab", True),
            ("a*", "ab", True),
        ),
        *(
            ("*a", "ba", True),
            ("*a", "ab", False),
            ("a[*]", "a*", True),
            ("a[*]", "ab", False),
            ("*.[ch]", "x.c", True),
        ),
    ],
)
def test_wildcards_mean_in_any_place_what_they_mean_to_the_shell(
    pattern: str, name: str, covered: bool
) -> None:
    assert PathPolicy(roots=("/w",), protected=(pattern,)).is_protected(f"/w/{name}") is covered


def test_no_pattern_of_the_defaults_is_a_single_letter_by_mistake() -> None:
    assert all(len(pattern.strip("*/")) > 2 for pattern in (*POLICY.protected, *POLICY.sensitive))


CODE = PathPolicy(roots=("/w",), code=OwnCode(places=("/w/venv", "/w/run.py"), import_folders=("/w",)))


@pytest.mark.parametrize(
    "path",
    [
        *("/w/venv", "/w/venv/lib/new.pth", "/w/VENV/bin/python", "/w/run.py"),
        *("/w/sitecustomize.py", "/w/usercustomize.cpython-311-x86_64-linux-gnu.so", "/w/Json.py"),
        *("/w/encodings/__init__.py", "/w/quorum/__init__.pyc", "/w/quorum.py"),
    ],
)
def test_code_that_quorum_loads_is_protected_and_can_be_read(path: str) -> None:
    assert CODE.is_protected(path)
    assert not CODE.is_sensitive(path)


@pytest.mark.parametrize(
    "path",
    ["/w/venv2/x", "/w/a.py", "/w/sub/json.py", "/w/json/data.py", "/w/site/index.html", "/w/code.css"],
)
def test_files_beside_code_that_quorum_loads_are_not_protected(path: str) -> None:
    assert not CODE.is_protected(path)


@pytest.mark.parametrize(
    "path",
    [
        *("key.pem~", ".key.pem.swp", "#key.pem#", "key.pem.bak", ".id_rsa.swo", ".netrc.swp", ".netrc~"),
        *(
            ".secrets.toml.un~",
            "secrets.toml.~3~",
            ".pgpass.1",
            ".pypirc_bak",
            "AUTH.JSON.Old",
            "prod.env.orig",
        ),
        *("auth (1).json", "auth copy.json", "Copy of auth.json", "key.pem.bak~", "auth.json___jb_tmp___"),
        *(".kube/config.bak", "deploy/.docker/.config.json.swp", ".npmrc.rpmsave"),
    ],
)
def test_copies_that_editors_and_people_leave_of_sensitive_files_are_sensitive(path: str) -> None:
    assert POLICY.is_sensitive(f"/w/{path}")
    assert extract_last_names(POLICY.sensitive, copies=True).covers(path.rpartition("/")[2])


@pytest.mark.parametrize(
    "path",
    [
        *("main.c~", ".main.py.swp", "#notes#", "config.bak", "kube/config.bak", "lib.so.1", "notes (1).txt"),
        *("foo.key.ts", "auth.js", "v1.2", "Copy of x", "copy.py", "#", "~", ".bak", " (1)"),
    ],
)
def test_copies_of_other_files_are_not_sensitive(path: str) -> None:
    assert not POLICY.is_sensitive(f"/w/{path}")
