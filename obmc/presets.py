"""Charts to begin with: named plans whose points are among those of the figures, whose finished runs are shipped.

Not every run of a figure is finished: a page says of which mechanisms some are missing, and offers to compute them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from obmc import limits
from obmc.experiments.figures import RATIOS, REAL_DRAWS, SLOW_DRAWS, SMALL_EPSILONS
from obmc.offers import OFFERS
from obmc.plan import Plan, curves_of, metrics_for
from obmc.single import Setting


@dataclass(frozen=True)
class Preset:
    """A named chart.

    Attributes
    ----------
    key, title, about
        For addresses, on the page, and in a sentence what to look for.
    figure
        The figure among whose runs its points are (``obmc.experiments.figures``).
    offers, calibrations
        What it compares, by the keys of ``OFFERS``.
    data, noise, repetitions, log_error, epsilon
        As in the controls; ``log_error``: whether the vertical axis is logarithmic; ``epsilon``: where it is read.
    low, high
        The ends of its epsilons.
    ratios
        The ends of the observation ratios of a chart against them; None for one against epsilon.
    """

    key: str
    title: str
    about: str
    figure: str
    offers: tuple[str, ...]
    calibrations: tuple[str, ...] = ("rigorous",)
    data: str = "synthetic"
    noise: str = "logistic"
    repetitions: int = int(limits.REPETITIONS.default)
    log_error: bool = False
    epsilon: float = 2.0
    low: float = limits.EPSILON_RANGE[0]
    high: float = limits.EPSILON_RANGE[1]
    ratios: tuple[float, float] | None = None

    @property
    def plan(self) -> Plan:
        """Its chart, with the paper's measure."""
        curves = curves_of([OFFERS[key] for key in self.offers], self.calibrations)
        epsilons: Sequence[float] = limits.epsilons_between(self.low, self.high, int(limits.POINTS.default))
        ratios = None
        if self.ratios is not None:
            epsilons, ratios = limits.RATIO_EPSILONS, limits.ratios_between(*self.ratios)
        setting = Setting(data=self.data, noise=self.noise)
        return Plan(setting, curves, tuple(epsilons), self.repetitions, metrics_for(self.data)[0], ratios)


_FOUR = ("inp", "objp", "grap", "outp")

# The first is what the page opens on.
PRESETS: dict[str, Preset] = {
    preset.key: preset
    for preset in (
        Preset(
            "proven",
            "Proven privacy on synthetic data",
            "What accuracy costs where a guarantee for one rating's sign is proven for the whole output, of OutP with "
            "delta = 0.00001: the four mechanisms as corrected, and InP+. Look at how far each lies from the line "
            "without noise, and whether it beats a matrix of zeros.",
            "1b",
            (*_FOUR, "inp+"),
            log_error=True,
        ),
        Preset(
            "figure-1",
            "The paper's Figure 1: synthetic data",
            "The four mechanisms as in the paper, on matrices of rank 1 with known truth. Part (a) is with Gaussian, "
            "part (b) with logistic noise: choose it as the noise model.",
            "1b",
            _FOUR,
            ("paper",),
            log_error=True,
        ),
        Preset(
            "figure-2",
            "The paper's Figure 2: MovieLens-100K",
            "The four mechanisms as in the paper, on real ratings of films. The line to beat is the majority class.",
            "2b",
            _FOUR,
            ("paper",),
            data="ml-100k",
            repetitions=SLOW_DRAWS,
        ),
        Preset(
            "figure-3",
            "The paper's Figure 3: restaurants",
            "The four mechanisms as in the paper, on a small table of ratings of restaurants. The line to beat is the "
            "majority class.",
            "3b",
            _FOUR,
            ("paper",),
            data="rc",
            repetitions=REAL_DRAWS,
        ),
        Preset(
            "small-epsilon",
            "Small epsilon",
            "Epsilon of 1 and below for one rating's sign, of OutP with delta = 0.00001: with so few observations "
            "nothing can be learnt there but how much is lost.",
            "small-epsilon",
            (*_FOUR, "inp+"),
            log_error=True,
            epsilon=0.5,
            low=SMALL_EPSILONS[0],
            high=SMALL_EPSILONS[-1],
        ),
        Preset(
            "local",
            "Local privacy on MovieLens-100K",
            "Mechanisms that need nobody's trust: every sign is flipped at random by its owner. InP+ first fits "
            "effects of users and films, which noise hides least.",
            "2b",
            ("inp", "inp+", "effects"),
            data="ml-100k",
            repetitions=SLOW_DRAWS,
        ),
        Preset(
            "rigour",
            "What rigour costs",
            "Each of the paper's mechanisms at the paper's calibration and at the rigorous one. With this link InP, "
            "ObjP and GraP are proven for the whole output at both and differ in loss or steps; the distance between "
            "OutP's two curves is the price of a proof for the whole matrix, with delta = 0.00001.",
            "1b",
            _FOUR,
            ("rigorous", "paper"),
            log_error=True,
        ),
        Preset(
            "beyond",
            "Beyond the paper: InP+",
            "InP+ beside all four mechanisms as corrected, OutP with delta = 0.00001, the effects alone, and its model "
            "without noise.",
            "2b",
            (*_FOUR, "inp+", "effects", "clear-effects"),
            data="ml-100k",
            repetitions=SLOW_DRAWS,
        ),
    )
}

_RATIO_ENDS = (RATIOS[0], RATIOS[-1])
_RATIO_DRAWS = int(limits.RATIO_REPETITIONS.default)

# The first is what the page against the observation ratio opens on.
RATIO_PRESETS: dict[str, Preset] = {
    preset.key: preset
    for preset in (
        Preset(
            "ratio-proven",
            "Proven privacy, logistic noise",
            "How much more data it takes to make up for the noise: the four mechanisms as corrected, of which "
            "OutP has a delta of 0.00001, and InP+.",
            "5",
            (*_FOUR, "inp+"),
            repetitions=_RATIO_DRAWS,
            log_error=True,
            ratios=_RATIO_ENDS,
        ),
        Preset(
            "figure-4",
            "The paper's Figure 4: Gaussian noise",
            "The four mechanisms as in the paper against the share of entries observed.",
            "4",
            _FOUR,
            ("paper",),
            noise="gaussian",
            repetitions=_RATIO_DRAWS,
            log_error=True,
            ratios=_RATIO_ENDS,
        ),
        Preset(
            "figure-5",
            "The paper's Figure 5: logistic noise",
            "The four mechanisms as in the paper against the share of entries observed.",
            "5",
            _FOUR,
            ("paper",),
            repetitions=_RATIO_DRAWS,
            log_error=True,
            ratios=_RATIO_ENDS,
        ),
    )
}


def find_preset(plan: Plan) -> Preset | None:
    """The preset whose chart this is, whatever its measure; None if there is none.

    The paper's figures have a part (a) and a part (b): one preset stands for both, whichever the noise model.
    """
    known = PRESETS if plan.ratios is None else RATIO_PRESETS
    for preset in known.values():
        other = preset.plan
        noise = plan.setting.noise if preset.figure.endswith("b") else preset.noise
        if (
            plan.setting == replace(other.setting, noise=noise)
            and {curve.spec for curve in plan.curves} == {curve.spec for curve in other.curves}
            and (plan.epsilons, plan.repetitions, plan.ratios) == (other.epsilons, other.repetitions, other.ratios)
        ):
            return preset
    return None
