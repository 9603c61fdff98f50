"""The figures of the report, each drawn from the evidence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from matplotlib.figure import Figure

from empirical import plots as measured
from paper_checks.evidence import CONDITIONS, Evidence
from sims import plots as simulated
from sims.descent import DescentConfig, descend
from sims.epsilon import EpsilonConfig, depth_law_dataset

_TITLES = {"quick": "trained", "initial": "at initialisation", "noskip": "trained, no skips"}


@dataclass(frozen=True)
class ReportFigure:
    """A figure with its title, caption and the alternative text for readers who cannot see it."""

    title: str
    caption: str
    alt: str
    draw: Callable[[Evidence], Figure]


def _trajectories(evidence: Evidence) -> Figure:
    figure = Figure(figsize=(12, 4.1), layout="constrained")
    for axes, condition in zip(figure.subplots(1, 3), CONDITIONS, strict=True):
        dataset = evidence.measurements[condition][0]
        measured.trajectories(axes, dataset.points.values, labels=dataset.label.values)
        axes.set_title(_TITLES[condition])
    return figure


def _panels(evidence: Evidence) -> Figure:
    figure = Figure(figsize=(13, 4.7), layout="constrained")
    for axes, condition in zip(figure.subplots(1, 3), CONDITIONS, strict=True):
        measured.panel_grid(axes, evidence.measurements[condition][0], title=_TITLES[condition])
    return figure


def _singular_values(evidence: Evidence) -> Figure:
    figure = Figure(figsize=(7, 4.2), layout="constrained")
    series = {
        _TITLES[condition]: evidence.measurements[condition][0].singular_value.isel(k=0).values
        for condition in CONDITIONS
    }
    measured.inverse_singular_values(figure.subplots(), series)
    return figure


def _path_laws(evidence: Evidence) -> Figure:
    figure = Figure(figsize=(12, 4.4), layout="constrained")
    for axes, condition in zip(figure.subplots(1, 2), ("quick", "initial"), strict=True):
        measured.path_law(axes, evidence.measurements[condition][0], title=f"Path-length law, {_TITLES[condition]}")
    return figure


FIGURES = {
    "depth law": ReportFigure(
        "The depth law ε_r and its shift with the scale C",
        "LS Fig. 1(a-c) redrawn (middle curves), with the scale C halved and doubled. Exact; nothing is sampled.",
        "Three panels of amplitude against path length for beta 0.1, 0.5 and 2 at p = 100; each curve moves to longer paths "
        "as C grows, close to the dotted limit lines.",
        lambda evidence: simulated.depth_laws(depth_law_dataset(EpsilonConfig(scale=(0.5, 1.0, 2.0)))),
    ),
    "trajectories": ReportFigure(
        "Representations from block to block (RA Fig. 1)",
        "h_1 … h_9 of held-out digits, projected on two random directions, coloured by class. First seed; a single network each.",
        "Trained: straight, evenly spaced rays, one bundle a class. At initialisation and without skips: tangled paths.",
        _trajectories,
    ),
    "panels": ReportFigure(
        "U_jᵀ J_i V_j for every pair of blocks (RA Fig. 2)",
        "Square root of absolute entries, each panel scaled to its largest; ten directions; the first held-out input of the first "
        "seed. Panels with i = j are diagonal by construction.",
        "Trained: diagonals in nearly every panel. At initialisation and without skips: noise except where i = j.",
        _panels,
    ),
    "singular values": ReportFigure(
        "1/s_1 against depth (RA Fig. 4b)",
        "s_1 averaged over held-out inputs of the first seed; bars are quartiles over inputs; lines are fitted from block 3 on.",
        "Trained: a rising line of slope about one. At initialisation a slow rise; without skips flat.",
        _singular_values,
    ),
    "path law": ReportFigure(
        "Path-length law, measured and predicted",
        "Energy of the paths through r residual branches along h_1, mean over held-out inputs of the first seed (whiskers: "
        "quartiles), against predictions; TV is the total-variation distance. Only the binomial law is fitted.",
        "Trained: the measured law peaks at one to two branches and the rank-one law P7 follows it. At initialisation it peaks at four "
        "branches and only the incoherent law follows.",
        _path_laws,
    ),
    "descent": ReportFigure(
        "Descent on the Unconstrained Jacobians Model",
        "L = 16, weight decay 0.6, input norm 0.1: 32 starts end in two minima of the closed form; the deep one is global.",
        "Objective against singular value with two minima, and singular values by block: flat lines at s = 0.0091 and 0.2627.",
        lambda evidence: simulated.descent(descend(DescentConfig(16, 5, 0.6, 0.1))),
    ),
}
