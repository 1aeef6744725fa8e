"""What to compute: the frozen description of a grid of runs, and the single runs that it consists of."""

from __future__ import annotations

import difflib
import hashlib
import inspect
import itertools
import math
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, TypedDict

from obmc.constraints import ConstraintSet
from obmc.datasets.registry import DATA_SETS, RatedItems
from obmc.datasets.synthetic import MAX_ENTRIES, SyntheticProblem
from obmc.errors import check_choice, check_integer, check_number, check_shape
from obmc.experiments.measures import MEASURES, find_measure
from obmc.experiments.mechanisms import MechanismSpec
from obmc.experiments.seeds import canonical, data_seed, noise_seed
from obmc.lazy import lazy_property
from obmc.links import LINKS, Link
from obmc.observations import Observations
from obmc.solvers.dispatch import SOLVERS

# Part of every key of the store; to be raised whenever the same settings give other numbers.
RESULTS_VERSION = 2

SYNTHETIC = "synthetic"
DATASETS = (SYNTHETIC, *DATA_SETS)
EPSILON_LIMITS = (1e-3, 1e3)
MAX_POINTS = 200_000
_SHAPE = (100, 100)
_RATIO = 0.15


class Row(TypedDict):
    """One measured value: a line of every results table.

    ``epsilon`` is infinite for what has no privacy, ``delta`` 0 for pure differential privacy, ``alpha`` infinite
    without a bound. ``tau`` is the radius itself. ``ratio`` is the observation ratio of synthetic data and the share of
    the training ratings kept of real ones. ``options`` is JSON. ``gap``, ``converged`` (1 or 0) and ``iterations`` are
    nan where a mechanism must not tell them. ``seconds`` is the wall-clock time of the run.
    """

    dataset: str
    link: str
    sigma: float
    mechanism: str
    calibration: str
    options: str
    epsilon: float
    delta: float
    alpha: float
    rank: int
    tau: float
    ratio: float
    repetition: int
    seed: int
    metric: str
    value: float
    gap: float
    converged: float
    iterations: float
    seconds: float
    version: int


FIELDS: tuple[str, ...] = tuple(Row.__annotations__)


@dataclass(frozen=True, eq=False)
class InMemory:
    """A data set that is in memory only: what comes of it never goes to a store, a cache or a log.

    Attributes
    ----------
    train
        The observations that mechanisms see.
    test
        Held-out observations of the same shape, for what is measured on them.
    truth
        The matrix itself, shape (d1, d2), where it is known.
    name
        For the rows' ``dataset``.

    Raises ``ValueError`` naming the argument that is out of its range.
    """

    train: Observations
    test: Observations | None = None
    truth: Any = field(default=None, repr=False)
    name: str = "in memory"

    def __post_init__(self) -> None:
        if not isinstance(self.train, Observations) or not isinstance(self.test, Observations | None):
            raise ValueError("dataset in memory must hold train and test as Observations.")
        if self.test is not None and self.test.shape != self.train.shape:
            raise ValueError(f"test must have the shape of train, {self.train.shape}, got {self.test.shape}.")
        if self.truth is not None and self.truth.shape != self.train.shape:
            raise ValueError(f"truth must have the shape of train, {self.train.shape}, got {self.truth.shape}.")
        if self.test is None and self.truth is None:
            raise ValueError("dataset in memory must have test or truth: there is nothing to measure otherwise.")

    @classmethod
    def of(cls, value: Any) -> InMemory:
        """From a pair (train, test), a synthetic problem or a data set that was read.

        Raises ``ValueError`` naming the argument that is out of its range.
        """
        if isinstance(value, InMemory):
            return value
        if isinstance(value, SyntheticProblem):
            return cls(value.observations, None, value.truth)
        if isinstance(value, RatedItems):
            return cls(value.train, value.test, name=value.name)
        if isinstance(value, tuple | list) and len(value) == 2:
            return cls(*value)
        raise ValueError(
            f"dataset must be one of {', '.join(DATASETS)}, a pair (train, test) of Observations or a synthetic "
            f"problem, got {type(value).__name__}."
        )


