"""Evidence and checker are pure: what they import, what they call, and that no adapter can reach them."""

import ast
import builtins
import inspect
from pathlib import Path

import attrs
import pytest

import neuron_council
from neuron_council.checker.verifier import verify
from neuron_council.evidence import ballot, consensus, debate, failure, pack, report, verdict

PACKAGE = Path(neuron_council.__file__).parent
PURE = sorted([*(PACKAGE / "evidence").rglob("*.py"), *(PACKAGE / "checker").rglob("*.py"), PACKAGE / "errors.py"])
OWN = ("neuron_council.evidence", "neuron_council.checker", "neuron_council.errors")

# The parts of the standard library that hold no clock, file, network, process, or chance, and attrs.
ALLOWED = {
    "__future__",
    "attrs",
    "binascii",
    "bisect",
    "collections",
    "dataclasses",
    "decimal",
    "enum",
    "fractions",
    "functools",
    "html",
    "itertools",
    "json",
    "math",
    "operator",
    "re",
    "string",
    "typing",
    "unicodedata",
}
IMPURE_BUILTINS = {"__import__", "breakpoint", "compile", "eval", "exec", "globals", "input", "open", "print"}


def imported(tree):
    """Every module that TREE imports, wherever the import stands, with its line."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for name in node.names:
                yield node.lineno, name.name
        elif isinstance(node, ast.ImportFrom):
            yield node.lineno, "." * node.level + (node.module or "")


def is_allowed(module):
    root = module.partition(".")[0]
    own = any(module == name or module.startswith(f"{name}.") for name in OWN)
    # `html.parser` and the like would be other modules than the ones thought of.
    return own or module in ALLOWED or (root == "collections" and module == "collections.abc")


def faults(source):
    """What in SOURCE is not pure."""
    tree = ast.parse(source)
    for line, module in imported(tree):
        if not is_allowed(module):
            yield line, module
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in IMPURE_BUILTINS and hasattr(builtins, node.id):
            yield node.lineno, node.id
        elif isinstance(node, ast.AsyncFunctionDef | ast.Await | ast.Global | ast.Nonlocal):
            yield node.lineno, type(node).__name__


def test_there_is_something_to_look_at():
    names = {str(path.relative_to(PACKAGE)) for path in PURE}
    assert {"evidence/debate.py", "evidence/scoring.py", "checker/verifier.py", "checker/outcome.py"} <= names
    assert len(names) > 15


@pytest.mark.parametrize("path", PURE, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_pure_module_imports_pure_modules_alone(path):
    assert list(faults(path.read_text("utf-8"))) == []


@pytest.mark.parametrize("path", sorted((PACKAGE / "evidence").rglob("*.py")), ids=lambda path: path.name)
def test_evidence_does_not_know_the_checker(path):
    modules = {module for _, module in imported(ast.parse(path.read_text("utf-8")))}
    assert not [module for module in modules if module.startswith("neuron_council.checker")]


@pytest.mark.parametrize(
    "source",
    [
        "import time",
        "import os.path",
        "from datetime import datetime",
        "def f():\n    import random",
        "from neuron_council.maker import adapter",
        "from neuron_council import council",
        "from . import x",
        "import html.parser",
        "import logging as re",
        "open('x')",
        "x = __import__('os')",
        "eval('1')",
        "print(1)",
        "async def f(): ...",
        "def f():\n    global x\n    x = 1",
    ],
)
def test_the_walk_finds_what_is_not_pure(source):
    assert list(faults(source))


def test_verify_takes_a_debate_and_a_pack_and_nothing_else():
    signature = inspect.signature(verify)
    assert [(name, one.annotation, one.kind) for name, one in signature.parameters.items()] == [
        ("debate", "DebateResult", inspect.Parameter.POSITIONAL_OR_KEYWORD),
        ("pack", "ContextPack", inspect.Parameter.POSITIONAL_OR_KEYWORD),
    ]
    assert signature.return_annotation == "VerificationReport"


@pytest.mark.parametrize("module", [ballot, consensus, debate, failure, pack, report, verdict])
def test_evidence_cannot_be_changed_by_who_looks_at_it(module):
    kinds = [kind for kind in vars(module).values() if inspect.isclass(kind) and attrs.has(kind)]
    assert kinds
    for kind in kinds:
        with pytest.raises(attrs.exceptions.FrozenInstanceError):
            setattr(object.__new__(kind), attrs.fields(kind)[0].name, None)
