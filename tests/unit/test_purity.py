"""`statecharts` has no clock, no I/O, no chance and no asyncio, however it might come by them."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import statecharts

ROOT = Path(statecharts.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))
# What can be reached without an import, or through a module that is allowed for something else.
FORBIDDEN_NAMES = {"open", "print", "input", "exec", "eval", "__import__"}
FORBIDDEN_ATTRIBUTES = {
    "now", "utcnow", "today", "read_text", "write_text", "read_bytes", "write_bytes", "unlink",
    "mkdir", "iterdir", "glob", "urandom", "uuid4", "uuid1",
}  # fmt: skip
FORBIDDEN_MODULES = {
    "asyncio", "time", "random", "os", "io", "sys", "pathlib", "socket", "subprocess", "threading",
    "secrets", "uuid", "logging", "importlib", "tempfile", "shutil", "actors",
}  # fmt: skip


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_nothing_impure_is_imported_or_called(file: Path) -> None:
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        where = f"{file.name}:{getattr(node, 'lineno', 0)}"
        if isinstance(node, ast.Import):
            roots = {alias.name.partition(".")[0] for alias in node.names}
            assert not roots & FORBIDDEN_MODULES, where
        elif isinstance(node, ast.ImportFrom):
            assert (node.module or "").partition(".")[0] not in FORBIDDEN_MODULES, where
        elif isinstance(node, ast.AsyncFunctionDef | ast.Await):
            pytest.fail(f"{where}: asyncio")
        elif isinstance(node, ast.Call):
            if isinstance(node.func, ast.Name):
                assert node.func.id not in FORBIDDEN_NAMES, where
            elif isinstance(node.func, ast.Attribute):
                assert node.func.attr not in FORBIDDEN_ATTRIBUTES, where
