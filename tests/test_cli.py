"""The command line's frame: help for every command, and one sentence and exit code 2 for whatever is wrong."""

from __future__ import annotations

import argparse
import io
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from helpers import refusal

import obmc
from obmc import cli
from obmc.datasets.registry import DATA_SETS, DataFile, DataSet, sha256

RATINGS = b"1\t1\t5\n"


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A data set named ``toy`` whose publisher cannot be reached, and the path of an archive of it."""
    row = DataSet(
        name="toy",
        title="Toy data",
        label="Toy",
        noun=("toy", "toys"),
        shape=(1, 1),
        summary="one rating",
        page="https://toy.invalid",
        address="https://toy.invalid/toy.zip",
        archive_sha256=None,
        max_bytes=1000,
        files=(DataFile("u.data", sha256(RATINGS)),),
        reader="toy:toy",
        licence="Free as air.",
        citation="Nobody",
    )
    monkeypatch.setitem(DATA_SETS, "toy", row)
    with zipfile.ZipFile(tmp_path / "toy.zip", "w") as archive:
        archive.writestr("u.data", RATINGS)
    return tmp_path / "toy.zip"


def test_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        cli.main(["--help"])
    text = capsys.readouterr().out
    assert [name for name in cli.COMMANDS if name not in text] == []


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_every_command_explains_itself(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        cli.main([name, "--help"])
    text = capsys.readouterr().out
    assert text.startswith(f"usage: python -m obmc {name}")
    assert (cli.COMMANDS[name].__doc__ or "").partition("\n")[0] in text


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "the following arguments are required: COMMAND"),
        (["fetch"], "invalid choice: 'fetch'"),
        (["fetch-data", "--nonsense"], "unrecognized arguments: --nonsense"),
        (["fetch-data", "netflix"], "NAME must be one of ml-100k, rc, got netflix."),
        (["fetch-data", "--from", "x.zip"], "--from needs the NAME of the one data set"),
        (["fetch-data", "ml-100k", "rc", "--from", "x.zip"], "--from needs the NAME of the one data set"),
        (["fetch-data", "rc", "--from", "/does/not/exist.zip"], "there is no /does/not/exist.zip."),
    ],
)
def test_bad_arguments_end_in_one_sentence(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str], empty_data_home: Path
) -> None:
    assert said in refusal(capsys, *arguments)


def test_fetch_data_takes_an_archive_and_says_where_it_is_and_under_which_licence(
    toy: Path, empty_data_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["fetch-data", "toy", "--from", str(toy)]) == 0
    assert (empty_data_home / "toy" / "u.data").read_bytes() == RATINGS
    assert capsys.readouterr().out == f"toy: {empty_data_home / 'toy'}\nLicence: Free as air.\n"


def test_fetch_data_puts_the_data_where_it_is_told(toy: Path, tmp_path: Path) -> None:
    assert cli.main(["fetch-data", "toy", "--from", str(toy), "--data-home", str(tmp_path / "here")]) == 0
    assert (tmp_path / "here" / "toy" / "u.data").is_file()


def test_fetch_data_without_internet_says_what_to_do(
    toy: Path, empty_data_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = refusal(capsys, "fetch-data", "toy")
    assert "could not be downloaded from toy.invalid" in said
    assert "python -m obmc fetch-data toy --from FILE" in said


def test_fetch_data_shows_the_data_sets_in_its_help(toy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main(["fetch-data", "--help"])
    text = " ".join(capsys.readouterr().out.split())
    for row in DATA_SETS.values():
        assert f"{row.name} {row.title}: {row.summary}. From {row.address} Licence: {row.licence}" in text
        assert row.citation in text


def test_progress_is_shown_on_a_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stderr", io.StringIO())
    assert cli._progress_line("toy") is None
    monkeypatch.setattr(sys, "stderr", Terminal())
    show = cli._progress_line("toy")
    assert show is not None
    show(500_000, 1_000_000)
    show(1_000_000, 1_000_000)
    assert sys.stderr.getvalue() == "\rtoy: 0.5 of 1.0 MB\rtoy: 1.0 of 1.0 MB\n"


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (obmc.RatingsError("ratings has no column named rating."), 2, "ratings has no column named rating."),
        (PermissionError(13, "Permission denied", "out.csv"), 2, "Permission denied: 'out.csv'"),
        (KeyboardInterrupt(), 130, "stopped."),
    ],
)
def test_errors_of_a_command_become_a_sentence_and_an_exit_code(
    error: BaseException, code: int, said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def failing(parser: argparse.ArgumentParser) -> cli.Run:
        """Fail."""

        def run(options: argparse.Namespace) -> None:
            raise error

        return run

    monkeypatch.setitem(cli.COMMANDS, "fail", failing)
    assert cli.main(["fail"]) == code
    captured = capsys.readouterr()
    assert captured.err.startswith("python -m obmc fail: ")
    assert captured.err.endswith(f"{said}\n")
    assert captured.out == ""


def test_a_reader_that_goes_away_is_no_error() -> None:
    script = """
import sys
from obmc import cli
def endless(parser):
    '''Print much.'''
    def run(options):
        for _ in range(100_000):
            print("line")
    return run
cli.COMMANDS["endless"] = endless
sys.exit(cli.main(["endless"]))
"""
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"line\n"
    process.stdout.close()
    assert process.wait(timeout=60) == 0
    assert process.stderr is not None
    assert process.stderr.read() == b""
    process.stderr.close()


def test_the_package_runs_as_a_module(empty_data_home: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "obmc", "fetch-data", "netflix"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr == "python -m obmc fetch-data: NAME must be one of ml-100k, rc, got netflix.\n"
