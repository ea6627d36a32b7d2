// cuda_barrier_sm80.cu for sm_90a, where a wait is a loop of mbarrier.try_wait, and the copies are bulk copies.
#include "../cuda_barrier_sm80/cuda_barrier_sm80.cu"
