"""The chapters of the lessons: short texts, formulas, and pictures that move."""

from __future__ import annotations

import math
from dataclasses import dataclass

import plotly.graph_objects as go
import streamlit as st

from obmc import lessons, limits, plots, plots_privacy
from obmc.checks import PRESETS
from obmc.experiments.jobs import BusyError
from obmc.plots_privacy import Curve
from obmc.privacy.audit import success_ceiling
from obmc.privacy.guarantee import ASSUMPTIONS, number, odds
from pages.parts import charts, learn_drawing, tables, waiting

# Without an exponent.
_DELTA = f"{lessons.DELTA:.10f}".rstrip("0")


def _drawn(figure: go.Figure, key: str, across: str, alt: str) -> None:
    """A figure, and its numbers."""
    charts.show(figure, key, alt)
    numbers = plots.numbers_of(figure, across)
    number = st.column_config.NumberColumn
    columns = {name: number(format="%.4g") for name, kind in numbers.dtypes.items() if kind.kind == "f"}
    charts.show_numbers(numbers, f"{key}-numbers", columns)


def completion() -> None:
    st.header("One-bit matrix completion")
    st.markdown(
        "People rate films, and all that is kept of a rating is whether they liked the film: **+1** or **−1**. Most "
        "entries are missing. The task is to estimate a number for every person and every film."
    )
    st.latex(
        r"\begin{gathered} \Pr(Y_{ij} = +1) = h(M_{ij}), \\ h(x) = \frac{1}{1 + e^{-x}} \ \text{(logistic)} "
        r"\quad\text{or} \\ h(x) = \Phi(x/\sigma) \ \text{(Gaussian)} \end{gathered}"
    )
    st.markdown(
        r"Two assumptions make that possible: the matrix $M$ is close to one of low rank $r$ (a few tastes explain "
        r"everybody), and no entry is larger than $\alpha$. The estimate fits the signs best among all such matrices:"
    )
    st.latex(
        r"\begin{gathered} \hat M = \arg\min_{X} \; -\!\!\sum_{(i,j)\in\Omega} \log h(Y_{ij} X_{ij}) \\ "
        r"\text{subject to}\quad \|X\|_* \leq \alpha\sqrt{r\,d_1 d_2}, \quad \max_{ij}|X_{ij}| \leq \alpha "
        r"\end{gathered}"
    )
    st.markdown(
        "The problem is convex, so that there is one best value and a solver can prove how close it is. See it at work "
        "in the Playground: truth, signs, estimate and error side by side."
    )
    st.page_link("playground.py", label="Open the Playground", icon=":material/grid_on:")


def epsilon() -> None:
    st.header("What epsilon means")
    st.markdown(
        "Take two tables that differ in **one rating's sign**. A mechanism is epsilon-differentially private if no "
        "output is much likelier under one than under the other:"
    )
    st.latex(r"\Pr(\text{output} \in S \mid Y) \;\leq\; e^{\varepsilon}\, \Pr(\text{output} \in S \mid Y') + \delta")
    eps = st.select_slider(
        "Epsilon", limits.EPSILON_GRID, value=1.0, format_func="{:g}".format, key="learn_eps", persist_state="session"
    )
    left, right = st.columns(2, gap="large")
    with left:
        st.subheader("By odds")
        prior = st.select_slider(
            "How sure an adversary was before",
            (0.01, 0.1, 0.25, 0.5, 0.75),
            value=0.5,
            format_func="{:.0%}".format,
            key="learn_prior",
            persist_state="session",
        )
        after = lessons.posterior(eps, prior)
        across, up = lessons.posteriors(prior)
        _drawn(
            plots_privacy.lines(
                [Curve("The most they can be after", across, up, "InP")],
                ("Epsilon", "Belief"),
                log=(True, False),
                percent=True,
                marker=(min(eps, 10.0), lessons.posterior(min(eps, 10.0), prior)),
                height=300,
            ),
            "posterior",
            "Epsilon",
            f"The largest belief after a release against epsilon, from a prior of {prior:.0%}: {after:.1%} at epsilon "
            f"{eps:g}.",
        )
        st.markdown(
            f"At epsilon = {eps:g}, delta = 0 their odds grow at most **{odds(eps)}-fold**: from {prior:.0%} to "
            f"**{after:.1%}**, rounded, and no further."
        )
    with right:
        st.subheader("By a game")
        st.markdown(
            "A fair coin chooses the sign of one rating, the mechanism runs, you see the result and say which it was. "
            "Guessing blindly you are right half of the time. Whatever you know and try:"
        )
        st.latex(r"\Pr(\text{right}) \;\leq\; \frac{e^{\varepsilon} + \delta}{1 + e^{\varepsilon}}")
        st.markdown(f"At epsilon = {eps:g}, delta = 0 that is **{success_ceiling(eps):.1%}**.")
        st.page_link(
            "privacy_check.py",
            label="Play it",
            icon=":material/casino:",
            query_params={"preset": "inp", "open": "Guess the rating"},
        )


