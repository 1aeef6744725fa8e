"""Glossary and references of the lessons."""

from __future__ import annotations

import streamlit as st

GLOSSARY = {
    "Alpha": r"The bound of the entries: $|M_{ij}| \leq \alpha$.",
    "ARE": r"Average relative error, $\|\hat M - M\|_F^2 / \|M\|_F^2$: a matrix of zeros scores 1.",
    "Audit": "An attack whose success proves, with a stated confidence, how large epsilon is at least.",
    "Central model": "Somebody holds the true ratings and has to be trusted; what leaves them is protected.",
    "Composition": "Releases about the same ratings add up: their epsilons are summed.",
    "Delta": r"What is added to the bound of epsilon: no set of results is more than $e^{\varepsilon}$ times as "
    r"likely under one sign as under the other, plus $\delta$.",
    "Epsilon": r"The privacy parameter: where it is proven, with $\delta = 0$, an adversary's odds about one rating's "
    r"sign grow at most $e^{\varepsilon}$-fold.",
    "Link": r"The function $h$ that turns an entry into the probability of a $+1$: logistic or Gaussian (probit).",
    "Local model": "Every rating is noised by its owner; nobody has to be trusted.",
    "Neighbouring data sets": "Two tables in which the same people rated the same items, and one rating's sign "
    "differs.",
    "Nuclear norm": "The sum of a matrix's singular values; a small one makes a matrix close to one of low rank.",
    "Omega": r"The observed positions $\Omega$: who rated what. Public, throughout.",
    "One-bit matrix completion": "To estimate a whole matrix from the signs of some noisy entries.",
    "Post-processing": "What is computed from a protected release without looking at the data again; it is free.",
    "Randomised response": r"To reverse a bit with probability $1/(1 + e^{\varepsilon})$ before it is handed over.",
    "ROC curve": "Hits against false alarms of an attacker, over all thresholds of the number that they look at.",
    "Sensitivity": "How far a result can move when one rating's sign is flipped; noise has to hide that.",
    "Tau": r"The bound of the nuclear norm, $\tau = \alpha\sqrt{r\,d_1 d_2}$ for rank $r$.",
    "Unit of privacy": "What the promise protects: here one rating's sign, not a person with all their ratings.",
}

REFERENCES = (
    "Z. Li, Z. Wei, Z. Huang, X. Mao, J. Wang. *One-Bit Matrix Completion with Differential Privacy.* The paper.",
    "M. A. Davenport, Y. Plan, E. van den Berg, M. Wootters. *1-Bit matrix completion.* Information and Inference, "
    "2014.",
    "C. Dwork, A. Roth. *The Algorithmic Foundations of Differential Privacy.* 2014.",
    "S. L. Warner. *Randomized response.* Journal of the American Statistical Association, 1965.",
    "P. Kairouz, S. Oh, P. Viswanath. *The composition theorem for differential privacy.* ICML 2015; and *Extremal "
    "mechanisms for local differential privacy.* JMLR, 2016.",
    "N. Natarajan, I. Dhillon, P. Ravikumar, A. Tewari. *Learning with noisy labels.* NeurIPS 2013.",
    "K. Chaudhuri, C. Monteleoni, A. Sarwate. *Differentially private empirical risk minimization.* JMLR, 2011.",
    "B. Balle, Y.-X. Wang. *Improving the Gaussian mechanism for differential privacy.* ICML 2018.",
    "I. Mironov. *On significance of the least significant bits for differential privacy.* CCS 2012.",
    "M. Jagielski, J. Ullman, A. Oprea. *Auditing differentially private machine learning.* NeurIPS 2020.",
    "F. M. Harper, J. A. Konstan. *The MovieLens datasets: history and context.* ACM TiiS, 2015.",
)


def show() -> None:
    """Both, one after the other."""
    st.header("Glossary")
    for word, meaning in GLOSSARY.items():
        st.markdown(f"**{word}.** {meaning}")
    st.header("References")
    for text in REFERENCES:
        st.markdown(f"- {text}")
