"""Whose a secret in a variable is, by the name of the variable, and where it may be sent."""

from __future__ import annotations

from collections.abc import Iterable

from quorum.domain.review.effects.places import find_host
from quorum.domain.review.effects.side_effect import Data, DataKind, Datum

# The documentation of each service; left out are those that people run on hosts of their own, and hosts where
# programs of anybody answer.
_SERVICES = {
    "GITHUB GH": "github.com githubusercontent.com ghcr.io githubcopilot.com",
    "OPENAI": "openai.com openai.azure.com",
    "ANTHROPIC CLAUDE": "anthropic.com claude.ai",
    "GEMINI GOOGLE GCP GCLOUD FIREBASE": "googleapis.com google.com pkg.dev gcr.io",
    "MISTRAL": "mistral.ai",
    "GROQ": "groq.com",
    "COHERE": "cohere.com cohere.ai",
    "DEEPSEEK": "deepseek.com",
    "OPENROUTER": "openrouter.ai",
    "REPLICATE": "replicate.com",
    "HF HUGGINGFACE HUGGING": "huggingface.co hf.co",
    "NPM": "npmjs.org npmjs.com",
    "PYPI TWINE": "pypi.org",
    "CARGO": "crates.io",
    "RUBYGEMS": "rubygems.org",
    "AWS": "amazonaws.com aws.amazon.com amazonaws.com.cn",
    "AZURE": "azure.com windows.net microsoft.com microsoftonline.com azurecr.io visualstudio.com",
    "CLOUDFLARE CF": "cloudflare.com",
    "DIGITALOCEAN": "digitalocean.com digitaloceanspaces.com",
    "HCLOUD HETZNER": "hetzner.cloud hetzner.com",
    "LINODE": "linode.com",
    "VERCEL": "vercel.com",
    "NETLIFY": "netlify.com",
    "HEROKU": "heroku.com",
    "FLY": "fly.io machines.dev",
    "SLACK": "slack.com",
    "DISCORD": "discord.com discordapp.com",
    "TELEGRAM": "telegram.org",
    "TWILIO": "twilio.com",
    "SENDGRID": "sendgrid.com",
    "MAILGUN": "mailgun.net",
    "STRIPE": "stripe.com",
    "PAYPAL": "paypal.com",
    "SHOPIFY": "shopify.com myshopify.com",
    "NOTION": "notion.com notion.so",
    "LINEAR": "linear.app",
    "FIGMA": "figma.com",
    "ASANA": "asana.com",
    "DATADOG DD": "datadoghq.com datadoghq.eu ddog-gov.com",
    "NEWRELIC": "newrelic.com",
    "PAGERDUTY": "pagerduty.com",
    "BITBUCKET": "bitbucket.org",
    "CIRCLECI": "circleci.com",
    "SNYK": "snyk.io",
    "ALGOLIA": "algolia.net algolianet.com algolia.com",
    "PINECONE": "pinecone.io",
    "TAVILY": "tavily.com",
    "SPOTIFY": "spotify.com",
    "DROPBOX": "dropbox.com dropboxapi.com",
}
_HOSTS = {name: tuple(hosts.split()) for names, hosts in _SERVICES.items() for name in names.split()}
_OF_CUSTOMERS = frozenset(
    {"elb", "compute", "compute-1", "execute-api", "elasticbeanstalk", "cloudapp", "script"}
)
"""Parts of the names of hosts that a service gives to programs of its customers."""
_OWN_SERVERS = frozenset({"ENTERPRISE", "GHE", "PROXY", "SELFHOSTED", "LOCAL", "COMPATIBLE"})


def belongs_to(variable: str, address: str) -> bool | None:
    """Whether a variable holds a secret of the service at an address; None where its name or the address does
    not tell."""
    words = variable.strip("$").upper().split("_")
    owner = next((word for word in words if word in _HOSTS), None)
    host = find_host(address).casefold()
    if (
        owner is None
        or "." not in host
        or any(sign in host for sign in "$`{(")
        or _OWN_SERVERS.intersection(words)
    ):
        return None
    if not _OF_CUSTOMERS.isdisjoint(host.split(".")):
        return False
    return any(host == each or host.endswith(f".{each}") for each in _HOSTS[owner])


def drop_own(data: Iterable[Datum], address: str) -> Data:
    """The data of an address without secrets of the service at it. What a text holds, others may see there."""
    return frozenset(each for each in data if not (_is_variable(each) and belongs_to(each.origin, address)))


def drop_usual_keys(data: Iterable[Datum], address: str) -> Data:
    """The data of a header, which is where the key of a service stands, without what may be that key."""
    return frozenset(
        each for each in data if not _is_variable(each) or belongs_to(each.origin, address) is False
    )


def _is_variable(datum: Datum) -> bool:
    return datum.kind is DataKind.SECRET and datum.origin.startswith("$") and "/" not in datum.origin