def places() -> None:
    st.header("Four places to add noise")
    left, right = st.columns([1, 1], gap="large")
    with left:
        learn_drawing.show()
    with right:
        st.markdown(
            "- **InP**, input: each sign is reversed with probability $1/(1 + e^{\\varepsilon})$ by its owner.\n"
            "- **ObjP**, objective: a random linear term $\\sum H_{ij}X_{ij}$ is added to what is minimised.\n"
            "- **GraP**, gradient: the solver takes $K$ steps and sees noised gradients only.\n"
            "- **OutP**, output: the finished matrix gets noise on every entry."
        )
        st.subheader("Whom do you have to trust?")
        st.markdown(
            "**Nobody, with local noise.** Under InP and InP+ the true rating never leaves its owner. ObjP with "
            "logistic noise amounts to noise on each bit, so that it could be local, too.\n\n"
            "**The server, with central noise.** GraP and OutP work on true ratings and protect what leaves them: "
            "whoever runs the solver sees all."
        )
        st.markdown(
            "The paper asks for a trusted server throughout and leaves the other case to future work; its own first "
            "mechanism already is the answer."
        )
        st.subheader("What is free")
        st.markdown(
            "Whatever is computed from noised data without looking at the true ratings again costs nothing: any "
            "solver, any number of solves, any choice of settings. This is **post-processing**."
        )


def people() -> None:
    st.header("Whom it protects")
    st.markdown("What is protected is **one rating's sign**. Three things follow that are easily overlooked.")
    for text in ASSUMPTIONS:
        st.markdown(f"- {text}")
    st.subheader("Somebody with many ratings")
    eps = st.select_slider(
        "Epsilon of one rating",
        limits.EPSILON_GRID,
        value=1.0,
        format_func="{:g}".format,
        key="learn_user_eps",
        persist_state="session",
    )
    table = lessons.user_table(eps)
    groups = [f"{count:.0f}" for count in table["ratings"]]
    series = [("delta = 0", table["pure"]), (f"delta = {_DELTA}", table["exact"])]
    _drawn(
        plots_privacy.bars(groups, series, "Epsilon of a person", 320),
        "users",
        "Number of ratings",
        "Epsilon of a person by their number of ratings: "
        + "; ".join(f"{g}: {a:.3g}, with delta {b:.3g}" for g, a, b in zip(groups, *table_values(table), strict=True)),
    )
    st.caption(
        "Number of ratings across: one, and the smallest, median, mean and largest in MovieLens-100K. InP, with all of "
        "a person's signs changed; exact values."
    )
    st.subheader("Several releases")
    left, right = st.columns(2, gap="large")
    count = left.slider("Releases by InP", 0, 20, 3, key="learn_releases", persist_state="session")
    each = right.select_slider(
        "Epsilon of each",
        limits.EPSILON_GRID,
        value=1.0,
        format_func="{:g}".format,
        key="learn_each",
        persist_state="session",
    )
    ledger = lessons.ledger_of([each] * count)
    st.markdown(ledger.statement)
    if count:
        median, largest = lessons.USERS[2], lessons.USERS[-1]
        whom = {"one rating": 1, **{f"a user with {count} ratings": count for count in (median, largest)}}
        tables.show(
            {
                "Whom": list(whom),
                "delta = 0": [number(ledger.user_epsilon(m)) for m in whom.values()],
                f"delta = {_DELTA}": [number(ledger.user_epsilon(m, lessons.DELTA)) for m in whom.values()],
            }
        )
    st.caption(
        "A ledger adds up what has been spent. Draw the noise once and keep what it gave: looking again is free, "
        "drawing again is not. Synthetic and public data need no ledger."
    )


