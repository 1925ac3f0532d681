#!/usr/bin/env bash
# The rules of event streams let an event have a name and an id beside its data, comments between events, data in several
# lines, and no space behind `data:`; a gateway may write a stream anew in any of these ways. The guess was that the SDKs for
# Gemini's API read all of them alike. Each takes what the other does not: Python's fails at a comment, a name, an id and
# the missing space, and joins lines; TypeScript's fails at lines, passes over comments, and where a name or an id stands
# before the data gives no piece and no error, as if the model had said nothing. An agent then ends its turn with an empty
# answer. quorum reads streams by the rules; a test holds that for each of its APIs.
# This lets both read streams from loopback that say the same, and fails once one of them behaves in another way.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" -q install google-genai==3.6.1 2>/dev/null
npm install --silent --no-audit --no-fund --prefix "$work" @google/genai@2.32.0 >/dev/null 2>&1

cat > "$work/ask.mjs" <<'JS'
import { GoogleGenAI } from '@google/genai'

const client = new GoogleGenAI({ apiKey: 'none', httpOptions: { baseUrl: process.argv[2] } })
let text = ''
for await (const piece of await client.models.generateContentStream({ model: 'gemini-2.5-flash', contents: 'Count.' }))
  text += piece.text
console.log(text)
JS

cat > "$work/ask.py" <<'PY'
import json, subprocess, sys, threading
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import version

from google import genai

STREAMS = {
    "data alone": "data: {}\r\n\r\n",
    "without a space": "data:{}\r\n\r\n",
    "with a comment": ": still here\r\n\r\ndata: {}\r\n\r\n",
    "with an id": "id: 1\r\ndata: {}\r\n\r\n",
    "with a name": "event: message\r\ndata: {}\r\n\r\n",
    "with a name behind": "data: {}\r\nevent: message\r\n\r\n",
    "in two lines": "data: {\r\ndata: }\r\n\r\n",
}


class Model(BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        event = list(STREAMS.values())[int(self.path.split("/")[1])]
        for text, reason in (("one ", {}), ("two", {"finishReason": "STOP"})):
            candidate = {"content": {"role": "model", "parts": [{"text": text}]}, "index": 0, **reason}
            data = json.dumps({"candidates": [candidate]})
            told = event.replace("{}", data) if "{}" in event else event.replace("}", data[1:])
            with suppress(ConnectionError):  # who has met an error reads no further
                self.wfile.write(told.encode())

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
threading.Thread(target=server.serve_forever, daemon=True).start()
there = json.load(open(f"{sys.argv[1]}/node_modules/@google/genai/package.json"))["version"]
print(f"google-genai {version('google-genai')} for Python, @google/genai {there} for TypeScript")
for number, what in enumerate(STREAMS):
    url = f"http://127.0.0.1:{server.server_address[1]}/{number}"
    client = genai.Client(api_key="none", http_options={"base_url": url})
    try:
        pieces = client.models.generate_content_stream(model="gemini-2.5-flash", contents="Count.")
        here = repr("".join(piece.text for piece in pieces))
    except Exception as error:
        here = type(error).__name__
    ran = subprocess.run(["node", f"{sys.argv[1]}/ask.mjs", url], capture_output=True, text=True)
    there = repr(ran.stdout.strip()) if ran.returncode == 0 else "an error"
    print(f"{what}: Python {here}, TypeScript {there}")
PY

env -u GEMINI_API_KEY -u GOOGLE_API_KEY "$work/venv/bin/python" "$work/ask.py" "$work" | tee "$work/seen"

diff "$work/seen" - <<'SEEN' && echo "as it was seen"
google-genai 3.6.1 for Python, @google/genai 2.32.0 for TypeScript
data alone: Python 'one two', TypeScript 'one two'
without a space: Python UnknownApiResponseError, TypeScript 'one two'
with a comment: Python UnknownApiResponseError, TypeScript 'one two'
with an id: Python UnknownApiResponseError, TypeScript ''
with a name: Python UnknownApiResponseError, TypeScript ''
with a name behind: Python UnknownApiResponseError, TypeScript an error
in two lines: Python 'one two', TypeScript an error
SEEN
