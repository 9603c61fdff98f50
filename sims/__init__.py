"""What is sampled or optimised numerically, against what ``theory`` proves; float64, explicit seeds.

Commands: ``python -m sims.epsilon`` (depth laws), ``sims.random_resnets`` (networks against their laws),
``sims.complexity`` (exponents and exact numbers of critical points), ``sims.landscape`` (critical points counted,
descent at any size), ``sims.descent`` (gradient descent on the Unconstrained Jacobians Model). ``sims.records`` is
the one place that writes results.
"""
