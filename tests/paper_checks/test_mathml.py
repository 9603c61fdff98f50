import html
from xml.dom import minidom

import pytest
import sympy as sp

from paper_checks import mathml
from theory import derivations

x, y = sp.symbols("x y")
f = sp.Function("f")


@pytest.mark.parametrize("derive", derivations.ALL)
def test_every_step_of_every_derivation_is_well_formed(derive):
    for step in derive().steps:
        # Named entities are HTML's; an XML parser wants the characters.
        document = minidom.parseString(html.unescape(mathml.equation(step.left, step.right)))
        assert document.firstChild.tagName == "math"  # type: ignore[union-attr]
        assert ">subs<" not in document.toxml()


def test_notation():
    assert "<mi>H</mi>" in mathml.equation(sp.harmonic(x), sp.harmonic(x, 2))
    substituted = mathml.equation(sp.Subs(sp.Derivative(f(x), x), x, y), y)
    assert "<mo>|</mo>" in substituted
