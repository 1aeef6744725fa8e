"""The release of one's own ratings: what may leave and what may not, the files, the ids, and the ledger's numbers."""

from __future__ import annotations

import csv
import io
import json
import zipfile

import numpy as np
import pandas as pd
import pytest

import obmc
from obmc import release as releases
from obmc.datasets import read_ratings
from obmc.release import ReleasedRatings, ReleasePlan, ReleaseRefused, check_threshold, find_pairs
from obmc.table_files import as_csv, as_spreadsheet, harmless

USERS, ITEMS = 12, 9
SHAPE = (USERS, ITEMS)
CSET = obmc.ConstraintSet.for_rank(SHAPE, 1, 1.0)
LINK = obmc.Logistic()


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(3)
    chosen = [(u, i) for u in range(USERS) for i in range(ITEMS) if u == i or rng.random() < 0.6]
    lines = [f"=cmd{u},item {i},{rng.integers(1, 6)}" for u, i in chosen]
    return read_ratings(("user,item,rating\n" + "\n".join(lines) + "\n").encode())


def plan(mechanism, threshold=3.0, scale=(1.0, 5.0), link=LINK):
    return ReleasePlan(mechanism, link, CSET, threshold, scale)


def released(table, mechanism, ledger=None):
    made = plan(mechanism)
    return ReleasedRatings.of(table, made, releases.draw(table, made), ledger)


ALLOWED = {
    "InP": obmc.InputPerturbation(epsilon=2.0),
    "InP, paper": obmc.InputPerturbation(epsilon=2.0, calibration="paper"),
    "InP+": obmc.InputPerturbationPlus(epsilon=2.0),
    "ObjP": obmc.ObjectivePerturbation(epsilon=2.0),
    "GraP": obmc.GradientPerturbation(epsilon=2.0),
    "GraP with delta": obmc.GradientPerturbation(epsilon=2.0, delta=1e-5),
    "OutP with a ridge": obmc.OutputPerturbation(epsilon=2.0, ridge=1.0, delta=1e-5),
    "OutP, named": obmc.OutputPerturbation(epsilon=2.0, entries=((0, 1), (2, 3))),
}
REFUSED = {
    "Clear": (obmc.Clear(), "nothing in it is protected"),
    "OutP of the paper": (obmc.OutputPerturbation(epsilon=2.0, calibration="paper"), "as a matrix"),
    "OutP projected": (
        obmc.OutputPerturbation(epsilon=2.0, calibration="paper", postprocess="project"),
        "known not to hold",
    ),
    "ObjP displayed": (obmc.ObjectivePerturbation(epsilon=2.0, calibration="displayed"), "known not to hold"),
}


@pytest.mark.parametrize("name", ALLOWED)
def test_what_covers_all_that_leaves_is_released_with_real_randomness(table, name):
    made = released(table, ALLOWED[name])
    assert not made.release.simulated
    assert made.release.guarantee.holds and made.release.guarantee.scope == "output"
    frame = made.table("top", 3)
    assert frame["probability"].between(0.0, 1.0).all()
    assert made.statement()["guarantee"]["release_allowed"] is True


@pytest.mark.parametrize("name", REFUSED)
def test_what_does_not_is_refused_with_the_reason(table, name):
    mechanism, reason = REFUSED[name]
    with pytest.raises(ReleaseRefused, match=reason):
        releases.draw(table, plan(mechanism))


@pytest.mark.parametrize("calibration", ["paper", "exact_minimiser"])
def test_the_likelihood_under_gaussian_noise_is_refused(table, calibration):
    mechanism = obmc.ObjectivePerturbation(epsilon=2.0, calibration=calibration)
    with pytest.raises(ReleaseRefused, match="may not be released"):
        plan(mechanism, link=obmc.Gaussian(1.0)).check(SHAPE)


def test_a_simulation_never_becomes_a_release(table):
    made = plan(ALLOWED["InP"])
    simulated = made.mechanism.release(table.binarize(3.0), LINK, CSET, rng=0)
    with pytest.raises(ReleaseRefused, match="came from a seed"):
        ReleasedRatings.of(table, made, simulated, None)


