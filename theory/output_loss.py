"""The mean loss of a Gaussian output, beside the linear form that carries LS to the spin glass [LS Lemma 3, recovered].

LS (after Choromanska) writes hinge and absolute loss as ``C1 + C2 Y``. That is their linear piece alone.
"""

from __future__ import annotations

import math

from theory.arguments import one_of, real_number
from theory.complexity import PrintedAndTrue

LOSSES = ("hinge", "absolute")


def mean_loss(loss: str, deviation: float, label: float = 1.0) -> PrintedAndTrue:
    """E loss for ``Y ~ N(0, deviation^2)``: the linear form, and the loss itself [new].

    ``loss``: "hinge" for ``max(0, 1 - label Y)``, "absolute" for ``|label - Y|``; ``deviation`` >= 0. The linear
    form ``1 - label Y``, or ``|label| - sign(label) Y``, has mean 1 or |label|; it requires |label Y| <= 1, or
    |Y| <= |label|. The true mean is larger by what the other piece adds. Raises ArgumentError.
    """
    loss = one_of("loss", loss, LOSSES)
    size = abs(real_number("label", label))
    spread = real_number("deviation", deviation, least=0.0)
    if loss == "hinge":
        level, spread, pieces = 1.0, spread * size, 1  # max(0, 1 - Z), Z of deviation |label| times that of Y
    else:
        level, pieces = size, 2  # |l - Y| = (l - Y) + 2 max(0, Y - l)
    # E max(0, Z - level): what the linear piece leaves out, once for the hinge and twice for the modulus.
    left_out = 0.0
    if spread > 0:
        ratio = level / spread
        density = math.exp(-(ratio**2) / 2) / math.sqrt(2 * math.pi)
        left_out = spread * density - level * math.erfc(ratio / math.sqrt(2)) / 2
    true = level + pieces * left_out
    warning = (
        f"the linear form of LS Lemma 3 gives {level:.6g}, the mean loss is {true:.6g}: |Y| exceeds the label scale"
    )
    return PrintedAndTrue(level, true, true != level, warning if true != level else "")
