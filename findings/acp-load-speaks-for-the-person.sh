#!/usr/bin/env bash
# When a client loads a session, the agent tells it anew, and a `user_message_chunk` is a piece of what the person said. The
# guess was that Gemini CLI tells the one prompt of a session so, and the call that the person refused as a refused call. It
# tells three messages of the person: a long description of the folder and the machine that it had put before the prompt, the
# prompt, and `[Function Response: ...]` in the place of the result; the call is not told at all. Nothing marks the two that no
# person wrote. A client that shows or counts what the person asked for takes them for that; quorum keeps its own record of
# a session, and passes over what an agent tells while it loads.
# This has one command refused and the session loaded a minute later, with a model on loopback, as it cannot be loaded in the
# minute in which it began; it fails once the agent tells it otherwise.
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
        text = self.rfile.read(int(self.headers["Content-Length"])).decode()
        call = {"functionCall": {"name": "run_shell_command", "args": {"command": "touch made"}}}
        is_first = "streamGenerateContent" in self.path and "functionResponse" not in text
        part = call if is_first else {"text": "done"}
        candidate = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
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
        self.count, self.told = 0, []

    def send(self, message):
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self.process.stdin.flush()

    def ask(self, method, params):
        self.count += 1
        self.send({"id": self.count, "method": method, "params": params})
        for line in self.process.stdout:
            if not line.startswith("{"):
                continue
            told = json.loads(line)
            if told.get("id") == self.count and "method" not in told:
                return told
            if told.get("method") == "session/request_permission":
                no = next(each["optionId"] for each in told["params"]["options"] if each["kind"] == "reject_once")
                self.send({"id": told["id"], "result": {"outcome": {"outcome": "selected", "optionId": no}}})
            elif told.get("method") == "session/update":
                self.told.append(told["params"]["update"])
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


def shorten(text):
    text = text.strip()
    return "<session_context> and more" if text.startswith("<session_context>") else text


agent = Agent()
said = agent.begin()
session = agent.ask("session/new", place)["result"]["sessionId"]
agent.ask("session/prompt", {"sessionId": session, "prompt": [{"type": "text", "text": "Make the file."}]})
agent.end()
began = int(time.time() / 60)
while int(time.time() / 60) == began:
    time.sleep(0.5)
print(said["agentInfo"]["name"], said["agentInfo"]["version"], "made" if os.path.exists(f"{work}/project/made") else "not made")
agent = Agent()
agent.begin()
agent.ask("session/load", {"sessionId": session, **place})
time.sleep(2)  # what is told behind the answer
agent.ask("session/set_mode", {"sessionId": session, "modeId": "default"})
agent.end()
for update in agent.told:
    if update["sessionUpdate"].endswith("_message_chunk"):
        print(update["sessionUpdate"], shorten(update["content"]["text"]))
    elif update["sessionUpdate"].startswith("tool_call"):
        print(update["sessionUpdate"], update.get("status"))
PY

timeout 280 python3 "$work/ask.py" "$work" | tee "$work/seen"

diff "$work/seen" - <<'SEEN' && echo "as it was seen"
gemini-cli 0.61.0 not made
user_message_chunk <session_context> and more
user_message_chunk Make the file.
user_message_chunk [Function Response: run_shell_command]
agent_message_chunk done
SEEN
