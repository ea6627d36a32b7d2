// The source that kernel exchange of races.ptx names: its lines are quoted.
__global__ void exchange(unsigned* out)
{
  __shared__ unsigned tile[64];
  unsigned t = threadIdx.x;
  tile[t] = t;
  out[t] = tile[t ^ 32];
}
