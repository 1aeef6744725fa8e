"""Sphinx: these pages and the reference of `obmc` from its docstrings; `make docs` writes to build/docs."""

import importlib.metadata

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

    app.add_html_math_renderer("mathml", (visitor("inline"), None), (visitor("block"), None))
    # After napoleon, which reads the sections.
    app.connect("autodoc-process-docstring", escape, priority=900)
