"""What the listing promises: layers only look down, Spark stays in its own package, kernels stay
narrow, and every module has a test of its name.

Imports are read from the source with `ast`, so that those inside functions count as well.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
PACKAGE = TESTS.parent / "src" / "trimtab"

# From the bottom to the top. A part may import parts of lower rungs, and itself; parts that share
# a rung do not know each other, except on the two lowest, which are single files.
LADDER: list[set[str]] = [
    {
        "errors",
        "_checks",
        "_described",
        "_format",
        "_kernel",
        "_key_arrays",
        "_leveling",
        "_look_up",
        "_pairs",
        "_parameters",
        "_plan_arrays",
        "_registry",
        "_table",
        "_xxhash64",
    },
    {"keys", "histogram", "plan", "_plan_words", "metrics", "state"},
    {"sketches", "workloads"},
    {"routers", "planners"},
    {"partitioners"},
    {"control", "journal"},
    {"__init__"},  # `import trimtab`: the public names of everything below
    {"receive"},
    {"spark", "simulate"},
    {"report"},
    {"experiments"},
    {"cli", "demo"},
    {"__main__"},
]
RUNG = {part: height for height, parts in enumerate(LADDER) for part in parts}
SINGLE_FILES = LADDER[0] | LADDER[1]

MAY_IMPORT_PYSPARK_LAZILY = {"cli", "experiments", "demo"}

TESTED_ELSEWHERE = {
    "planners/hash.py": "planners/test_contract.py",
    "planners/readj.py": "planners/test_gedik.py",
    "planners/redist.py": "planners/test_gedik.py",
    "planners/scan.py": "planners/test_gedik.py",
    "routers/hash.py": "routers/test_simple_routers.py",
    "routers/pkg.py": "routers/test_simple_routers.py",
    "routers/potc.py": "routers/test_simple_routers.py",
    "routers/shuffle.py": "routers/test_simple_routers.py",
    "routers/time.py": "routers/test_simple_routers.py",
    "simulate/result.py": "simulate/test_run.py",
    # Only tests of whole operators, on a Spark session, have reached these so far.
    "spark/batch/skew_report.py": "spark/batch/test_profile.py",
    "spark/counting/timed.py": "spark/batch/test_group.py",
    "spark/session_facts.py": "spark/stream/test_connect.py",
    "spark/stream/batch.py": "spark/stream/test_api.py",
    "spark/stream/operations/apply.py": "spark/stream/test_api.py",
    "spark/stream/operations/base.py": "spark/stream/test_api.py",
    "spark/stream/operations/for_each_batch.py": "spark/stream/test_api.py",
    "spark/stream/runner.py": "spark/stream/test_recovery.py",
    "spark/stream/sinks/memory.py": "spark/stream/test_api.py",
    "spark/stream/sinks/table.py": "spark/stream/test_api.py",
    "spark/stream/startable.py": "spark/stream/test_api.py",
}
"""Modules without a test of their name, and where they are tested. This list may only shrink."""


@dataclass(frozen=True)
class Import:
    """One imported module, where it is imported, and whether that happens at import time."""

    module: str
    path: Path
    line: int
    lazy: bool

    def __str__(self) -> str:
        return f"{self.path.relative_to(PACKAGE.parent)}:{self.line} imports {self.module}"


def part_of(path: Path) -> str:
    first = path.relative_to(PACKAGE).parts[0]
    return first.removesuffix(".py")


def modules_named(node: ast.Import | ast.ImportFrom, path: Path) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
        return
    base = node.module or ""
    if node.level:
        package = ("trimtab", *path.relative_to(PACKAGE).parent.parts)
        package = package[: len(package) - node.level + 1]
        base = ".".join([*package, *([node.module] if node.module else [])])
    # `from trimtab import x` may name a submodule: keep the longest name that exists.
    for alias in node.names:
        yield f"{base}.{alias.name}"


def imports_of(path: Path) -> Iterator[Import]:
    def walk(node: ast.AST, lazy: bool) -> Iterator[Import]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Import | ast.ImportFrom):
                for module in modules_named(child, path):
                    yield Import(module, path, child.lineno, lazy)
            inside = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef)
            # What only type checkers read is never imported.
            checked = isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING"
            yield from walk(child, lazy or inside or checked)

    yield from walk(ast.parse(path.read_text(encoding="utf-8")), lazy=False)


def part_imported(module: str) -> str | None:
    """Return the part of trimtab that a dotted name belongs to, or None for other packages."""
    names = module.split(".")
    if names[0] != "trimtab":
        return None
    if len(names) > 1:
        part = PACKAGE / names[1]
        if part.is_dir() or part.with_suffix(".py").exists():
            return names[1]
    return "__init__"


SOURCES = sorted(PACKAGE.rglob("*.py"))
IMPORTS = [found for path in SOURCES for found in imports_of(path)]


def top(module: str) -> str:
    return module.split(".")[0]


def test_every_part_has_a_rung() -> None:
    parts = {part_of(path) for path in SOURCES}
    assert parts <= RUNG.keys(), f"give these a place on the ladder: {parts - RUNG.keys()}"


def test_imports_point_downwards_only() -> None:
    wrong = []
    for found in IMPORTS:
        here, there = part_of(found.path), part_imported(found.module)
        if there is None or here == there:
            continue
        level = {here, there} <= SINGLE_FILES and RUNG[here] == RUNG[there]
        if RUNG[there] >= RUNG[here] and not level:
            wrong.append(str(found))
    assert not wrong


def test_only_the_spark_package_imports_pyspark() -> None:
    wrong = [
        str(found)
        for found in IMPORTS
        if top(found.module) in {"pyspark", "py4j"}
        and part_of(found.path) != "spark"
        and not (found.lazy and part_of(found.path) in MAY_IMPORT_PYSPARK_LAZILY)
    ]
    assert not wrong


@pytest.mark.parametrize(
    ("module", "home"),
    [
        pytest.param("numba", "_kernel", id="the compiler's options are stated in one place"),
        pytest.param("pickle", None, id="nothing is pickled"),
        pytest.param("random", None, id="no decision rests on global random state"),
    ],
)
def test_modules_that_stay_out(module: str, home: str | None) -> None:
    wrong = [
        str(found)
        for found in IMPORTS
        if top(found.module) == module and part_of(found.path) != home
    ]
    assert not wrong


MOST_KERNEL_ARGUMENTS = 8
"""Past this many, arrays that belong together go into a named tuple."""


def kernels_of(path: Path) -> Iterator[ast.FunctionDef]:
    """Return the functions that `kernel` or `inline` of `trimtab._kernel` compile."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef):
            decorators = {ast.unparse(each).split(".")[-1] for each in node.decorator_list}
            if decorators & {"kernel", "inline"}:
                yield node


