// Distances in a graph: a launch a level, the next frontier appended to by atomics.
#include "check.h"

#include <utility>

__global__ void visit(const int* begin, const int* neighbours, int* distance, const int* frontier, int size,
                      int* next, int* next_size, int level) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= size)
    return;
  const int node = frontier[i];
  for (int edge = begin[node]; edge < begin[node + 1]; ++edge)
    if (atomicCAS(&distance[neighbours[edge]], -1, level) == -1)
      next[atomicAdd(next_size, 1)] = neighbours[edge];
}

int main() {
  const int nodes = 2000;
  Numbers numbers;
  std::vector<int> begin{0}, neighbours;
  for (int node = 0; node < nodes; ++node) {
    for (int n = 0; n < 3; ++n)
      neighbours.push_back(numbers.below(nodes));
    begin.push_back(static_cast<int>(neighbours.size()));
  }
  std::vector<int> wanted(nodes, -1), queue{0};
  wanted[0] = 0;
  for (size_t i = 0; i < queue.size(); ++i)
    for (int edge = begin[queue[i]]; edge < begin[queue[i] + 1]; ++edge)
      if (wanted[neighbours[edge]] == -1) {
        wanted[neighbours[edge]] = wanted[queue[i]] + 1;
        queue.push_back(neighbours[edge]);
      }
  std::vector<int> start(nodes, -1);
  start[0] = 0;
  DeviceArray<int> dbegin(begin), dneighbours(neighbours), distance(start), a(nodes), b(nodes), size(1);
  int *frontier = a.data(), *next = b.data(), count = 1;
  for (int level = 1; count > 0; ++level) {
    ok(cudaMemset(size.data(), 0, sizeof(int)));
    visit<<<(count + 127) / 128, 128>>>(dbegin.data(), dneighbours.data(), distance.data(), frontier, count, next,
                                        size.data(), level);
    count = size.host()[0];
    std::swap(frontier, next);
  }
  equal(wanted, distance.host());
  return result();
}
