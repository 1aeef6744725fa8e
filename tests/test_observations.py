"""Observations: what is accepted, what is refused and in which words, and the ways to derive others from one."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from obmc.observations import Observations, Omega, as_generator


def small() -> Observations:
    return Observations([2, 0, 1, 2], [1, 0, 2, 0], [1, -1, 1, 1], (3, 3))


def many(n: int = 200) -> Observations:
    rng = np.random.default_rng(0)
    rows, cols = np.divmod(rng.permutation(900)[:n], 30)
    return Observations(rows, cols, rng.choice([-1, 1], n), (30, 30))


def test_entries_keep_their_order_and_types() -> None:
    obs = small()
    assert obs.rows.tolist() == [2, 0, 1, 2]
    assert (obs.rows.dtype, obs.cols.dtype, obs.signs.dtype) == (np.int32, np.int32, np.int8)
    assert obs.bits.tolist() == [1.0, 0.0, 1.0, 1.0]
    assert len(obs) == 4
    assert obs.ratio == 4 / 9
    assert obs.positive_share == 0.75
    assert obs.to_dense().tolist() == [[-1, 0, 0], [0, 0, 1], [1, 1, 0]]


def test_omega_knows_positions_and_nothing_of_signs() -> None:
    omega = small().omega
    assert isinstance(omega, Omega)
    assert omega.flat.tolist() == [7, 0, 5, 6]
    assert not any("sign" in name or "bit" in name for name in dir(omega))
    assert omega.take(np.array([True, False, False, True])).flat.tolist() == [7, 6]


def test_positions_of_the_largest_shape_do_not_overflow() -> None:
    side = np.iinfo(np.int32).max
    obs = Observations([side - 1, 0], [side - 1, 0], [1, -1], (side, side))
    assert int(obs.omega.flat[0]) == side**2 - 1


def test_data_are_copied_and_cannot_be_written() -> None:
    rows = np.array([0, 1], dtype=np.int32)
    obs = Observations(rows, [0, 1], np.array([1, -1], dtype=np.int8), (2, 2))
    rows[0] = 1
    assert obs.rows.tolist() == [0, 1]
    with pytest.raises(ValueError, match="read-only"):
        obs.signs[0] = 1
    with pytest.raises(AttributeError):
        obs.shape = (3, 3)  # type: ignore[misc]


@pytest.mark.parametrize("signs", [[1, 1, 1], [-1, -1, -1], np.array([1.0, -1.0, 1.0]), np.int64([1, 1, -1])])
def test_one_class_alone_and_other_number_types_are_allowed(signs: Any) -> None:
    assert len(Observations([0, 1, 2], [0, 0, 0], signs, (3, 1))) == 3


GOOD: dict[str, Any] = {"rows": [0, 1, 2], "cols": [0, 1, 0], "signs": [1, -1, 1], "shape": (3, 2)}


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("rows", [0, 1], "rows, cols and signs must be of equal length, got 2, 3 and 3"),
        ("rows", [0, 1, 3], "rows must lie from 0 to 2"),
        ("rows", [-1, 1, 2], "rows must lie from 0 to 2"),
        ("rows", [0.0, 1.0, 2.0], "rows must hold whole numbers from 0 to 2"),
        ("rows", ["0", "1", "2"], "rows must hold whole numbers"),
        ("rows", [True, False, True], "rows must hold whole numbers"),
        ("rows", [[0], [1], [2]], "rows must be a one-dimensional array"),
        ("rows", [[0], [1, 2]], "rows must be a one-dimensional array"),
        ("rows", 0, "rows must be a one-dimensional array"),
        ("rows", None, "rows must be a one-dimensional array"),
        ("rows", np.array([0, 1, 2**63], dtype=np.uint64), "rows must lie from 0 to 2"),
        ("rows", [0, 1, 10**30], "rows must hold whole numbers"),
        ("cols", [0, 1, 2], "cols must lie from 0 to 1"),
        ("cols", [0, np.nan, 1], "cols must hold whole numbers"),
        ("signs", [1, -1], "equal length, got 3, 3 and 2"),
        ("signs", [1, 0, 1], "signs must contain only -1 and \\+1"),
        ("signs", [1, np.nan, 1], "signs must contain only"),
        ("signs", [True, False, True], "signs must contain only"),
        ("signs", ["1", "1", "1"], "signs must contain only"),
        ("signs", [1j, 1, 1], "signs must contain only"),
        ("signs", [[1, -1, 1]], "signs must be a one-dimensional array"),
        ("signs", np.array([128, 1, 1], dtype=np.uint8), "signs must contain only"),
        ("signs", np.array([-128, 1, 1], dtype=np.int8), "signs must contain only"),
        ("signs", np.array([255, 1, 1], dtype=np.uint8), "signs must contain only"),
        ("shape", (3, 2, 1), "shape must be a pair"),
        ("shape", "32", "shape must be a pair"),
        ("shape", (3, 0), "shape\\[1\\] must be a whole number from 1 to 2147483647"),
        ("shape", (3.5, 2), "shape\\[0\\] must be a whole number"),
        ("shape", (2**31, 2), "shape\\[0\\] must be a whole number"),
        ("shape", (2, 2), "rows must lie from 0 to 1"),
    ],
)
def test_bad_input_is_named(name: str, value: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Observations(**{**GOOD, name: value})


def test_nothing_observed_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one observed entry"):
        Observations([], [], [], (3, 2))


def test_an_entry_twice_is_refused_and_shown() -> None:
    with pytest.raises(ValueError, match=r"\(1, 0\) occurs more than once \(2 repetitions in all\)"):
        Observations([1, 0, 1, 1], [0, 0, 0, 0], [1, 1, -1, 1], (2, 2))


def test_flipping_one_entry_is_the_neighbouring_data_set() -> None:
    obs = small()
    other = obs.flip((1, 2))
    assert other.signs.tolist() == [1, -1, -1, 1]
    assert obs.signs.tolist() == [1, -1, 1, 1]
    assert other.flip((1, 2)).fingerprint() == obs.fingerprint() != other.fingerprint()


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ((0, 1), r"\(0, 1\) is not observed"),
        ((3, 0), r"entry\[0\] must be a whole number from 0 to 2"),
        ((0, -1), r"entry\[1\] must be a whole number from 0 to 2"),
        ((0,), "entry must be a pair"),
        (None, "entry must be a pair"),
        (5, "entry must be a pair"),
    ],
)
def test_an_entry_that_is_not_observed_is_refused(entry: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        small().flip(entry)


@given(share=st.floats(0.001, 0.999), seed=st.integers(0, 10**6))
def test_a_split_is_a_partition_in_order(share: float, seed: int) -> None:
    obs = many()
    size = round(share * 200)
    if size in (0, 200):
        with pytest.raises(ValueError, match="share must leave at least one of the 200"):
            obs.split(share, seed)
        return
    first, second = obs.split(share, seed)
    assert len(first) == size
    assert first.shape == second.shape == obs.shape
    place = {int(flat): k for k, flat in enumerate(obs.omega.flat)}
    for part in (first, second):
        places = [place[int(flat)] for flat in part.omega.flat]
        assert places == sorted(places)
        assert np.array_equal(part.signs, obs.signs[places])
    assert sorted([*first.omega.flat, *second.omega.flat]) == sorted(obs.omega.flat)


def test_a_split_repeats_with_its_seed_and_differs_with_another() -> None:
    obs = many()
    prints = [obs.split(0.5, seed)[0].fingerprint() for seed in (1, 1, 2)]
    assert prints[0] == prints[1] != prints[2]
    assert obs.split(0.5, np.random.default_rng(1))[0].fingerprint() == prints[0]


@pytest.mark.parametrize("share", [0.0, 1.0, -0.1, 1.5, np.nan, "half", None, True])
def test_a_share_outside_the_open_unit_interval_is_refused(share: Any) -> None:
    with pytest.raises(ValueError, match=r"^share must be"):
        many().split(share, 0)


@pytest.mark.parametrize("rng", [None, -1, 1.5, "1", True, np.random.RandomState(0)])
def test_a_seed_must_be_given_and_valid(rng: Any) -> None:
    with pytest.raises(ValueError, match=r"^rng must be a numpy Generator or a whole number of at least 0"):
        as_generator(rng)


def test_the_fingerprint_sees_everything() -> None:
    obs = small()
    others = [
        obs.with_signs(-obs.signs),
        Observations([2, 0, 1, 2], [1, 0, 2, 0], [1, -1, 1, 1], (3, 4)),
        Observations([2, 0, 1, 2], [1, 0, 1, 0], [1, -1, 1, 1], (3, 3)),
        obs.take(np.arange(3)),
    ]
    assert len({other.fingerprint() for other in others} | {obs.fingerprint()}) == 5
    assert pickle.loads(pickle.dumps(obs)).fingerprint() == obs.fingerprint()


def test_the_representation_shows_no_single_sign() -> None:
    assert repr(small()) == "Observations(n=4, shape=(3, 3), positive=0.750)"
