"""Residual Jacobians of this project's blocks in closed form, against autograd on the same network and inputs."""

import pytest
import torch

from empirical import ResidualBlock, datasets
from empirical.jacobians import linearise, representation
from empirical.models import NetworkConfig, build
from empirical.training import calibrate


@pytest.fixture(scope="module", params=["post", "pre"])
def case(request):
    split = datasets.load()
    network = build(NetworkConfig(activation=request.param), 64, 10, seed=0)
    calibrate(network, split.train_inputs)
    return request.param, network, representation(network.stem, split.test_inputs[:32])


def test_closed_form(benchmark, case):
    kind, network, h = case
    benchmark.group = f"8 blocks, D = 64, 32 inputs, {kind}-activation"
    assert benchmark(linearise, network.blocks, h).jacobians.shape == (32, 8, 64, 64)


def test_rival_jacrev(benchmark, case):
    kind, network, h = case
    benchmark.group = f"8 blocks, D = 64, 32 inputs, {kind}-activation"
    blocks = [ResidualBlock(block.branch, block.gate) for block in network.blocks]
    assert benchmark(linearise, blocks, h).jacobians.shape == (32, 8, 64, 64)


def test_rival_jacrev_of_the_whole_network_block_by_block(benchmark, case):
    kind, network, h = case
    benchmark.group = f"8 blocks, D = 64, 32 inputs, {kind}-activation"
    exact = network.double().eval()

    def blockwise():
        points, found = h, []
        for block in exact.blocks:
            found.append(torch.func.vmap(torch.func.jacrev(lambda x, block=block: block(x[None])[0]))(points))
            points = block(points)
        return found

    assert len(benchmark(blockwise)) == 8
