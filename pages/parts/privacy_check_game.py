"""Guess the rating: a coin is tossed, the mechanism runs, and the player says which sign it was."""

from __future__ import annotations

import math
import secrets

import streamlit as st

from obmc import plots
from obmc.checks import Check
from obmc.experiments.jobs import BusyError
from obmc.game import Deal, Score, deal, play
from obmc.privacy.audit import success_ceiling
from obmc.privacy.guarantee import level
from pages.parts import charts, waiting

ROUNDS = 200
_GAMES = "_games"
_DEAL, _PLAY = "deal", "play"


class _Game:
    """One player's rounds against one mechanism."""

    def __init__(self) -> None:
        # Tells the questions of one series from those of the one before, which were numbered alike.
        self.series = secrets.token_hex(8)
        self.deal: Deal | None = None
        self.dealt = 0
        self.correct = 0
        self.rounds = 0
        self.said = ""
        self.machine: tuple[int, int] | None = None
        self.machines = 0
        self.wanted = False


def show(check: Check) -> None:
    """The release of this round, the two answers, and the score so far."""
    games: dict[Check, _Game] = st.session_state.setdefault(_GAMES, {})
    game = games.setdefault(check, _Game())
    promise = check.guarantee
    st.header("The game")
    st.markdown(
        "A fair coin, tossed afresh each round, decides whether one rating is **+1** or **−1**. The mechanism runs, "
        "and you see what it lets out. Which was it? You may know everything else."
        + (
            f" Under {level(promise.claimed, promise.delta)} nobody is right with a probability above "
            f"**{success_ceiling(promise.claimed, promise.delta):.1%}**, whatever they know and try."
            if math.isfinite(promise.claimed)
            else " Nothing is promised here."
        )
    )
    if promise.scope == "entry":
        st.caption("OutP's promise is proven for one entry fixed in advance. You see the whole matrix.")
    try:
        if game.deal is None:
            game.deal = waiting.ask(_DEAL, (check, game.series, game.dealt), deal, check, shared=False)
    except (ValueError, OSError, RuntimeError) as error:
        st.error(str(error))
        return
    if game.deal is None:
        waiting.poll(_DEAL)
        return
    left, right = st.columns(2, gap="large")
    with left:
        st.subheader(f"Round {game.rounds + 1}")
        _release(check, game.deal)
        with st.container(horizontal=True):
            for sign, label in ((-1, "It was −1"), (1, "It was +1")):
                st.button(label, key=f"guess{sign}", type="primary", on_click=_guess, args=(check, sign))
    with right:
        st.subheader("Score")
        if game.said:
            st.markdown(game.said)
        if game.rounds:
            score = Score(game.correct, game.rounds, promise.claimed, promise.delta)
            st.metric("You", f"{score.correct} of {score.rounds}")
            st.caption(score.sentence)
            st.button("Start again", key="game-again", on_click=games.pop, args=(check, None))
        else:
            st.caption("Decide beforehand how many rounds you play: stopping when it pleases proves nothing.")
        _machine(check, game)


def _release(check: Check, dealt: Deal) -> None:
    row, col = dealt.entry
    if dealt.label is not None:
        if check.mechanism.name in ("InP", "InP+"):
            st.metric("The noised sign", "+1" if dealt.label > 0.5 else "−1")
        else:
            st.metric("The noised label", f"{dealt.label:.3f}".replace("-", "−"))
            st.caption("Without noise it would be 0 for −1 and 1 for +1.")
        return
    assert dealt.matrix is not None
    value = float(dealt.matrix[row, col])
    if dealt.matrix.size > 1:
        charts.show(
            plots.picture(dealt.matrix, check.alpha, 300),
            "dealt",
            f"The released matrix, {dealt.matrix.shape[0]} by {dealt.matrix.shape[1]}, on the scale from "
            f"{-check.alpha:g} (blue) to {check.alpha:g} (orange).",
            quiet=True,
        )
        charts.show_numbers(plots.numbers_of_matrix(dealt.matrix), "dealt-numbers")
    st.caption(f"The released matrix. The rating is in row {row}, column {col}, where it has the value {value:.2f}.")
    if check.instance == "bridge":
        st.caption(
            "All ratings but this one are +1 and known to you. If it is +1, the completed matrix has the same value "
            "everywhere; if it is −1, the upper right and lower left quarters have the opposite one."
        )


def _guess(check: Check, sign: int) -> None:
    game: _Game | None = st.session_state.get(_GAMES, {}).get(check)
    if game is None or game.deal is None:
        return
    right = sign == game.deal.sign
    game.rounds += 1
    game.correct += right
    was = "+1" if game.deal.sign > 0 else "−1"
    game.said = f"**{'Right' if right else 'Wrong'}**: it was {was}."
    game.deal = None
    game.dealt += 1


def _machine(check: Check, game: _Game) -> None:
    """The best guesser's score, on fresh rounds."""
    st.markdown("---")
    if st.button(
        f"Let the best guesser play {ROUNDS} rounds",
        key="machine",
        help="It takes the likelier world of each release, which nobody can beat.",
    ):
        game.wanted, game.machines = True, game.machines + 1
    if game.wanted:
        try:
            won = waiting.ask(_PLAY, (check, game.series, game.machines), play, check, ROUNDS, shared=False)
        except BusyError as error:
            st.warning(str(error))
            return
        except (ValueError, OSError, RuntimeError) as error:
            game.wanted = False
            st.warning(str(error))
            return
        if won is None:
            waiting.poll(_PLAY)
            return
        game.wanted, game.machine = False, (won, ROUNDS)
    if game.machine is not None:
        promise = check.guarantee
        score = Score(*game.machine, promise.claimed, promise.delta)
        st.metric("Best guesser", f"{score.correct} of {score.rounds}")
        st.caption(score.sentence)
