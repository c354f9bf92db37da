"""The order of the packages: each imports only what stands before it; and the page that maps them."""

import ast
import importlib
import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "rapidtask"
ORDER = (
    *("errors", "files", "options", "lives"),
    *("cities", "worlds", "draw", "views", "envs", "agents", "policies", "evaluation"),
    *("learning", "runs", "pretrained", "suite", "viewer", "experiments", "sweeps"),
    *("commands", "cli", "__main__"),
)
"""From what knows nothing of the others to what knows all."""


def part_of(path: Path) -> str:
    """The package, or the module of the first level, that a file belongs to."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported_parts(path: Path) -> set[str]:
    """The parts of the package that a file imports, wherever in it."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            names = (
                [node.module] if node.module != "rapidtask" else [f"rapidtask.{n.name}" for n in node.names]
            )
        elif isinstance(node, ast.Import):
            names = [name.name for name in node.names]
        else:
            continue
        found |= {name.split(".")[1] for name in names if name.startswith("rapidtask.")}
    return found


def test_no_package_imports_one_that_stands_after_it(capsys):
    with capsys.disabled():
        print("\n" + " → ".join(ORDER))
    # The package's own file offers a few names of all parts, and imports them when they are asked for.
    files = [path for path in PACKAGE.rglob("*.py") if part_of(path) != "__init__"]
    upward = [
        f"{path.relative_to(PACKAGE)} imports {other}"
        for path in files
        for other in imported_parts(path) - {part_of(path), "__version__"}
        if ORDER.index(other) > ORDER.index(part_of(path))
    ]
    assert not upward


def test_every_part_has_its_place_in_the_order_and_in_the_map():
    parts = {part_of(path) for path in PACKAGE.rglob("*.py")} - {"__init__"}
    assert parts == set(ORDER)
    folders = {part for part in parts if (PACKAGE / part).is_dir()}
    named = re.findall(r"^\| `src/rapidtask/(\w+)/`", (ROOT / "CONTRIBUTING.md").read_text("utf-8"), re.M)
    assert sorted(named) == sorted(folders)
    assert named == [part for part in ORDER if part in folders], "the map names them in the order of layers"


def functions_of_the_sample() -> list[str]:
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    section = text.split("## Follow one sample")[1].split("\n## ")[0]
    return re.findall(r"^\d+\. `([\w.]+)`", section, re.M)


def test_one_sample_goes_through_ten_functions_that_exist():
    names = functions_of_the_sample()
    assert len(names) == 10
    assert (names[0].split(".")[0], names[-1].split(".")[0]) == ("cities", "experiments")
    for name in names:
        module, _, rest = name.rpartition(".")
        try:
            owner = importlib.import_module(f"rapidtask.{module}")
        except ModuleNotFoundError:  # a method: module, class, method
            module, _, kind = module.rpartition(".")
            owner = getattr(importlib.import_module(f"rapidtask.{module}"), kind)
        assert callable(getattr(owner, rest)), name


def test_no_module_is_longer_than_300_lines():
    lines = {str(path): len(path.read_text("utf-8").splitlines()) for path in PACKAGE.rglob("*.py")}
    assert not {path: count for path, count in lines.items() if count > 300}
