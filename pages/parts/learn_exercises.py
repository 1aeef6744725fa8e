"""Exercises for a class of 45 and of 90 minutes, with solutions whose numbers are computed."""

from __future__ import annotations

import math
from dataclasses import dataclass

import streamlit as st

from obmc import lessons
from obmc.experiments.jobs import BusyError
from obmc.lessons import Numbers
from obmc.privacy.guarantee import number
from pages.parts import address, controls, waiting


@dataclass(frozen=True)
class Exercise:
    """One exercise.

    Attributes
    ----------
    key
        Of its solution in ``obmc.lessons.SOLUTIONS``.
    title, minutes
        What it is about, and how long a class takes.
    task, solution
        The text, and the answer with the names of the solution's numbers in braces.
    preset
        Where on the privacy check it is tried, by the key of a preset; "" for none.
    look
        What is opened there.
    """

    key: str
    title: str
    minutes: int
    task: str
    solution: str
    preset: str = ""
    look: str = "One attack"

    def solved(self, numbers: Numbers) -> str:
        """The solution with its numbers."""
        return self.solution.format(**{name: _Number(value) for name, value in numbers.items()})


class _Number(float):
    """A number that says "infinite" and needs no format of its own."""

    def __format__(self, form: str) -> str:
        if math.isinf(self):
            return "infinite"
        return format(float(self), form) if form else number(float(self))


SHORT = (
    Exercise(
        "odds",
        "What epsilon promises",
        6,
        r"An adversary holds both signs of one rating for equally likely. By how much can their odds grow after a "
        r"release with $\varepsilon = 1$, $4$, $10$ and $\delta = 0$, and how sure can they become? What if they gave "
        r"+1 a chance of 1 % before?",
        r"The odds grow at most $e^{{\varepsilon}}$-fold: {odds_1:.1f}, {odds_4:.1f} and {odds_10:,.0f}. From 50 % the "
        r"belief can grow to {posterior_1:.1%}, {posterior_4:.1%} and {posterior_10:.3%}. From 1 % it grows to "
        r"{rare:.1%} at most at $\varepsilon = 1$: an unlikely thing stays unlikely.",
    ),
    Exercise(
        "game",
        "Guess the rating",
        8,
        "Play exactly 20 rounds against InP at epsilon = 1. How often are you right, and how often could anybody be? "
        "Put the class's rounds together: does the interval get close to the ceiling?",
        "InP reverses the sign with probability {flip:.1%}, so whoever says what they see is right with a probability "
        "of {ceiling:.1%}, and nobody can do better. {won:.0f} of {rounds:.0f} right has the 95 % interval {low:.1%} "
        "to {high:.1%}: twenty rounds refute nothing. The best guesser's 200 rounds come closer.",
        preset="inp",
        look="Guess the rating",
    ),
    Exercise(
        "bridge",
        "Break output perturbation",
        10,
        "Attack OutP on the bridge. Before you look: one rating decides how many of the 400 entries? The noise hides a "
        "move of one entry by 2 alpha. What is the exact epsilon of the matrix?",
        "Half of all entries, {moved:.0f}, move by 2 alpha each, so the noise of one entry hides one part in "
        "{theory:.0f}: the exact epsilon is {theory:.0f} times the {claimed:.0f} asked for (the solver finds "
        "{multiplier:.1f}). The audit shows at least {bound:.2f}, close to the {ceiling:.2f} that so many runs can "
        "show at most.",
        preset="outp-bridge",
    ),
    Exercise(
        "one-entry",
        "What is true of it all the same",
        5,
        "Now let the attacker look at the flipped entry alone. Is the claim refuted? For what use of the matrix does "
        "the paper's promise hold?",
        "Not refuted: at least {bound:.2f} is shown of the {claimed:.0f} asked for, and the exact value is "
        "{exact:.3g}. One entry that was chosen without looking at the ratings is protected as promised. A list of "
        "favourites, an average or the whole matrix is not.",
        preset="outp-entry",
    ),
    Exercise(
        "users",
        "One rating or one person",
        8,
        "In MovieLens-100K the median user gave 65 ratings, one gave 737. How well is each protected by InP at "
        "epsilon = 1, with delta = 0 and with delta = 0.00001? What would ten draws at each of epsilon = 1, 2, ..., 10 "
        "cost? Which epsilon per rating gives the median user epsilon = 4?",
        "With delta = 0 at {pure_median:.0f} and {pure_most:.0f}; with delta at {exact_median:.1f} and "
        "{exact_most:.0f}: no protection to speak of. The hundred draws cost {sweep:.0f} per rating. For epsilon = 4 "
        "the median user needs {rating_epsilon:.3f} per rating.",
    ),
    Exercise(
        "noises",
        "The same promise, less noise",
        8,
        r"Randomised response and Laplace noise on a bit keep the same $\varepsilon$. Compare the variance of an "
        r"unbiased label, $e^{\varepsilon}/(e^{\varepsilon} - 1)^2$ and $2/\varepsilon^2$, at $\varepsilon = 1$, $4$, "
        "$10$.",
        "{flipped_1:.3g} against {laplace_1:.3g} at 1, {flipped_4:.3g} against {laplace_4:.3g} at 4, {flipped_10:.2g} "
        "against {laplace_10:.2g} at 10: {ratio_1:.3g}, {ratio_4:.2g} and {ratio_10:.3g} times as much. A bit has two "
        "values, and Laplace noise spends itself on all others.",
    ),
)

