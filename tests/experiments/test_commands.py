"""The commands that compute: tables out, faults in one sentence with exit code 2, and going on where one was."""

from __future__ import annotations

import functools
import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pandas as pd
import pytest
from helpers import refusal

from obmc import cli
from obmc.experiments import FIELDS, Progress, Store, Sweep, figures, run
from obmc.experiments.commands import console
from obmc.experiments.commands.console import ProgressLine, text_of
from obmc.experiments.commands.sweep import parse_mechanism
from obmc.experiments.machine import machine

ROOT = Path(__file__).resolve().parents[2]
SMALL = ["--shape", "30", "20", "--ratio", "0.4", "--tol", "1e-3"]


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Compute in this process, and keep results in a store of the test's own."""

    @contextmanager
    def threads(workers: int | None, dask: str | None) -> Iterator[Executor]:
        with ThreadPoolExecutor(1) as executor:
            yield executor

    monkeypatch.setattr(console, "open_executor", threads)
    monkeypatch.setenv("OBMC_RESULTS", str(tmp_path / "results.sqlite3"))


# sweep ----------------------------------------------------------------------------------------------------------------


def test_a_sweep_from_options_goes_to_the_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--mechanisms", "Clear", "InP:paper", "OutP:paper,postprocess=rank,rank=2", "--epsilons", "1", "4"]
    assert cli.main(["sweep", *options, "--metrics", "are", "auc", *SMALL]) == 0
    captured = capsys.readouterr()
    table = pd.read_csv(io.StringIO(captured.out))
    assert tuple(table.columns) == FIELDS
    assert len(table) == 2 * 5
    assert set(table["options"]) == {"{}", '{"postprocess":"rank","rank":2}'}
    assert captured.err.startswith("sweep: 5 runs in ")


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_sweep_from_a_file_goes_to_a_file(tmp_path: Path, ending: str, capsys: pytest.CaptureFixture[str]) -> None:
    sweep = Sweep(mechanisms=["Clear", "InP"], epsilons=[1], repetitions=2, shape=(30, 20), ratio=0.4, tol=1e-3)
    (tmp_path / "sweep.toml").write_text(sweep.to_toml())
    target = tmp_path / f"out.{ending}"
    command = ["sweep", str(tmp_path / "sweep.toml"), "--epsilons", "2", "4", "--output", str(target)]
    assert cli.main([*command, "--quiet"]) == 0
    assert capsys.readouterr() == ("", "")
    table = pd.read_csv(target) if ending == "csv" else pd.read_parquet(target)
    # In the order of the grid, whatever ended first, and with all digits.
    assert table["epsilon"].tolist() == [float("inf"), 2.0, 4.0] * 2
    with ThreadPoolExecutor(1) as executor:
        fresh = {(row["epsilon"], row["repetition"]): row["value"] for row in run(sweep, executor)}
    assert table["value"][0] == fresh[float("inf"), 0]
    assert [path.name for path in tmp_path.iterdir() if path.name.endswith(".part")] == []
    # A second time everything comes from the store.
    assert cli.main(command) == 0
    assert "6 of them from the store" in capsys.readouterr().err
    assert cli.main([*command, "--no-store"]) == 0
    assert "from the store" not in capsys.readouterr().err


