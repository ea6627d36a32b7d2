// A cuBLAS without products, over the driver of tests/unit/runtime/fake_cuda.h: what it is asked for is
// recorded, and each algorithm takes a time of its own on that driver's clock.
#pragma once

#include <cstdint>
#include <vector>

namespace fake_cublaslt {

struct Layout {
  int type = 0;
  uint64_t rows = 0, columns = 0;
  int64_t leading_dimension = 0;
};

struct Product {
  int compute = 0, scale = 0, transposes_a = 0, transposes_b = 0, fast_accumulation = 0;
  Layout a, b, c;
  const void *a_address = nullptr, *b_address = nullptr, *c_address = nullptr;
  uint64_t workspace_bytes = 0;
  double alpha = 0, beta = -1;
  int algorithm = 0;
};

struct State {
  std::vector<double> algorithm_ms{4, 1, 2}; // a negative one fails when it is started
  std::vector<Product> products;             // that were started
  int handles = 0, objects = 0;              // live
};

} // namespace fake_cublaslt

// The library's own state.
extern "C" fake_cublaslt::State* fake_cublaslt_state();
