#!/usr/bin/env bash
# Every chunk of a streamed answer may say the role, and every piece of a call its id and the name of its function; the
# schema of the API has them as optional fields of each. The guess was that the helper `chat.completions.stream` of
# OpenAI's SDKs has them once in the message that it puts together. Python's joins them as it joins the pieces of a text:
# the role is `assistantassistant` and the function `runrun`, which no program has offered. TypeScript's, for the same
# stream, has them once. quorum reads chunks itself, and takes a name that is repeated for one name.
# This lets both read one such stream from loopback, and fails once they behave in another way.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" -q install openai==3.54.0 2>/dev/null
npm install --silent --no-audit --no-fund --prefix "$work" openai@7.59.0 >/dev/null 2>&1

cat > "$work/ask.mjs" <<'JS'
import OpenAI from 'openai'

const client = new OpenAI({ apiKey: 'none', baseURL: process.argv[2] })
const messages = [{ role: 'user', content: 'Run it.' }]
const told = await client.chat.completions.stream({ model: 'm', messages }).finalChatCompletion()
console.log(JSON.stringify(told.choices[0].message))
JS

cat > "$work/ask.py" <<'PY'
import json, subprocess, sys, threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import openai


def make_chunk(delta, reason=None):
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    return {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}


def make_piece(text):
    function = {"name": "run", "arguments": text}
    return make_chunk({"role": "assistant", "tool_calls": [{"index": 0, "id": "call_1", "type": "function", "function": function}]})


class Model(BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        for chunk in (make_piece('{"path":'), make_piece(' "a"}'), make_chunk({}, "tool_calls")):
            self.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())
        self.wfile.write(b"data: [DONE]\n\n")

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
threading.Thread(target=server.serve_forever, daemon=True).start()
url = f"http://127.0.0.1:{server.server_address[1]}"
client = openai.OpenAI(api_key="none", base_url=url)
with client.chat.completions.stream(model="m", messages=[{"role": "user", "content": "Run it."}]) as stream:
    here = stream.get_final_completion().choices[0].message.model_dump()
there = json.loads(subprocess.run(["node", sys.argv[2], url], capture_output=True, text=True, check=True).stdout)
versions = (f"openai {openai.__version__} for Python", f"openai {json.load(open(sys.argv[1]))['version']} for TypeScript")
for version, told in zip(versions, (here, there)):
    call = told["tool_calls"][0]
    print(f"{version}: {told['role']} calls {call['function']['name']} with {call['function']['arguments']} as {call['id']}")
PY

"$work/venv/bin/python" "$work/ask.py" "$work/node_modules/openai/package.json" "$work/ask.mjs" | tee "$work/seen"

diff "$work/seen" - <<'SEEN' && echo "as it was seen"
openai 3.54.0 for Python: assistantassistant calls runrun with {"path": "a"} as call_1call_1
openai 7.59.0 for TypeScript: assistant calls run with {"path": "a"} as call_1
SEEN