def test_options_replace_what_the_file_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "sweep.toml").write_text(Sweep(mechanisms=["InP"], shape=(30, 20), metrics=["are"]).to_toml())
    options = ["--alpha", "none", "2", "--seed", "7", "--write-toml"]
    assert cli.main(["sweep", str(tmp_path / "sweep.toml"), *options]) == 0
    made = Sweep.from_toml(capsys.readouterr().out)
    assert (made.alpha, made.seed, made.shape) == ((None, 2.0), 7, (30, 20))
    # Another data set takes nothing along that belongs to the file's.
    assert cli.main(["sweep", str(tmp_path / "sweep.toml"), "--dataset", "rc", "--write-toml"]) == 0
    assert Sweep.from_toml(capsys.readouterr().out) == Sweep(mechanisms=["InP"], dataset="rc")


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--mechanisms", "InX"], "mechanism must be one of 'Clear', 'InP'"),
        (["--mechanisms", "InP:best"], "calibration must be one of"),
        (["--mechanisms", "InP:paper,fast"], "'fast' in 'InP:paper,fast' must be written as option=value"),
        (["--mechanisms", "InP:steps=3"], "unknown option 'steps'"),
        (["--mechanisms", "GraP:clip=1,clip=2"], "clip must be given once"),
        (["--mechanisms", "GraP:delta={[]:1}"], "delta"),
        (["--mechanisms", "GraP:delta=" + "-" * 20_000 + "1"], "delta"),
        (["--mechanisms", "GraP:step=1e308"], "step must be a finite number"),
        (["--epsilons", "one"], "epsilons[0] must be a number"),
        (["--epsilons", "0"], "epsilons[0] must be a finite number"),
        (["--shape", "10", "x"], "shape[1] must be a whole number"),
        (["--repetitions", "2.5"], "repetitions must be a whole number"),
        (["--dataset", "netflix"], "dataset must be one of"),
        (["--output", "table.xlsx"], "--output must end in .csv or .parquet"),
        (["--output", "/nonexistent/table.csv"], "--output cannot be written to /nonexistent"),
        (["/nonexistent/sweep.toml"], "/nonexistent/sweep.toml"),
        (["--colour", "red"], "--colour"),
    ],
)
def test_faults_are_said_in_one_sentence(arguments: list[str], text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert text in refusal(capsys, "sweep", *arguments)


def test_what_is_refused_has_no_table_not_even_a_head(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["sweep", "--mechanisms", "InP", "--epsilons", "0"]) == 2
    assert capsys.readouterr().out == ""
    assert cli.main(["store", "export", "--store", __file__]) == 2
    assert capsys.readouterr().out == ""


def test_toml_that_is_nested_too_deeply_is_said_to_be_that(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "deep.toml").write_text("a = " + "[" * 100_000, encoding="utf-8")
    assert "nested too deeply" in refusal(capsys, "sweep", str(tmp_path / "deep.toml"))


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["info", "--all"], "--all belongs to store prune"),
        (["export", "--older-than", "3"], "--older-than belongs to store prune"),
        (["info", "--output", "rows.csv"], "--output belongs to store export"),
    ],
)
def test_an_option_of_another_action_is_refused(
    arguments: list[str], text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert text in refusal(capsys, "store", *arguments)


def test_a_folder_is_no_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "folder.csv").mkdir()
    assert "must be a file" in refusal(capsys, "sweep", "--output", str(tmp_path / "folder.csv"))


def test_data_that_are_not_here_are_asked_for(empty_data_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    message = refusal(capsys, "sweep", "--dataset", "rc", "--mechanisms", "Clear", "--quiet")
    assert "fetch-data rc" in message


def test_a_store_that_cannot_be_used_is_said_and_the_table_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "results.sqlite3").write_bytes(b"nonsense " * 1000)
    assert cli.main(["sweep", "--mechanisms", "Clear", *SMALL]) == 0
    captured = capsys.readouterr()
    assert len(captured.out.splitlines()) == 2
    assert "going on without the store: the results store" in captured.err
    assert "damaged" in captured.err


