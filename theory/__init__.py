"""What is proved or computed exactly: float64, no randomness, no files, no pictures.

Statements carry marks. [RA ...] and [LS ...] stand in Li & Papyan (2023) and Littwin & Wolf (2016); T1-T5,
U1-U9, M1-M5 and P1-P7 number the statements around Residual Alignment, the Unconstrained Jacobians Model
(UJM) and path lengths. Each docstring says whether a statement is the paper's or new.
"""

from theory.arguments import ArgumentError

__all__ = ["ArgumentError"]
