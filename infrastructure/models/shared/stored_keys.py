"""An environment in which the variable of a provider's key is answered from the keyring where it is not set."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from quorum.domain.errors import ConfigError, ProviderError, ProviderErrorKind
from quorum.infrastructure.models.shared.api_client import ProviderSettings

_OF_AZURE = {"anthropic": "ANTHROPIC_FOUNDRY_API_KEY"}


def list_key_variables(settings: ProviderSettings, public: str) -> frozenset[str]:
    """The variable that a provider's key is read from; `public` is that of its public service.

    None for servers that want no key, and for clouds that show who asks in their own way.
    """
    if settings.api_key_env is None and not settings.base_url and not settings.client:
        return frozenset({public} - {""})
    if settings.client == "azure" and settings.api_key_env in (None, "", public):
        return frozenset({_OF_AZURE.get(settings.type, "AZURE_OPENAI_API_KEY")})
    return frozenset({settings.api_key_env or ""} - {""})


class WithStoredKey(Mapping[str, str]):
    """The environment as one provider sees it. Only `variables` may come from `stored`, which is asked then.

    Going through it shows what is really set: nothing that starts a program with it hands out a stored key.
    Raises ProviderError(CONFIGURATION) where the keyring is needed and cannot be used.
    """

    def __init__(
        self,
        environ: Mapping[str, str],
        variables: frozenset[str],
        provider: str,
        stored: Callable[[str], str | None],
    ) -> None:
        self._environ = environ
        self._variables = variables
        self._provider = provider
        self._stored = stored

    def __getitem__(self, name: str) -> str:
        value = self._environ.get(name)
        if name not in self._variables or (value is not None and value.strip()):
            return self._environ[name]
        try:
            key = self._stored(self._provider)
        except ConfigError as error:
            text = f"the environment variable {name} is not set, and {error}"
            raise ProviderError(text, kind=ProviderErrorKind.CONFIGURATION) from error
        if key is None:
            raise KeyError(name)
        return key

    def __iter__(self) -> Iterator[str]:
        return iter(self._environ)

    def __len__(self) -> int:
        return len(self._environ)
