"""The statement of a guarantee: its logic and its words."""

import json
import math

import pytest
from scipy.stats import norm

from obmc.privacy import Guarantee
from obmc.privacy import guarantee as words
from obmc.privacy.accounting import gaussian_epsilon, gaussian_multiplier, rr_user_epsilon
from obmc.privacy.guarantee import limit


def make(**changes):
    fields = {
        "mechanism": "InP",
        "link": "logistic",
        "calibration": "rigorous",
        "claimed": 2.0,
        "epsilon": 2.0,
        "trust": "local",
        "status": "proven",
        "conditions": "any solver",
        "why": "Every sign is reversed with a known probability.",
        "formula": r"$p = 1/(1 + e^\varepsilon)$",
        "group": "bits",
    }
    return Guarantee(**{**fields, **changes})


def entry(**changes):
    settings = {
        "scope": "entry", "output_epsilon": 200.0, "trust": "central", "group": "any change", "mechanism": "OutP"
    }  # fmt: skip
    return make(**{**settings, **changes})


def test_a_lower_bound_that_is_known_is_told_however_small():
    refuted = make(status="violated", epsilon=math.inf, lower_bound=0.5)
    assert r"The true $\varepsilon$ is at least $0.5$." in refuted.explain("expert")
    assert "is at least $0" not in make(status="open", epsilon=math.inf).explain("expert")


class TestLogic:
    def test_holds(self):
        assert make().holds
        assert make(epsilon=2.1).holds is False
        assert make(status="open").holds is False
        assert make(status="violated").holds is False
        assert make(claimed=math.inf, epsilon=math.inf, trust="none", conditions="none").holds is False

    def test_release_needs_the_whole_output_with_any_solver_and_no_seed(self):
        assert make().release_allowed
        assert make(delta=1e-5, conditions="certified gap").release_allowed
        assert make(entries=3, trust="central").release_allowed
        for refused, reason in [
            (entry(), "one entry fixed in advance"),
            (make(epsilon=4.0, status="violated"), "known not to hold"),
            (make(epsilon=4.0, status="open"), "is not proven"),
            (make(conditions="exact minimiser", trust="central"), "exact minimiser"),
            (make(simulated=True), "seed"),
            (make(claimed=math.inf, epsilon=math.inf, trust="none", conditions="none"), "nothing in it is protected"),
        ]:
            assert not refused.release_allowed
            assert reason in refused.release_reason

    def test_scope_entry_must_say_what_the_output_costs(self):
        with pytest.raises(ValueError, match="output_epsilon must be given"):
            make(scope="entry")
        assert entry().total_epsilon == 200.0
        assert make().total_epsilon == 2.0

    @pytest.mark.parametrize("field", ["scope", "trust", "status", "conditions", "paper_verdict", "group"])
    def test_unknown_words_are_refused(self, field):
        with pytest.raises(ValueError, match=f"{field} must be one of"):
            make(**{field: "perhaps"})

    def test_user_level(self):
        assert make(epsilon=1.0).user_epsilon(65) == 65.0
        assert make(epsilon=1.0).user_epsilon(65, 1e-5) == rr_user_epsilon(1.0, 65, 1e-5)
        assert make(epsilon=1.0, group="pure").user_epsilon(65, 1e-5) == 65.0
        assert make(group="any change").user_epsilon(65) == 2.0
        bits = make(group="gaussian bits", multiplier=4.0, delta=1e-5)
        assert bits.user_epsilon(9) == math.inf
        assert bits.user_epsilon(9, 1e-5) == gaussian_epsilon(1e-5, 4.0 / 3.0)
        assert make(group="gaussian", multiplier=4.0).user_epsilon(9, 1e-5) == gaussian_epsilon(1e-5, 4.0 / 9.0)

    def test_drawn_keeps_everything_else(self):
        assert make().drawn(True).simulated
        assert make().drawn(True).drawn(False) == make()


