#!/usr/bin/env bash
# Claude's adapter for ACP sends a notice to the person as a piece of the agent's message: after the answer of the model
# follows another `agent_message_chunk`, which no request to the model has led to. Nothing but a `messageId` that is
# not there, and a field of the vendor's own in `_meta`, tells the two apart. Expected was that the pieces of a turn
# together are what the model said. A client that joins them has an answer of JSON with prose behind it; quorum reads a
# vote from the one message that is an object.
# This asks the adapter alone, with a model on loopback that answers one JSON object, and fails once it does otherwise.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work" || true' EXIT
npm install --silent --no-audit --no-fund --prefix "$work" @agentclientprotocol/claude-agent-acp@0.101.0 >/dev/null 2>&1
mkdir "$work/home" "$work/project"

cat > "$work/ask.py" <<'PY'
import json, os, signal, subprocess, sys, threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

work = sys.argv[1]
ANSWER = '{"verdict": "approve"}'


class Model(BaseHTTPRequestHandler):
    def do_HEAD(self):
        self.send_response(200)
        self.end_headers()

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        message = {"id": "msg_1", "type": "message", "role": "assistant", "model": asked.get("model"), "content": [],
                   "stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1}}
        events = [
            {"type": "message_start", "message": message},
            {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": ANSWER}},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None},
             "usage": {"output_tokens": 5}},
            {"type": "message_stop"},
        ]
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        for event in events:
            self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
threading.Thread(target=server.serve_forever, daemon=True).start()
agent = subprocess.Popen(
    [f"{work}/node_modules/.bin/claude-agent-acp"], cwd=f"{work}/project", text=True,
    stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True,
    env={"PATH": os.environ["PATH"], "HOME": f"{work}/home", "ANTHROPIC_API_KEY": "none",
         "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{server.server_address[1]}",
         "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"},
)
pieces = []


def request(number, method, params):
    agent.stdin.write(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}) + "\n")
    agent.stdin.flush()
    for line in agent.stdout:
        message = json.loads(line)
        update = message.get("params", {}).get("update", {})
        if update.get("sessionUpdate") == "agent_message_chunk":
            pieces.append(update)
        if message.get("id") == number and "method" not in message:
            return message["result"]


known = request(1, "initialize", {"protocolVersion": 1, "clientCapabilities": {}})
session = request(2, "session/new", {"cwd": f"{work}/project", "mcpServers": []})["sessionId"]
prompt = [{"type": "text", "text": "Answer with one JSON object and with nothing else."}]
ended = request(3, "session/prompt", {"sessionId": session, "prompt": prompt})
agent.stdin.close()
try:
    agent.wait(10)
finally:
    try:
        os.killpg(agent.pid, signal.SIGKILL)  # what it has started
    except ProcessLookupError:
        pass
print(known["agentInfo"]["version"], "ends with", ended["stopReason"])
for piece in pieces:
    text = piece["content"]["text"]
    what = "what the model said" if text == ANSWER else "a notice" if text.startswith("**Warning:**") else text
    print("agent_message_chunk", "with" if piece.get("messageId") else "without", "messageId:", what)
PY

timeout 120 python3 "$work/ask.py" "$work" | tee "$work/seen"

diff "$work/seen" - <<'SEEN' && echo "as it was seen"
0.101.0 ends with end_turn
agent_message_chunk with messageId: what the model said
agent_message_chunk without messageId: a notice
SEEN
