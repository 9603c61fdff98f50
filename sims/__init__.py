"""What is sampled or optimised numerically, against what ``theory`` proves; float64, explicit seeds.

Commands: ``python -m sims.epsilon`` (the depth law), ``python -m sims.descent`` (gradient descent on the
Unconstrained Jacobians Model). ``sims.records`` is the one place that writes results.
"""
