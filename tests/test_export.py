"""What is taken away: every format of the table holds the chart's numbers, and Python makes them again, exactly."""

from __future__ import annotations

import ast
import io
import json
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import nbformat
import numpy as np
import pandas as pd
import pytest
from export_views import HOSTILE, VIEWS, data_of
from hypothesis import given, settings
from hypothesis import strategies as st
from pandas.testing import assert_frame_equal

from obmc import export
from obmc.export import EXPORTS, Exhibit
from obmc.offers import OFFERS
from obmc.pins import MAX_NAME, Pin, clean
from obmc.plan import Plan, curves_of
from obmc.single import Setting
from obmc.views import CurveView, PinView, RunView, View

SETTINGS = 'page = "<trade_off>"\n'


def exhibit_of(kind: str) -> Exhibit:
    return Exhibit(VIEWS[kind], data_of(kind), SETTINGS, "http://localhost/?a=1&b=<2>", missing=7)


def read_csv(content: bytes) -> pd.DataFrame:
    return pd.read_csv(io.BytesIO(content), keep_default_na=False, na_values=[""])


def same(found: pd.DataFrame, expected: pd.DataFrame) -> None:
    """Equal to the last bit; an empty text comes back from CSV as missing."""
    texts = [name for name in expected.columns if not pd.api.types.is_numeric_dtype(expected[name])]
    found, expected = found.astype(dict.fromkeys(texts, object)), expected.astype(dict.fromkeys(texts, object))
    for name in texts:
        found[name], expected[name] = found[name].fillna(""), expected[name].fillna("")
    assert_frame_equal(found, expected, check_exact=True, check_dtype=False)


def harmless(table: pd.DataFrame) -> pd.DataFrame:
    return table.assign(series=table["series"].replace({HOSTILE: f"'{HOSTILE}"}))


# What each format must hold -------------------------------------------------------------------------------------------


def check_csv(exhibit: Exhibit, content: bytes) -> None:
    same(read_csv(content), harmless(exhibit.view.table(exhibit.data)))


def check_parquet(exhibit: Exhibit, content: bytes) -> None:
    same(pd.read_parquet(io.BytesIO(content)), exhibit.view.table(exhibit.data))


def check_draws(exhibit: Exhibit, content: bytes) -> None:
    found = read_csv(content)
    same(found, harmless(exhibit.view.draws(exhibit.data)))
    if not isinstance(exhibit.view, RunView):
        means = harmless(exhibit.view.table(exhibit.data))
        for line in means.to_dict("records"):
            mine = found[(found["mechanism"] == line["mechanism"]) & (found["options"].fillna("") == line["options"])]
            mine = mine[(mine["epsilon"] == line["epsilon"]) & (mine["ratio"] == line["ratio"])]
            assert mine["value"].mean() == pytest.approx(line["mean"], rel=1e-12, abs=1e-12)


def check_picture(exhibit: Exhibit, content: bytes) -> None:
    raise AssertionError("a picture is made by the browser")


def check_script(exhibit: Exhibit, content: bytes) -> None:
    tree = ast.parse(content)
    homes = [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    assert homes and all(home.split(".")[0] == "obmc" for home in homes)
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.Import)]
    assert "obmc 0.1.0, results version 2" in (ast.get_docstring(tree) or "")


def check_notebook(exhibit: Exhibit, content: bytes) -> None:
    made = nbformat.reads(content.decode(), as_version=4)
    nbformat.validate(made)
    assert [cell.cell_type for cell in made.cells] == ["markdown", "code", "code", "code", "code"]
    assert all(cell.outputs == [] for cell in made.cells if cell.cell_type == "code")
    assert exhibit.view.caption() in made.cells[0].source


class Seen(HTMLParser):
    """What a page would load or link to, its tags and its texts."""

    def __init__(self) -> None:
        super().__init__()
        self.outside: list[str] = []
        self.tags: list[str] = []
        self.exact: set[float] = set()
        self.texts: list[str] = []
        self.labels: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.tags.append(tag)
        self.outside += [text for name in ("src", "href", "action", "data") if (text := given.get(name))]
        if tag == "data":
            self.exact.add(float(given["value"] or "nan"))
        if tag == "figure":
            self.labels.append(given["aria-label"] or "")

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def check_report(exhibit: Exhibit, content: bytes) -> None:
    seen = Seen()
    text = content.decode()
    seen.feed(text)
    table = exhibit.view.table(exhibit.data)
    numbers = table[["mean", "low", "high"]].to_numpy(dtype=float)
    assert set(numbers[np.isfinite(numbers)]) <= seen.exact
    assert seen.outside == [] and "default-src 'none'" in text
    assert seen.labels and all(picture.alt in " ".join(seen.labels) for picture in exhibit.view.pictures(exhibit.data))
    said = "\n".join(seen.texts)
    for statement in exhibit.view.statements():
        assert statement.series in said
        assert statement.guarantee is not None and statement.guarantee.headline in said
    assert f"Seed: {exhibit.view.seed}" in said and "7 runs of this chart" in said
    assert SETTINGS.strip() in said and exhibit.address in said
    # plotly.js, its figures and nothing of what names and addresses say.
    assert seen.tags.count("script") == 1 + len(exhibit.view.pictures(exhibit.data))
    assert "b" not in seen.tags


