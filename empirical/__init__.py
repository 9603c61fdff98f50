"""What is measured on trained networks: residual Jacobians, Residual Alignment with nulls, path-length laws.

Commands: ``python -m empirical.train`` and ``python -m empirical.measure``. In Python::

    import empirical
    dataset = empirical.measure(model, inputs)          # an xarray.Dataset
    table = empirical.summarise(dataset)                # metrics, each beside its null
"""

from empirical.blocks import ResidualBlock
from empirical.measurement import measure, summarise

__all__ = ["ResidualBlock", "measure", "summarise"]
