"""Which model works: the one that is set, or the one that what is configured suggests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from domain.errors import ConfigError
from infrastructure.config.keys import nearest_word
from infrastructure.config.loading import DEFAULT_ORIGIN, LoadedSettings
from infrastructure.config.schema import Settings
from infrastructure.config.toml_text import literal

ROLES = ("decision",)
DEFAULT_MODELS = {"anthropic": "anthropic/claude-sonnet-5-5", "openai": "openai/gpt-5.4"}
OFFLINE_MODEL = "offline/offline"


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """A model as "provider/model", and why it was chosen."""

    model: str
    reason: str

    @property
    def provider(self) -> str:
        """The provider's name in the settings."""
        return self.model.partition("/")[0]


def decision_model(loaded: LoadedSettings, environ: Mapping[str, str]) -> str:
    """The model that works with the person, as "provider/model". Raises ConfigError as `choose_model`."""
    return choose_model(loaded, environ).model


def choose_model(loaded: LoadedSettings, environ: Mapping[str, str]) -> ModelChoice:
    """Choose the model of the decision role.

    Raises ConfigError where the set one has no provider, and where something is configured from which no
    model follows: the offline interpreter is never a silent stand-in for a model that someone set up.
    """
    settings = loaded.settings
    if model := settings.models.decision:
        origin = loaded.origins["models.decision"]
        _require_provider(settings, model, origin)
        return ModelChoice(model, f"models.decision says so ({origin})")
    for name, model in DEFAULT_MODELS.items():
        variable = settings.providers[name].api_key_env
        if variable and environ.get(variable, "").strip():
            return ModelChoice(model, f"models.decision is not set, and {variable} is")
    if configured := _configured(loaded):
        name, why = configured[0]
        raise ConfigError(
            f"the provider {name} is configured ({why}), but no model is chosen; set models.decision = "
            f'"{name}/MODEL" in quorum.toml, or say -m {name}/MODEL'
        )
    return ModelChoice(OFFLINE_MODEL, "no key is set and no server is configured")


def model_overrides(options: Sequence[str]) -> Mapping[str, str]:
    """The overrides that `-m MODEL` and `-m ROLE=MODEL` mean; of two for one role the later counts.

    Raises ConfigError for a role that does not exist.
    """
    overrides: dict[str, str] = {}
    for option in options:
        role, equals, model = option.partition("=")
        if not equals or "/" in role:
            role, model = "decision", option
        if role not in ROLES:
            raise ConfigError(
                f"-m {literal(option)}: there is no role {literal(role)}; known is {', '.join(ROLES)}"
            )
        overrides[f"models.{role}"] = model
    return overrides


def _require_provider(settings: Settings, model: str, origin: str) -> None:
    name = model.partition("/")[0]
    if name in settings.providers:
        return
    like = nearest_word(name, tuple(settings.providers))
    hint = f"did you mean {like}/{model.partition('/')[2]}?" if like else f"declare [providers.{name}]"
    raise ConfigError(
        f"models.decision = {literal(model)} ({origin}) names a provider that does not exist; known are "
        f"{', '.join(settings.providers)}; {hint}"
    )


def _configured(loaded: LoadedSettings) -> list[tuple[str, str]]:
    """Providers that someone set up, and where: own ones, and those whose address was changed."""
    found = []
    for name, table in loaded.settings.providers.items():
        changed = loaded.origins[f"providers.{name}.type"], loaded.origins[f"providers.{name}.base_url"]
        places = [origin for origin in changed if origin != DEFAULT_ORIGIN]
        if places and table.type != "offline":
            found.append((name, places[0]))
    return found
