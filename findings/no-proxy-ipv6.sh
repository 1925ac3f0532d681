#!/usr/bin/env bash
# Docker Desktop and OrbStack put IPv6 networks into NO_PROXY. Two SDKs that are made by one generator and send with one
# HTTP library read such an entry in two ways: openai takes it for the network that it is, anthropic makes no client at
# all, and its error names a port that nobody has written. The same holds for an IPv6 address in brackets; IPv4
# networks are honoured by both. This runs the SDKs alone, sends nothing, and fails once they behave in another way.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" -q install anthropic==2.12.0 openai==3.54.0 2>/dev/null

cat > "$work/ask.py" <<'PY'
import importlib, sys

name, maker, entry, address = sys.argv[1:]
sdk = importlib.import_module(name)
try:
    http = getattr(sdk, maker)(api_key="none")._client
except Exception as error:
    said = f"no client, {type(error).__name__}: {error}"
else:
    is_direct = http._transport_for_url(type(http.base_url)(address)) is http._transport
    said = f"{address} is reached {'directly' if is_direct else 'through the proxy'}"
print(f"{name} {sdk.__version__} NO_PROXY={entry}: {said}")
PY

ask() { # entry address
  for sdk in "anthropic Anthropic" "openai OpenAI"; do
    env ALL_PROXY=http://127.0.0.1:9 NO_PROXY="$1" "$work/venv/bin/python" "$work/ask.py" $sdk "$1" "$2"
  done
}
{ ask fd00::/8 http://[fd00::1]; ask '[fd00::1]' http://[fd00::1]; ask fd00::1 http://[fd00::1]; ask 10.0.0.0/8 http://10.1.2.3; } | tee "$work/seen"

diff "$work/seen" - <<'SEEN' && echo "as it was seen"
anthropic 2.12.0 NO_PROXY=fd00::/8: no client, InvalidURL: Invalid port: ':'
openai 3.54.0 NO_PROXY=fd00::/8: http://[fd00::1] is reached directly
anthropic 2.12.0 NO_PROXY=[fd00::1]: no client, InvalidURL: Invalid port: ':1]'
openai 3.54.0 NO_PROXY=[fd00::1]: http://[fd00::1] is reached directly
anthropic 2.12.0 NO_PROXY=fd00::1: http://[fd00::1] is reached directly
openai 3.54.0 NO_PROXY=fd00::1: http://[fd00::1] is reached directly
anthropic 2.12.0 NO_PROXY=10.0.0.0/8: http://10.1.2.3 is reached directly
openai 3.54.0 NO_PROXY=10.0.0.0/8: http://10.1.2.3 is reached directly
SEEN
