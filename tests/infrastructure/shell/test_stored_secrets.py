"""Credentials that somebody has stored, printed by programs at their own words."""

from __future__ import annotations

import pytest

from quorum.domain.calls.access import EXCLUSIVE
from quorum.domain.review.guards import GuardSettings, find_objections
from quorum.domain.review.path_policy import PathPolicy
from quorum.infrastructure.execution.shell.script import read_script


def _find_guards(command: str) -> set[str]:
    found = find_objections(
        {"command": command},
        EXCLUSIVE,
        command,
        paths=PathPolicy(roots=("/w",)),
        settings=GuardSettings(),
        read_script=read_script,
    )
    return {each.guard for each in found}


@pytest.mark.parametrize(
    "command",
    [
        "shipctl auth token",
        "shipctl auth print-access-token",
        "shipctl oauth-token",
        "shipctl iam oauth-tokens",
        "shipctl projects api-keys --project a",
        "shipctl admin initial-password -n web",
        "shipctl account generate-token",
        "shipctl db tokens create main",
        "shipctl connection-string main",
        "shipctl api getAuthToken",
        "shipctl variables",
        "shipctl env:list",
        "shipctl env pull .env.local",
        "shipctl config view --raw",
        "shipctl values --show-secrets",
        "shipctl credentials url web",
        "shipctl databases connection web",
        "systemctl show web --property Environment",
        "podman inspect web | yq '.[0].Config.Env[]'",
        "flyctl ssh console -C printenv",
        "keepassxc-cli show kept.kdbx mail",
        "rbw get mail",
        "chamber read prod password",
        "helm get values web --all",
        "systemctl show web -p Environment",
        "podman inspect -f '{{.Config.Env}}' web",
        "aws-vault exec prod -- env",
        "envchain aws env",
        "docker run --rm --env-file .env alpine env",
    ],
)
def test_what_is_stored_is_shown(command: str) -> None:
    assert _find_guards(command) == {"secret"}


@pytest.mark.parametrize(
    "command",
    [
        "shipctl token list",
        "shipctl token revoke a",
        "shipctl secrets set A",
        "shipctl secrets list",
        "shipctl env add A",
        "shipctl env ls",
        "shipctl env activate web",
        "shipctl auth login",
        "shipctl auth status",
        "shipctl password reset",
        "shipctl config view",
        "shipctl keys list",
        "shipctl get-url web",
        "shipctl env",
        "shipctl host ada:password",
        "shipctl encryption on password",
        "shipctl clusters get-credentials web",
        "shipctl encrypt --with-password a.txt",
        "shipctl decode jwt_string",
        "rbw search mail",
        "poetry env list",
        "hatch env show",
        "mise exec -- env",
        "chamber list prod",
        "aws-vault exec dev -- terraform plan",
        "docker run --env-file .env web npm test",
        "docker run --rm alpine env",
        "systemctl show web -p ActiveState",
        "helm list",
        "podman inspect web | yq '.[0].Config.Image'",
        "flyctl ssh console -C 'ls /app'",
        "shipctl service url web",
    ],
)
def test_names_and_changes_of_what_is_stored_show_nothing(command: str) -> None:
    assert _find_guards(command) == set()
