"""An object store of the tests' own, on loopback, with the bucket `outputs`."""

from __future__ import annotations

import logging
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import obstore
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from moto.server import ThreadedMotoServer
from obstore.store import S3Store
from werkzeug.serving import make_server

from tests.support.certificates import Certificate

BUCKET = "outputs"


@dataclass
class BucketForTests:
    """A running object store. It is slow to start, so that tests share one, each in a prefix of its own."""

    endpoint: str
    everything: S3Store = field(init=False)

    def __post_init__(self) -> None:
        self._send("PUT", f"/{BUCKET}")
        self.everything = S3Store(
            BUCKET,
            endpoint=self.endpoint,
            region="us-east-1",
            access_key_id="root",
            secret_access_key="root",
            client_options={"allow_http": True},
        )

    @property
    def environ(self) -> dict[str, str]:
        """What a machine needs to reach it."""
        return {
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_ACCESS_KEY_ID": "someone",
            "AWS_SECRET_ACCESS_KEY": "hunter2",
            "AWS_REGION": "us-east-1",
        }

    def list_keys(self, prefix: str) -> list[str]:
        return sorted(one["path"] for some in obstore.list(self.everything, prefix) for one in some)

    def _send(self, method: str, path: str) -> None:
        urllib.request.urlopen(urllib.request.Request(self.endpoint + path, method=method)).close()


class _TlsServer(ThreadedMotoServer):  # type: ignore[misc]
    """The same over TLS, which moto has only for its command."""

    def __init__(self, certificate: Certificate) -> None:
        super().__init__(ip_address="127.0.0.1", port=0, verbose=False)
        self._files = (str(certificate.certificate), str(certificate.key))

    def _server_entry(self) -> None:
        app = DomainDispatcherApplication(create_backend_app)
        self._server = make_server("127.0.0.1", 0, app, True, ssl_context=self._files)
        self._server_ready_event.set()
        self._server.serve_forever()


@contextmanager
def run_bucket_server() -> Iterator[BucketForTests]:
    with _run(ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)) as port:
        yield BucketForTests(f"http://127.0.0.1:{port}")


@contextmanager
def run_encrypted_bucket_server(certificate: Certificate) -> Iterator[int]:
    """An object store over TLS, with nothing in it; its port."""
    with _run(_TlsServer(certificate)) as port:
        yield port


@contextmanager
def _run(server: ThreadedMotoServer) -> Iterator[int]:
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server.start()
    yield server.get_host_and_port()[1]
    server.stop()