def check_settings(exhibit: Exhibit, content: bytes) -> None:
    assert content.decode() == SETTINGS


CHECKS = {
    "csv": check_csv,
    "parquet": check_parquet,
    "draws": check_draws,
    "svg": check_picture,
    "png": check_picture,
    "script": check_script,
    "notebook": check_notebook,
    "report": check_report,
    "settings": check_settings,
}


@pytest.mark.parametrize("key", list(EXPORTS))
@pytest.mark.parametrize("kind", ["trade-off", "by epsilon", "pins", "one run"])
def test_every_format_holds_what_the_view_shows(key, kind):
    format_, exhibit = EXPORTS[key], exhibit_of(kind)
    assert format_.help.endswith(".") and format_.label and format_.file("x").startswith("x")
    if format_.make is None:
        assert format_.media_type.startswith("image/") and format_.ending in (".svg", ".png")
        return
    CHECKS[key](exhibit, format_.make(exhibit))


def test_every_format_is_tried_and_no_two_share_a_file():
    assert set(CHECKS) == set(EXPORTS)
    assert len({format_.file("x") for format_ in EXPORTS.values()}) == len(EXPORTS)


# Python ---------------------------------------------------------------------------------------------------------------


def made_again(view: View) -> View:
    names: dict[str, object] = {}
    for text in export.script_of(view).split("VIEW = ")[0].splitlines():
        if text.startswith("from "):
            exec(text, names)
    return eval(export.source(view), names)


@pytest.mark.parametrize("kind", list(VIEWS))
def test_the_text_of_a_view_makes_it_again(kind):
    assert made_again(VIEWS[kind]) == VIEWS[kind]


texts = st.text(min_size=1, max_size=200).map(clean)
numbers = st.floats(0.1, 10.0)


@settings(max_examples=20, deadline=None)
@given(texts, numbers, numbers, st.integers(1, 20), st.integers(0, 2**31 - 1), st.sampled_from(sorted(OFFERS)))
def test_any_name_and_number_survives_in_the_text(name, alpha, epsilon, rank, seed, offer):
    setting = Setting(alpha=alpha, rank=rank, seed=seed, noise="gaussian", sigma=min(alpha, 5.0))
    pin = Pin(name, offer, "paper", setting, (epsilon,), 3)
    view = PinView((pin,), "are")
    assert len(name) <= MAX_NAME and made_again(view) == view
    ast.parse(export.script_of(view))
    plan = Plan(setting, curves_of([OFFERS[offer]], ("paper", "rigorous")), (epsilon,), 5, "are")
    curve_view = CurveView(plan, epsilon=epsilon)
    assert made_again(curve_view) == curve_view


CLEAN = """
import json, os, runpy, sys

class NoDashboard:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("streamlit", "pages", "app"):
            raise ImportError(f"{name} is not there")

sys.meta_path.insert(0, NoDashboard())
# One worker is enough for a few runs.
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
for folder in sys.argv[1:]:
    os.chdir(folder)
    for name in os.listdir("."):
        if name.endswith(".py"):
            runpy.run_path(name, run_name="__main__")
        if name.endswith(".ipynb"):
            made = {}
            for cell in json.load(open(name, encoding="utf-8"))["cells"]:
                if cell["cell_type"] == "code":
                    exec("".join(cell["source"]), made)
            made["table"].to_csv("notebook.csv", index=False)
assert "streamlit" not in sys.modules
"""


def test_script_and_notebook_give_the_numbers_exactly_in_a_clean_process(tmp_path: Path):
    scripts, notebooks = ("trade-off", "one run"), ("pins",)
    folders = {kind: tmp_path / str(place) for place, kind in enumerate((*scripts, *notebooks))}
    for kind, folder in folders.items():
        folder.mkdir()
        key = "script" if kind in scripts else "notebook"
        make = EXPORTS[key].make
        assert make is not None
        (folder / EXPORTS[key].file(VIEWS[kind].name)).write_bytes(make(exhibit_of(kind)))
    command = [sys.executable, "-I", "-c", CLEAN, *map(str, folders.values())]
    environment = {"OPENBLAS_NUM_THREADS": "1", "OBMC_RESULTS": str(tmp_path / "none.sqlite3")}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    for kind, folder in folders.items():
        view = VIEWS[kind]
        file = "notebook.csv" if kind in notebooks else f"{view.name}.csv"
        same(read_csv((folder / file).read_bytes()), view.table(data_of(kind)))
        if kind in scripts:
            assert (folder / f"{view.name}-1.html").stat().st_size > 1_000_000
    assert "InP at epsilon = 1: epsilon = 1 for the whole output" in done.stdout


def test_nothing_of_a_view_is_computed_for_a_script(monkeypatch):
    monkeypatch.setattr(CurveView, "compute", None)
    assert b"CurveView(" in EXPORTS["script"].make(Exhibit(VIEWS["trade-off"], None))
    assert json.loads(EXPORTS["notebook"].make(Exhibit(VIEWS["trade-off"], None)))["nbformat"] == 4