def table_values(table: dict[str, list[float]]) -> tuple[list[float], list[float]]:
    return table["pure"], table["exact"]


@dataclass(frozen=True)
class Claim:
    """What the paper claims of a mechanism, what holds, and the preset that shows it."""

    mechanism: str
    claim: str
    holds: str
    verdict: str
    preset: str


CLAIMS = (
    Claim(
        "InP",
        "Signs reversed with probability $1/(1 + e^{\\varepsilon})$ keep epsilon.",
        "True, exactly, and without trusting anybody. The condition for two different probabilities lacks two of four "
        "inequalities: 0.01 and 0.40 pass at epsilon = 1, where the true value is {two_true:.2f}. The estimator's "
        "objective is convex from epsilon = {convex_from:.0f} on only (alpha = 1, logistic).",
        "Holds",
        "inp",
    ),
    Claim(
        "ObjP, logistic noise",
        "Laplace noise of scale $1/\\varepsilon$ in the objective keeps epsilon.",
        "True, for any solver, though not by the proof as printed: it amounts to Laplace noise on each bit.",
        "Holds",
        "objp",
    ),
    Claim(
        "ObjP as displayed",
        "The formula in the text, with the noise inside the braces, keeps epsilon.",
        "False: the factor 1/2 halves the noise and doubles epsilon, exactly.",
        "False",
        "objp-displayed",
    ),
    Claim(
        "ObjP, Gaussian noise",
        "Laplace noise of scale $2h'(0)/(h(-\\alpha)\\,\\varepsilon)$ keeps epsilon.",
        "False for small epsilon: below {gaussian_false_below:.3f} at alpha = sigma = 1; proven from "
        "{gaussian_proven_from:.3f} on; in between nobody knows. The proof leaves out that the curvature depends on "
        "the rating. With the matching loss it holds at every epsilon, with less noise.",
        "False in part",
        "objp-gaussian",
    ),
    Claim(
        "GraP",
        "K steps with Laplace noise of scale $K\\Delta_1/\\varepsilon$ keep epsilon.",
        "True if nothing else touches the ratings: no line search, no step length from true gradients, K and the start "
        "fixed beforehand. But ten looks at a tenth of the budget each have a noise of standard deviation "
        "{steps_std:.3g}, against {one_look_std:.3g} for one look.",
        "Holds, with conditions",
        "grap",
    ),
    Claim(
        "OutP, the matrix",
        "Laplace noise of scale $2\\alpha/\\varepsilon$ on every entry keeps epsilon.",
        "False: it takes the range of one entry for the sensitivity of all. On the bridge, data made to show it, the "
        "true epsilon is {bridge:.0f} times the claimed one at 20 x 20.",
        "False",
        "outp-bridge",
    ),
    Claim(
        "OutP, one entry",
        "The same, read as a statement about a single entry.",
        "True for one entry that was fixed without looking at the ratings, for any solver.",
        "Holds",
        "outp-entry",
    ),
    Claim(
        "OutP, projected",
        "Post-processing is free, so that a projected matrix keeps what the noised one had.",
        "It keeps what the whole noised matrix had, which is next to nothing; even one entry of it is not protected "
        "at the claimed epsilon.",
        "False",
        "outp-projected",
    ),
)