def test_what_a_mechanism_refuses_is_left_out_and_said(capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--mechanisms", "ObjP:exact_minimiser", "--link", "gaussian", "--epsilons", "0.5", "4"]
    assert cli.main(["sweep", *options, *SMALL]) == 0
    captured = capsys.readouterr()
    assert len(captured.out.splitlines()) == 2
    assert "left out: ObjP (exact_minimiser) at epsilon = 0.5: epsilon must be above" in captured.err


def test_mechanisms_are_written_in_one_word() -> None:
    assert parse_mechanism("OutP") == {"name": "OutP", "options": {}}
    assert parse_mechanism("GraP:paper,iterations=3,clip=0.25") == {
        "name": "GraP",
        "calibration": "paper",
        "options": {"iterations": 3, "clip": 0.25},
    }
    assert parse_mechanism("InP+:low_rank=false")["options"] == {"low_rank": False}
    assert parse_mechanism("X:a=none,b=text,c=True")["options"] == {"a": None, "b": "text", "c": True}


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_an_interrupted_sweep_leaves_its_rows_and_goes_on(tmp_path: Path) -> None:
    target = tmp_path / "out.csv"
    options = ["--mechanisms", "Clear", "--repetitions", "2000", *SMALL, "--output", str(target), "--workers", "1"]
    command = [sys.executable, "-c", INTERRUPTED, "sweep", *options]
    # Where the tests themselves run in the background of a shell, an interrupt would be ignored in the child too.
    heeding = functools.partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT, preexec_fn=heeding
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        assert process.stdout.readline() == "computing\n"
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 130
        assert process.stderr.read().splitlines()[-1] == "python -m obmc sweep: stopped."
    rows = len(pd.read_csv(target))
    assert 20 <= rows < 2000
    assert Store().info().runs["synthetic 30 x 20", "Clear", ""] >= rows


# The command line, which says when twenty rows are there.
INTERRUPTED = """
import sys
from obmc import cli
from obmc.experiments.commands.console import ProgressLine
show = ProgressLine.show
def loud(line, progress):
    if progress.done >= 20 > getattr(line, "told", 0):
        line.told = 20
        print("computing", flush=True)
    show(line, progress)
ProgressLine.show = loud
sys.exit(cli.main())
"""


# Progress -------------------------------------------------------------------------------------------------------------


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_the_progress_line_shows_a_bar_and_the_time_left() -> None:
    assert text_of("x", Progress(0, 2000)) == "x [" + "." * 30 + "] 0 of 2,000"
    assert text_of("x", Progress(15, 30, remaining=61.0)) == "x [" + "#" * 15 + "." * 15 + "] 15 of 30, 1 min left"
    stream = Terminal()
    line = ProgressLine("x", stream)
    line.show(Progress(15, 30, remaining=61.0))
    line.show(Progress(30, 30, cached=12, seconds=2.0, remaining=0.0, refused=("a",), note="b"))
    line.end()
    lines = stream.getvalue().split("\r")[-1].splitlines()
    assert lines == [
        "x: 30 runs in 2 s, 12 of them from the store.",
        "x: going on without the store: b",
        "x: left out: a",
    ]


# store ----------------------------------------------------------------------------------------------------------------


def test_the_store_can_be_looked_at_exported_and_pruned(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "there is no results store" in refusal(capsys, "store", "info")
    assert cli.main(["sweep", "--mechanisms", "Clear", "InP:paper", "--epsilons", "1", *SMALL]) == 0
    swept = capsys.readouterr().out
    assert cli.main(["store", "info"]) == 0
    text = capsys.readouterr().out
    assert "2 runs, 2 values" in text
    assert any(
        line.split() == ["synthetic", "30", "x", "20", "InP", "paper", "1", "runs"] for line in text.splitlines()
    )
    assert cli.main(["store", "export"]) == 0
    assert sorted(capsys.readouterr().out.splitlines()) == sorted(swept.splitlines())
    assert cli.main(["store", "export", "--output", str(tmp_path / "all.parquet")]) == 0
    assert len(pd.read_parquet(tmp_path / "all.parquet")) == 2
    assert cli.main(["store", "prune"]) == 0
    assert capsys.readouterr().out.startswith("0 runs removed")
    assert cli.main(["store", "prune", "--all"]) == 0
    assert capsys.readouterr().out.startswith("2 runs removed")
    assert "older_than must be a finite number of at least 0" in refusal(capsys, "store", "prune", "--older-than", "-1")


def test_a_damaged_store_is_said_to_be_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "results.sqlite3").write_bytes(b"nonsense " * 1000)
    assert "is damaged or is no results store: move it away" in refusal(capsys, "store", "info")


# complete -------------------------------------------------------------------------------------------------------------


@pytest.fixture
def ratings(tmp_path: Path) -> Path:
    """Two tastes: each of 12 users likes the items of their own half; two ratings are missing."""
    lines = ["user,item,rating"]
    for user in range(12):
        for item in range(8):
            if (user, item) not in ((0, 0), (1, 7)):
                lines.append(f"u{user},i{item},{5 if (user % 2 == 0) == (item < 4) else 1}")
    path = tmp_path / "ratings.csv"
    path.write_text("\n".join(lines))
    return path


def test_complete_finds_what_was_not_rated(ratings: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["complete", str(ratings), "--alpha", "4", "--top", "3"]) == 0
    captured = capsys.readouterr()
    table = pd.read_csv(io.StringIO(captured.out))
    assert list(table.columns) == ["user", "item", "estimate", "probability"]
    assert [tuple(pair) for pair in table[["user", "item"]].to_numpy()] == [("u0", "i0"), ("u1", "i7")]
    assert (table["probability"] > 0.8).all()
    assert "94 ratings of 12 users and 8 items" in captured.err
    assert "nothing of this is protected" in captured.err


def test_complete_says_how_well_held_out_ratings_are_met(ratings: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["complete", str(ratings), "--alpha", "4", "--holdout", "0.2", "--threshold", "3", "--top", "0"]
    assert cli.main([*command, "--link", "gaussian"]) == 0
    captured = capsys.readouterr()
    assert "Sign accuracy on 19 others: 1.0000" in captured.err
    assert captured.out == "user,item,estimate,probability\n"


@pytest.mark.data
def test_complete_takes_the_data_sets(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "rc.parquet"
    assert cli.main(["complete", "rc", "--top", "2", "--tol", "1e-2", "--output", str(target)]) == 0
    assert "Sign accuracy on 232 others: 0." in capsys.readouterr().err
    assert len(pd.read_parquet(target)) == 138 * 2


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--rank", "9"], "rank must be a whole number from 1 to 8"),
        (["--alpha", "wide"], "alpha must be a number"),
        (["--sigma", "0", "--link", "gaussian"], "sigma must be a finite number"),
        (["--threshold", "high"], "threshold must be 'mean' or a finite number"),
        (["--holdout", "2"], "--holdout must be a finite number above 0 and below 1"),
        (["--top", "-1"], "--top must be a whole number of at least 0"),
        (["--tau-multiple", "0"], "--tau-multiple must be a finite number above 0"),
        (["--output", "x.json"], "--output must end in"),
    ],
)
def test_complete_refuses_in_one_sentence(
    ratings: Path, arguments: list[str], text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert text in refusal(capsys, "complete", str(ratings), *arguments)


# reproduce ------------------------------------------------------------------------------------------------------------


def test_reproduce_makes_a_figure_again_and_resumes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["reproduce", "--figure", "1b", "--quick", "--only", "paper", "--output", str(tmp_path / "out")]
    assert cli.main([*command, "--format", "parquet"]) == 0
    captured = capsys.readouterr()
    assert "figure 1b paper: 22 runs in" in captured.err
    table = pd.read_parquet(tmp_path / "out" / "figure-1b.parquet")
    assert list(table.columns) == [*figures.ORIGIN, *FIELDS]
    assert len(table) == 22 * 2
    clear = table[(table["mechanism"] == "Clear") & (table["metric"] == "are")]["value"]
    assert f"{clear.mean():.3f}" in captured.out
    assert cli.main(command) == 0
    assert "22 of them from the store" in capsys.readouterr().err
    again = pd.read_csv(tmp_path / "out" / "figure-1b.csv")
    assert again["value"].tolist() == table["value"].tolist()
    assert again["key"].tolist() == table["key"].tolist()
    # What the store has, without computing: the same, and no more than that.
    assert cli.main(["reproduce", "--figure", "1", "--computed", "--output", str(tmp_path / "known")]) == 0
    captured = capsys.readouterr()
    assert "Figure 1a: nothing of it is in the results store." in captured.out
    assert captured.err == ""
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "known" / "figure-1b.csv"), again)
    assert not (tmp_path / "known" / "figure-1a.csv").exists()
    # Beside the tables stands on what machine each was made.
    assert json.loads((tmp_path / "known" / "machine.json").read_text()) == {"figure-1b": machine()}
    (tmp_path / "known" / "machine.json").write_text('{"figure-3a": {"processor": "another"}}')
    assert cli.main(["reproduce", "--figure", "1b", "--computed", "--output", str(tmp_path / "known")]) == 0
    kept = json.loads((tmp_path / "known" / "machine.json").read_text())
    assert kept == {"figure-1b": machine(), "figure-3a": {"processor": "another"}}


@pytest.mark.data
def test_reproduce_makes_table_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["reproduce", "--figure", "table1", "--output", str(tmp_path)]) == 0
    table = pd.read_csv(tmp_path / "table-1.csv")
    assert table["users"].tolist() == [943, 138]


def test_reproduce_understands_numbers_of_figures(capsys: pytest.CaptureFixture[str]) -> None:
    assert "figure must be one of '1a', '1b'" in refusal(capsys, "reproduce", "--figure", "6")
    assert "--computed takes what is in the results store" in refusal(capsys, "reproduce", "--computed", "--no-store")
    assert "--only must name paper, paper-gradient" in refusal(capsys, "reproduce", "--only", "best")
    assert set(figures.figures()) == {"1a", "1b", "2a", "2b", "3a", "3b", "4", "5", "small-epsilon"}


def test_reproduce_asks_for_data_before_it_computes(
    tmp_path: Path, empty_data_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    message = refusal(capsys, "reproduce", "--figure", "1a", "3", "--output", str(tmp_path / "out"))
    assert "fetch-data rc" in message
    assert list((tmp_path / "out").iterdir()) == []
    (tmp_path / "file").write_text("")
    assert "must be a folder" in refusal(capsys, "reproduce", "--output", str(tmp_path / "file"))
