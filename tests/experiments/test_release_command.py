"""``python -m obmc release``: the same as the page, without a browser."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from obmc import cli

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = str(ROOT / "data" / "sample_ratings.csv")


def run(capsys: pytest.CaptureFixture[str], *options: str, source: str = SAMPLE) -> tuple[int, str]:
    code = cli.main(["release", source, *options])
    return code, capsys.readouterr().err


def test_a_release_with_its_ledger(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    out, book = tmp_path / "mine.zip", tmp_path / "ledger.json"
    common = ("--scale", "1", "5", "--mechanism", "InP", "--ledger", str(book), "--output", str(out))
    code, said = run(capsys, "--epsilon", "2", "--budget", "3", "--top", "3", *common)
    assert code == 0
    assert "epsilon = 2 for the whole output" in said and "1 release from this table" in said
    with zipfile.ZipFile(out) as archive:
        assert archive.namelist() == ["top_3.csv", "guarantee.json", "README.txt"]
        assert archive.read("top_3.csv").decode("utf-8-sig").startswith("user,place,item,probability\nperson ")
    assert [entry["epsilon"] for entry in json.loads(book.read_text())["entries"]] == [2.0]
    before = out.read_bytes()
    code, said = run(capsys, "--epsilon", "1.5", *common)
    assert code == 2 and "at most the 1 that is left of the budget of 3" in said
    assert out.read_bytes() == before
    code, said = run(capsys, "--epsilon", "1", "--what", "all", *common)
    assert code == 0 and "together epsilon = 3" in said
    code, said = run(capsys, "--epsilon", "1", "--budget", "3.5", *common)
    assert code == 2 and "--budget must be at most the 3" in said
    code, said = run(capsys, "--epsilon", "1", "--budget", "2.9", *common)
    assert code == 2 and json.loads(book.read_text())["epsilon_budget"] == 2.9, "a lowered budget stays"
    code, said = run(capsys, "--epsilon", "1", "--budget", "9", *common)
    assert code == 2 and "--budget must be at most the 2.9" in said
    broken = json.loads(book.read_text())
    for name, value in (("multiplier", "a"), ("multiplier", [1])):
        broken["entries"][0][name] = value
        (damaged := tmp_path / "damaged.json").write_text(json.dumps(broken))
        code, said = run(capsys, "--epsilon", "1", *common, "--ledger", str(damaged))
        assert code == 2 and "must be a file that this command wrote" in said
    assert len(json.loads(book.read_text())["entries"]) == 2


def test_releases_at_the_same_time_do_not_overlook_each_other(tmp_path: Path) -> None:
    book = tmp_path / "ledger.json"
    common = ("--epsilon", "1", "--scale", "1", "5", "--mechanism", "InP", "--ledger", str(book), "--budget", "3")
    started = [
        subprocess.Popen(
            [sys.executable, "-m", "obmc", "release", SAMPLE, *common, "--output", str(tmp_path / f"{number}.zip")],
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(4)
    ]
    said = [process.communicate()[1] for process in started]
    assert sorted(process.returncode for process in started) == [0, 0, 0, 2]
    assert sum("left of the budget of 3" in text for text in said) == 1
    assert [entry["epsilon"] for entry in json.loads(book.read_text())["entries"]] == [1.0, 1.0, 1.0]
    assert len(list(tmp_path.glob("*.zip"))) == 3


def test_a_release_that_fails_on_the_ratings_is_said_in_a_sentence_and_stays_in_the_ledger(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("obmc.mechanisms.output.RIDGE_GAP", 1e-17)
    book = tmp_path / "ledger.json"
    common = ("--scale", "1", "5", "--mechanism", "OutP:ridge=1,delta=1e-5", "--ledger", str(book))
    code, said = run(capsys, "--epsilon", "1", *common, "--output", str(tmp_path / "mine.zip"))
    assert code == 2 and "counts as a release" in said and "Traceback" not in said
    assert [entry["epsilon"] for entry in json.loads(book.read_text())["entries"]] == [1.0]
    assert not (tmp_path / "mine.zip").exists()


def test_named_entries(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    named, out = tmp_path / "entries.txt", tmp_path / "mine.zip"
    named.write_text("person 042,Blue Orchard\n", encoding="utf-8")
    options = ("--epsilon", "2", "--threshold", "3", "--mechanism", "OutP", "--entries", str(named))
    code, said = run(capsys, *options, "--output", str(out))
    assert code == 0 and "the one named entry" in said
    with zipfile.ZipFile(out) as archive:
        rows = archive.read("entries.csv").decode("utf-8-sig").splitlines()
    assert rows[0] == "user,item,probability" and rows[1].startswith("person 042,Blue Orchard,") and len(rows) == 2


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--threshold", "mean"], "a statistic of the private ratings"),
        ([], "--scale LOW HIGH or --threshold X"),
        (["--scale", "5", "1"], "low must be below high"),
        (["--threshold", "3", "--mechanism", "Clear"], "nothing in it is protected"),
        (["--threshold", "3", "--mechanism", "Majority"], "without noise"),
        (["--threshold", "3", "--mechanism", "OutP:paper"], "as a matrix"),
        (["--threshold", "3", "--mechanism", "ObjP:displayed"], "known not to hold"),
        (["--threshold", "3", "--output", "mine.csv"], "name of a .zip file"),
        (["--threshold", "3", "--budget", "0.5"], "left of the budget"),
        (["--threshold", "3", "--budget", "-1"], " --budget must "),
        (["--threshold", "3", "--delta-budget", "7"], " --delta-budget must "),
        (["--threshold", "3", "--user", "nobody"], "nobody"),
    ],
)
def test_refusals_are_one_sentence_and_write_nothing(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    options: list[str],
    reason: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    code, said = run(capsys, "--epsilon", "1", *options)
    assert code == 2 and reason in said
    assert said.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_the_ledger_of_another_table_is_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    book = tmp_path / "ledger.json"
    other = tmp_path / "other.csv"
    other.write_text("user,item,rating\n" + "".join(f"{u},{i},{1 + (u + i) % 5}\n" for u in range(5) for i in range(4)))
    common = ("--epsilon", "1", "--scale", "1", "5", "--mechanism", "InP", "--ledger", str(book))
    assert run(capsys, *common, "--output", str(tmp_path / "a.zip"))[0] == 0
    code, said = run(capsys, *common, "--output", str(tmp_path / "b.zip"), source=str(other))
    assert code == 2 and "ledger of other ratings" in said
    book.write_text("[]")
    code, said = run(capsys, *common, "--output", str(tmp_path / "b.zip"))
    assert code == 2 and "must be a file that this command wrote" in said


def test_no_file_of_the_user_s_is_replaced(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    packed = tmp_path / "ratings.zip"
    with zipfile.ZipFile(packed, "w") as archive:
        archive.write(SAMPLE, "ratings.csv")
    before = packed.read_bytes()
    common = ("--epsilon", "1", "--scale", "1", "5", "--mechanism", "InP")
    code, said = run(capsys, *common, "--output", str(packed), source=str(packed))
    assert code == 2 and "--output must be another file than the ratings" in said
    same = str(tmp_path / "same.zip")
    code, said = run(capsys, *common, "--ledger", same, "--output", same)
    assert code == 2 and "--output must be another file than --ledger" in said
    code, said = run(capsys, *common, "--ledger", str(packed), source=str(packed))
    assert code == 2 and "--ledger must be another file than the ratings" in said
    assert packed.read_bytes() == before and list(tmp_path.iterdir()) == [packed]
    plain = tmp_path / "plain.csv"
    plain.write_bytes(Path(SAMPLE).read_bytes())
    assert cli.main(["complete", str(plain), "--threshold", "3", "--output", str(plain)]) == 2
    assert "--output must be another file than the ratings" in capsys.readouterr().err
    assert plain.read_bytes() == Path(SAMPLE).read_bytes()


def test_a_release_without_a_ledger_knows_of_itself_alone_and_says_when_it_has_learnt_nothing(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    few, out = tmp_path / "few.csv", tmp_path / "few.zip"
    # So few that no draw of the noise shows a structure by two standard errors: a release's noise has no seed.
    few.write_text("user,item,rating\nu0,i0,5\nu0,i1,1\nu1,i0,1\nu2,i2,5\n")
    code, said = run(capsys, "--epsilon", "1", "--scale", "1", "5", "--output", str(out), source=str(few))
    assert code == 0 and "Known is this release alone" in said and "--ledger FILE.json" in said
    assert "Nothing could be learnt: every probability is one half" in said
    with zipfile.ZipFile(out) as archive:
        readme = archive.read("README.txt").decode()
        assert readme.index("Nothing could be learnt") < readme.index("What is guaranteed")
        assert {line.split(",")[-1] for line in archive.read("top_10.csv").decode().split()[1:]} <= {"0.500000"}


def test_a_ledger_behind_a_link_is_booked_where_the_link_leads(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    real, link = tmp_path / "real.json", tmp_path / "link.json"
    common = ("--epsilon", "1", "--scale", "1", "5", "--mechanism", "InP", "--output", str(tmp_path / "mine.zip"))
    assert run(capsys, *common, "--ledger", str(real))[0] == 0
    real.chmod(0o600)
    link.symlink_to(real)
    assert run(capsys, *common, "--ledger", str(link))[0] == 0
    assert link.is_symlink()
    assert len(json.loads(real.read_text())["entries"]) == 2
    assert real.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("entries", ["{}", '""', "null", "3", "[" * 100_000])
def test_a_damaged_ledger_is_not_an_empty_one(capsys: pytest.CaptureFixture[str], tmp_path: Path, entries: str) -> None:
    book = tmp_path / "ledger.json"
    common = ("--epsilon", "1", "--scale", "1", "5", "--mechanism", "InP", "--ledger", str(book))
    assert run(capsys, *common, "--output", str(tmp_path / "mine.zip"))[0] == 0
    head, _, _ = book.read_text().partition('"entries"')
    book.write_text(f'{head}"entries": {entries}}}')
    before = book.read_bytes()
    code, said = run(capsys, *common, "--output", str(tmp_path / "other.zip"))
    assert code == 2 and "--ledger must be a file that this command wrote" in said
    assert book.read_bytes() == before and not (tmp_path / "other.zip").exists()


def test_a_ledger_in_a_folder_that_is_not_there_is_named(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    common = ("--epsilon", "1", "--scale", "1", "5", "--mechanism", "InP", "--output", str(tmp_path / "mine.zip"))
    code, said = run(capsys, *common, "--ledger", str(tmp_path / "none" / "ledger.json"))
    assert code == 2 and "--ledger cannot be written to" in said
    code, said = run(capsys, "--epsilon", "1", "--scale", "1", "5", "--output", str(tmp_path / "none" / ".." / "u.zip"))
    assert code == 2 and "--output cannot be written to" in said
