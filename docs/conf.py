"""Sphinx: these pages and the reference of `obmc` from its docstrings; `make docs` writes to build/docs."""

import ast
import importlib.metadata
from pathlib import Path

from docutils.nodes import SkipNode
from latex2mathml.converter import convert

project = "obmc"
author = "the obmc contributors"
release = version = importlib.metadata.version("obmc")

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
napoleon_google_docstring = False
napoleon_numpy_docstring = True

html_theme = "furo"
html_math_renderer = "mathml"
html_title = "obmc"


ROOT = Path(__file__).parents[1]


def purposes(folder):
    """A list of the folder's files with the first line of each docstring, as Markdown; folders within come after."""
    lines = []
    for path in sorted(folder.glob("*.py")):
        if purpose := ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))):
            lines.append(f"- `{path.name}`: {purpose.splitlines()[0]}")
    within = [purposes(inner) for inner in sorted(folder.iterdir()) if (inner / "__init__.py").is_file()]
    within += [purposes(inner) for inner in (folder / "parts", folder / "evidence") if inner.is_dir()]
    return "\n".join([f"## {folder.relative_to(ROOT)}/", "", *lines, "", *within])


def setup(app):
    """Docstrings write formulas as plain text, in which bars and stars are no markup."""

    def escape(app, what, name, obj, options, lines):
        for number, line in enumerate(lines):
            # Indented lines of a summary are displayed formulas; numpydoc's sections have become lists by now.
            lines[number] = line.replace("|", r"\|").replace("_*", r"_\*")

    def visitor(display):
        """Formulas as MathML, which browsers draw by themselves: the pages need nothing from elsewhere."""

        def visit(translator, node):
            translator.body.append(convert(node.astext(), display=display))
            raise SkipNode

        return visit

    def collect(app, name, source):
        if name == "files":
            folders = "\n".join(purposes(ROOT / name) for name in ("obmc", "pages", "benchmarks"))
            source[0] = source[0].replace("```{files}\n```", folders)

    app.connect("source-read", collect)
    app.add_html_math_renderer("mathml", (visitor("inline"), None), (visitor("block"), None))
    # After napoleon, which reads the sections.
    app.connect("autodoc-process-docstring", escape, priority=900)
