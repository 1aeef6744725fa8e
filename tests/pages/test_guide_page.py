"""The page of the guide, in a copy of the pages: added as the guide says, and tried by the test that the guide has."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

PAGES = Path(__file__).parents[2] / "pages"
GUIDE = PAGES.parent / "docs" / "guides" / "page.md"


def test_the_guide_adds_a_page(runner, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    guide = GUIDE.read_text("utf-8")
    number, page, test = re.findall(r"^```python\n(.*?)^```", guide, re.M | re.S)
    (registration,) = re.findall(r"^```text\n(.*?)^```", guide, re.M | re.S)
    exec(number, {})
    pure, approximate = map(float, capsys.readouterr().out.split())
    assert pure == 4.0 / 65 < approximate

    pages = shutil.copytree(PAGES, tmp_path / "pages", ignore=shutil.ignore_patterns("__pycache__", "parts"))
    (pages / "person.py").write_text(page, "utf-8")
    main = (pages / "main.py").read_text("utf-8")
    with_page = re.sub(r"^(PAGES = \(\n.*?)^\)", lambda found: f"{found[1]}{registration})", main, flags=re.M | re.S)
    (pages / "main.py").write_text(with_page, "utf-8")

    def open_page(name: str) -> AppTest:
        return AppTest.from_file(str(pages / "main.py"), default_timeout=60).switch_page(name).run()

    made: dict = {}
    exec(compile(test, str(GUIDE), "exec"), made)
    made["test_each_rating_of_many_is_protected_better"](open_page)
