"""One trainer: SGD with momentum and a cosine to zero, the recipes of the measurements, and what divergence is."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import torch
import xarray as xr
from torch import nn
from tqdm import tqdm

from empirical import datasets
from empirical.datasets import Split
from empirical.models import NetworkConfig, ResidualNetwork, build
from theory.arguments import ArgumentError, one_of, real_number, whole_number


@dataclass(frozen=True)
class TrainingConfig:
    """What to train, on what, how; everything needed to repeat a run."""

    data: str = "digits"
    """Data set: digits."""
    network: NetworkConfig = field(default_factory=NetworkConfig)
    epochs: int = 25
    """Passes through the training set; 0 leaves the network at initialisation."""
    learning_rate: float = 0.1
    """Initial learning rate; a cosine takes it to 0, step by step."""
    momentum: float = 0.9
    weight_decay: float = 4e-2
    """L2 penalty as in SGD; see ``decayed``."""
    decayed: Literal["all", "matrices"] = "all"
    """Which parameters decay: all, or weight matrices only."""
    batch: int = 128
    """Batch size; the last, partial batch is dropped."""
    seed: int = 0
    """Draws the initial weights and the order of the batches; the split of the data is always the same."""


_PRE = NetworkConfig(activation="pre")
RECIPES: dict[str, TrainingConfig] = {
    # Residual Alignment in a second of one core; decay chosen by the clock tau = steps * lr * wd / (1 - momentum).
    "micro": TrainingConfig(epochs=12, weight_decay=8e-2),
    "quick": TrainingConfig(),
    "prequick": TrainingConfig(network=_PRE, weight_decay=8e-2, decayed="matrices"),
    # The same layers without skips; at quick's own decay they fail to train, so this is the fair control.
    "noskip": TrainingConfig(network=NetworkConfig(skip=False), weight_decay=1e-2),
    # quick's network as drawn, its BatchNorm statistics calibrated on the training set.
    "initial": TrainingConfig(epochs=0),
}


@dataclass(frozen=True)
class TrainingResult:
    """A trained network (evaluation mode), its history by epoch and whether the training ``diverged``."""

    network: ResidualNetwork
    history: xr.Dataset
    diverged: bool

    @property
    def test_accuracy(self) -> float:
        """Held-out accuracy after the last epoch, in [0, 1]."""
        return float(self.history.test_accuracy[-1])


def check(config: TrainingConfig) -> None:
    """Raise ArgumentError for any setting that cannot be trained."""
    one_of("data", config.data, datasets.NAMES)
    whole_number("epochs", config.epochs, least=0)
    real_number("learning_rate", config.learning_rate, above=0.0)
    if real_number("momentum", config.momentum, least=0.0) >= 1:
        raise ArgumentError("momentum", config.momentum, "must lie in [0, 1)")
    real_number("weight_decay", config.weight_decay, least=0.0)
    one_of("decayed", config.decayed, ("all", "matrices"))
    whole_number("batch", config.batch, least=2)
    whole_number("seed", config.seed, least=0)


def train(config: TrainingConfig, *, device: str = "cpu", progress: bool = False) -> TrainingResult:
    """Train ``config`` and return the network on the CPU.

    A loss that is not finite, or above 1000, stops the training: ``diverged`` is true and the network is the
    one of the last good epoch. ``progress`` shows a bar on standard error. Raises ArgumentError for settings
    that make no sense, among them a batch larger than the training set.
    """
    check(config)
    split = datasets.load(config.data)
    if config.batch > len(split.train_inputs):
        raise ArgumentError("batch", config.batch, f"must be at most the {len(split.train_inputs)} training inputs")
    network = build(config.network, split.train_inputs.shape[1], split.classes, seed=config.seed).to(device)
    split = dataclasses.replace(split, **{name: getattr(split, name).to(device) for name in _TENSORS})
    order = torch.Generator().manual_seed(config.seed)
    optimiser = torch.optim.SGD(_groups(network, config), lr=config.learning_rate, momentum=config.momentum, fused=True)
    steps = config.epochs * (len(split.train_inputs) // config.batch)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, T_max=max(steps, 1))
    calibrate(network, split.train_inputs)
    losses = [_cross_entropy(network, split.train_inputs, split.train_labels)]
    accuracies = [accuracy(network, split.test_inputs, split.test_labels)]
    diverged = False
    for _ in tqdm(range(config.epochs), desc="epochs", disable=None if progress else True, leave=False):
        good = {name: tensor.clone() for name, tensor in network.state_dict().items()}
        loss = _epoch(network, split, config.batch, order, optimiser, schedule)
        if not loss < _LARGEST_LOSS:
            network.load_state_dict(good)
            diverged = True
            break
        losses.append(loss)
        accuracies.append(accuracy(network, split.test_inputs, split.test_labels))
    history = xr.Dataset(
        {
            "loss": (
                "epoch",
                np.array(losses),
                {"definition": "mean cross-entropy of the epoch's batches in nats; epoch 0: before training"},
            ),
            "test_accuracy": ("epoch", np.array(accuracies)),
        },
        coords={"epoch": np.arange(len(losses))},
        attrs={"diverged": int(diverged)},
    )
    return TrainingResult(network.cpu().eval(), history, diverged)


def calibrate(network: nn.Module, inputs: torch.Tensor) -> None:
    """Set BatchNorm statistics to those of ``inputs`` as one batch; without it an untrained net reads as aligned."""
    norms = [module for module in network.modules() if isinstance(module, nn.modules.batchnorm._BatchNorm)]
    momenta = [norm.momentum for norm in norms]
    for norm in norms:
        norm.momentum = 1.0
    network.train()
    with torch.no_grad():
        network(inputs)
    for norm, momentum in zip(norms, momenta, strict=True):
        norm.momentum = momentum
    network.eval()


def accuracy(network: nn.Module, inputs: torch.Tensor, labels: torch.Tensor) -> float:
    """Share of ``inputs`` whose largest logit is the label; evaluation mode is set and restored."""
    with evaluating(network), torch.no_grad():
        return float((network(inputs).argmax(1) == labels).double().mean())


def _cross_entropy(network: nn.Module, inputs: torch.Tensor, labels: torch.Tensor) -> float:
    with evaluating(network), torch.no_grad():
        return float(nn.functional.cross_entropy(network(inputs), labels))


@contextmanager
def evaluating(network: nn.Module) -> Iterator[None]:
    """Evaluation mode inside, every module's own mode back afterwards."""
    modes = [(module, module.training) for module in network.modules()]
    network.eval()
    try:
        yield
    finally:
        for module, mode in modes:
            module.training = mode


