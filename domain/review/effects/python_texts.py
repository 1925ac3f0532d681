"""Texts that Python code puts together from parts and numbers, and folders that it knows by other names."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

_ENVIRONMENTS = frozenset({"os.environ", "os.getenv", "os.environ.get"})
_FOLDERS = {
    **dict.fromkeys(("pathlib.Path.home", "Path.home"), "~"),
    **dict.fromkeys(
        ("site.getsitepackages", "site.getusersitepackages", "sysconfig.get_path", "sysconfig.get_paths"),
        "$PREFIX/site-packages",
    ),
}
_HIGHEST = 0x10FFFF
UNKNOWN_PART = "$x"


def find_folder(node: ast.expr, find_name: Callable[[ast.expr], str]) -> str | None:
    """A folder that the machine knows by another name than its path."""
    match node:
        case ast.Subscript(value=ast.Call() as given) | (ast.Call() as given) if (
            name := find_name(given.func)
        ) in _FOLDERS:
            return _FOLDERS[name]
        case (
            ast.Subscript(value=variables, slice=ast.Constant(value="HOME"))
            | ast.Call(func=variables, args=[ast.Constant(value="HOME"), *_])
        ) if find_name(variables) in _ENVIRONMENTS:
            return "~"
        case _:
            return None


class TextBuilder:
    """Reads texts that calls make of lists and of the numbers of letters. `find_text` says what is known of a
    part, and `find_list` what list a name stands for."""

    def __init__(
        self, find_text: Callable[[ast.expr], str | None], find_list: Callable[[str], ast.expr | None]
    ) -> None:
        self._find_text = find_text
        self._find_list = find_list

    def spell(self, name: str, args: Sequence[ast.expr]) -> str | None:
        """What `chr`, `bytes` or `bytearray` makes of numbers."""
        match name, args:
            case "chr", [ast.Constant(value=int(number))] if 0 <= number <= _HIGHEST:
                return chr(number)
            case "bytes" | "bytearray", [source, *_]:
                return self._spell_numbers(source)
            case _:
                return None

    def join(self, joint: ast.expr, args: Sequence[ast.expr]) -> str | None:
        """What `join` makes of a list, of the letters of numbers, or of a text."""
        between = self._find_text(joint)
        if between is None or len(args) != 1:
            return None
        match args[0]:
            case ast.Call(func=ast.Name(id="map"), args=[ast.Name(id="chr"), source]):
                letters = self._spell_numbers(source)
            case (
                ast.GeneratorExp(
                    elt=ast.Call(func=ast.Name(id="chr"), args=[ast.Name(id=each)]), generators=loops
                )
                | ast.ListComp(
                    elt=ast.Call(func=ast.Name(id="chr"), args=[ast.Name(id=each)]), generators=loops
                )
            ):
                match loops:
                    case [ast.comprehension(target=ast.Name(id=target), iter=source, ifs=[])] if target == each:
                        letters = self._spell_numbers(source)
                    case _:
                        return None
            case ast.Call(func=ast.Name(id="reversed"), args=[source]):
                forwards = self._find_text(source)
                letters = None if forwards is None else forwards[::-1]
            case source:
                parts = [self._find_text(each) for each in self._list_elements(source)]
                return between.join(each or UNKNOWN_PART for each in parts) if any(parts) else None
        return None if letters is None else between.join(letters)

    def _spell_numbers(self, source: ast.expr) -> str | None:
        numbers = [each.value for each in self._list_elements(source) if isinstance(each, ast.Constant)]
        known = [each for each in numbers if isinstance(each, int) and 0 <= each <= _HIGHEST]
        return "".join(map(chr, known)) or None

    def _list_elements(self, source: ast.expr) -> Sequence[ast.expr]:
        if isinstance(source, ast.Name):
            source = self._find_list(source.id) or source
        return source.elts if isinstance(source, ast.List | ast.Tuple) else ()
