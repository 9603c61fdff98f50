"""Train one residual network by a recipe and save it as a run (weights, history, configuration, versions).

Recipes: micro, quick (Residual Alignment in about a second), prequick (pre-activation), noskip (the control
without skips), initial (not trained). Any option of the recipe can be overridden. A training that diverges keeps its
last good state, says so and exits 1.

Example: python -m empirical.train --recipe quick --seed 0 --out runs/quick
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from empirical import checkpoints, devices, plots
from empirical.training import RECIPES, TrainingConfig, check, train
from sims import command, records
from sims.plots import check_path, save


@dataclass(frozen=True)
class TrainArguments:
    """What to train."""

    recipe: Literal["micro", "quick", "prequick", "noskip", "initial"] = "quick"
    """Named settings to start from."""
    seed: int = 0
    """Draws the initial weights and the order of the batches."""
    device: str = "auto"
    """auto (CUDA if there is one, then CPU), cpu, cuda, cuda:1, ..."""
    epochs: int | None = None
    """Override the recipe's number of epochs."""
    weight_decay: float | None = None
    """Override the recipe's weight decay."""
    learning_rate: float | None = None
    """Override the recipe's initial learning rate."""
    width: int | None = None
    """Override the recipe's width D."""
    depth: int | None = None
    """Override the recipe's number of blocks L."""


def configuration(arguments: TrainArguments) -> TrainingConfig:
    """The recipe with the overrides that were given. Raises ArgumentError if the result cannot be trained."""
    recipe = RECIPES[arguments.recipe]
    given = {name: value for name, value in vars(arguments).items() if value is not None}
    network = dataclasses.replace(recipe.network, **{name: given[name] for name in ("width", "depth") if name in given})
    own = {name: given[name] for name in ("seed", "epochs", "weight_decay", "learning_rate") if name in given}
    config = dataclasses.replace(recipe, network=network, **own)
    check(config)
    return config


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point of ``python -m empirical.train``; returns the exit code."""
    arguments, output = command.parse(TrainArguments, "empirical.train", __doc__ or "", argv)
    config = configuration(arguments)
    device = devices.resolve(arguments.device)
    check_path(output.plot)
    if output.out:
        records.check_vacant(output.out, overwrite=output.overwrite)
    started = time.perf_counter()
    result = train(config, device=device, progress=not output.json)
    seconds = time.perf_counter() - started
    if output.out:
        checkpoints.save_training(output.out, config, result, device=device, overwrite=output.overwrite)
    if output.plot:
        save(plots.learning_curve(result.history), output.plot)
    summary = {
        "recipe": arguments.recipe,
        "seed": config.seed,
        "device": device,
        "epochs": int(result.history.epoch[-1]),
        "loss": float(result.history.loss[-1]),
        "test_accuracy": result.test_accuracy,
        "diverged": result.diverged,
        "seconds": round(seconds, 3),
        "out": output.out,
    }
    if output.json:
        command.print_json(summary)
    else:
        command.print_table(
            f"Trained {arguments.recipe} on {config.data}", ["", "value"],
            [[name, f"{value:.4g}" if isinstance(value, float) else str(value)] for name, value in summary.items()],
        )  # fmt: skip
        if result.diverged:
            print("The training diverged; the last good state is kept. Alignment of it is not judged: lower the rate.")
        elif output.out:
            print(f"Next: python -m empirical.measure {output.out}")
    return 1 if result.diverged else 0


if __name__ == "__main__":
    command.run(main)
