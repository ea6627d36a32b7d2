// Bulk stores that nobody waits for: is the shared memory still the CTA's when they read it? Each CTA fills its own,
// stores it in one operation, and exits; the next one takes its place on the SM. Prints how many words are not what
// their CTA had.
//
// usage: nvcc -O2 -std=c++17 -arch=sm_90a unwaited_stores.cu -o unwaited_stores && ./unwaited_stores
#include <cstdint>
#include <cstdio>
#include <vector>

__device__ __host__ uint32_t word_of(uint32_t cta, uint32_t i) {
  return cta * 2654435761u + i;
}

__global__ void __launch_bounds__(128) store(uint32_t* out, uint32_t words, bool wait) {
  extern __shared__ __align__(128) uint32_t tile[];
  for (uint32_t i = threadIdx.x; i < words; i += 128)
    tile[i] = word_of(blockIdx.x, i);
  asm volatile("fence.proxy.async;" ::: "memory");
  __syncthreads();
  if (threadIdx.x != 0)
    return;
  const auto at = static_cast<uint32_t>(__cvta_generic_to_shared(tile));
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(out + size_t{words} * blockIdx.x),
               "r"(at), "r"(4 * words)
               : "memory");
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
  if (wait)
    asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
}

int main() {
  for (const uint32_t bytes : {16384u, 65536u, 204800u})
    for (const bool wait : {true, false}) {
      const uint32_t ctas = bytes > 100000 ? 20000 : 60000, words = bytes / 4;
      uint32_t* out = nullptr;
      cudaMalloc(&out, size_t{ctas} * bytes);
      cudaMemset(out, 0, size_t{ctas} * bytes);
      cudaFuncSetAttribute(store, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
      store<<<ctas, 128, bytes>>>(out, words, wait);
      const cudaError_t error = cudaDeviceSynchronize();
      std::vector<uint32_t> stored(size_t{ctas} * words);
      cudaMemcpy(stored.data(), out, size_t{ctas} * bytes, cudaMemcpyDeviceToHost);
      size_t wrong = 0;
      for (uint32_t cta = 0; cta < ctas; ++cta)
        for (uint32_t i = 0; i < words; ++i)
          wrong += stored[size_t{cta} * words + i] != word_of(cta, i);
      std::printf("%u bytes, %s: %s, %zu words wrong in %u CTAs\n", bytes, wait ? "waited for" : "not waited for",
                  cudaGetErrorString(error), wrong, ctas);
      cudaFree(out);
    }
}
