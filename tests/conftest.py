"""One hypothesis profile for the whole suite, and one thread a worker, so that two workers fit on two cores."""

import os

import pytest
import torch
from hypothesis import settings
from threadpoolctl import threadpool_limits

settings.register_profile(
    "skipglass", deadline=None, derandomize=bool(os.environ.get("CI")), print_blob=True, max_examples=50
)
settings.load_profile("skipglass")
torch.set_num_threads(1)
threadpool_limits(1)
os.environ["OMP_NUM_THREADS"] = "1"  # for the commands that tests start


@pytest.fixture
def run_main(capsys):
    """Call a command's main with options; returns (exit code, standard output). Bad arguments raise ArgumentError."""

    def call(main, *options: str) -> tuple[int, str]:
        capsys.readouterr()
        code = main([str(option) for option in options])
        return code, capsys.readouterr().out

    return call
