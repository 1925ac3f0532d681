"""The clouds behind the key `client`: where each is reached, and who asks."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

from quorum.domain.errors import ProviderError, make_configuration_error
from quorum.domain.replacing import replace
from quorum.infrastructure.models.clouds.amazon_bedrock import BEARER_ENV, BedrockAccess, find_region
from quorum.infrastructure.models.clouds.endpoint import AzureAccess, Cloud, Endpoint
from quorum.infrastructure.models.clouds.google_vertex import VertexAccess
from quorum.infrastructure.models.clouds.sign_in import require_extra
from quorum.infrastructure.models.shared.api_client import ProviderSettings
from quorum.infrastructure.provider_types import PublicService

# the last of Azure's dated versions; it knows both APIs
DEFAULT_AZURE_VERSION = "2025-04-01-preview"
_SERVES: Mapping[str, tuple[str, ...]] = {
    "bedrock": ("anthropic",),
    "vertex": ("anthropic",),
    "azure": ("openai", "openai-chat", "anthropic"),
}
_ELSEWHERE = PublicService(vendor="", address="", address_env="", key_env="")


def check_type(provider: str, settings: ProviderSettings) -> None:
    """Raise ProviderError(CONFIGURATION) where the cloud does not serve providers of this type."""
    types = _SERVES[settings.client]
    if settings.type not in types:
        fitting = " or ".join(f'"{type_}"' for type_ in types)
        raise make_configuration_error(
            f'client = "{settings.client}" of [providers.{provider}] does not go with type = '
            f'"{settings.type}"; set type to {fitting}, or remove client'
        )


def build_cloud_endpoint(
    provider: str, settings: ProviderSettings, environ: Mapping[str, str], public: PublicService
) -> Endpoint:
    """The endpoint of a provider that a cloud serves. `public` is what would serve it otherwise.

    Raises ProviderError(CONFIGURATION) where a package is not installed, or the region, the address or the
    key is missing. Credentials of AWS and Google are looked for later.
    """
    own = _drop_public_defaults(provider, settings, environ, public)
    match settings.client:
        case "bedrock":
            return _build_bedrock(provider, own, environ)
        case "vertex":
            return _build_vertex(provider, own, environ)
        case _ if settings.type == "anthropic":
            return _build_foundry(provider, own, environ)
        case _:
            return _build_azure(provider, own, environ)


def _drop_public_defaults(
    provider: str, settings: ProviderSettings, environ: Mapping[str, str], public: PublicService
) -> ProviderSettings:
    """The settings without what the provider that exists undeclared has for the public service."""
    if provider not in ("anthropic", "openai"):
        return settings
    is_public = settings.base_url in (public.address, environ.get(public.address_env))
    return replace(
        settings,
        base_url=None if is_public else settings.base_url,
        api_key_env=None if settings.api_key_env == public.key_env else settings.api_key_env,
    )


def _build_bedrock(provider: str, settings: ProviderSettings, environ: Mapping[str, str]) -> Endpoint:
    require_extra(provider, "bedrock", "boto3", "botocore")
    region = find_region(provider, settings.region, environ)
    given = settings.base_url or environ.get("ANTHROPIC_BEDROCK_BASE_URL")
    return _build_endpoint(
        provider,
        settings,
        environ,
        address=given or f"https://bedrock-runtime.{region}.amazonaws.com",
        key_env=settings.api_key_env or (BEARER_ENV if environ.get(BEARER_ENV) else ""),
        cloud=BedrockAccess(provider, region),
    )


def _build_vertex(provider: str, settings: ProviderSettings, environ: Mapping[str, str]) -> Endpoint:
    require_extra(provider, "vertex", "google.auth", "requests")
    region = settings.region or environ.get("CLOUD_ML_REGION")
    if not region:
        raise make_configuration_error(
            f'provider {provider} has no region; set region in [providers.{provider}], for example "global" '
            'or "europe-west1", or CLOUD_ML_REGION'
        )
    named = environ.get("ANTHROPIC_VERTEX_PROJECT_ID") or environ.get("GOOGLE_CLOUD_PROJECT")
    return _build_endpoint(
        provider,
        settings,
        environ,
        address=settings.base_url or environ.get("ANTHROPIC_VERTEX_BASE_URL") or _build_vertex_address(region),
        key_env=settings.api_key_env or "",
        cloud=VertexAccess(provider, region, settings.project or named),
    )


def _build_vertex_address(region: str) -> str:
    match region:
        case "global":
            return "https://aiplatform.googleapis.com/v1"
        case "us" | "eu":
            return f"https://aiplatform.{region}.rep.googleapis.com/v1"
        case _:
            return f"https://{region}-aiplatform.googleapis.com/v1"


def _build_azure(provider: str, settings: ProviderSettings, environ: Mapping[str, str]) -> Endpoint:
    given = settings.base_url or environ.get("AZURE_OPENAI_ENDPOINT")
    if not given:
        raise _build_no_azure_address(provider, "AZURE_OPENAI_ENDPOINT", "https://NAME.openai.azure.com")
    has_token = not settings.api_key_env and bool(environ.get("AZURE_OPENAI_AD_TOKEN"))
    usual = "AZURE_OPENAI_AD_TOKEN" if has_token else "AZURE_OPENAI_API_KEY"
    version = settings.api_version or environ.get("OPENAI_API_VERSION") or DEFAULT_AZURE_VERSION
    return _build_endpoint(
        provider,
        settings,
        environ,
        address=_build_resource_address(given),
        key_env=settings.api_key_env or usual,
        cloud=AzureAccess(api_version=version, has_token=has_token),
    )


def _build_foundry(provider: str, settings: ProviderSettings, environ: Mapping[str, str]) -> Endpoint:
    resource = environ.get("ANTHROPIC_FOUNDRY_RESOURCE")
    named = f"https://{resource}.services.ai.azure.com/anthropic" if resource else None
    given = settings.base_url or environ.get("ANTHROPIC_FOUNDRY_BASE_URL") or named
    if not given:
        example = "https://NAME.services.ai.azure.com/anthropic"
        raise _build_no_azure_address(provider, "ANTHROPIC_FOUNDRY_RESOURCE", example)
    return _build_endpoint(
        provider,
        settings,
        environ,
        address=given,
        key_env=settings.api_key_env or "ANTHROPIC_FOUNDRY_API_KEY",
        cloud=AzureAccess(api_version="", has_token=False),
    )


def _build_resource_address(address: str) -> str:
    """The address of the resource: what the portal shows continues to a deployment, which the client adds."""
    path = urlsplit(address).path
    return address[: address.index("/openai")] if path.startswith("/openai") else address


def _build_endpoint(
    provider: str,
    settings: ProviderSettings,
    environ: Mapping[str, str],
    *,
    address: str,
    key_env: str,
    cloud: Cloud,
) -> Endpoint:
    definite = replace(settings, base_url=address, api_key_env=key_env)
    return replace(Endpoint.of(provider, definite, environ, _ELSEWHERE), cloud=cloud)


def _build_no_azure_address(provider: str, variable: str, example: str) -> ProviderError:
    return make_configuration_error(
        f"provider {provider} has no address; set base_url in [providers.{provider}], or {variable}, to that "
        f"of your resource, for example {example}"
    )
