// CUB's two calls: how much memory it wants, and the work. The memory is of this size to the byte.
#pragma once

#include "../check.h"

template <class F>
void with_memory(F f) {
  size_t bytes = 0;
  ok(f(nullptr, bytes));
  DeviceArray<char> memory(bytes + 1);
  ok(f(memory.data(), bytes));
  ok(cudaDeviceSynchronize());
}