@dataclass(frozen=True, init=False)
class Sweep:
    """A grid of runs: every mechanism at every epsilon, on every repetition of every setting of the data.

    All arguments are keyword-only. ``alpha``, ``rank``, ``tau_multiple`` and ``ratio`` take one value or several; the
    grid is their product.

    Parameters
    ----------
    dataset
        "synthetic" (``shape``, and ``rank``, ``alpha``, ``ratio`` shared with the estimator), "ml-100k" (``fold``),
        "rc", or in memory: ``InMemory``, a pair (train, test) of ``Observations``, a synthetic problem.
    mechanisms
        Names, tables with name, calibration and options, ``MechanismSpec``, or mechanisms (whose epsilon is ignored).
    epsilons
        From 0.001 to 1,000. Those without privacy (Clear, Majority) run once, at epsilon = infinity.
    link, sigma
        "logistic", "gaussian" with the standard deviation ``sigma`` of its noise, or a link.
    alpha
        Bound of the entries, above 0; None for the nuclear norm alone.
    rank
        r of tau = alpha sqrt(r d1 d2), at least 1.
    tau_multiple
        The radius as a multiple of that tau, above 0.
    ratio
        Synthetic: the probability that an entry is observed, 0.15 unless told otherwise. Else: the share of the
        training ratings that is kept, 1 unless told otherwise.
    shape
        (d1, d2) of synthetic data.
    fold
        From 1 to 5, which of ML-100K's published splits.
    repetitions
        How many draws, at least 1.
    seed
        At least 0. See ``obmc.experiments.seeds``.
    metrics
        Names out of ``measures.MEASURES``; by default the paper's: "are" where the truth is known, else
        "sign_accuracy".
    solver, tol, max_iter
        As for ``obmc.complete``.

    Raises
    ------
    ValueError
        One sentence naming the argument, what it got and what is allowed.
    """

    dataset: str | InMemory
    mechanisms: tuple[MechanismSpec, ...]
    epsilons: tuple[float, ...]
    link: str
    sigma: float
    alpha: tuple[float | None, ...]
    rank: tuple[int, ...]
    tau_multiple: tuple[float, ...]
    ratio: tuple[float, ...]
    shape: tuple[int, int]
    fold: int
    repetitions: int
    seed: int
    metrics: tuple[str, ...]
    solver: str
    tol: float
    max_iter: int | None

    def __init__(
        self,
        *,
        dataset: Any = SYNTHETIC,
        mechanisms: Any = ("Clear", "InP", "ObjP", "GraP", "OutP"),
        epsilons: float | Sequence[float] = (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0),
        link: str | Link = "logistic",
        sigma: float = 1.0,
        alpha: float | Sequence[float | None] | None = 1.0,
        rank: int | Sequence[int] = 1,
        tau_multiple: float | Sequence[float] = 1.0,
        ratio: float | Sequence[float] | None = None,
        shape: tuple[int, int] | None = None,
        fold: int = 1,
        repetitions: int = 1,
        seed: int = 0,
        metrics: str | Sequence[str] | None = None,
        solver: str = "auto",
        tol: float = 1e-4,
        max_iter: int | None = None,
    ) -> None:
        def keep(name: str, value: Any) -> None:
            object.__setattr__(self, name, value)

        if isinstance(dataset, str):
            keep("dataset", check_choice("dataset", dataset, DATASETS))
        else:
            keep("dataset", InMemory.of(dataset))
        size = self._check_shape(shape)
        keep("shape", size)
        keep("fold", check_integer("fold", fold, low=1, high=5))
        if self.fold != 1 and self.dataset != "ml-100k":
            raise ValueError(f"fold belongs to the dataset ml-100k alone, got {fold!r} with {self.dataset_name}.")

        if isinstance(link, str):
            keep("link", check_choice("link", link, tuple(LINKS)))
        elif isinstance(link, Link) and link.name in LINKS and LINKS[link.name](link.sigma) == link:
            keep("link", link.name)
            sigma = link.sigma
        else:
            raise ValueError(f"link must be one of {', '.join(LINKS)}, or a link of such a name, got {link!r}.")
        keep("sigma", LINKS[self.link](sigma).sigma)

        keep("alpha", several("alpha", alpha, _check_alpha))
        keep("rank", several("rank", rank, lambda name, value: check_integer(name, value, low=1, high=min(size))))
        keep("tau_multiple", several("tau_multiple", tau_multiple, _check_multiple))
        usual = _RATIO if self.dataset == SYNTHETIC else 1.0
        keep("ratio", several("ratio", usual if ratio is None else ratio, _check_ratio))
        keep("repetitions", check_integer("repetitions", repetitions, low=1, high=10_000))
        keep("seed", check_integer("seed", seed, low=0, high=2**63 - 1))
        keep("metrics", self._check_metrics(metrics))
        keep("solver", check_choice("solver", solver, SOLVERS))
        keep("tol", check_number("tol", tol, low=0.0, high=1.0, open_low=True, open_high=True))
        keep("max_iter", None if max_iter is None else check_integer("max_iter", max_iter, low=1))

        keep("epsilons", several("epsilons", epsilons, _check_epsilon))
        keep("mechanisms", several("mechanisms", mechanisms, self._check_mechanism))
        if len(self) > MAX_POINTS:
            raise ValueError(f"the sweep has {len(self):,} runs, of at most {MAX_POINTS:,}: narrow its grid.")

    # Checks -------------------------------------------------------------------------------------------------------

    def _check_shape(self, shape: Any) -> tuple[int, int]:
        if self.dataset != SYNTHETIC:
            own = self.dataset.train.shape if isinstance(self.dataset, InMemory) else DATA_SETS[self.dataset].shape
            if shape is not None and tuple(shape) != own:
                raise ValueError(f"shape must be {own} with this dataset, or left out, got {shape!r}.")
            return own
        return check_shape("shape", _SHAPE if shape is None else shape, entries=MAX_ENTRIES)

    def _check_metrics(self, metrics: Any) -> tuple[str, ...]:
        truth, test = True, True
        if isinstance(self.dataset, InMemory):
            truth, test = self.dataset.truth is not None, self.dataset.test is not None
        elif self.dataset != SYNTHETIC:
            truth = False
        known = tuple(m.name for m in MEASURES.values() if (truth if m.needs == "truth" else test))
        names = several("metrics", (known[0],) if metrics is None else metrics, lambda _, name: find_measure(name).name)
        for name in names:
            if name not in known:
                raise ValueError(
                    f"metrics on {self.dataset_name} can be {', '.join(known)}: {name} needs the "
                    f"{MEASURES[name].needs}, which it does not have."
                )
        return names

    def _check_mechanism(self, name: str, value: Any) -> MechanismSpec:
        try:
            spec = MechanismSpec.of(value)
            if spec.is_private:
                for epsilon in self.epsilons:
                    spec.build(epsilon)
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None
        return spec

    # What it consists of ------------------------------------------------------------------------------------------

    @property
    def dataset_name(self) -> str:
        """For the rows: the data set's name, with what differs from the usual ("synthetic 200 x 120")."""
        return _dataset_name(self.dataset, self.shape, self.fold)

    @property
    def is_stored(self) -> bool:
        """Whether results may go to a store: never for data in memory."""
        return not isinstance(self.dataset, InMemory)

    @property
    def h(self) -> Link:
        """The link."""
        return LINKS[self.link](self.sigma)

    def __len__(self) -> int:
        private = sum(spec.is_private for spec in self.mechanisms)
        per_draw = private * len(self.epsilons) + len(self.mechanisms) - private
        grid = len(self.alpha) * len(self.rank) * len(self.tau_multiple) * len(self.ratio)
        return per_draw * grid * self.repetitions

    def points(self) -> Iterator[Point]:
        """The single runs, repetition by repetition, so that means over a few draws are there early."""
        for repetition in range(self.repetitions):
            for ratio, alpha, rank, multiple in itertools.product(self.ratio, self.alpha, self.rank, self.tau_multiple):
                draw = DrawSpec(
                    dataset=self.dataset,
                    shape=self.shape,
                    fold=self.fold,
                    link=self.h,
                    alpha=alpha,
                    rank=rank,
                    ratio=ratio,
                    seed=self.seed,
                    repetition=repetition,
                )
                settings = Settings(
                    tau=ConstraintSet.for_rank(self.shape, rank, alpha, multiple).tau,
                    solver=self.solver,
                    tol=self.tol,
                    max_iter=self.max_iter,
                )
                for spec in self.mechanisms:
                    for epsilon in self.epsilons if spec.is_private else (math.inf,):
                        yield Point(draw, settings, spec, epsilon)

    @property
    def key(self) -> str:
        """A hash of the whole configuration; equal sweeps have equal keys. ``ValueError`` for data in memory."""
        return hashlib.sha256(canonical([RESULTS_VERSION, self.to_dict()]).encode()).hexdigest()

    # Files --------------------------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """All settings as what JSON and TOML hold; ``from_dict`` reads it back. ``ValueError`` for data in memory."""
        if not self.is_stored:
            raise ValueError("a sweep over data in memory cannot be written to a file: its data would be missing.")
        entry: dict[str, Any] = {}
        for item in fields(self):
            value = getattr(self, item.name)
            if item.name == "mechanisms":
                value = [spec.to_dict() for spec in value]
            elif item.name == "alpha":
                value = ["none" if bound is None else bound for bound in value]
            elif isinstance(value, tuple):
                value = list(value)
            if item.name in ("alpha", "rank", "tau_multiple", "ratio") and len(value) == 1:
                value = value[0]
            belongs = {"shape": SYNTHETIC, "fold": "ml-100k"}.get(item.name, self.dataset) == self.dataset
            if value is not None and belongs:
                entry[item.name] = value
        return entry

    @classmethod
    def from_dict(cls, entry: Mapping[str, Any]) -> Sweep:
        """The sweep of a mapping as ``to_dict`` gives; ``ValueError`` naming an unknown key and what is allowed."""
        if not isinstance(entry, Mapping):
            raise ValueError(f"a sweep must be a table of keys and values, got {type(entry).__name__}.")
        allowed = [name for name in inspect.signature(cls.__init__).parameters if name != "self"]
        for key in entry:
            if key not in allowed:
                close = difflib.get_close_matches(str(key), allowed, n=1)
                hint = f"did you mean {close[0]!r}? " if close else ""
                raise ValueError(f"{key!r} is not a key of a sweep: {hint}Allowed are {', '.join(allowed)}.")
        if not isinstance(entry.get("dataset", SYNTHETIC), str):
            raise ValueError(f"dataset must be one of {', '.join(DATASETS)}, got {entry['dataset']!r}.")
        return cls(**dict(entry))

    def to_toml(self) -> str:
        """The sweep as a TOML file's text."""
        entry = self.to_dict()
        mechanisms = entry.pop("mechanisms")
        lines = [f"{key} = {_toml(value)}" for key, value in entry.items()]
        for mechanism in mechanisms:
            lines += ["", "[[mechanisms]]", *(f"{key} = {_toml(value)}" for key, value in mechanism.items())]
        return "\n".join(lines) + "\n"

    @classmethod
    def from_toml(cls, text: str) -> Sweep:
        """The sweep that a TOML text describes; ``ValueError`` saying where it is no TOML, or which key is wrong."""
        try:
            entry = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise ValueError(f"the sweep is not valid TOML: {error}.") from None
        except RecursionError:
            raise ValueError("the sweep is nested too deeply to be one.") from None
        return cls.from_dict(entry)

    @classmethod
    def read(cls, path: str | Path) -> Sweep:
        """The sweep of a TOML file; ``OSError`` if it cannot be read, ``ValueError`` naming the file and the key."""
        try:
            return cls.from_toml(Path(path).read_text(encoding="utf-8"))
        except UnicodeDecodeError:
            raise ValueError(f"{path}: the sweep is not valid TOML: it is not text in UTF-8.") from None
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None


