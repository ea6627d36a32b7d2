// One product after the other, each in f64 (product.h) and rounded once. Of integers the sums are exact: no
// chain of s8 products leaves 53 bits.
#include "cublas/gemm.h"

namespace lemma::cublas {
namespace {

template <class V>
void cut_to_tf32(Dense<V>& matrix) {
  for (V& value : matrix.values)
    if constexpr (std::is_same_v<V, double>)
      value = cublas::cut_to_tf32(value);
    else
      value = {cublas::cut_to_tf32(value.real()), cublas::cut_to_tf32(value.imag())};
}

// Modulo 2^32, as int32 arithmetic is.
double wrapped(double alpha, double sum, double beta, double c) {
  const auto bits = [](double value) { return static_cast<uint64_t>(static_cast<int64_t>(value)); };
  return static_cast<int32_t>(bits(alpha) * bits(sum) + bits(beta) * bits(c));
}

template <class V>
void run(const Memory& memory, const Gemm& g, V alpha, V beta) {
  Dense<V> sums(g.m, g.n);
  if (alpha != V() && g.k > 0) {
    Dense<V> a = load<V>(memory, g.a), b = load<V>(memory, g.b);
    if (g.cuts_to_tf32 && real_type_of(g.a.type) == CUDA_R_32F) {
      cut_to_tf32(a);
      cut_to_tf32(b);
    }
    sums = product(a, g.op_a, b, g.op_b);
  }
  Dense<V> c;
  if (beta != V())
    c = load<V>(memory, g.c);
  for (size_t i = 0; i < sums.values.size(); ++i) {
    V& sum = sums.values[i];
    const V before = c.values.empty() ? V() : c.values[i];
    if constexpr (std::is_same_v<V, double>) {
      sum = g.is_integer       ? wrapped(alpha, sum, beta, before)
            : c.values.empty() ? alpha * sum
                               : alpha * sum + beta * before;
    } else {
      sum = c.values.empty() ? alpha * sum : alpha * sum + beta * before;
    }
  }
  store(memory, g.c, sums);
}

Gemm of_batch(Gemm g, const Batch& batch, int64_t i, const std::vector<CUdeviceptr> (&pointers)[3]) {
  if (batch.pointers_a != 0) {
    const auto index = static_cast<size_t>(i);
    g.a.address = pointers[0].empty() ? 0 : pointers[0][index];
    g.b.address = pointers[1].empty() ? 0 : pointers[1][index];
    g.c.address = pointers[2][index];
    return g;
  }
  g.a = g.a.at(i * batch.stride_a);
  g.b = g.b.at(i * batch.stride_b);
  g.c = g.c.at(i * batch.stride_c);
  return g;
}

} // namespace

std::vector<CUdeviceptr> load_pointers(const Memory& memory, CUdeviceptr array, int64_t count) {
  std::vector<CUdeviceptr> pointers(checked_count(count, 1, sizeof(CUdeviceptr)));
  memory.read(pointers.data(), array, pointers.size() * sizeof(CUdeviceptr), 1, 0);
  return pointers;
}

cublasStatus_t gemm(const cublasContext& handle, const Gemm& g, const Batch& batch) {
  require(batch.count >= 0);
  if (g.m == 0 || g.n == 0 || batch.count == 0)
    return CUBLAS_STATUS_SUCCESS;
  return compute(handle.stream, [g, batch](const Memory& memory) {
    with_values(is_complex(g.c.type), [&]<class V>(V) {
      const V alpha = g.alpha.get<V>(memory), beta = g.beta.get<V>(memory);
      std::vector<CUdeviceptr> pointers[3];
      if (batch.pointers_a != 0) {
        if (alpha != V() && g.k > 0) {
          pointers[0] = load_pointers(memory, batch.pointers_a, batch.count);
          pointers[1] = load_pointers(memory, batch.pointers_b, batch.count);
        }
        pointers[2] = load_pointers(memory, batch.pointers_c, batch.count);
      }
      for (int64_t i = 0; i < batch.count; ++i)
        run<V>(memory, of_batch(g, batch, i, pointers), alpha, beta);
    });
  });
}

} // namespace lemma::cublas
