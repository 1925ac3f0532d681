#!/usr/bin/env bash
# A model that reaches its limit of tokens within the arguments of a call leaves half of a JSON object. The guess was that
# Anthropic's SDKs then give the call without arguments, or fail. Both give it with what had arrived, as an object that
# nothing tells from a whole one: only `stop_reason` of the message says that something is missing. A text or a field that
# was cut is left out, so a call with an optional limit has none. The two differ in a number: where the model was about to
# write 1200, Python's has 12 and TypeScript's has none. quorum runs no call of an answer that was cut.
# This lets both read such streams from loopback, and fails once they behave in another way.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" -q install anthropic==2.12.0 2>/dev/null
npm install --silent --no-audit --no-fund --prefix "$work" @anthropic-ai/sdk@1.15.0 >/dev/null 2>&1

cat > "$work/ask.mjs" <<'JS'
import Anthropic from '@anthropic-ai/sdk'

const [url, model] = process.argv.slice(2)
const client = new Anthropic({ apiKey: 'none', baseURL: url })
const messages = [{ role: 'user', content: 'Run it.' }]
const told = await client.messages.stream({ model, max_tokens: 9, messages }).finalMessage()
console.log(JSON.stringify(told.content[0].input))
JS

cat > "$work/ask.py" <<'PY'
import json, subprocess, sys, threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import anthropic

WRITTEN = ['{"path": "a", "limit": 12', '{"path": "a", "content": "one\\ntw', '{"path": "a", "dry_run": tr', '{"paths": ["a", "b']


class Model(BaseHTTPRequestHandler):
    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [],
                   "stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1}}
        call = {"type": "tool_use", "id": "toolu_1", "name": "run", "input": {}}
        piece = {"type": "input_json_delta", "partial_json": WRITTEN[int(asked["model"])]}
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        for event in (
            {"type": "message_start", "message": message},
            {"type": "content_block_start", "index": 0, "content_block": call},
            {"type": "content_block_delta", "index": 0, "delta": piece},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": "max_tokens", "stop_sequence": None},
             "usage": {"output_tokens": 9}},
            {"type": "message_stop"},
        ):
            self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
threading.Thread(target=server.serve_forever, daemon=True).start()
url = f"http://127.0.0.1:{server.server_address[1]}"
client = anthropic.Anthropic(api_key="none", base_url=url)
print("anthropic", anthropic.__version__, "and @anthropic-ai/sdk", json.load(open(sys.argv[1]))["version"])
for number, written in enumerate(WRITTEN):
    messages = [{"role": "user", "content": "Run it."}]
    with client.messages.stream(model=str(number), max_tokens=9, messages=messages) as stream:
        told = stream.get_final_message()
    there = subprocess.run(["node", sys.argv[2], url, str(number)], capture_output=True, text=True, check=True).stdout
    print(f"{written} is in Python {json.dumps(told.content[0].input)}, in TypeScript {json.dumps(json.loads(there))}")
PY

"$work/venv/bin/python" "$work/ask.py" "$work/node_modules/@anthropic-ai/sdk/package.json" "$work/ask.mjs" | tee "$work/seen"

diff "$work/seen" - <<'SEEN' && echo "as it was seen"
anthropic 2.12.0 and @anthropic-ai/sdk 1.15.0
{"path": "a", "limit": 12 is in Python {"path": "a", "limit": 12}, in TypeScript {"path": "a"}
{"path": "a", "content": "one\ntw is in Python {"path": "a"}, in TypeScript {"path": "a"}
{"path": "a", "dry_run": tr is in Python {"path": "a"}, in TypeScript {"path": "a"}
{"paths": ["a", "b is in Python {"paths": ["a"]}, in TypeScript {"paths": ["a"]}
SEEN
