import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_linked_documents_exist():
    for target in re.findall(r"\]\((?!https://)([^)#]+)\)", README):
        assert (ROOT / target).exists(), target


def test_documents_that_pages_and_code_name_exist():
    pages = [
        path for path in (ROOT / "docs").glob("*.md") if path.name != "log.md"
    ]  # which tells of earlier ones
    named = [
        (path, name)
        for path in (*pages, *(ROOT / "src").rglob("*.py"))
        for name in re.findall(r"[\w/.-]+\.md\b", path.read_text("utf-8"))
        if not name.startswith("results/")  # a folder of them is not there until it is made
    ]
    assert len(named) > 20
    for path, name in named:
        assert any((folder / name).exists() for folder in (path.parent, ROOT)), (path, name)
