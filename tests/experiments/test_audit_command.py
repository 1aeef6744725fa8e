"""``python -m obmc audit``: the table, the sentences, and bad input."""

import io

import pandas as pd
import pytest

from obmc import cli


def table_of(capsys, *arguments):
    assert cli.main(["audit", *arguments]) == 0
    captured = capsys.readouterr()
    return pd.read_csv(io.StringIO(captured.out)), captured.err


class TestAuditCommand:
    def test_a_row_and_a_sentence_for_each(self, capsys):
        rows, said = table_of(
            capsys, "--mechanisms", "InP", "ObjP:displayed", "--epsilons", "1", "2", "--runs", "1000", "--size", "10"
        )
        assert list(rows["mechanism"]) == ["InP", "InP", "ObjP", "ObjP"]
        assert list(rows["claimed"]) == [1.0, 2.0, 1.0, 2.0]
        assert (rows["comparisons"] == 4).all()
        assert list(rows["exact"]) == [1.0, 2.0, 2.0, 4.0]
        assert list(rows["refuted"]) == [False, False, True, True]
        assert (rows["lower_bound"] <= rows["exact"]).all()
        assert said.count("an attacker shows with 95 % confidence") == 4

    def test_the_bridge(self, capsys):
        options = ["--mechanisms", "OutP:paper", "--runs", "200", "--tol", "1e-3"]
        rows, _ = table_of(capsys, "--dataset", "bridge", "--size", "10", *options)
        assert rows["exact"][0] == pytest.approx(50.0, abs=1.5)
        assert (rows["entry_row"][0], rows["entry_col"][0]) == (0, 5)

    def test_repeatable_and_to_a_file(self, capsys, tmp_path):
        target = tmp_path / "audit.csv"
        for seed, same in (("4", True), ("5", False)):
            assert cli.main(["audit", "--runs", "400", "--seed", "4", "--output", str(target)]) == 0
            first = pd.read_csv(target)
            rows, _ = table_of(capsys, "--runs", "400", "--seed", seed)
            assert (rows["true_hits"][0] == first["true_hits"][0]) == same

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (
                ["--mechanisms", "InP", "--epsilons", "1", "2", "1"],
                "--epsilons must name every value once, got 1.0 twice",
            ),
            (["--mechanisms", "InP", "--sigma", "2"], "--sigma is of the gaussian link"),
            (["--mechanisms", "Nonsense"], "mechanism must be one of"),
            (["--mechanisms", "Majority"], "there is nothing to attack"),
            (["--epsilons", "0"], "epsilon must be a finite number above 0"),
            (["--runs", "3"], "runs must be a whole number from 40"),
            (["--dataset", "films"], "--dataset must be one of"),
            (["--dataset", "bridge", "--size", "7"], "size must be an even number"),
            (["--entry", "0", "400"], "must be a whole number from 0 to 19"),
            (["--seed", "-1"], "--seed must be"),
            (["--alpha", "0"], "--alpha must be"),
            (["--mechanisms", "OutP:paper,postprocess=rank"], "rank must be given"),
            (["--statistic", "all"], "invalid choice"),
        ],
    )
    def test_bad_input_is_one_sentence_and_exit_code_2(self, capsys, arguments, message):
        try:
            code = cli.main(["audit", *arguments])
        except SystemExit as end:
            code = end.code
        assert code == 2
        said = capsys.readouterr().err
        assert message in said
        assert said.count("\n") == 1
