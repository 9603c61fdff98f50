"""The one place that writes a run: atomically, with everything needed to repeat it.

A run folder holds ``run.json`` (format, kind, configuration, versions, device, commit, time and the size and
sha256 of every other file), ``measurements.nc`` (an xarray.Dataset with named dimensions) and, for a trained
network, ``weights.safetensors``. It is written beside its place and renamed into it, so a folder is a whole
run or no run. Nothing is pickled.
"""

from __future__ import annotations

import dataclasses
import datetime
import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
import xarray as xr

from theory.arguments import ArgumentError

FORMAT = 1
_MANIFEST = "run.json"
_DATASET = "measurements.nc"
_WEIGHTS = "weights.safetensors"
_RECORDED_PACKAGES = ("skipglass", "numpy", "scipy", "torch", "torchvision", "scikit-learn", "xarray")


@dataclass(frozen=True)
class Run:
    """A run read back: its ``folder``, ``kind``, ``config``, ``metadata`` and ``dataset``."""

    folder: Path
    kind: str
    config: dict[str, Any]
    metadata: dict[str, Any]
    dataset: xr.Dataset

    def weights(self) -> dict[str, torch.Tensor]:
        """The stored tensors by name, on the CPU. Raises ArgumentError if this run has none."""
        path = self.folder / _WEIGHTS
        if not path.exists():
            raise ArgumentError(
                "run", str(self.folder), f"holds no weights; it is a {self.kind} run, not a training run"
            )
        return safetensors.torch.load_file(path)


def check_vacant(folder: Path | str, *, overwrite: bool) -> None:
    """Raise ArgumentError if ``folder`` is taken: call it before long work, so that the work is not lost."""
    folder = Path(folder)
    if folder.exists() and not folder.is_dir():
        raise ArgumentError("out", str(folder), "is a file; name a folder")
    if folder.is_dir() and any(folder.iterdir()):
        if not overwrite:
            raise ArgumentError(
                "out", str(folder), "already holds something; choose another folder or pass --overwrite"
            )
        if not (folder / _MANIFEST).exists():
            raise ArgumentError(
                "out", str(folder), "is not a run folder, so it is not overwritten; choose another folder"
            )


def save(
    folder: Path | str,
    kind: str,
    config: Any,
    dataset: xr.Dataset,
    *,
    weights: Mapping[str, torch.Tensor] | None = None,
    device: str = "cpu",
    overwrite: bool = False,
) -> Path:
    """Write a run atomically and return its folder.

    ``config`` is a dataclass instance (stored as JSON); ``kind`` names the command that made it; ``device``
    is where the numbers were computed. Raises ArgumentError if the folder is taken (see ``check_vacant``).
    """
    folder = Path(folder)
    check_vacant(folder, overwrite=overwrite)
    folder.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        dataset.to_netcdf(draft / _DATASET, engine="h5netcdf")
        if weights is not None:
            tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in weights.items()}
            safetensors.torch.save_file(tensors, draft / _WEIGHTS)
        manifest = {
            "format": FORMAT,
            "kind": kind,
            "config": dataclasses.asdict(config),
            "metadata": provenance(device),
            "files": {path.name: _signature(path) for path in sorted(draft.iterdir())},
        }
        (draft / _MANIFEST).write_text(json.dumps(manifest, indent=1, allow_nan=False))
        draft.chmod(0o755)
        if folder.exists():
            retired = Path(tempfile.mkdtemp(prefix=f".{folder.name}-old-", dir=folder.parent))
            folder.rename(retired / folder.name)
            draft.rename(folder)
            shutil.rmtree(retired)
        else:
            draft.rename(folder)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return folder


def load(folder: Path | str, kind: str | None = None) -> Run:
    """Read a run back, its files checked against ``run.json``.

    Raises ArgumentError for a folder that is missing, half written, of another format version, damaged, or
    (if ``kind`` is given) made by another command.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise ArgumentError(
            "run", str(folder), "no such folder; make one with `python -m empirical.train --out FOLDER`"
        )
    try:
        manifest = json.loads((folder / _MANIFEST).read_text())
        written_format = manifest["format"]
    except FileNotFoundError:
        raise ArgumentError(
            "run", str(folder), f"half written or not a run: {_MANIFEST} is missing; run the command again"
        ) from None
    except (ValueError, KeyError, TypeError):
        raise ArgumentError(
            "run", str(folder), f"half written: {_MANIFEST} is not readable; run the command again"
        ) from None
    if written_format != FORMAT:
        raise ArgumentError(
            "run", str(folder), f"has format {written_format}, this version reads {FORMAT}; run the command again"
        )
    for name, signature in manifest["files"].items():
        path = folder / name
        if not path.exists() or _signature(path) != signature:
            state = "missing" if not path.exists() else "not what was written"
            raise ArgumentError("run", str(folder), f"{name} is {state}; run the command again")
    if kind is not None and manifest["kind"] != kind:
        raise ArgumentError("run", str(folder), f"is a {manifest['kind']} run, not a {kind} run")
    with xr.open_dataset(folder / _DATASET, engine="h5netcdf") as opened:
        dataset = opened.load()
    return Run(folder, manifest["kind"], manifest["config"], manifest["metadata"], dataset)


def write_bytes(path: Path | str, content: bytes) -> Path:
    """Write one file atomically (figures, pages), making its folder if need be; returns its path."""
    path = Path(path)
    if path.is_dir():
        raise ArgumentError("path", str(path), "is a folder; name a file")
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, draft = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        Path(draft).chmod(0o644)
        Path(draft).replace(path)
    finally:
        Path(draft).unlink(missing_ok=True)
    return path


def provenance(device: str = "cpu") -> dict[str, Any]:
    """Versions, machine, device, TF32 state, git commit, time and command line of this process."""
    return {
        "created": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "command": sys.argv,
        "python": platform.python_version(),
        "versions": {name: _version(name) for name in _RECORDED_PACKAGES},
        "platform": platform.platform(),
        "device": device,
        "device_name": torch.cuda.get_device_name(device) if device.startswith("cuda") else platform.machine(),
        "threads": torch.get_num_threads(),
        "tf32": {"matmul": torch.backends.cuda.matmul.allow_tf32, "cudnn": torch.backends.cudnn.allow_tf32},
        "commit": _commit(),
    }


def fingerprint(*parts: Any, packages: tuple[str, ...]) -> str:
    """A sha256 over the code of ``packages``, the versions of the libraries and ``parts`` (dataclasses, JSON values).

    Equal fingerprints mean that a stored result is the one this code and configuration would give.
    """
    digest = hashlib.sha256()
    root = Path(__file__).resolve().parent.parent
    for package in packages:
        for path in sorted((root / package).rglob("*.py")):
            digest.update(path.relative_to(root).as_posix().encode())
            digest.update(path.read_bytes())
    for name in _RECORDED_PACKAGES:
        digest.update(f"{name}={_version(name)}".encode())
    for part in parts:
        plain = dataclasses.asdict(part) if dataclasses.is_dataclass(part) and not isinstance(part, type) else part
        digest.update(json.dumps(plain, sort_keys=True).encode())
    return digest.hexdigest()


def _signature(path: Path) -> dict[str, Any]:
    content = path.read_bytes()
    return {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"


def _commit() -> str | None:
    try:
        done = subprocess.run(
            ["git", "-C", str(Path(__file__).resolve().parent), "describe", "--always", "--dirty", "--abbrev=40"],
            capture_output=True, text=True, timeout=10, check=True,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()
