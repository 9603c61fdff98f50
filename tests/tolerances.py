"""Every tolerance of the suite, with its reason. A test names one; it does not type a number at the assert."""

EPS64 = 2.220446049250313e-16

# Amplitudes eps_r at p <= 60: sums of at most 60 logarithms of size <= 10, a few ulp each.
DEPTH_LAW_RELATIVE = 1e-13

# Same at p <= 10^4, over the band that carries the mass: partial sums of up to 10^4 rounded logarithms.
DEPTH_LAW_RELATIVE_LARGE = 1e-11

# Stated in the issue of work for p = 10^6; the normaliser is a pairwise sum, so rounding is far below it.
SUM_OF_SQUARES = 1e-9

# Moments of laws: sums of at most 10^4 positive terms.
MOMENT_RELATIVE = 1e-11

# Points printed with 4 decimals in the reference.
PRINTED_FOUR_DECIMALS = 5.1e-5

# ../shared reference values of the UJM carry 15 digits; a root of a smooth scalar equation loses one or two.
UJM_REFERENCE_RELATIVE = 1e-10

# A product of up to 40 matrices (I + J) of norm <= 2 in float64, relative to the size of the points.
PROPAGATION_RELATIVE = 1e-11

# Path coefficients against 2^L subset products, L <= 6, in float64.
SUBSETS_RELATIVE = 1e-12

# Structured Jacobians against autograd in float64: two orders of summation of the same three products.
JACOBIAN_ABSOLUTE = 1e-10

# Gradient optimisation to a gradient norm of 1e-9 at curvature >= 1e-3: distance <= gradient / curvature.
DESCENT_DISTANCE = 1e-6

# A root of the log decay curve: log s to a few ulp of the sum of its terms (at most 1e3 in the tested range).
UJM_ROOT_RELATIVE = 1e-12

# U3 put back into its own equation, in logarithms: slope of the curve (at most 1e4 = L) times the error of log s.
UJM_EQUATION_ABSOLUTE = 1e-9

# Printed tables of the sheet carry six decimals.
PRINTED_SIX_DECIMALS = 5.1e-7
PRINTED_NINE_DECIMALS = 5.1e-10

# Autograd Hessians of a few hundred float64 unknowns, scaled by lam: eigenvalues nearer 0 than this are not counted.
HESSIAN_EIGENVALUE = 1e-7

# Newton on the gradient stops at about 1e-12 (scaled by lam); the defects of U5, U5' are of that order times |J|.
NEWTON_DEFECT = 1e-8

# Interior-point status "optimal" means a relative gap of 1e-8; the issue of work asks for 1e-6.
CONVEX_GAP = 1e-6
# The gap is quadratic in the point's error, so KKT residuals are its square root.
CONVEX_KKT = 1e-3

# Enclosures: asked for in the issue of work.
ENCLOSURE_WIDTH = 1e-9

# C-class runs end at a gradient of 1e-6 (of objective / lam) and curvatures above 1e-1.
CLASS_DESCENT_DEFECT = 1e-4
CLASS_DESCENT_OBJECTIVE = 1e-8
