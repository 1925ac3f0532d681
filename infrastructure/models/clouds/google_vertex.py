"""Who asks Google Vertex AI, and for which project: Google's application default credentials."""

from __future__ import annotations

import logging
import threading
import warnings
from typing import TYPE_CHECKING

from quorum.domain.errors import ProviderError, ProviderErrorKind
from quorum.infrastructure.models.clouds.sign_in import SignIn

if TYPE_CHECKING:
    from google.auth.credentials import Credentials

_SCOPE = "https://www.googleapis.com/auth/cloud-platform"
REMEDY = (
    "sign in with `gcloud auth application-default login`, or set GOOGLE_APPLICATION_CREDENTIALS to the file "
    "of a service account"
)


class VertexAccess:
    """The way to Vertex AI in one region. `project` is None until the credentials have named it."""

    def __init__(self, provider: str, region: str, project: str | None) -> None:
        self.region = region
        self.sign_in = SignIn(provider=provider, cloud="Google Cloud", remedy=REMEDY)
        self._project = project
        self._credentials: Credentials | None = None
        self._asking = threading.Lock()

    def load(self) -> None:
        """Import what finds credentials and makes tokens. Blocks."""
        import google.auth.transport.requests  # noqa: F401

        # both would be printed across the screen; what they say, our own sentences say
        warnings.filterwarnings("ignore", category=UserWarning, module=r"google\.auth")
        logging.getLogger("google.auth").addHandler(logging.NullHandler())

    async def get_token(self) -> str:
        """A token that is still good. Raises ProviderError."""
        known = self._credentials
        if known is not None and known.valid:
            return str(known.token)
        return await self.sign_in.call_in_time(self._fetch_token)

    def get_project(self) -> str:
        """The project that is asked for. Raises ProviderError(CONFIGURATION) where nobody names one."""
        if self._project:
            return self._project
        provider = self.sign_in.provider
        raise ProviderError(
            f"provider {provider} has no project; set project in [providers.{provider}], or "
            "ANTHROPIC_VERTEX_PROJECT_ID, to the id of your Google Cloud project",
            kind=ProviderErrorKind.CONFIGURATION,
        )

    def _fetch_token(self) -> str:
        from google.auth import exceptions

        try:
            with self._asking:
                return self._refresh_token()
        except exceptions.DefaultCredentialsError as error:
            raise self.sign_in.explain_unusable(str(error)) from error
        except exceptions.TransportError as error:
            raise self.sign_in.explain_unreachable(str(error)) from error
        except exceptions.GoogleAuthError as error:
            raise self.sign_in.explain_refusal(str(error), retryable=error.retryable) from error

    def _refresh_token(self) -> str:
        import google.auth
        from google.auth.transport.requests import Request

        if self._credentials is None:
            found, project = google.auth.default(scopes=[_SCOPE])
            self._credentials, self._project = found, self._project or project
        if not self._credentials.valid:
            self._credentials.refresh(Request())  # type: ignore[no-untyped-call]
        return str(self._credentials.token)