def test_two_releases_differ():
    lines = "\n".join(f"{u},{i},{1 + (u * i) % 5}" for u in range(USERS) for i in range(ITEMS))
    own = read_ratings(f"user,item,rating\n{lines}\n".encode())
    first, second = (released(own, ALLOWED["GraP"]).all() for _ in range(2))
    assert not np.allclose(first["probability"], second["probability"])


@pytest.mark.parametrize("value", ["mean", " Mean ", float("nan"), "3", None])
def test_a_threshold_is_a_number_fixed_beforehand(value):
    with pytest.raises(obmc.RatingsError, match="threshold must be"):
        check_threshold(value)


def test_equal_signs_are_released_like_any_others(table):
    made = plan(ALLOWED["InP"], threshold=0.0, scale=None)
    assert len(ReleasedRatings.of(table, made, releases.draw(table, made), None).top(2)) > 0


def test_the_best_items_are_not_rated_yet_and_in_order(table):
    made = released(table, ALLOWED["ObjP"])
    frame = made.top(4)
    rated = set(zip(table.frame["user"], table.frame["item"], strict=True))
    assert not rated & set(zip(frame["user"], frame["item"], strict=True))
    matrix = made.release.completion.matrix
    for user, part in frame.groupby("user", sort=False):
        assert part["place"].tolist() == list(range(1, len(part) + 1))
        assert (np.diff(part["probability"]) <= 0).all()
        row = table.users.index(user)
        free = [i for i in range(ITEMS) if (user, table.items[i]) not in rated]
        best = max(free, key=lambda i: matrix[row, i])
        assert np.isclose(part["probability"].iloc[0], LINK.probability(matrix[row, [best]])[0])
        assert len(part) == min(4, len(free))


def test_all_pairs_have_the_probability_of_their_entry(table):
    made = released(table, ALLOWED["ObjP"])
    frame = made.all()
    assert np.allclose(frame["probability"].to_numpy().reshape(SHAPE), LINK.probability(made.release.completion.matrix))
    assert frame["user"].to_numpy()[ITEMS] == table.users[1] and frame["item"].to_numpy()[1] == table.items[1]


def test_too_many_pairs_for_a_file_are_refused(table, monkeypatch):
    monkeypatch.setattr(releases, "MAX_PAIRS", 100)
    with pytest.raises(ReleaseRefused, match="108 rows of at most 100: take the best"):
        released(table, ALLOWED["ObjP"]).bundle("all")


def test_named_entries_never_leave_as_a_list_or_a_matrix(table):
    made = released(table, ALLOWED["OutP, named"])
    for ask in (lambda: made.top(3), made.all):
        with pytest.raises(ReleaseRefused, match="2 answers alone"):
            ask()
    frame = made.table("all")
    assert frame["user"].tolist() == [table.users[0], table.users[2]]
    assert frame["item"].tolist() == [table.items[1], table.items[3]]


def test_a_ridge_on_a_large_matrix_is_refused_before_anything_is_drawn(table, monkeypatch):
    monkeypatch.setattr(releases, "DENSE_CELLS", 50)
    with pytest.raises(ReleaseRefused, match="this one has 108"):
        releases.draw(table, plan(ALLOWED["OutP with a ridge"]))