class TestWords:
    def test_student_text_has_odds_unit_trust_and_person(self):
        text = make().explain()
        assert "odds about one rating's sign grow at most 7.4-fold" in text
        assert "one rating's sign; who rated what is public" in text
        assert "not even the computer" in text
        assert "20 for 10 ratings" in text
        assert "$" not in text

    def test_expert_text_has_formulas(self):
        text = make(delta=1e-5).explain("expert")
        assert r"$\varepsilon = 2,\ \delta = 10^{-5}$" in text
        assert r"\Omega" in text
        assert r"$p = 1/(1 + e^\varepsilon)$" in text

    def test_a_simulation_says_so_first(self):
        for audience in ("student", "expert"):
            assert make(simulated=True).explain(audience).startswith("This is a simulation")
            assert "simulation" not in make().explain(audience)

    def test_what_does_not_hold_is_not_called_protection(self):
        broken = make(claimed=0.5, epsilon=1.2, status="violated", lower_bound=0.648, conditions="exact minimiser")
        assert "epsilon = 0.5, does not hold" in broken.explain()
        assert "at least 0.648" in broken.explain()
        assert "violated" in broken.explain("expert")
        assert broken.headline == "The asked epsilon = 0.5 does not hold; proven for the whole output: epsilon = 1.2"
        assert "neither proven nor refuted" in make(epsilon=3.0, status="open").explain()

    def test_one_entry_is_not_the_matrix(self):
        text = entry().explain()
        assert "single entry" in text
        assert "epsilon = 200 only" in text
        assert entry().headline == "epsilon = 2 for one entry fixed in advance"

    def test_nothing_proven_is_said_as_that(self):
        open_ = make(epsilon=math.inf, status="open")
        assert "No limit is proven on what the result reveals about one rating's sign." in open_.explain()
        assert open_.user_epsilon(3) == open_.user_epsilon(3, 1e-5) == math.inf

    def test_no_privacy(self):
        clear = make(claimed=math.inf, epsilon=math.inf, trust="none", conditions="none")
        assert clear.headline == "No privacy"
        assert "no limit" in clear.explain()
        assert "odds" not in clear.explain()

    def test_huge_epsilon_is_called_what_it_is(self):
        assert "no protection to speak of" in make(claimed=10_000.0, epsilon=10_000.0).explain()

    def test_the_paper_is_quoted_with_a_verdict(self):
        text = make(paper_claim="the matrix is private.", paper_verdict="false", difference="It is not.").explain()
        assert "The paper states: the matrix is private. This is false. It is not." in text

    @pytest.mark.parametrize(
        ("epsilon", "factor"), [(0.1, "1.11"), (1.0, "2.8"), (2.0, "7.4"), (5.0, "149"), (99.0, "more than a million")]
    )
    def test_odds(self, epsilon, factor):
        assert words.odds(epsilon) == factor

    @pytest.mark.parametrize(
        ("value", "text"),
        [
            (1.0, "1"),
            (0.30000000000000004, "0.3"),
            (1e-5, "0.00001"),
            (1.25e-6, "0.00000125"),
            (1e-9, "1e-09"),
            (158_6126.0, "1,586,126"),
            (math.inf, "infinite"),
        ],
    )
    def test_number(self, value, text):
        assert words.number(value) == text

    @pytest.mark.parametrize(
        ("epsilon", "delta", "text"),
        [
            (0.5, 1e-5, r"\varepsilon = 0.5,\ \delta = 10^{-5}"),
            (0.001, 2.5e-5, r"\varepsilon = 0.001,\ \delta = 2.5 \cdot 10^{-5}"),
            (12_345.0, 0.01, r"\varepsilon = 12\,345,\ \delta = 0.01"),
            (2e7, 0.01, r"\varepsilon = 2 \cdot 10^{7},"),
        ],
    )
    def test_numbers_in_formulas(self, epsilon, delta, text):
        assert f"${text}" in make(claimed=epsilon, epsilon=epsilon, delta=delta).explain("expert")

    def test_unknown_audience(self):
        with pytest.raises(ValueError, match="audience must be one of"):
            make().explain("child")


class TestStatement:
    def test_json_round_trip(self):
        statement = make(delta=1e-5, lower_bound=math.nan).to_dict()
        loaded = json.loads(json.dumps(statement, allow_nan=False))
        assert loaded["epsilon"] == 2.0
        assert loaded["unit"] == words.UNIT
        assert loaded["lower_bound"] is None
        assert loaded["release_allowed"] is True
        assert loaded["in_words"] == make(delta=1e-5).explain()
        assert len(loaded["assumptions"]) == 3

    def test_infinite_values_are_words(self):
        statement = make(claimed=math.inf, epsilon=math.inf, trust="none", conditions="none").to_dict()
        assert json.loads(json.dumps(statement, allow_nan=False))["epsilon"] == "infinite"


@pytest.mark.parametrize("audience", ["student", "expert"])
def test_delta_is_named_where_there_is_one_and_nowhere_else(audience):
    def said(**changes):
        statement = make(**changes)
        return " ".join([statement.headline, *(text for _, text in statement.sentences(audience))])

    for sign in (r"\delta = ", "delta = ", "plus a probability of 0.00001"):
        assert sign not in said()
    assert "delta = 0.00001" in said(delta=1e-5)
    assert (r"\delta = " in said(delta=1e-5)) == (audience == "expert")
    assert ("plus a probability of 0.00001" in said(delta=1e-5)) == (audience == "student")


def test_with_a_delta_no_limit_of_odds_is_claimed_since_noise_breaks_it_more_often_than_delta():
    """The Gaussian mechanism at its multiplier s: P(loss > eps) = Q(eps s - 1/(2s)), many times delta."""
    for epsilon in (0.5, 1.0, 4.0, 10.0):
        multiplier = gaussian_multiplier(epsilon, 1e-5)
        beyond = norm.sf(epsilon * multiplier - 0.5 / multiplier)
        assert beyond > 3.0 * 1e-5
        assert "odds" not in limit(epsilon, 1e-5)
        # What is said instead: P(S) - e^eps P'(S) is largest on the set where the loss is above eps.
        excess = beyond - math.exp(epsilon) * norm.sf(epsilon * multiplier + 0.5 / multiplier)
        assert excess == pytest.approx(1e-5, rel=1e-4)
    assert limit(0.5) == "an adversary's odds about one rating's sign grow at most 1.65-fold"


def test_an_expert_reads_the_scope_that_it_has():
    whole, entry = make(), make(scope="entry", output_epsilon=300.0)
    assert "Scope: everything that leaves the mechanism." in whole.explain("expert")
    assert "Scope: one entry fixed in advance" in entry.explain("expert")
    assert r"has $\varepsilon = 300$" in entry.explain("expert")


def test_from_a_million_fold_on_no_number_is_told():
    edge = math.log(1e6)
    assert limit(edge) == "an adversary's odds about one rating's sign may grow more than a million-fold"
    assert "no protection to speak of" in make(claimed=edge, epsilon=edge).explain()
    assert "no protection to speak of" not in make(claimed=edge - 0.01, epsilon=edge - 0.01).explain()


def test_numbers_are_written_out_up_to_a_million_millions():
    assert words.number(1e12 - 1.0) == "999,999,999,999"
    assert words.number(1e12) == "1e+12"
    assert (words.number(1e-7), words.number(9e-8)) == ("0.0000001", "9e-08")