def test_kernels_take_few_arguments() -> None:
    found = [(path, kernel) for path in SOURCES for kernel in kernels_of(path)]
    assert len(found) > 50, "the reader of kernels sees too few of them"
    wrong = [
        f"{path.relative_to(PACKAGE.parent)}:{kernel.lineno} {kernel.name} takes {count}"
        for path, kernel in found
        if (count := len(kernel.args.args + kernel.args.posonlyargs + kernel.args.kwonlyargs))
        > MOST_KERNEL_ARGUMENTS
    ]
    assert not wrong


def test_import_trimtab_does_not_import_pyspark() -> None:
    code = "import sys, trimtab; sys.exit('pyspark' in sys.modules or 'py4j' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_the_reader_of_imports_sees_every_form() -> None:
    source = PACKAGE / "routers" / "imaginary.py"
    tree = ast.parse("from .. import plan\nfrom . import base\nfrom trimtab.sketches import exact")
    named = [
        name
        for node in tree.body
        if isinstance(node, ast.ImportFrom)
        for name in modules_named(node, source)
    ]
    assert named == ["trimtab.plan", "trimtab.routers.base", "trimtab.sketches.exact"]


def has_a_test_of_its_name(module: Path) -> bool:
    folder = TESTS / module.parent
    # The contract in `base.py` is tested on everything that keeps to it.
    contract = module.name == "base.py" and (folder / "test_contract.py").is_file()
    return contract or (folder / f"test_{module.name}").is_file()


def test_every_module_has_a_test_of_its_name() -> None:
    modules = [path.relative_to(PACKAGE) for path in SOURCES]
    # What is private to a folder is tested through the modules that use it.
    public = [module for module in modules if not module.name.startswith("_")]
    without = {module.as_posix() for module in public if not has_a_test_of_its_name(module)}
    new = without - TESTED_ELSEWHERE.keys()
    assert not new, f"write tests/.../test_<name>.py for: {sorted(new)}"
    over = TESTED_ELSEWHERE.keys() - without
    assert not over, f"take these off the list, they have a test now or are gone: {sorted(over)}"


def test_what_is_tested_elsewhere_names_a_test() -> None:
    gone = [test for test in TESTED_ELSEWHERE.values() if not (TESTS / test).is_file()]
    assert not gone
