#!/usr/bin/env bash
# Templates of models for code write an earlier call of the model into its next prompt, each argument between tags, and a
# value that is no list and no object as it is. The guess was that one template gives one prompt, whatever fills it in, up to
# numbers such as 1.0. In Jinja2, which servers in Python use, the model reads `True` and `None`; in @huggingface/jinja, which
# those in JavaScript use, `true` and nothing at all, so that an argument it had left open is an empty text. Both pass
# without an error. A model repeats what it reads, so one and the same writes its calls as Python's words behind one server
# and as JSON's behind the other. quorum reads both spellings where a model writes its calls as text.
# This fills in one template with both, without a model, and fails once one of them behaves in another way.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" -q install jinja2==3.1.6 2>/dev/null
npm install --silent --no-audit --no-fund --prefix "$work" @huggingface/jinja@0.5.11 >/dev/null 2>&1

cat > "$work/call.json" <<'JSON'
{"call": {"name": "search", "arguments": {"word": "x", "deep": true, "limit": null, "share": 1.0, "where": ["a", null]}}}
JSON
cat > "$work/template.jinja" <<'JINJA'
{%- for name, value in call.arguments | items %}
<parameter={{ name }}>{{ value | tojson if value is mapping or (value is sequence and value is not string) else value }}</parameter>
{%- endfor %}
JINJA
cat > "$work/fill.mjs" <<'JS'
import { Template } from '@huggingface/jinja'
import { readFileSync } from 'node:fs'

const read = name => readFileSync(new URL(name, import.meta.url), 'utf8')
console.log('@huggingface/jinja', JSON.parse(read('node_modules/@huggingface/jinja/package.json')).version)
console.log(new Template(read('template.jinja')).render(JSON.parse(read('call.json'))).trim())
JS
cat > "$work/fill.py" <<'PY'
import json, sys
from importlib.metadata import version

from jinja2.sandbox import ImmutableSandboxedEnvironment

environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
environment.filters["tojson"] = lambda value: json.dumps(value, ensure_ascii=False)
template, call = (open(f"{sys.argv[1]}/{name}").read() for name in ("template.jinja", "call.json"))
print("jinja2", version("jinja2"))
print(environment.from_string(template).render(**json.loads(call)).strip())
PY

{ "$work/venv/bin/python" "$work/fill.py" "$work"; node "$work/fill.mjs"; } | tee "$work/seen"

diff "$work/seen" - <<'SEEN' && echo "as it was seen"
jinja2 3.1.6
<parameter=word>x</parameter><parameter=deep>True</parameter><parameter=limit>None</parameter><parameter=share>1.0</parameter><parameter=where>["a", null]</parameter>
@huggingface/jinja 0.5.11
<parameter=word>x</parameter><parameter=deep>true</parameter><parameter=limit></parameter><parameter=share>1</parameter><parameter=where>["a", null]</parameter>
SEEN
