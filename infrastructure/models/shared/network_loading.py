"""What takes long to load before the first connection: trusted certificates, an SDK, the network library."""

from __future__ import annotations

import os
import platform
import ssl
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from functools import lru_cache
from threading import Event, Thread

import httpx2

from quorum.domain.errors import OUT_OF_MEMORY
from quorum.infrastructure.http_client import HttpClient
from quorum.infrastructure.lean_imports import import_lazily, without
from quorum.infrastructure.models.shared.failures import Failures, find_proxy

_LONGEST_WAIT_SECS = 1.0
_LIMITS = httpx2.Limits(max_connections=1000, max_keepalive_connections=100)  # as both SDKs have them


class FirstRequest:
    """A request that waits for its SDK goes first: before what else is loaded in the background."""

    def __init__(self) -> None:
        self._is_waiting = False
        self._left = Event()

    def wait_for_sdk(self) -> None:
        """There is a request, and it waits."""
        self._is_waiting = True

    async def note_request(self, request: httpx2.Request) -> None:
        """Nothing but the network keeps the request any longer: a hook of the client. What else the server is
        asked before, such as for its window, is got."""
        if request.method == "POST":
            self._left.set()

    def let_pass(self) -> None:
        """Wait until the request is on its way, if there is one, a second at most. Blocks."""
        if self._is_waiting:
            self._left.wait(_LONGEST_WAIT_SECS)


def read_certificates(*, are_needed: bool) -> Callable[[], ssl.SSLContext]:
    """Begin to read the certificates that are trusted, in a thread of its own, and return at once.

    OpenSSL takes 20 ms for them, during which Python can import an SDK. What is returned waits for them, and
    raises what `httpx2.create_ssl_context` raises, such as OSError where $SSL_CERT_FILE names no certificates.
    Where none are needed, none are read, and nobody is trusted.
    """
    if not are_needed:
        return lambda: ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    certificates: Future[ssl.SSLContext] = Future()

    def read() -> None:
        try:
            context = load_certificates()
        except BaseException as error:  # noqa: BLE001 - whoever waits for the result raises it
            certificates.set_exception(error)
        else:
            certificates.set_result(context)

    thread = Thread(target=read, name="certificates")
    thread.start()

    def wait() -> ssl.SSLContext:
        thread.join()
        if not certificates.done():  # it ended where it began
            raise MemoryError(OUT_OF_MEMORY)
        return certificates.result()

    return wait


def load_certificates() -> ssl.SSLContext:
    """The certificates that are trusted, read again where the file of them has changed. Blocks.

    Raises as `httpx2.create_ssl_context` does.
    """
    file = os.environ.get("SSL_CERT_FILE")
    if not file and not os.environ.get("SSL_CERT_DIR"):
        file = ssl.get_default_verify_paths().openssl_cafile
    try:
        found = os.stat(file or "")
    except OSError:
        # OpenSSL reads of a folder what it needs, when it needs it; and where the default file is not there,
        # others are looked for in places of which nothing is known here.
        return httpx2.create_ssl_context()
    return _load_certificates((file, found.st_dev, found.st_ino, found.st_size, found.st_ctime_ns))


@lru_cache(maxsize=1)
def _load_certificates(_file: object) -> ssl.SSLContext:
    return httpx2.create_ssl_context()


def build_http_client(
    address: str,
    *,
    timeout: httpx2.Timeout,
    certificates: Callable[[], ssl.SSLContext],
    first_request: FirstRequest,
    failures: Failures,
) -> httpx2.AsyncClient:
    """The connections of an SDK to this address, through the proxies that the environment names.

    It takes networks in $NO_PROXY and passes over entries that nobody can read, where the client of the
    Anthropic SDK raises. Raises ProviderError where a proxy that it takes, or the certificates, cannot be used.
    """

    def build(context: ssl.SSLContext, *, trust_env: bool) -> HttpClient:
        return HttpClient(
            head_secs=timeout.read,
            timeout=timeout,
            limits=_LIMITS,
            follow_redirects=True,
            verify=context,
            event_hooks={"request": [first_request.note_request]},
            trust_env=trust_env,
        )

    unusable = (OSError, ValueError, ImportError, httpx2.InvalidURL)
    try:
        context = certificates()
        try:
            return build(context, trust_env=True)
        except unusable:
            if find_proxy(address) is not None:
                raise
            return build(context, trust_env=False)
    except unusable as error:
        raise failures.explain_bad_environment(error) from error


@contextmanager
def load_sdk_lazily(name: str) -> Iterator[None]:
    """Meanwhile, have an SDK load what its client needs, which is a third of it.

    Whoever asks the SDK to log, by its variable, has all of it: it sets that up where it collects its names.
    """
    if f"{name.upper()}_LOG" not in os.environ:
        import_lazily(name)
    # aiohttp: another library for connections, of which the SDKs make a class that quorum does not use
    with without("aiohttp"):
        yield


def prepare_first_request() -> None:
    """Load the half of anyio that it keeps back until something runs on an event loop, and find the name of the
    platform, which the SDKs tell: Python runs a program for it, and keeps what it says.

    The first request would have to wait for both. Blocks; may be called from any thread.
    """
    import anyio  # the SDKs bring it

    loop = Thread(target=anyio.run, args=(anyio.sleep, 0), name="event loop")
    loop.start()  # in a thread of its own, as the caller's may run one already
    platform.platform()
    loop.join()
