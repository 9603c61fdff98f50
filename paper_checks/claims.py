"""The ledger: one entry for each statement of either paper, or of this project, that is checked."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from paper_checks import bridge, loss_surface, residual_alignment, unconstrained_jacobians
from paper_checks.evidence import Evidence
from paper_checks.verdicts import Finding
from theory import derivations, unconstrained_derivations
from theory.arguments import ArgumentError
from theory.derivations import Derivation, Mark


@dataclass(frozen=True)
class Claim:
    """A checkable statement: ``claim`` (its id), the ``statement`` in our words, ``source``, ``mark``, what would
    refute it, and the ``check``. ``figure`` names the picture that shows it, ``derivation`` proves it in symbols.
    """

    claim: str
    statement: str
    source: str
    mark: Mark
    refuted_by: str
    check: Callable[[Evidence], Finding]
    figure: str = ""
    derivation: Callable[[], Derivation] | None = None

    @property
    def ours(self) -> bool:
        """Whether this project vouches for the statement; if such a one fails, the command exits 1."""
        return self.mark == "new"


LEDGER: tuple[Claim, ...] = (
    Claim(
        "RA.RA1",
        "The representations of one input are equispaced on a line in a trained residual network.",
        "RA1; RA sections 1.1 and 1.4, Fig. 1", "paper",
        "Trajectories no straighter than random walks with the same step lengths.",
        residual_alignment.equispaced_representations, "trajectories",
    ),
    Claim(
        "RA.RA2",
        "Top left and right singular vectors of the Residual Jacobians align with each other and across depth.",
        "RA2; RA section 1.4, Fig. 2", "paper",
        "U_j^T J_i V_j no more diagonal than for randomly turned Jacobians.",
        residual_alignment.aligned_singular_vectors, "panels",
    ),
    Claim(
        "RA.RA3",
        "Residual Jacobians of fully connected networks have rank at most C, the number of classes.",
        "RA3; RA section 1.4, Fig. 4a", "paper",
        "Energy outside the top C singular values.",
        residual_alignment.low_rank,
    ),
    Claim(
        "RA.RA4",
        "Top singular values fall like the inverse of depth: 1/s_1 grows linearly with slope about 1.",
        "RA4; RA Fig. 4b", "paper",
        "A slope of 1/s_1 outside [0.8, 1.2], or no line.",
        residual_alignment.inverse_depth_singular_values, "singular values",
    ),
    Claim(
        "RA.initial",
        "At initialisation the Jacobians are not aligned.",
        "RA Fig. 2, caption", "paper",
        "Alignment metrics above their nulls before training.",
        residual_alignment.no_alignment_at_initialisation, "panels",
    ),
    Claim(
        "RA.noskip",
        "Without skip connections Residual Alignment does not occur.",
        "RA Fig. 6, section 1.5", "paper",
        "Alignment metrics above their nulls in a trained network without skips.",
        residual_alignment.no_alignment_without_skips, "panels",
    ),
    Claim(
        "RA.Thm3.1",
        "Binary, pre-activation, exactly linear blocks with aligned rank-one Jacobians and s_i = 1/i: the "
        "representations are equispaced on a line.",
        "RA Thm 3.1", "paper",
        "One instance whose steps differ beyond rounding.",
        residual_alignment.theorem_3_1, derivation=derivations.aligned_inverse_depth_is_equispaced,
    ),
    Claim(
        "RA.T2",
        "With shared left and right directions u, v the representations are equispaced exactly if 1/s_i has slope u.v.",
        "T2", "new",
        "An equispaced instance with another slope, or one with this slope that is not equispaced.",
        residual_alignment.slope_is_cosine, derivation=derivations.slope_is_cosine,
    ),
    Claim(
        "RA.Thm3.3",
        "The Unconstrained Jacobians Model has a global optimum with aligned, rank-one Jacobians of equal singular value.",
        "RA Def. 3.2, Thm 3.3", "paper",
        "A descent that ends below every point of that form.",
        unconstrained_jacobians.theorem_3_3, "descent",
    ),
    Claim(
        "RA.U2",
        "Every global optimum of that model has this form; inside the first-order transition there is a second minimum.",
        "U2, U7", "new",
        "A descent below the closed form, or only one minimum reached inside the transition.",
        unconstrained_jacobians.every_descent_is_aligned, "descent",
        unconstrained_derivations.stationarity_of_the_unconstrained_model,
    ),
    Claim(
        "RA.M1",
        "With C classes the model's Jacobians are symmetric, equal, balanced with the classifier and of rank C - 1.",
        "M1, U5', U6", "new",
        "A converged descent with another rank, or blocks that differ or are not symmetric.",
        unconstrained_jacobians.class_model_rank_and_symmetry,
    ),
    Claim(
        "RA.M5",
        "At depth the C-class model prefers few large singular values to the C - 1 equal ones of Neural Collapse's simplex.",
        "M5", "new",
        "No descent below the simplex at L = 16, or one below it at L = 1.",
        unconstrained_jacobians.equal_singular_values_are_not_preferred,
    ),
    Claim(
        "LS.Thm1",
        "The path length with the largest weight eps_r sits at depth fraction beta/(1+beta) as p grows.",
        "LS Thm 1, Eq. 17", "recovered",
        "A mode whose distance from p beta/(1+beta) exceeds one layer.",
        loss_surface.theorem_1, "depth law",
    ),
    Claim(
        "LS.Lem4",
        "Every depth 1..p is the mode of eps_r for some scale C.",
        "LS Lemma 4", "recovered",
        "A depth that no C reaches.",
        loss_surface.lemma_4, "depth law",
    ),
    Claim(
        "LS.eq19",
        "The derivative of eps_r with respect to C is r eps_r / C, so dL/dC weighs paths by their length.",
        "LS section 4, the line before Eq. 19 (Eq. 19 itself is recovered)", "paper",
        "A difference quotient of the normalised eps_r that disagrees.",
        loss_surface.equation_19,
    ),
    Claim(
        "LS.scale-derivative",
        "C d eps_r / dC = (r - nu') eps_r with nu' the mean path length: the normaliser takes the mean away.",
        "scale derivative", "new",
        "A difference quotient that disagrees.",
        loss_surface.scale_derivative,
    ),
    Claim(
        "LS.depth-grows",
        "Training shifts the ensemble from shallow to deeper and deeper networks.",
        "LS section 4, claim 2", "paper",
        "A mean path length that falls during training.",
        loss_surface.depth_grows_in_training, "path law",
    ),
    Claim(
        "bridge.P3",
        "At the UJM optimum the energy law of path lengths is LS's eps_r^2 with beta = s.",
        "P3", "new",
        "A total-variation distance beyond rounding.",
        bridge.unconstrained_optimum_is_the_depth_law,
    ),
    Claim(
        "bridge.P4",
        "Under Residual Alignment with s_i = 1/i path lengths follow a Stirling law with mean H_{L+1} - 1.",
        "P4", "new",
        "A distance to the path expansion beyond rounding.",
        bridge.stirling_ensemble, derivation=derivations.stirling_mean_and_variance,
    ),
    Claim(
        "bridge.P7",
        "The path-length law of a trained network is the rank-one law of aligned Jacobians, with nothing fitted.",
        "P7", "new",
        "A large distance where alignment holds, or a small one where it does not.",
        bridge.rank_one_path_law, "path law",
    ),
    Claim(
        "bridge.coherence",
        "Paths add incoherently at initialisation and coherently after training: alignment makes the ensemble deep.",
        "P6, control by random orientations", "new",
        "A mean depth that survives random orientations.",
        bridge.coherent_paths, "path law",
    ),
)  # fmt: skip


def select(patterns: Sequence[str]) -> list[Claim]:
    """The claims whose id matches one of ``patterns`` (shell wildcards); all of them for none.

    Raises ArgumentError for a pattern that matches nothing.
    """
    for pattern in patterns:
        if not any(fnmatch.fnmatchcase(claim.claim, pattern) for claim in LEDGER):
            known = ", ".join(claim.claim for claim in LEDGER)
            raise ArgumentError("only", pattern, f"matches no claim; there are {known}")
    return [claim for claim in LEDGER if not patterns or any(fnmatch.fnmatchcase(claim.claim, p) for p in patterns)]
