"""Small views of every kind with their data, for the tests of what is taken away."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

from obmc.offers import OFFERS
from obmc.pins import Pin
from obmc.plan import Plan, curves_of
from obmc.single import Setting
from obmc.views import CurveView, PinView, RunView, View, compute

SMALL = Setting(size=20, ratio=0.6)
HOSTILE = '=1+1 <b>"it\'s" & </script><script>x()</script>'
_CURVES = curves_of([OFFERS["inp"], OFFERS["outp"], OFFERS["clear-effects"]], ("rigorous",))
_BY_EPSILON = Plan(SMALL, _CURVES, (1.0, 4.0), 3, "are")
_BY_RATIO = Plan(Setting(size=20), _CURVES, (1.0, 4.0), 3, "sign_accuracy", (0.4, 0.5))
_PINS = (Pin(HOSTILE, "inp", "paper", SMALL, (4.0, 1.0), 3), Pin("Mine", "outp", "rigorous", SMALL, (1.0, 4.0), 3))

VIEWS: dict[str, View] = {
    "trade-off": CurveView(_BY_EPSILON, epsilon=2.0, singles=True),
    "losses": CurveView(_BY_EPSILON, loss=True, log=(False, True)),
    "by ratio": CurveView(_BY_RATIO, epsilon=4.0),
    "by epsilon": CurveView(_BY_RATIO, "epsilon", curve=_CURVES[0]),
    "heat map": CurveView(_BY_RATIO, "heat", curve=_CURVES[1]),
    "pins": PinView(_PINS, "are", base="Mine"),
    "one run": RunView(OFFERS["outp"], Setting(size=20, mechanism=OFFERS["outp"].spec("paper"), epsilon=2.0)),
}


def data_of(kind: str) -> Any:
    """What a view is drawn from, computed once for all tests of a process."""
    view = VIEWS[kind]
    return _rows_of(view.plan) if isinstance(view, CurveView) else _data_of(view)


@cache
def _rows_of(plan: Plan) -> Any:
    with ThreadPoolExecutor(1) as executor:
        return compute([plan], executor)[0]


@cache
def _data_of(view: View) -> Any:
    with ThreadPoolExecutor(1) as executor:
        return view.compute(executor)
