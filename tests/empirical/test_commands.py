import importlib
import json
import shutil
import subprocess
import sys

import numpy as np
import pytest
import torch
from torch import nn

import empirical
from empirical import datasets, train
from empirical.measure import main as measure_main
from sims import records
from theory import ArgumentError


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "micro"
    assert train.main(["--recipe", "micro", "--epochs", "2", "--seed", "3", "--out", str(folder), "--json"]) == 0
    return folder


def test_training_prints_json_alone_and_records_the_configuration(run_main, tmp_path):
    out = tmp_path / "run"
    code, printed = run_main(train.main, "--recipe", "initial", "--seed", 1, "--out", out, "--json")
    assert code == 0
    summary = json.loads(printed)
    assert summary["recipe"] == "initial"
    assert summary["device"] in ("cpu", "cuda")
    stored = records.load(out, "training")
    assert stored.config["seed"] == 1
    assert stored.metadata["versions"]["torch"] == torch.__version__.split("+")[0]


def test_training_draws(run_main, tmp_path):
    run_main(train.main, "--recipe", "micro", "--epochs", 1, "--plot", tmp_path / "curve.png")
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")


def test_measuring_prints_every_null_beside_its_value(run_main, run, tmp_path):
    code, printed = run_main(
        measure_main, run, "--inputs", 5, "--out", tmp_path / "m", "--plot", tmp_path / "m.png", "--json"
    )
    assert code == 0
    result = json.loads(printed)
    assert result["inputs"] == 5
    assert len(result["metrics"]) == 19
    for metric in result["metrics"]:
        assert metric["null_definition"]
        assert np.isfinite([metric["value"], metric["spread"], metric["null"], metric["null_spread"]]).all()
    assert (tmp_path / "m.png").stat().st_size > 10_000
    stored = records.load(tmp_path / "m", "measurement").dataset
    assert set(stored.dims) >= {"input", "block", "other_block", "k", "r"}
    code, table = run_main(measure_main, run, "--inputs", 5, "--out", tmp_path / "m", "--overwrite")
    assert code == 0
    assert "RA1 straightness" in table


def test_a_folder_that_is_taken_is_refused_before_any_work(run, tmp_path):
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "precious.txt").write_text("mine")
    with pytest.raises(ArgumentError, match="already holds something"):
        train.main(["--out", str(tmp_path / "notes")])
    with pytest.raises(ArgumentError, match="not a run folder"):
        train.main(["--out", str(tmp_path / "notes"), "--overwrite"])
    with pytest.raises(ArgumentError, match="already holds something"):
        train.main(["--out", str(run)])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--recipe", "slow"], "recipe = slow"),
        (["--epochs", "-1"], "epochs = -1"),
        (["--weight-decay", "nan"], "weight_decay = nan"),
        (["--device", "tpu9"], "device = tpu9"),
        (["--plot", "curve.jpeg"], "plot = curve.jpeg"),
        (["--threads", "0"], "threads = 0"),
    ],
)
def test_bad_training_options_are_named(options, message):
    with pytest.raises(ArgumentError, match=message):
        train.main(options)


def test_bad_runs_are_named(run, tmp_path):
    cases = {}
    missing = tmp_path / "nothing"
    cases[missing] = "no such folder"
    half = tmp_path / "half"
    shutil.copytree(run, half)
    (half / "run.json").unlink()
    cases[half] = "half written"
    torn = tmp_path / "torn"
    shutil.copytree(run, torn)
    weights = torn / "weights.safetensors"
    weights.write_bytes(weights.read_bytes()[:-100])
    cases[torn] = "weights.safetensors is not what was written"
    old = tmp_path / "old"
    shutil.copytree(run, old)
    manifest = json.loads((old / "run.json").read_text())
    (old / "run.json").write_text(json.dumps(manifest | {"format": 99}))
    cases[old] = "has format 99"
    garbled = tmp_path / "garbled"
    shutil.copytree(run, garbled)
    (garbled / "run.json").write_text("{")
    cases[garbled] = "not readable"
    for folder, message in cases.items():
        with pytest.raises(ArgumentError, match=message):
            measure_main([str(folder)])


@pytest.mark.parametrize("count", ["0", "361", "-1"])
def test_a_number_of_inputs_that_does_not_exist_is_named(run, count):
    with pytest.raises(ArgumentError, match=f"inputs = {count}: must be a whole number between 1 and 360"):
        measure_main([str(run), "--inputs", count])


def test_the_function_and_the_command_share_a_name():
    import empirical.measure

    network = empirical.measure  # now the command's module
    assert callable(network)


class UsersNetwork(nn.Module):
    """Somebody else's: no `stem`, no `blocks`, float32, in training mode."""

    def __init__(self):
        super().__init__()
        self.enter = nn.Linear(64, 16)
        self.layers = nn.ModuleList(
            nn.Sequential(nn.Linear(16, 16), nn.BatchNorm1d(16), nn.ReLU(inplace=True), nn.Linear(16, 16))
            for _ in range(5)
        )
        self.out = nn.Linear(16, 10)

    def forward(self, x):
        h = self.enter(x)
        for layer in self.layers:
            h = torch.relu(h + layer(h))
        return self.out(h)


def test_somebody_elses_network_is_measured_in_ten_lines():
    torch.manual_seed(0)
    model = UsersNetwork()
    inputs = datasets.load().test_inputs[:6]
    dataset = empirical.measure(
        model,
        inputs,
        stem=model.enter,
        blocks=[empirical.ResidualBlock(layer, gate=torch.relu) for layer in model.layers],
    )
    assert len(empirical.summarise(dataset)) == 19
    assert dataset.sizes["block"] == 5
    assert model.training
    with pytest.raises(ArgumentError, match=r"pass blocks=\[ResidualBlock"):
        empirical.measure(model, inputs)
    with pytest.raises(ArgumentError, match="pass stem="):
        empirical.measure(model, inputs, blocks=[empirical.ResidualBlock(layer) for layer in model.layers])


@pytest.mark.parametrize(
    "module", ["sims.epsilon", "sims.descent", "empirical.train", "empirical.measure", "paper_checks.__main__"]
)
def test_help_explains_itself_with_an_example(module, capsys):
    with pytest.raises(SystemExit) as stop:
        importlib.import_module(module).main(["--help"])
    assert stop.value.code == 0
    captured = capsys.readouterr()
    assert "Example: python -m " + module.removesuffix(".__main__") in captured.out
    assert captured.err == ""


def test_a_bad_argument_is_one_line_and_exit_code_two():
    done = subprocess.run([sys.executable, "-m", "empirical.measure", "missing-run"], capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("error: run = missing-run: no such folder")
    assert done.stderr.count("\n") == 1
