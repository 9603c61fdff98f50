"""The measured networks that the claims are judged on: trained, measured and kept, so that a killed run resumes."""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import xarray as xr
from tqdm import tqdm

from empirical import checkpoints, datasets, measurement
from empirical.alignment import Metric
from empirical.training import RECIPES, TrainingConfig, train
from sims import records
from theory.arguments import ArgumentError

CONDITIONS = ("quick", "initial", "noskip")


@dataclass(frozen=True)
class MeasurementConfig:
    """How each network is measured."""

    inputs: int = 32
    """Held-out inputs."""
    k: int = 10
    """Singular directions in the panel of the first input."""
    seed: int = 0
    """Draws the nulls."""


@dataclass(frozen=True)
class Evidence:
    """Measurements by condition (quick, initial, noskip), one a seed; ``accuracy`` likewise."""

    measurements: Mapping[str, Sequence[xr.Dataset]]
    seeds: Sequence[int]

    @cached_property
    def _summaries(self) -> dict[str, list[list[Metric]]]:
        return {name: [measurement.summarise(each) for each in group] for name, group in self.measurements.items()}

    def accuracy(self, condition: str) -> np.ndarray:
        """Held-out accuracies by seed."""
        return np.array([dataset.attrs["test_accuracy"] for dataset in self.measurements[condition]])

    def diverged(self, condition: str) -> int:
        """How many trainings of this condition diverged."""
        return sum(int(dataset.attrs["diverged"]) for dataset in self.measurements[condition])

    def metric(self, condition: str, name: str) -> tuple[np.ndarray, np.ndarray]:
        """The metric ``name`` of ``empirical.summarise`` by seed, and its null by seed."""
        found = [metric for table in self._summaries[condition] for metric in table if metric.name == name]
        if len(found) != len(self.seeds):
            raise ArgumentError("metric", name, f"is not measured on every {condition} network")
        return np.array([metric.value for metric in found]), np.array([metric.null for metric in found])

    @property
    def inputs(self) -> int:
        """Held-out inputs measured for each network."""
        return self.measurements[CONDITIONS[0]][0].sizes["input"]


def gather(
    folder: Path,
    seeds: Sequence[int],
    config: MeasurementConfig | None = None,
    *,
    fresh: bool = False,
    device: str = "cpu",
) -> Evidence:
    """Train and measure every condition for every seed, reusing what ``folder`` holds from this code and configuration.

    Each network lands atomically in its own run folder; an interrupted call loses at most one. ``fresh`` starts over.
    """
    config = config or MeasurementConfig()
    jobs = [
        (condition, seed, dataclasses.replace(RECIPES[condition], seed=seed))
        for condition in CONDITIONS
        for seed in seeds
    ]
    measured: dict[str, list[xr.Dataset]] = {condition: [] for condition in CONDITIONS}
    kept = set()
    for condition, seed, training in tqdm(jobs, desc="networks", leave=False, disable=None):
        stamp = records.fingerprint(training, config, device, packages=("theory", "sims", "empirical"))[:12]
        run = folder / f"{condition}-{seed}-{stamp}"
        kept.add(run.name)
        if fresh and run.exists():
            shutil.rmtree(run)
        measured[condition].append(_measured(run, training, config, device))
    for stale in folder.iterdir():
        if stale.name not in kept and stale.name.startswith(tuple(f"{condition}-" for condition in CONDITIONS)):
            shutil.rmtree(stale)
    return Evidence(measured, tuple(seeds))


def _measured(run: Path, training: TrainingConfig, config: MeasurementConfig, device: str) -> xr.Dataset:
    try:
        trained = checkpoints.load_training(run)[1]
    except ArgumentError:
        if run.exists():
            shutil.rmtree(run)
        trained = train(training, device=device)
        checkpoints.save_training(run, training, trained, device=device)
    try:
        return records.load(run / "measurement", "measurement").dataset
    except ArgumentError:
        if (run / "measurement").exists():
            shutil.rmtree(run / "measurement")
    split = datasets.load(training.data)
    dataset = measurement.measure(
        trained.network, split.test_inputs[: config.inputs], classes=split.classes,
        labels=split.test_labels[: config.inputs], k=config.k, seed=config.seed,
    )  # fmt: skip
    dataset.attrs |= {"test_accuracy": trained.test_accuracy, "diverged": int(trained.diverged)}
    records.save(run / "measurement", "measurement", config, dataset)
    return dataset