_TENSORS = ("train_inputs", "train_labels", "test_inputs", "test_labels")
# Ten classes start at log 10 = 2.3 nats; a thousand is far outside what a converging run visits.
_LARGEST_LOSS = 1e3


def _groups(network: nn.Module, config: TrainingConfig) -> list[dict]:
    decayed = [p for p in network.parameters() if config.decayed == "all" or p.ndim > 1]
    spared = [p for p in network.parameters() if config.decayed != "all" and p.ndim <= 1]
    return [{"params": decayed, "weight_decay": config.weight_decay}, {"params": spared, "weight_decay": 0.0}]


def _epoch(network, split: Split, batch: int, order: torch.Generator, optimiser, schedule) -> float:
    """One pass; returns the mean loss of its batches (not finite as soon as one is not)."""
    network.train()
    inputs, labels = split.train_inputs, split.train_labels
    shuffled = torch.randperm(len(inputs), generator=order).to(inputs.device)
    total = torch.zeros((), device=inputs.device)
    batches = len(inputs) // batch
    for index in shuffled[: batches * batch].view(batches, batch):
        optimiser.zero_grad(set_to_none=True)
        loss = nn.functional.cross_entropy(network(inputs[index]), labels[index])
        loss.backward()
        optimiser.step()
        schedule.step()
        total += loss.detach()
    return float(total) / batches
