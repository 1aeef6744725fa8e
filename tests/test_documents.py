"""The documents: links within the repository lead somewhere, every page is in the contents, the tour fits the tree."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md"), *(ROOT / "data").glob("*.md")])
PROSE = {path: re.sub(r"^```.*?^```|`[^`\n]*`", "", path.read_text("utf-8"), flags=re.M | re.S) for path in PAGES}
TOUR = (DOCS / "architecture.md").read_text("utf-8")
MODULES = sorted((ROOT / "obmc").rglob("*.py"))


def anchors(path: Path) -> set[str]:
    """The headings of a document as addresses have them."""
    headings = re.findall(r"^#+ (.*)$", path.read_text("utf-8"), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.casefold()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_within_the_repository_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)\s]+)\)", PROSE[page])
    assert re.search(r"\]\[|^\[[^\]]+\]:", PROSE[page], re.M) is None, "a link of a kind that is not looked at"
    for link in links:
        if re.match(r"https?://|mailto:", link):
            continue
        place, _, heading = link.partition("#")
        found = (page.parent / place).resolve() if place else page
        assert found.is_relative_to(ROOT), link
        assert found.exists(), link
        assert not heading or heading in anchors(found), link


def test_they_build_without_a_warning(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "sphinx",
        "-q",
        "-W",
        "-b",
        "html",
        "-d",
        tmp_path / "read",
        DOCS,
        tmp_path / "html",
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    # Every name of the reference is one of the package.
    assert "obmc.InputPerturbation" in (tmp_path / "html" / "api.html").read_text("utf-8")


def test_every_page_is_in_the_contents() -> None:
    trees = re.findall(r"```\{toctree\}\n(.*?)```", (DOCS / "index.md").read_text("utf-8"), re.S)
    listed = {
        path.relative_to(DOCS)
        for tree in trees
        for line in tree.splitlines()
        if line and not line.startswith(":")
        for path in DOCS.glob(f"{line}.md")
    }
    assert listed == {path.relative_to(DOCS) for path in DOCS.rglob("*.md")} - {Path("index.md")}


# The tour -------------------------------------------------------------------------------------------------------------


def layers() -> list[set[str]]:
    """The rows of the tour's table: names of files and, with a stroke at the end, of folders in ``obmc``."""
    table = TOUR.partition("files in `obmc/`")[2].partition("\n\n")[0]
    rows = [line.split("|")[2] for line in table.splitlines() if line.startswith("| ") and "---" not in line]
    return [set(re.findall(r"`([^`]+)`", row)) for row in rows]


def layer_of(module: str, rows: list[set[str]]) -> int:
    """The row of a module, such as ``privacy/audit``: by its own name before its folder's."""
    for names in (module, f"{module.partition('/')[0]}/"):
        for place, row in enumerate(rows):
            if names in row:
                return place
    raise AssertionError(f"the tour does not say where {module} belongs")


def modules_imported(path: Path) -> set[str]:
    """The modules of the package that a file imports, wherever in it."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("obmc"):
            parts = (node.module or "").split(".")[1:]
            for name in node.names:
                inner = ROOT.joinpath("obmc", *parts, name.name)
                deeper = inner.is_dir() or inner.with_suffix(".py").is_file()
                found.add("/".join([*parts, name.name] if deeper else parts))
    return found - {""}


def test_every_file_imports_from_its_own_row_and_those_above() -> None:
    rows = layers()
    assert len(rows) == 8
    # The projection on both constraints at once is itself an iteration.
    spared = {("constraints", "solvers/intersection")}
    for path in MODULES:
        module = path.relative_to(ROOT / "obmc").with_suffix("").as_posix()
        if module in ("__init__", "__main__") or module.endswith("mechanisms/__init__"):
            continue
        own = layer_of(module.removesuffix("/__init__"), rows)
        for other in modules_imported(path):
            if (module, other) not in spared:
                assert layer_of(other, rows) <= own, f"{module} imports {other}"


def test_the_tour_names_no_file_that_is_gone() -> None:
    for name in set().union(*layers()):
        path = ROOT / "obmc" / name
        assert path.is_dir() if name.endswith("/") else path.with_suffix(".py").is_file(), name


def test_every_file_says_in_one_line_what_it_is_for() -> None:
    sources = [*MODULES, *(ROOT / "pages").rglob("*.py"), *(ROOT / "benchmarks").rglob("*.py")]
    for path in sources:
        said = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
        if path.name != "__init__.py" or said:
            assert re.search(r"[.:;,]$", said.partition("\n")[0]), path


# The paper ------------------------------------------------------------------------------------------------------------


def test_the_paper_has_its_authors_wherever_it_is_cited() -> None:
    cited = [ROOT / "README.md", DOCS / "mathematics.md", DOCS / "reproduction.md", ROOT / "pages/parts/learn_words.py"]
    authors = re.findall(r"family-names: (\w+)\n +given-names: (\w)", (ROOT / "CITATION.cff").read_text("utf-8"))
    assert [family for family, _ in authors] == ["Li", "Wei", "Huang", "Mao", "Wang"]
    full = r",?\s+(?:and\s+)?".join(rf"{given}\.\s+{family}" for family, given in authors) + r"[.,]\s+\*One-Bit"
    short = r"\*\s+\(" + ", ".join(family for family, _ in authors) + r"\)"
    for path in cited:
        assert re.search(f"{full}|{short}", path.read_text("utf-8")), path


# What a page may do with a number: ask whether there is one.
ASKED_OF_NUMBERS = {"inf", "nan", "isinf", "isnan", "isfinite"}


@pytest.mark.parametrize("path", sorted((ROOT / "pages").rglob("*.py")), ids=lambda path: path.stem)
def test_no_page_holds_mathematics(path: Path) -> None:
    tree = ast.parse(path.read_text("utf-8"))
    annotations = {
        id(inner)
        for node in ast.walk(tree)
        for hint in (getattr(node, "annotation", None), getattr(node, "returns", None))
        if hint is not None
        for inner in ast.walk(hint)
    }
    for node in ast.walk(tree):
        assert not isinstance(node, ast.Pow)
        if isinstance(node, ast.ImportFrom):
            assert (node.module or "").partition(".")[0] not in {"numpy", "scipy", "math"}
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and id(node) not in annotations:
            assert node.value.id not in {"np", "numpy", "scipy"}, node.attr
            assert node.value.id != "math" or node.attr in ASKED_OF_NUMBERS, node.attr
