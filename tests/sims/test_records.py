import dataclasses
import json

import numpy as np
import pytest
import torch
import xarray as xr

from sims import records
from theory import ArgumentError


@dataclasses.dataclass(frozen=True)
class Config:
    beta: float = 0.5


DATA = xr.Dataset({"value": ("r", np.arange(3.0))})


def test_a_run_round_trips_with_its_provenance(tmp_path):
    weights = {"layer.weight": torch.arange(4.0).reshape(2, 2).T}
    folder = records.save(tmp_path / "a" / "run", "test", Config(), DATA, weights=weights)
    run = records.load(folder, "test")
    xr.testing.assert_identical(run.dataset, DATA)
    assert run.config == {"beta": 0.5}
    assert torch.equal(run.weights()["layer.weight"], weights["layer.weight"])
    for key in ("created", "versions", "device", "tf32", "commit", "command", "platform"):
        assert key in run.metadata
    assert sorted(path.name for path in folder.iterdir()) == ["measurements.nc", "run.json", "weights.safetensors"]
    assert list((tmp_path / "a").iterdir()) == [folder]


def test_a_failed_save_leaves_nothing_and_keeps_what_was_there(tmp_path):
    folder = records.save(tmp_path / "run", "test", Config(), DATA)
    before = (folder / "run.json").read_text()

    @dataclasses.dataclass(frozen=True)
    class Broken:
        beta: float = float("nan")

    with pytest.raises(ValueError, match="JSON"):
        records.save(folder, "test", Broken(), DATA, overwrite=True)
    assert (folder / "run.json").read_text() == before
    assert list(tmp_path.iterdir()) == [folder]


def test_overwriting_replaces_the_whole_run(tmp_path):
    records.save(tmp_path / "run", "test", Config(), DATA, weights={"w": torch.zeros(1)})
    with pytest.raises(ArgumentError, match="--overwrite"):
        records.save(tmp_path / "run", "test", Config(1.0), DATA)
    records.save(tmp_path / "run", "test", Config(1.0), DATA, overwrite=True)
    run = records.load(tmp_path / "run")
    assert run.config == {"beta": 1.0}
    with pytest.raises(ArgumentError, match="holds no weights"):
        run.weights()


def test_every_kind_of_damage_is_named(tmp_path):
    folder = records.save(tmp_path / "run", "test", Config(), DATA)
    with pytest.raises(ArgumentError, match="is a test run, not a training run"):
        records.load(folder, "training")
    content = (folder / "measurements.nc").read_bytes()
    flipped = bytes([content[0] ^ 1]) + content[1:]
    (folder / "measurements.nc").write_bytes(flipped)
    with pytest.raises(ArgumentError, match=r"measurements\.nc is not what was written"):
        records.load(folder)
    (folder / "measurements.nc").unlink()
    with pytest.raises(ArgumentError, match=r"measurements\.nc is missing"):
        records.load(folder)
    with pytest.raises(ArgumentError, match="is a file"):
        records.check_vacant(folder / "run.json", overwrite=True)


def test_fingerprints_follow_the_configuration_and_the_code():
    same = records.fingerprint(Config(), packages=("theory",))
    assert same == records.fingerprint(Config(), packages=("theory",))
    assert same != records.fingerprint(Config(0.6), packages=("theory",))
    assert same != records.fingerprint(Config(), packages=("theory", "sims"))


def test_single_files_are_written_whole(tmp_path):
    path = records.write_bytes(tmp_path / "deep" / "page.html", b"one")
    records.write_bytes(path, b"two")
    assert path.read_bytes() == b"two"
    assert list(path.parent.iterdir()) == [path]
    with pytest.raises(ArgumentError, match="name a file"):
        records.write_bytes(tmp_path, b"")


def test_the_manifest_is_plain_json(tmp_path):
    folder = records.save(tmp_path / "run", "test", Config(), DATA)
    manifest = json.loads((folder / "run.json").read_text())
    assert manifest["format"] == records.FORMAT
    assert set(manifest["files"]) == {"measurements.nc"}
