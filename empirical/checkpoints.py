"""Training runs on disk: weights, history and configuration, written through ``sims.records`` and read back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from empirical import datasets
from empirical.models import NetworkConfig, ResidualNetwork
from empirical.training import TrainingConfig, TrainingResult
from sims import records
from theory.arguments import ArgumentError


def save_training(
    folder: Path | str, config: TrainingConfig, result: TrainingResult, *, device: str, overwrite: bool = False
) -> Path:
    """Write a training run atomically; ``load_training`` reads it back. Raises ArgumentError if the folder is taken."""
    weights = result.network.state_dict()
    return records.save(folder, "training", config, result.history, weights=weights, device=device, overwrite=overwrite)


def load_training(folder: Path | str) -> tuple[TrainingConfig, TrainingResult]:
    """The configuration and the trained network (evaluation mode, CPU) of a training run.

    Raises ArgumentError for a folder that is no training run, is damaged, of another version, or whose weights do
    not fit its configuration.
    """
    run = records.load(folder, "training")
    config = training_config(run.config)
    split = datasets.load(config.data)
    network = ResidualNetwork(config.network, split.train_inputs.shape[1], split.classes)
    try:
        network.load_state_dict({_plain(name): tensor for name, tensor in run.weights().items()})
    except RuntimeError as error:
        reason = " ".join(str(error).split())[:200]
        raise ArgumentError(
            "run", str(folder), f"weights do not fit the configuration ({reason}); train it again"
        ) from None
    network.eval()
    return config, TrainingResult(network, run.dataset, bool(run.dataset.attrs["diverged"]))


def training_config(stored: dict[str, Any]) -> TrainingConfig:
    """A TrainingConfig from its JSON form. Raises ArgumentError for fields this version does not know."""
    try:
        return TrainingConfig(**{**stored, "network": NetworkConfig(**stored["network"])})
    except (TypeError, KeyError) as error:
        raise ArgumentError("run", "config", f"is not one of this version ({error}); train it again") from None


def _plain(name: str) -> str:
    # Wrappers (DataParallel, torch.compile) put their prefix in front; the same word further inside is the user's own.
    for prefix in ("module.", "_orig_mod."):
        name = name.removeprefix(prefix)
    return name
