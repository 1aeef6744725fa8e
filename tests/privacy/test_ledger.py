"""The ledger: sums, budgets, and what costs nothing."""

import json
import math
import threading

import numpy as np
import pytest

import obmc
from obmc.errors import ReleaseFailed
from obmc.privacy import BudgetExceeded, Guarantee, Ledger
from obmc.privacy.accounting import gaussian_epsilon, rr_user_epsilon, users_epsilon


def guarantee(epsilon=1.0, delta=0.0, group="bits", **changes):
    fields = {
        "mechanism": "InP", "link": "logistic", "calibration": "rigorous", "claimed": epsilon, "epsilon": epsilon,
        "delta": delta, "trust": "local", "status": "proven", "conditions": "any solver", "why": "w", "formula": "f",
        "group": group,
    }  # fmt: skip
    return Guarantee(**{**fields, **changes})


def whole_matrix(epsilon=1.0, cells=100):
    return guarantee(epsilon, scope="entry", output_epsilon=cells * epsilon, group="any change", trust="central")


def ledger(**budget):
    return Ledger("films.csv", [3, 0, 5, 20, 7], **budget)


class TestBooking:
    def test_sums(self):
        book = ledger()
        book.book(guarantee(0.1), label="first", time="2024-01-01")
        book.book(guarantee(0.2, delta=1e-6, group="gaussian", multiplier=5.0))
        assert book.epsilon == pytest.approx(0.3)
        assert book.delta == 1e-6
        assert [entry.label for entry in book.entries] == ["first", ""]
        assert book.entries[0].time == "2024-01-01"

    def test_a_whole_matrix_is_booked_at_its_whole_price(self):
        book = ledger()
        book.book(whole_matrix(0.5))
        assert book.epsilon == 50.0

    def test_a_whole_matrix_is_refused_by_a_budget(self):
        book = ledger(epsilon_budget=10.0)
        with pytest.raises(BudgetExceeded, match="this release costs 50"):
            book.book(whole_matrix(0.5))
        assert book.entries == ()

    def test_nothing_proven_cannot_be_booked(self):
        with pytest.raises(ValueError, match="must have a finite proven epsilon"):
            ledger().book(guarantee(math.inf, trust="none", conditions="none"))

    def test_budget(self):
        book = ledger(epsilon_budget=0.3)
        book.book(guarantee(0.1))
        book.book(guarantee(0.2))
        assert book.epsilon_left == pytest.approx(0.0, abs=1e-15)
        with pytest.raises(BudgetExceeded, match=r"epsilon must be at most .* left of the budget of 0\.3"):
            book.book(guarantee(0.01))
        assert len(book.entries) == 2
        assert issubclass(BudgetExceeded, ValueError)

    def test_delta_budget(self):
        book = ledger(delta_budget=0.0)
        book.book(guarantee())
        with pytest.raises(BudgetExceeded, match="delta must be at most"):
            book.book(guarantee(delta=1e-9, group="gaussian", multiplier=3.0))

    def test_a_refused_release_is_never_drawn(self):
        book = ledger(epsilon_budget=1.0)
        drawn = []
        with pytest.raises(BudgetExceeded):
            book.spend(guarantee(2.0), lambda: drawn.append(1))
        assert drawn == []
        assert book.epsilon == 0.0

    @pytest.mark.parametrize("error", [ValueError, UnicodeError])
    def test_a_draw_that_is_refused_costs_nothing(self, error):
        book = ledger()
        with pytest.raises(error):
            book.spend(guarantee(), lambda: (_ for _ in ()).throw(error("no")))
        assert book.entries == ()

    @pytest.mark.parametrize("error", [RuntimeError, MemoryError, OSError, ReleaseFailed, ZeroDivisionError])
    def test_a_draw_that_fails_may_have_said_something_and_costs_what_it_would_have(self, error):
        book = ledger()
        with pytest.raises(error):
            book.spend(guarantee(), lambda: (_ for _ in ()).throw(error("no")))
        assert book.epsilon == guarantee().epsilon

    def test_a_budget_is_fixed_with_the_first_release(self):
        book = ledger()
        book.set_budget(epsilon=2.0, delta=1e-5)
        book.set_budget(epsilon=3.0)
        assert (book.epsilon_budget, book.delta_budget) == (3.0, 1e-5)
        book.book(guarantee(2.0))
        with pytest.raises(ValueError, match=r"^epsilon_budget must be at most the 3 of the first release, got 50"):
            book.set_budget(epsilon=50.0)
        with pytest.raises(ValueError, match=r"^delta_budget must be at most the 0.00001 of the first release"):
            book.set_budget(epsilon=2.5, delta=1e-4)
        assert book.epsilon_budget == 3.0
        book.set_budget(epsilon=2.5)
        assert book.epsilon_left == 0.5

    def test_users_with_one_rating_each_have_a_ledger(self):
        assert Ledger("films", [1, 0, 1]).largest_ratings == 1

    def test_a_budget_may_come_after_the_first_release(self):
        book = ledger()
        book.book(guarantee(2.0))
        book.set_budget(epsilon=1.0)
        with pytest.raises(BudgetExceeded):
            book.check(guarantee(0.1))

    def test_what_was_spent_stays_spent_when_the_ratings_are_read_in_another_way(self):
        book = ledger()
        entry = book.book(guarantee(2.0))
        assert not book.is_of([5, 0, 3]) and book.is_of(list(reversed(book.to_dict()["ratings_per_user"])))
        largest = book.largest_ratings
        book.recount([5, 0, 3])
        assert book.largest_ratings == largest and book.epsilon == 2.0
        book.recount([50, 1])
        assert book.largest_ratings == 50 and book.user_epsilon(book.largest_ratings) == 100.0
        book.take_back(entry)
        assert book.epsilon == 0.0

    def test_two_thresholds_of_one_table_add_up(self):
        table = obmc.Observations([0, 0, 1], [0, 1, 1], [1, -1, 1], (2, 2))
        other = table.with_signs([-1, -1, 1])
        book = Ledger.for_observations("films.csv", table)
        for observations in (table, other):
            mean = book.spend(guarantee(1.0), lambda seen=observations: seen.positive_share)
            assert mean == pytest.approx(observations.positive_share)
        assert book.epsilon == 2.0
        assert book.user_epsilon(2) == 4.0

    def test_concurrent_spending_never_exceeds_the_budget(self):
        book = ledger(epsilon_budget=10.0)
        refused = []

        def spend():
            for _ in range(20):
                try:
                    book.spend(guarantee(0.5), lambda: None)
                except BudgetExceeded:
                    refused.append(1)

        threads = [threading.Thread(target=spend) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(book.entries) == 20
        assert len(refused) == 140


class TestWhatCostsNothing:
    def test_noised_data_are_drawn_once(self):
        book = ledger(epsilon_budget=1.0)
        rng = np.random.default_rng(0)
        first, paid = book.reuse(("3.5", "InP", 1.0), guarantee(), lambda: rng.random(4))
        again, paid_again = book.reuse(("3.5", "InP", 1.0), guarantee(), lambda: rng.random(4))
        assert paid and not paid_again
        assert again is first
        assert book.epsilon == 1.0
        with pytest.raises(BudgetExceeded):
            book.reuse(("4.5", "InP", 1.0), guarantee(), lambda: rng.random(4))

    def test_a_named_entry_asked_again_has_the_same_noise(self):
        book = ledger()
        rng = np.random.default_rng(0)

        def ask(entries, question="threshold 3.5"):
            return book.named_entries(
                question,
                entries,
                quote=lambda k: guarantee(1.0, entries=k, group="any change"),
                draw=lambda fresh: rng.random(len(fresh)),
            )

        first = ask([(0, 1), (2, 3)])
        assert book.epsilon == 1.0
        again = ask([(2, 3), (0, 1), (2, 3)])
        np.testing.assert_array_equal(again, first[[1, 0, 1]])
        assert book.epsilon == 1.0
        more = ask([(0, 1), (4, 4)])
        assert more[0] == first[0]
        assert book.epsilon == 2.0
        assert ask([(0, 1)], question="threshold 4")[0] != first[0]

    def test_a_draw_that_returns_too_little_is_refused(self):
        with pytest.raises(ValueError, match="shorter"):
            ledger().named_entries(
                "q", [(0, 0), (1, 1)], quote=lambda k: guarantee(1.0, entries=k), draw=lambda _: [0.5]
            )

    def test_named_entries_beyond_the_budget_are_not_drawn(self):
        book = ledger(epsilon_budget=0.5)
        with pytest.raises(BudgetExceeded):
            book.named_entries("q", [(0, 0)], quote=lambda k: guarantee(1.0, entries=k), draw=lambda fresh: 1 / 0)
        assert book.entries == ()


class TestUsers:
    def test_median_and_largest_user(self):
        book = ledger()
        assert book.median_ratings == 6
        assert book.largest_ratings == 20

    def test_pure(self):
        book = ledger()
        book.book(guarantee(0.5))
        book.book(guarantee(1.0, group="any change"))
        assert book.user_epsilon(20) == 11.0
        assert book.user_epsilon(1) == 1.5

    def test_what_holds_for_any_change_needs_no_delta(self):
        book = ledger()
        assert book.user_epsilon(7, 1e-5) == 0.0
        book.book(guarantee(2.0, group="any change"))
        assert book.user_epsilon(7, 1e-5) == 2.0

    def test_exact_at_delta(self):
        book = ledger()
        book.book(guarantee(0.5))
        assert book.user_epsilon(65, 1e-5) == rr_user_epsilon(0.5, 65, 1e-5)
        book.book(guarantee(0.25))
        assert book.user_epsilon(65, 1e-5) == users_epsilon([(0.5, 65), (0.25, 65)], 1e-5)
        book.book(guarantee(2.0, group="any change"))
        assert book.user_epsilon(65, 1e-5) == 2.0 + users_epsilon([(0.5, 65), (0.25, 65)], 1e-5)

    def test_gaussian_noise_by_its_sensitivity(self):
        book = ledger()
        book.book(guarantee(1.0, delta=1e-5, group="gaussian bits", multiplier=8.0))
        assert book.user_epsilon(4) == math.inf
        assert book.user_epsilon(4, 1e-5) == pytest.approx(gaussian_epsilon(1e-5, 4.0))
        assert book.user_epsilon(64, 1e-5) == pytest.approx(gaussian_epsilon(1e-5, 1.0))
        book.book(guarantee(1.0, delta=1e-5, group="gaussian", multiplier=8.0))
        assert book.user_epsilon(4, 1e-5) == pytest.approx(gaussian_epsilon(1e-5, 8.0 / math.sqrt(4 + 16)))


class TestStatement:
    def test_what_the_sums_mean(self):
        book = ledger()
        assert book.statement == "Nothing has been spent on this table."
        book.book(guarantee(1.0))
        assert "1 release from this table: together epsilon = 1 for one rating's sign" in book.statement
        book.book(guarantee(1.0))
        assert "also where later ones were chosen after earlier results" in book.statement
        book.book(guarantee(1.0, delta=1e-6, group="gaussian", multiplier=3.0))
        assert "promise nothing" in book.statement
        assert "delta = 0.000001" in book.statement

    def test_round_trip(self):
        book = ledger(epsilon_budget=5.0, delta_budget=1e-4)
        book.book(guarantee(1.0), label="a", time="t")
        book.book(guarantee(0.5, delta=1e-6, group="gaussian bits", multiplier=3.0))
        again = Ledger.from_dict(json.loads(json.dumps(book.to_dict(), allow_nan=False)))
        assert again.to_dict() == book.to_dict()
        assert again.user_epsilon(7, 1e-5) == book.user_epsilon(7, 1e-5)
        assert again.largest_ratings == 20

    @pytest.mark.parametrize("wrong", [[], [0, 0], [3, -1], [[1, 2]]])
    def test_bad_counts(self, wrong):
        with pytest.raises(ValueError, match="ratings_per_user must hold"):
            Ledger("t", wrong)

    @pytest.mark.parametrize("wrong", [[1.7, 2.2], [math.nan], ["a"], []])
    def test_counts_that_are_no_whole_numbers(self, wrong):
        with pytest.raises(ValueError, match="ratings_per_user must hold one whole number"):
            Ledger("t", wrong)

    @pytest.mark.parametrize(
        "wrong",
        [{"epsilon": -5.0}, {"epsilon": math.nan}, {"epsilon": "1"}, {"epsilon": math.inf}, {"delta": -1.0},
         {"delta": math.nan}, {"delta": 1.0}, {"group": "hello"}, {"group": "gaussian"},
         {"group": "gaussian", "multiplier": 0.0}, {"label": 3}],
    )  # fmt: skip
    def test_a_booking_that_none_can_have_made_is_refused(self, wrong):
        book = ledger()
        book.book(guarantee(1.0))
        stored = book.to_dict()
        stored["entries"][0] |= wrong
        with pytest.raises(
            ValueError, match=f"^{'multiplier' if wrong.get('group') == 'gaussian' else next(iter(wrong))} must"
        ):
            Ledger.from_dict(stored)

    @pytest.mark.parametrize("wrong", [{"epsilon": -5.0}, {"epsilon": math.nan}, {"delta": -1.0}, {"delta": math.nan}])
    def test_a_guarantee_is_of_a_price_that_can_be_paid(self, wrong):
        with pytest.raises(ValueError, match=f"^{next(iter(wrong))} must be a"):
            guarantee(**({"claimed": 1.0} | wrong))

    def test_bad_budget(self):
        with pytest.raises(ValueError, match="epsilon_budget must be"):
            ledger(epsilon_budget=0.0)
        with pytest.raises(ValueError, match="delta_budget must be"):
            ledger(delta_budget=2.0)