def claims() -> None:
    st.header("What the paper claims, and what holds")
    st.markdown("Each row can be tried: the link opens the attack that shows it.")
    numbers = lessons.claims()
    for claim in CLAIMS:
        with st.container(border=True):
            left, right = st.columns([4, 1], gap="medium")
            with left:
                st.markdown(f"**{claim.mechanism}: {claim.verdict.lower()}.**")
                st.markdown(f"*Claimed:* {claim.claim}")
                st.markdown(f"*What holds:* {claim.holds.format(**numbers)}")
            with right:
                st.page_link(
                    "privacy_check.py",
                    label="Show it",
                    icon=":material/policy:",
                    query_params={"preset": claim.preset},
                    help=PRESETS[claim.preset].title,
                )
    st.caption(
        "Entry-level privacy, who rated what is public. “Holds” is a proof, “false” a pair of data sets that breaks "
        "the claim, by its exact loss or by an attack with 95 % confidence."
    )


def beyond() -> None:
    st.header("InP+: more from the same noised bits")
    st.markdown(
        "Any private view of one bit is a post-processing of randomised response: no mechanism whose whole output "
        "keeps epsilon, with delta = 0, tells more about a rating. So take InP's noised bits, and use them better. All "
        "of it is free:"
    )
    st.markdown(
        "1. **Effects of users and items.** Some people like most films, and some films are liked by most people. Such "
        "effects are averages over many bits, which noise hides least.\n"
        "2. **A radius that fits the noise.** The paper's bound of the nuclear norm is several times too large for its "
        "data, and noise makes it worse. InP+ chooses it by cross-validation on the *noised* bits.\n"
        "3. **A convex loss** with unbiased labels, which has one minimum at every epsilon."
    )
    st.latex(
        r"\begin{gathered} M_{ij} = \mu + b_i + c_j + L_{ij}, \quad \|L\|_* \leq \tau, \quad A' = h \\ "
        r"\min \sum_{(i,j)\in\Omega} \big(A(M_{ij}) - T_{ij} M_{ij}\big) + "
        r"\tfrac{\lambda}{2}\big(\|b\|^2 + \|c\|^2\big) \end{gathered}"
    )
    epsilons, flipped, laplace = lessons.variances()
    _drawn(
        plots_privacy.lines(
            [
                Curve("Randomised response (InP, InP+)", epsilons, flipped, "InP"),
                Curve("Laplace noise (ObjP)", epsilons, laplace, "ObjP"),
            ],
            ("Epsilon", "Variance of the noise on a label"),
            log=(True, True),
            height=320,
        ),
        "variances",
        "Epsilon",
        f"Variance of the noise on one label against epsilon, on logarithmic axes: randomised response from "
        f"{flipped[0]:.3g} down to {flipped[-1]:.2g}, Laplace noise from {laplace[0]:.3g} down to {laplace[-1]:.2g}.",
    )
    st.latex(r"\frac{e^{\varepsilon}}{(e^{\varepsilon} - 1)^2} \;<\; \frac{2}{\varepsilon^2}")
    st.page_link(
        "privacy_check.py",
        label="Attack InP+",
        icon=":material/policy:",
        query_params={"preset": "inp+"},
    )


_IN_SAMPLE = "in-sample"


