"""Data sets. ``digits`` is embedded in scikit-learn, so measuring needs no network and no download."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from theory.arguments import one_of, whole_number

NAMES = ("digits",)
_HELD_OUT_DIGITS = 360


@dataclass(frozen=True)
class Split:
    """Training and held-out inputs (N, features), float32, standardised by two global scalars; labels (N,), int64."""

    train_inputs: torch.Tensor
    train_labels: torch.Tensor
    test_inputs: torch.Tensor
    test_labels: torch.Tensor
    classes: int


def load(name: str = "digits", *, seed: int = 0) -> Split:
    """The data set ``name``, split by ``seed``: digits gives 1437 training and 360 held-out 8x8 images, stratified.

    Inputs are standardised by the mean and standard deviation of *all* training pixels, so geometry is kept.
    Raises ArgumentError for an unknown name or a bad seed.
    """
    one_of("data", name, NAMES)
    seed = whole_number("seed", seed, least=0, most=2**32 - 1)
    images, labels = (np.asarray(part) for part in load_digits(return_X_y=True))
    train, test = train_test_split(
        np.arange(len(labels)), test_size=_HELD_OUT_DIGITS, stratify=labels, random_state=seed
    )
    train_x, test_x, train_y, test_y = images[train], images[test], labels[train], labels[test]
    mean, deviation = train_x.mean(), train_x.std()

    train_x, test_x = (torch.tensor((pixels - mean) / deviation, dtype=torch.float32) for pixels in (train_x, test_x))
    return Split(train_x, torch.tensor(train_y), test_x, torch.tensor(test_y), classes=len(np.unique(labels)))
