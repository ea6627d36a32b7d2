// cuda_pipeline_sm80.cu for sm_90a.
#include "../cuda_pipeline_sm80/cuda_pipeline_sm80.cu"