def bounds() -> None:
    st.header("Error bounds")
    st.markdown(
        "Theory says how the error depends on the number of observations $n$. The **standard rate** for one-bit "
        "completion is, with a constant that nobody knows,"
    )
    st.latex(
        r"\begin{gathered} \frac{1}{d_1 d_2}\|\hat M - M\|_F^2 \;\leq\; \\ C\,\alpha L \beta\, "
        r"\sqrt{\frac{r(d_1 + d_2)}{n}} \sqrt{1 + \frac{(d_1 + d_2)\log(d_1 d_2)}{n}} \end{gathered}"
    )
    st.markdown(
        r"with the steepness $L = \sup h'/(h(1-h))$ and the flatness $\beta = \sup h(1-h)/h'^2$ over $|x| \leq "
        r"\alpha$; for InP those of the flipped $c = p + (1-2p)h$. Since $C$ is unknown, the curves below have an axis "
        r"of their own: they show the shape only, in parts of the value without noise at 15 %."
    )
    shares, found = lessons.rates([math.inf, 4.0, 1.0])
    names = {math.inf: ("Without noise", "Clear"), 4.0: ("InP, epsilon = 4", "InP"), 1.0: ("InP, epsilon = 1", "")}
    _drawn(
        plots_privacy.lines(
            [Curve(names[eps][0], shares, values, names[eps][1]) for eps, values in found.items()],
            ("Share of entries observed", "Standard rate, in parts"),
            log=(False, True),
            height=320,
        ),
        "rates",
        "Share of entries observed",
        "The standard rate against the share of observed entries: falling curves, "
        + "; ".join(
            f"{names[eps][0]}: {values[0]:.2f} at 5 %, {values[-1]:.2f} at 100 %" for eps, values in found.items()
        ),
    )
    st.subheader("A bound without unknowns, and what is measured")
    st.markdown(
        "For the error *on the observed entries* there is an explicit bound, in which only the norm of the noise is "
        "put at its typical size, and a trivial one:"
    )
    st.latex(
        r"\begin{gathered} \frac{1}{n}\|P_\Omega(\hat M - M)\|_F^2 \;\leq\; "
        r"\frac{4\tau\|G\|_2}{\kappa n} \\ \;\approx\; "
        r"\frac{4\alpha s\sqrt{r}\,(\sqrt{d_1} + \sqrt{d_2})}{\kappa\sqrt{n}}, \\ "
        r"\frac{1}{n}\|P_\Omega(\hat M - M)\|_F^2 \;\leq\; 4\alpha^2 \end{gathered}"
    )
    st.markdown(
        r"with $G$ the noise of the labels on the observed entries, $s^2 = \tfrac14 +$ the variance of what is added "
        r"to a label, and $\kappa = h'(\alpha)$."
    )
    share = st.segmented_control(
        "Share of entries observed",
        (0.15, 0.8),
        default=0.15,
        required=True,
        format_func="{:.0%}".format,
        key="learn_ratio",
        persist_state="session",
    )
    try:
        rows = waiting.ask(_IN_SAMPLE, share, lessons.in_sample, 1.0, share)
    except BusyError as error:
        st.warning(str(error))
        return
    if rows is None:
        waiting.poll(_IN_SAMPLE)
        return
    series = [
        ("Measured", [row.measured.value for row in rows]),
        ("Trivial bound", [row.trivial for row in rows]),
        ("Explicit bound", [row.explicit for row in rows]),
    ]
    labels = [row.label for row in rows]
    _drawn(
        plots_privacy.bars(labels, series, "In-sample squared error", 340),
        "in-sample",
        "Mechanism",
        "In-sample error: "
        + "; ".join(
            f"{row.label}: measured {row.measured.value:.2f}, trivial bound {row.trivial:g}, explicit bound "
            f"{row.explicit:.2f}"
            for row in rows
        ),
    )
    spread = ", ".join(f"{row.label} {row.measured.value:.3f} ± {row.measured.half:.3f}" for row in rows)
    st.caption(
        f"100 x 100, rank 1, alpha = 1, logistic, epsilon = 1, {share:.0%} observed. Measured: {spread} (mean of "
        f"{rows[0].measured.draws} draws with 95 % intervals, seeds 0 to {rows[0].measured.draws - 1})."
    )
    vacuous = [row.label for row in rows if row.explicit > row.trivial]
    if vacuous:
        st.markdown(
            f"**At this size the theory is vacuous** for {', '.join(vacuous)}: the explicit bound is larger than the "
            "trivial one, which holds for any two matrices. The measured errors are far below both."
        )
    else:
        st.markdown("Here the explicit bound says more than the trivial one, and is still far above what is measured.")
    st.markdown(
        r"**OutP** adds exactly $8\alpha^2/\varepsilon^2$ to the squared error of every entry, in expectation, before "
        r"any post-processing. For **GraP** there is no bound, here or in the paper."
    )
