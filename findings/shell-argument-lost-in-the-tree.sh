#!/usr/bin/env bash
# To bash `==` outside of brackets is a word as any other. The grammar of tree-sitter for bash takes it for an operator:
# before a word it leaves no node with a name, so that a reader of named children finds one argument too few, and at the
# end of a command the tree has an error. Three signs of equality are a word. This parses without running anything,
# asks bash itself, and fails once either behaves in another way.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" -q install tree-sitter==0.26.1 tree-sitter-bash==0.25.1 2>/dev/null

cat > "$work/parse.py" <<'PY'
import subprocess
from importlib.metadata import version

import tree_sitter
import tree_sitter_bash

parser = tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))
print("tree-sitter-bash", version("tree-sitter-bash"))
for text in ("expr a = b", "expr a == b", "grep == notes", "echo a ==", "echo === a"):
    root = parser.parse(text.encode()).root_node
    said = "an error" if root.has_error else f"arguments: {root.children[0].named_child_count - 1}"
    counting = f"set -- {text.split(' ', 1)[1]}; printf %s $#"
    counted = subprocess.run(["bash", "-c", counting], capture_output=True, text=True, check=True).stdout
    print(f"{text}: in the tree {said}; in bash {counted}")
PY

"$work/venv/bin/python" "$work/parse.py" | tee "$work/seen"

diff "$work/seen" - <<'SEEN' && echo "as it was seen"
tree-sitter-bash 0.25.1
expr a = b: in the tree arguments: 3; in bash 3
expr a == b: in the tree arguments: 2; in bash 3
grep == notes: in the tree arguments: 1; in bash 2
echo a ==: in the tree an error; in bash 2
echo === a: in the tree arguments: 2; in bash 2
SEEN
