// compile_programs: -use_fast_math -fmad=false
// The functions of ../nvcc_math as approximate instructions, with subnormal numbers flushed.
#include "../nvcc_math/nvcc_math.cu"
