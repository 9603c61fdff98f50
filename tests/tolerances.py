"""Every tolerance of the suite, with its reason. A test names one; it does not type a number at the assert."""

EPS64 = 2.220446049250313e-16

# Amplitudes eps_r at p <= 60: sums of at most 60 logarithms of size <= 10, a few ulp each.
DEPTH_LAW_RELATIVE = 1e-13

# Same at p <= 10^4, over the band that carries the mass: partial sums of up to 10^4 rounded logarithms.
DEPTH_LAW_RELATIVE_LARGE = 1e-11

# For p = 10^6; the normaliser is a pairwise sum, so rounding is far below it.
SUM_OF_SQUARES = 1e-9

# Moments of laws: sums of at most 10^4 positive terms.
MOMENT_RELATIVE = 1e-11

# Points printed with 4 decimals in the reference.
PRINTED_FOUR_DECIMALS = 5.1e-5

# Reference roots of the UJM carry 15 digits; a root of a smooth scalar equation loses one or two.
UJM_REFERENCE_RELATIVE = 1e-10

# A product of up to 40 matrices (I + J) of norm <= 2 in float64, relative to the size of the points.
PROPAGATION_RELATIVE = 1e-11

# Path coefficients against 2^L subset products, L <= 6, in float64.
SUBSETS_RELATIVE = 1e-12

# Structured Jacobians against autograd in float64: two orders of summation of the same three products.
JACOBIAN_ABSOLUTE = 1e-10

# Gradient optimisation to a gradient norm of 1e-9 at curvature >= 1e-3: distance <= gradient / curvature.
DESCENT_DISTANCE = 1e-6

# Differences of 1/s_i, each 1/s of size <= 60 rounded twice, and ratios of two steps of a propagated line.
INVERSE_SLOPE = 1e-10

# Path laws at L <= 60: a recursion of 3 L roundings and no subtraction, so 180 ulp at the very worst.
PATH_LAW_RELATIVE = 4e-14

# Elementary symmetric polynomials of mixed signs cancel: relative to the same polynomials of |g|.
CANCELLING_RELATIVE = 1e-13

# The mean H_{L+1} - 1 and the variance at L = 5000; 3 L ulp would be 3e-12, roundings average out.
STIRLING_MOMENT_RELATIVE = 1e-12

# log e_r at L = 5000: up to 5000 roundings of logarithms as large as the value itself.
LOG_POLYNOMIAL_RELATIVE = 1e-12

# Monte Carlo with a fixed seed and at most 100 comparisons: |z| > 4.5 has probability 7e-6 for one, < 1e-3 for all.
STANDARD_ERRORS = 4.5

# scipy's binomial law (measured 1.3e-13 at L <= 60, 5e-13 at 5000): a rounded chance is taken to the L-th power.
BINOMIAL_RELATIVE = 1e-12

# P7, energy laws at L = 8, D = 16, s_i = gain / i, 200 draws. Noise of norm about 0.2 a block: 0.008 measured.
NEARLY_ALIGNED_TOTAL_VARIATION = 0.03

# The same with every orientation scrambled: 0.07-0.08, 0.21-0.24, 0.49-0.51 for gain 1, 2, 4 (sd <= 0.014).
SCRAMBLED_TOTAL_VARIATION = 0.05

# Signed coefficients 1/(i - 1 + a): a factor 1 + l near 0 loses digits of what follows, |l| <= 5 and the
# coordinates span up to 2 orders of magnitude, so about 3 digits on top of PROPAGATION_RELATIVE.
SIGNED_PROPAGATION_RELATIVE = 1e-9
SIGNED_STEP_RATIO = 1e-8

# T4 is an identity of inner products in R^6 with linear fractions above 1e-3, which may cancel 3 digits or so.
SLOPE_LAW_RELATIVE = 1e-9

# rho / phi where v.h_i may fall to 0.01 of |h|: the fraction loses two digits more.
T2_SLOPE = 1e-8

# Alignment metrics are ratios of sums of at most 10^4 float64 products, all of order 1.
ALIGNMENT_ABSOLUTE = 1e-9

# A straight line through at most 8 exact points by least squares.
FIT_RELATIVE = 1e-9

# A root of the log decay curve: log s to a few ulp of the sum of its terms (at most 1e3 in the tested range).
UJM_ROOT_RELATIVE = 1e-12

# U3 put back into its own equation, in logarithms: slope of the curve (at most 1e4 = L) times the error of log s.
UJM_EQUATION_ABSOLUTE = 1e-9

