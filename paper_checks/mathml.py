"""Equations as MathML, which browsers draw without a network or a script."""

from __future__ import annotations

import sympy
from sympy.printing.mathml import MathMLPresentationPrinter


def equation(left: sympy.Expr, right: sympy.Expr) -> str:
    """``left = right`` as one displayed MathML element, unevaluated."""
    node = _Printer({}).doprint(sympy.Eq(left, right, evaluate=False))
    return f'<math xmlns="http://www.w3.org/1998/Math/MathML" display="block">{node}</math>'


class _Printer(MathMLPresentationPrinter):
    """sympy's printer, with harmonic numbers as H_n and substitution as a bar with the values below it."""

    def _print_harmonic(self, expr: sympy.Expr):
        number, *order = expr.args
        symbol = self.dom.createElement("msubsup" if order else "msub")
        symbol.appendChild(self._text("mi", "H"))
        symbol.appendChild(self._row(self._print(number)))
        if order:
            symbol.appendChild(self._row(self._text("mo", "("), self._print(order[0]), self._text("mo", ")")))
        return symbol

    def _print_Subs(self, expr: sympy.Subs):
        pairs = []
        _, variables, values = expr.args
        for variable, value in zip(variables.args, values.args, strict=True):
            separator = [self._text("mo", ",")] if pairs else []
            pairs += [*separator, self._print(variable), self._text("mo", "="), self._print(value)]
        bar = self.dom.createElement("msub")
        bar.appendChild(self._text("mo", "|"))
        bar.appendChild(self._row(*pairs))
        return self._row(self._print(expr.expr), bar)

    def _text(self, tag: str, content: str):
        element = self.dom.createElement(tag)
        element.appendChild(self.dom.createTextNode(content))
        return element

    def _row(self, *children):
        row = self.dom.createElement("mrow")
        for child in children:
            row.appendChild(child)
        return row
