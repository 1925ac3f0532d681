"""An object store that fails one request in ten."""

from __future__ import annotations

import http.client
import logging
import random
import threading
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from moto.server import ThreadedMotoServer

_FAILURES = 0.1


class FailingStore:
    """Passes requests on to an object store, and fails one in ten."""

    def __init__(self) -> None:
        logging.getLogger("werkzeug").setLevel(logging.ERROR)
        self._moto = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
        self._moto.start()
        self._target = self._moto.get_host_and_port()
        self.failures = _FAILURES
        self.failed = 0
        store, chance = self, random.Random(7)

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def _pass_on(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                if chance.random() < store.failures:
                    store.failed += 1
                    self._answer(503, {}, b"")
                    return
                line = http.client.HTTPConnection(*store._target, timeout=300)
                headers = dict(self.headers.items())
                line.request(self.command, self.path, body, headers)
                answer = line.getresponse()
                data = answer.read()
                line.close()
                kept = {
                    name: value
                    for name, value in answer.getheaders()
                    if name.lower() not in ("content-length", "connection", "transfer-encoding")
                }
                length = answer.getheader("Content-Length")
                self._answer(answer.status, kept, data, length if self.command == "HEAD" else None)

            def handle_one_request(self) -> None:
                try:
                    super().handle_one_request()
                except ConnectionError:  # whoever asked was killed meanwhile
                    self.close_connection = True

            do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = _pass_on

            def _answer(
                self, status: int, headers: dict[str, str], data: bytes, length: str | None = None
            ) -> None:
                self.send_response_only(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", length or str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        make = urllib.request.Request(f"http://{self._target[0]}:{self._target[1]}/outputs", method="PUT")
        urllib.request.urlopen(make).close()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._moto.stop()