@dataclass(frozen=True)
class DrawSpec:
    """All that decides one draw of the data; ``obmc.experiments.draws`` makes it."""

    dataset: str | InMemory
    shape: tuple[int, int]
    fold: int
    link: Link
    alpha: float | None
    rank: int
    ratio: float
    seed: int
    repetition: int


@dataclass(frozen=True)
class Settings:
    """The radius and the solver of a run."""

    tau: float
    solver: str
    tol: float
    max_iter: int | None


@dataclass(frozen=True, eq=False)
class Point:
    """A single run: one mechanism at one epsilon on one draw."""

    draw: DrawSpec
    settings: Settings
    spec: MechanismSpec
    epsilon: float

    @property
    def cset(self) -> ConstraintSet:
        """The constraint set of the estimator."""
        return ConstraintSet(self.settings.tau, self.draw.alpha)

    @property
    def data_seed(self) -> int:
        """The seed of the draw of the data."""
        return data_seed(self.draw.seed, self.draw.repetition)

    @property
    def noise_seed(self) -> int:
        """The seed of the mechanism's noise."""
        spec, draw = self.spec, self.draw
        return noise_seed(draw.seed, draw.repetition, spec.name, spec.options_text, self.epsilon)

    @lazy_property
    def key(self) -> str:
        """A SHA-256 of all that decides the numbers of the run: the key of the store. Not for data in memory."""
        return hashlib.sha256(canonical([RESULTS_VERSION, self.config()]).encode()).hexdigest()

    @property
    def kind(self) -> tuple[str, str, str, str]:
        """Data set, mechanism, calibration and options: runs of one kind take about the same time."""
        draw, spec = self.draw, self.spec
        name = _dataset_name(draw.dataset, draw.shape, draw.fold)
        return name, spec.name, spec.calibration, spec.options_text

    def settings_row(self) -> dict[str, Any]:
        """The part of the run's rows that is known before it is computed."""
        draw, spec = self.draw, self.spec
        return {
            "dataset": _dataset_name(draw.dataset, draw.shape, draw.fold),
            "link": draw.link.name,
            "sigma": draw.link.sigma,
            "mechanism": spec.name,
            "calibration": spec.calibration,
            "options": spec.options_text,
            "epsilon": self.epsilon,
            "alpha": math.inf if draw.alpha is None else draw.alpha,
            "rank": draw.rank,
            "tau": self.settings.tau,
            "ratio": draw.ratio,
            "repetition": draw.repetition,
            "seed": draw.seed,
            "version": RESULTS_VERSION,
        }

    def config(self) -> dict[str, Any]:
        """All that decides the numbers of the run, as JSON holds it."""
        draw, settings, spec = self.draw, self.settings, self.spec
        if isinstance(draw.dataset, InMemory) or spec.made is not None:
            raise ValueError("a run on data in memory, or of a mechanism of one's own, has no key.")
        return {
            "dataset": draw.dataset,
            "fingerprint": _fingerprint(draw.dataset),
            "shape": draw.shape,
            "fold": draw.fold,
            "link": draw.link.name,
            "sigma": draw.link.sigma,
            "mechanism": spec.name,
            "calibration": spec.calibration,
            "options": dict(spec.options),
            "epsilon": _finite(self.epsilon),
            "alpha": draw.alpha,
            "rank": draw.rank,
            "ratio": draw.ratio,
            "seed": draw.seed,
            "repetition": draw.repetition,
            "tau": settings.tau,
            "solver": settings.solver,
            "tol": settings.tol,
            "max_iter": settings.max_iter,
        }


