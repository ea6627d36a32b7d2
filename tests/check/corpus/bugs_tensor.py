"""Bugs in kernels of tcgen05."""

from table import bug
from edit import cut

bug("tc_gemm", "tcgen05.fence", "x", cut("@after_ready"), "@ld")
for K in "tc_operand tc_rescale tc_scaled tc_relaxed tc_turns tc_attention tc_pair".split():
    bug(K, "tcgen05.fence", "x", cut("@alloc"), "@ld")
