"""Measure a training run: RA1-RA4 and the path-length law on held-out inputs, every value beside its null.

The result is saved in RUN/measurement unless --out names another folder. A run that diverged is refused.

Example: python -m empirical.measure runs/quick --inputs 32 --plot runs/quick.png
"""

from __future__ import annotations

import dataclasses
import sys
import time
import types
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import tyro

from empirical import checkpoints, datasets, measurement, plots
from sims import command, records
from sims.plots import check_path, save
from theory.arguments import ArgumentError, whole_number


@dataclass(frozen=True)
class MeasureArguments:
    """What to measure."""

    run: tyro.conf.Positional[str]
    """Folder of a training run."""
    inputs: int = 32
    """How many held-out inputs, from the first on."""
    k: int = 20
    """Singular directions shown in the panel of the first input."""
    seed: int = 0
    """Draws the nulls (random orientations, walks, orders)."""


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point of ``python -m empirical.measure``; returns the exit code."""
    arguments, output = command.parse(MeasureArguments, "empirical.measure", __doc__ or "", argv)
    check_path(output.plot)
    config, trained = checkpoints.load_training(arguments.run)
    if trained.diverged:
        remedy = "the training diverged, so a verdict on alignment is refused; train it again at a lower learning rate"
        raise ArgumentError("run", arguments.run, remedy)
    split = datasets.load(config.data)
    count = whole_number("inputs", arguments.inputs, most=len(split.test_inputs))
    folder = Path(output.out) if output.out else Path(arguments.run) / "measurement"
    records.check_vacant(folder, overwrite=output.overwrite)
    started = time.perf_counter()
    dataset = measurement.measure(
        trained.network, split.test_inputs[:count], classes=split.classes, k=arguments.k,
        labels=split.test_labels[:count], seed=arguments.seed,
        progress=not output.json,
    )  # fmt: skip
    seconds = time.perf_counter() - started
    dataset.attrs |= {"test_accuracy": trained.test_accuracy, "training_run": str(arguments.run)}
    records.save(folder, "measurement", arguments, dataset, overwrite=output.overwrite)
    if output.plot:
        save(plots.measurement_overview(dataset), output.plot)
    metrics = measurement.summarise(dataset)
    if output.json:
        command.print_json({
            "run": arguments.run, "out": str(folder), "inputs": count, "dtype": "float64", "device": "cpu",
            "test_accuracy": trained.test_accuracy, "training": dataclasses.asdict(config),
            "metrics": measurement.as_records(metrics), "seconds": round(seconds, 3),
        })  # fmt: skip
    else:
        command.print_table(
            f"{arguments.run}: test accuracy {trained.test_accuracy:.3f}, n = {count} held-out inputs, float64, cpu, "
            f"dense SVD, {seconds:.1f} s",
            ["metric", "value", "sd", "null", "null sd", "null is"],
            [
                [
                    m.name,
                    f"{m.value:.3f}",
                    f"{m.spread:.3f}",
                    f"{m.null:.3f}",
                    f"{m.null_spread:.3f}",
                    m.null_definition,
                ]
                for m in metrics
            ],
        )
        print(f"Saved in {folder}")
    return 0


class _CallableModule(types.ModuleType):
    """Lets ``empirical.measure(model, inputs)`` work after this command's module was imported under the same name."""

    def __call__(self, *arguments, **options):
        return measurement.measure(*arguments, **options)


sys.modules[__name__].__class__ = _CallableModule

if __name__ == "__main__":
    command.run(main)