@pytest.mark.parametrize("name", ["InP+", "ObjP", "GraP"])
def test_above_what_fits_densely_it_is_factored_and_says_so(table, monkeypatch, name):
    monkeypatch.setattr(releases, "DENSE_CELLS", 50)
    made = released(table, ALLOWED[name])
    if made.release.completion.solver != "none":
        assert "factored" in made.release.completion.solver
        assert "held as factors" in made.readme("top_3.csv", "top", 3)


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_the_zip_holds_the_table_the_statement_and_a_readme(table, form):
    ledger = obmc.Ledger("mine", table.ratings_per_user, epsilon_budget=3.0)
    ledger.book(plan(ALLOWED["InP"]).guarantee(SHAPE))
    made = released(table, ALLOWED["InP"], ledger)
    with zipfile.ZipFile(io.BytesIO(made.bundle("top", 2, form))) as archive:
        assert archive.namelist() == [f"top_2.{form}", "guarantee.json", "README.txt"]
        content = archive.read(f"top_2.{form}")
        stated = json.loads(archive.read("guarantee.json"))
        words = archive.read("README.txt").decode()
    if form == "csv":
        rows = list(csv.DictReader(io.StringIO(content.decode("utf-8-sig"))))
        assert [row["user"] for row in rows] == ["'" + user for user in made.top(2)["user"]]
    else:
        assert pd.read_parquet(io.BytesIO(content))["user"].tolist() == made.top(2)["user"].tolist()
    assert stated["guarantee"]["epsilon"] == 2.0 and stated["guarantee"]["scope"] == "output"
    assert stated["threshold"] == 3.0 and stated["declared_scale"] == [1.0, 5.0]
    assert stated["spent"]["epsilon"] == 2.0 and stated["spent"]["epsilon_budget"] == 3.0
    heaviest = int(table.ratings_per_user.max())
    assert stated["for_one_user"]["most ratings"] == {
        "ratings": heaviest,
        "epsilon": 2.0 * heaviest,
        "epsilon_at_delta_1e-5": made.release.guarantee.user_epsilon(heaviest, 1e-5),
    }
    assert "epsilon = 2" in words and "who rated what is public" in words
    assert "the middle of the declared scale from 1 to 5" in words


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        ("=1+1", "'=1+1"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("+1-2", "'+1-2"),
        ("-2+cmd|' /C calc'!A0", "'-2+cmd|' /C calc'!A0"),
        ("＝1", "'＝1"),
        ("-5", "-5"),
        ("+3.25", "+3.25"),
        ("-1e5", "-1e5"),
        ("-1,5", "-1,5"),
        ("007", "007"),
        ("a=b", "a=b"),
        ("", ""),
    ],
)
def test_cells_that_a_spreadsheet_would_run_are_harmless_and_numbers_unspoilt(text, safe):
    assert harmless(text) == safe
    row = next(
        csv.reader(
            io.StringIO(
                as_spreadsheet(pd.DataFrame({"user": [text], "p": [0.5]})).decode("utf-8-sig").split("\n", 1)[1]
            )
        )
    )
    assert row == [safe, "0.500000"]


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA])
def test_a_cell_without_a_text_is_an_empty_one(missing):
    table = pd.DataFrame({"user": ["=1+1", missing], "p": [0.5, 0.25]})
    assert as_csv(table) == b"user,p\n'=1+1,0.5\n,0.25\n"
    assert as_spreadsheet(table).decode("utf-8-sig") == "user,p\n'=1+1,0.500000\n,0.250000\n"


def test_named_pairs_are_split_where_both_ids_are_known():
    users, items = ("a,b", "c"), ("x", "y;z", "b,x")
    assert find_pairs("a,b,x\nc\ty;z\n\nc, x\nc, x", users, items) == ((0, 0), (1, 1), (1, 0))
    with pytest.raises(obmc.RatingsError, match=r"Line 2 .*'c, q'"):
        find_pairs("c,x\nc, q", users, items)
    with pytest.raises(obmc.RatingsError, match="at least one entry"):
        find_pairs(" \n", users, items)


def test_a_booking_is_taken_back_by_itself_and_not_by_an_equal_one(table):
    ledger = obmc.Ledger("mine", table.ratings_per_user)
    guarantee = plan(ALLOWED["InP"]).guarantee(SHAPE)
    first, second = ledger.book(guarantee), ledger.book(guarantee)
    ledger.take_back(second)
    assert len(ledger.entries) == 1 and ledger.entries[0] is first


def test_the_table_counts_for_its_owner(table):
    assert table.ratings_per_user.sum() == table.n_ratings
    assert table.density == pytest.approx(table.n_ratings / (USERS * ITEMS))
    counts = table.histogram()
    assert counts["low"].tolist() == sorted(set(table.ratings)) and counts["count"].sum() == table.n_ratings
    few = table.histogram(most=2)
    assert len(few) == 2 and few["count"].sum() == table.n_ratings
