// A __managed__ variable with NVIDIA's static runtime, which Lemma refuses: a program that asks whether CUDA works before it
// touches the variable ends in order, exit handlers included. nvcc's host code keeps the variable's address in a pointer that
// the runtime fills in; it is null now, and a program that touches the variable unasked ends by that, in its own code.
#include <cstdio>

struct Last {
  ~Last() { std::puts(why); }
  const char* why = "not asked";
};
__attribute__((init_priority(101))) Last last; // constructed before nvcc's registration, and so destroyed after it

__managed__ int total;

__global__ void add() {
  atomicAdd(&total, 1);
}

int main() {
  int devices = 0;
  const cudaError_t refused = cudaGetDeviceCount(&devices);
  last.why = refused == cudaErrorNotSupported ? "ended in order: no CUDA here" : "not refused";
  if (refused != cudaSuccess)
    return 1;
  add<<<1, 32>>>();
  return cudaDeviceSynchronize() == cudaSuccess && total == 32 ? 0 : 1;
}