# Printed tables carry six decimals.
PRINTED_SIX_DECIMALS = 5.1e-7
PRINTED_NINE_DECIMALS = 5.1e-10

# Autograd Hessians of a few hundred float64 unknowns, scaled by lam: eigenvalues nearer 0 than this are not counted.
HESSIAN_EIGENVALUE = 1e-7

# Newton on the gradient stops at about 1e-12 (scaled by lam); the defects of U5, U5' are of that order times |J|.
NEWTON_DEFECT = 1e-8

# Interior-point status "optimal" means a relative gap of 1e-8; 1e-6 leaves room for re-evaluation.
CONVEX_GAP = 1e-6
# The gap is quadratic in the point's error, so KKT residuals are its square root.
CONVEX_KKT = 1e-3

# Enclosures: a relative width that resolves nine digits.
ENCLOSURE_WIDTH = 1e-9

# C-class runs end at a gradient of 1e-6 (of objective / lam) and curvatures above 1e-1.
CLASS_DESCENT_DEFECT = 1e-4
CLASS_DESCENT_OBJECTIVE = 1e-8

# Shares of the Latin-square network: (sum w)^12 by a forward pass, where sum w may cancel to 0.1 of sum |w|.
LATIN_SHARE_RELATIVE = 1e-9

# A random field looked at twice, 1e-5 apart: Taylor's remainder is curvature (up to p^2) times 1e-10 / 2, times
# a normal variate; and singular covariances keep eigenvalues above 1e-11, so noise of sd 3e-6 may come in.
TAYLOR_STEP = 1e-5
TAYLOR_ABSOLUTE = 5e-5

# Euler's relation f = <u, grad f> / p for a pure field drawn from a singular covariance: eigenvalues below
# 1e-11 of the largest are dropped, an amplitude of 3e-6 times sqrt(N nu'') at most.
SINGULAR_CONDITIONING = 1e-4

# Points printed with 3 decimals in the reference.
PRINTED_THREE_DECIMALS = 5.1e-4

# Quadrature of E Crt_N against its closed forms at N = 2, 3; the quadrature is stated to 1e-9.
QUADRATURE_RELATIVE = 1e-9

# One network of width 2000: the mean square of a layer fluctuates by sqrt(2 / 2000) = 3%, shared between layers.
ONE_WIDE_NETWORK = 0.1

# Moments of mixtures of up to 60 degrees, against exact rationals: sums of positive terms. G and R - 1 cancel by
# at most their size, and are compared in absolute terms.
MIXTURE_RELATIVE = 1e-12
MIXTURE_ABSOLUTE = 1e-13

# Roots of E s^2 = 1 (slope of order 1 in log beta) from sums of at most 61 positive terms.
THRESHOLD_RELATIVE = 1e-12

# Values printed in tables with 6 significant digits or 6 decimals.
PRINTED_SIX_DIGITS = 5.1e-6

# Legendre nodes in float64: 1 - x loses n^2 ulp of tau near the ends, damped by q (1 - q); n <= 300 here.
BERNOULLI_ABSOLUTE = 1e-11

# A bound may be met with equality (n = 1), so it is allowed the rounding of a sum of at most 300 terms.
BOUND_SLACK = 1e-12

# Reference values of expected critical points: 1e-6 is their own accuracy; quadrature on either side is good to 1e-10.
KAC_RICE_RELATIVE = 1e-9

# log of the GOE density against its integrals: 64-node panels of an entire function, sums of n <= 400 squares.
GOE_RELATIVE = 1e-11

# Exponents of size <= 3 from concave maxima found to 4 ulp in y; alpha^2 down to 1e-3 divides once.
EXPONENT_ABSOLUTE = 1e-10

# A maximum on a grid of step h misses by h^2 times a curvature of order 10 at most.
GRID_MAXIMUM = 1e-4

# Moves of order mu^2 at mu = 1e-4, third-order terms relative to them: mu times third derivatives of size 10^2.
SECOND_ORDER_RELATIVE = 5e-2

# Sums of up to 160 000 rounded logarithms around the mode, rounding averages out (measured 5e-13 at p = 10^6).
WINDOW_ABSOLUTE = 1e-10

# Coefficients of a polynomial of degree <= 24 from Pfaffians on the unit circle, each good to about 1e-14.
COUNTING_ABSOLUTE = 1e-12

# Slope of log E against N at N = 12..24 with corrections log N, 1, 1/N fitted: at index 1 the term 1/N^2 left out
# moves it by 0.003 (measured by fitting that as well).
FITTED_EXPONENT = 0.008
