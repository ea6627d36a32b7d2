// Managed memory: allocated, and __managed__ variables that host and device write in turns.
#include "check.h"

__managed__ int counter = 5;
__managed__ float values[16];

struct Node {
  int value;
  Node* next;
};

__global__ void step() {
  values[threadIdx.x] += threadIdx.x;
  if (threadIdx.x == 0)
    counter *= 2;
}

__global__ void double_list(Node* node) {
  for (; node; node = node->next)
    node->value *= 2;
}

int main() {
  values[3] = 100;
  counter += 1;
  step<<<1, 16>>>();
  ok(cudaDeviceSynchronize());
  equal(12, counter);
  equal(103, values[3]);
  equal(15, values[15]);
  counter = 1;
  step<<<1, 16>>>();
  ok(cudaDeviceSynchronize());
  equal(2, counter);

  Node* first = nullptr;
  for (int i = 0; i < 10; ++i) {
    Node* node = nullptr;
    ok(cudaMallocManaged(&node, sizeof(Node)));
    *node = {i, first};
    first = node;
  }
  double_list<<<1, 1>>>(first);
  ok(cudaDeviceSynchronize());
  for (int i = 9; first; --i) {
    equal(2 * i, first->value);
    Node* next = first->next;
    ok(cudaFree(first));
    first = next;
  }
  return result();
}