FURTHER = (
    Exercise(
        "two-probabilities",
        "Two inequalities are missing",
        8,
        r"The paper lets +1 be reversed with probability $p_1$ and −1 with $p_2$ if "
        r"$1 - p_2 e^{\varepsilon} \leq p_1 \leq (1 - p_2) e^{\varepsilon}$. Try $p_1 = 0.01$, $p_2 = 0.40$ at "
        r"$\varepsilon = 1$. What is the true epsilon? And with $p_1 = 0$?",
        "The condition holds, but an output of −1 has the chance {p1:.2f} after a +1 and {after_minus:.2f} after a −1: "
        "{times:.0f} times as much, so that the true epsilon is {true:.3f}. If +1 is never reversed, an output of −1 "
        "gives the rating away, and epsilon is {never}. The paper keeps two of four inequalities.",
    ),
    Exercise(
        "displayed",
        "A factor of two",
        7,
        "In the paper's text the noise stands inside braces with 1/2 before them, in its appendix it does not. Attack "
        "ObjP in both forms. What does the misplaced factor cost?",
        "As displayed the noise is halved and epsilon doubled: exactly {exact:.0f}, of which the audit shows "
        "{bound:.2f}. In the appendix's form the exact value is {kept_exact:.0f}, and {kept:.2f} is shown.",
        preset="objp-displayed",
    ),
    Exercise(
        "rare-events",
        "A leak in rare outputs",
        10,
        "With Gaussian noise ObjP is attacked on a single rating, alpha = 2, epsilon = 0.5. Run it with 500 runs, then "
        "with 100,000. Why are so many needed? For which epsilons is the paper's claim false?",
        "500 runs show {few:.2g}, 100,000 show {bound:.2f}, and theory says at least {theory:.2f}. The two worlds "
        "differ most where outputs are rare: near the bound the curvature of the likelihood depends on the rating, "
        "which the proof leaves out. Here the claim is false below epsilon = {false_below:.3f} and proven from "
        "{proven_from:.3f} on.",
        preset="objp-gaussian",
    ),
    Exercise(
        "looks",
        "Many looks or one",
        8,
        r"GraP looks $K = 10$ times at noised gradients, each with a tenth of $\varepsilon = 1$. How large is the "
        r"noise of a look, and of the mean of all ten? Compare with one look at the whole budget, and with Gaussian "
        r"noise at $\delta = 10^{-5}$.",
        "Standard deviation {laplace:.3g} a look, {mean:.3g} in the mean of {steps:.0f}, against {one:.3g} for one "
        "look: {worse:.2f} times as much, the square root of K. Gaussian noise needs {gaussian:.3g} a look. The audit "
        "shows {bound:.2g} only, since the sum of ten tenths is a loose bound.",
        preset="grap",
    ),
    Exercise(
        "bounds",
        "Is the theory of errors any use?",
        12,
        "At the paper's setting (100 x 100, 15 % observed, alpha = 1) compare the explicit bound of the in-sample "
        "error with the trivial bound and with what is measured. What changes at 80 %? What does OutP's noise add at "
        "epsilon = 1? Check the printed bound of the flatness.",
        "The explicit bound is {explicit:.2f} without noise and {explicit_inp:.1f} for InP at epsilon = 1, the trivial "
        "one {trivial:.0f}, measured are {measured:.2f} and {measured_inp:.2f}: at this size the bound says nothing. "
        "At 80 % it is {explicit_dense:.2f}, below the trivial one. OutP's noise adds {output_noise:.0f} to the "
        "squared error of every entry, twice the trivial bound. The flatness is {beta_true:.1f}; what is printed as a "
        "bound on it is {beta_printed:.2f}.",
    ),
)

LENGTHS = {"45 minutes": SHORT, "90 minutes": SHORT + FURTHER}
LENGTH = address.choice("class", "Length of the class", "length", tuple(LENGTHS))
SOLUTIONS = address.switch("solutions", "Show solutions", False)
_PLACE = "solution"


def show() -> None:
    """Choose a length; the exercises, and behind a switch their solutions."""
    st.header("Exercises")
    length = address.pick(st.segmented_control, LENGTH, tuple(LENGTHS))
    exercises = LENGTHS[length]
    st.caption(
        f"{len(exercises)} exercises, {sum(exercise.minutes for exercise in exercises)} minutes. Each is tried with "
        "this dashboard alone."
    )
    solved = controls.switch(SOLUTIONS, "Every number in them is computed when it is shown.")
    pending = False
    for order, exercise in enumerate(exercises, 1):
        with st.container(border=True):
            st.subheader(f"{order}. {exercise.title}")
            st.caption(f"{exercise.minutes} minutes")
            st.markdown(exercise.task)
            if exercise.preset:
                st.page_link(
                    "privacy_check.py",
                    label="Try it in the privacy check",
                    icon=":material/policy:",
                    query_params={"preset": exercise.preset, "open": exercise.look},
                )
            if solved:
                pending = _solution(exercise, pending) or pending
    if pending:
        waiting.poll(_PLACE)


def _solution(exercise: Exercise, pending: bool) -> bool:
    """The solution, or that it is not there yet, which is returned. One is computed at a time."""
    known: dict[str, Numbers] = st.session_state.setdefault("_solutions", {})
    if exercise.key not in known and not pending:
        try:
            found = waiting.ask(_PLACE, exercise.key, lessons.solve, exercise.key)
        except BusyError as error:
            st.warning(str(error))
            return False
        if found is not None:
            known[exercise.key] = found
    if exercise.key not in known:
        st.markdown(":material/hourglass: *The solution is being computed.*")
        return True
    st.markdown(f":material/check: **Solution.** {exercise.solved(known[exercise.key])}")
    return False
