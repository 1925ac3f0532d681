#!/usr/bin/env bash
# Gemini CLI as an ACP agent says `loadSession: true`, and keeps a session in a file named by the minute in which it began
# and the first eight characters of its id. Expected was that another process loads a session at any time after it has
# answered. In the minute in which the session began, `session/load` begins a new one in the file of that name first, so
# that there is nothing to load, then and later. A session that is first loaded a minute later loads, but only once:
# loading leaves a file without messages behind, and when the program starts again, it removes all files of a session
# that has one.
# This does all that with a model on loopback, and fails once some of it ends otherwise. It takes up to two minutes.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work" || true' EXIT
npm install --silent --no-audit --no-fund --prefix "$work" @google/gemini-cli@0.61.0 >/dev/null 2>&1
mkdir "$work/home" "$work/project"

cat > "$work/ask.py" <<'PY'
import json, os, signal, subprocess, sys, threading, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

work = sys.argv[1]


class Model(BaseHTTPRequestHandler):
    def do_GET(self):
        self.answer("application/json", json.dumps({"models": []}))

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        candidate = {"content": {"role": "model", "parts": [{"text": "done"}]}, "finishReason": "STOP", "index": 0}
        usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
        told = json.dumps({"candidates": [candidate], "usageMetadata": usage})
        is_stream = "streamGenerateContent" in self.path
        self.answer("text/event-stream" if is_stream else "application/json", f"data: {told}\n\n" if is_stream else told)

    def answer(self, kind, text):
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(text.encode())))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
threading.Thread(target=server.serve_forever, daemon=True).start()
SETTINGS = {
    "PATH": os.environ["PATH"], "HOME": f"{work}/home", "GEMINI_API_KEY": "none",
    "GOOGLE_GEMINI_BASE_URL": f"http://127.0.0.1:{server.server_address[1]}", "GEMINI_CLI_TRUST_WORKSPACE": "true",
}


class Agent:
    def __init__(self):
        self.process = subprocess.Popen(
            [f"{work}/node_modules/.bin/gemini", "--acp", "--model", "gemini-2.5-flash"], cwd=f"{work}/project",
            text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=SETTINGS,
            start_new_session=True,
        )
        self.count = 0

    def ask(self, method, params):
        self.count += 1
        message = {"jsonrpc": "2.0", "id": self.count, "method": method, "params": params}
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()
        for line in self.process.stdout:
            if not line.startswith("{"):
                continue
            told = json.loads(line)
            if told.get("id") == self.count and "method" not in told:
                return told
        raise SystemExit("the agent ended")

    def begin(self):
        return self.ask("initialize", {"protocolVersion": 1, "clientCapabilities": {}})["result"]

    def end(self):
        self.process.stdin.close()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)


place = {"cwd": f"{work}/project", "mcpServers": []}


def begin_session(words):
    agent = Agent()
    said = agent.begin()
    session = agent.ask("session/new", place)["result"]["sessionId"]
    agent.ask("session/prompt", {"sessionId": session, "prompt": [{"type": "text", "text": words}]})
    agent.end()
    return said, session


def load(session):
    agent = Agent()
    agent.begin()
    told = agent.ask("session/load", {"sessionId": session, **place})
    agent.end()
    return told


def wait_for_room():
    """Until most of a minute is left."""
    while time.time() % 60 > 20:
        time.sleep(0.2)


def describe(told):
    return told["error"]["data"]["details"].splitlines()[0].replace(session, "ID") if "error" in told else "loaded"


wait_for_room()
said, session = begin_session("please say done")
print(said["agentInfo"]["name"], said["agentInfo"]["version"], "loadSession:", said["agentCapabilities"]["loadSession"])
early = load(session)
print("loaded in the minute in which it began:", describe(early))
_, untouched = begin_session("please say done")
began = int(time.time() / 60)
while int(time.time() / 60) == began:
    time.sleep(0.5)
again = load(session)
print("the same session a minute later:", describe(again))
late = load(untouched)
print("another one, loaded first a minute later:", "error" if "error" in late else "loaded")
twice = load(untouched)
print("that one, loaded a second time:", "error" if "error" in twice else "loaded")
if "error" not in early or "error" not in again or "error" in late or "error" not in twice:
    raise SystemExit("this has changed")
PY
python3 "$work/ask.py" "$work"