def _dataset_name(dataset: str | InMemory, shape: tuple[int, int], fold: int) -> str:
    if isinstance(dataset, InMemory):
        return dataset.name
    if dataset == SYNTHETIC and shape != _SHAPE:
        return f"{SYNTHETIC} {shape[0]} x {shape[1]}"
    return f"{dataset} fold {fold}" if fold != 1 else dataset


def _fingerprint(dataset: str) -> str:
    """What the data set's needed files must contain; a data set that differs from it is not read at all."""
    if dataset == SYNTHETIC:
        return SYNTHETIC
    return ",".join(file.digest for file in DATA_SETS[dataset].files if file.digest is not None)


def several(name: str, value: Any, check: Any) -> tuple[Any, ...]:
    """One value or several, each checked under its own name, as a tuple without repetitions."""
    many = isinstance(value, Sequence) and not isinstance(value, str | bytes)
    if hasattr(value, "tolist") and getattr(value, "ndim", 0) == 1:
        value, many = value.tolist(), True
    values = value if many else [value]
    if not values:
        raise ValueError(f"{name} must hold at least one value, got none.")
    checked = tuple(check(f"{name}[{place}]" if many else name, item) for place, item in enumerate(values))
    for place, item in enumerate(checked):
        if item in checked[:place]:
            raise ValueError(f"{name} must name every value once, got {values[place]!r} twice.")
    return checked


def _check_epsilon(name: str, value: Any) -> float:
    return check_number(name, value, low=EPSILON_LIMITS[0], high=EPSILON_LIMITS[1])


def _check_alpha(name: str, value: Any) -> float | None:
    if value is None or value == "none":
        return None
    return check_number(name, value, low=0.0, high=1e3, open_low=True)


def _check_multiple(name: str, value: Any) -> float:
    return check_number(name, value, low=0.0, high=1e3, open_low=True)


def _check_ratio(name: str, value: Any) -> float:
    return check_number(name, value, low=0.0, high=1.0, open_low=True)


def _finite(value: float) -> float | str:
    return value if math.isfinite(value) else "inf"


def _toml(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key} = {_toml(item)}" for key, item in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_toml(item) for item in value) + "]"
    # JSON's way of writing strings, numbers, true and false is TOML's too.
    return canonical(value)
