import dataclasses
import subprocess
import sys
from typing import Literal

import pytest

from sims import command
from theory import ArgumentError


@dataclasses.dataclass(frozen=True)
class Config:
    """What to do."""

    size: int = 3
    """A size."""
    shape: Literal["round", "square"] = "round"
    """A shape."""


def parse(*options: str):
    return command.parse(Config, "sims.epsilon", "What it does.\n\nExample: python -m sims.epsilon", options)


def test_scientific_options_and_output_options_come_apart():
    config, output = parse("--size", "4", "--json", "--out", "runs/x")
    assert config == Config(size=4)
    assert output == command.Output(json=True, out="runs/x")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--size", "2.5"], "--size = 2.5: invalid literal"),
        (["--size"], r"--size = \(nothing\): needs a value"),
        (["--shape", "oval"], "--shape = oval: must be one of round, square"),
        (["--sise", "3"], "options = --sise, 3: not known to this command; did you mean --size?"),
        (["stray"], "options = stray: not known to this command"),
    ],
)
def test_each_kind_of_bad_option_is_one_line_that_points_to_help(options, message):
    with pytest.raises(ArgumentError, match=message) as error:
        parse(*options)
    assert "\n" not in str(error.value)
    assert str(error.value).endswith("see python -m sims.epsilon --help")


def test_help_exits_cleanly(capsys):
    with pytest.raises(SystemExit) as stop:
        parse("--help")
    assert stop.value.code == 0
    assert "Example: python -m sims.epsilon" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("raised", "code"),
    [(None, 1), (ArgumentError("x", 1, "be kind"), 2), (KeyboardInterrupt(), 130), (BrokenPipeError(), 0)],
)
def test_exit_codes(raised, code, capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "close", lambda: None, raising=False)

    def main(_):
        if raised:
            raise raised
        return 1

    with pytest.raises(SystemExit) as stop:
        command.run(main)
    assert stop.value.code == code
    if code == 2:
        assert capsys.readouterr().err == "error: x = 1: be kind\n"


def test_what_is_not_finite_is_not_printed_as_json(capsys):
    with pytest.raises(ValueError, match="JSON"):
        command.print_json({"value": float("nan")})
    assert capsys.readouterr().out == ""


def test_a_reader_that_goes_away_is_no_error(tmp_path):
    script = f"{sys.executable} -m sims.epsilon --out {tmp_path / 'run'} | head -1"
    done = subprocess.run(["bash", "-o", "pipefail", "-c", script], capture_output=True, text=True)
    assert done.returncode in (0, 141)
    assert "Traceback" not in done.stderr
    assert (tmp_path / "run" / "run.json").exists()
