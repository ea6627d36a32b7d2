// The instructions that the Hopper examples (gemm_bf16, gemm_fp8) are made of, one function each: mbarriers,
// tensor copies (TMA), wgmma and its descriptors, clusters. Inline PTX; nothing here needs more than nvcc.
//
// It holds what both kernels need and no more: 2D tiles, 128-byte swizzle, operands that are contiguous along
// K. Sections of the PTX ISA: "Parallel Synchronization and Communication: mbarrier", "Data Movement:
// cp.async.bulk.tensor", "Asynchronous Warpgroup Level Matrix Instructions".
#pragma once
#include <cstdint>

// What cuTensorMapEncodeTiled writes (CUtensorMap), opaque to the kernel.
struct alignas(64) TensorMap {
  uint64_t words[16];
};

__device__ inline uint32_t shared_address(const void* p) {
  return (uint32_t)__cvta_generic_to_shared(p);
}

// ---- mbarriers: `barrier` is the shared address of one
// -------------------------------------------------------------

__device__ inline void mbarrier_init(uint32_t barrier, uint32_t arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}

// Makes this thread's mbarrier_init visible to the cluster, once a cluster barrier has followed.
__device__ inline void fence_mbarrier_init() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

// One arrival, which also says that `bytes` are on the way.
__device__ inline void mbarrier_arrive_expect(uint32_t barrier, uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
               : "memory");
}

__device__ inline void mbarrier_arrive(uint32_t barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

// One arrival at the mbarrier that the CTA of this rank has at the same place.
__device__ inline void mbarrier_arrive_at(uint32_t barrier, uint32_t rank) {
  asm volatile("{\n\t"
               ".reg .b32 there;\n\t"
               "mapa.shared::cluster.u32 there, %0, %1;\n\t"
               "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [there];\n\t"
               "}" ::"r"(barrier),
               "r"(rank)
               : "memory");
}

// Returns when the phase of this parity (0 for the first, then 1, 0, ...) is over. A fresh mbarrier counts as
// one whose phase of parity 1 is over. Acquires at the scope of the cluster, as arrivals may come from all of
// it.
__device__ inline void mbarrier_wait(uint32_t barrier, uint32_t parity) {
  uint32_t done;
  do {
    asm volatile("{\n\t"
                 ".reg .pred done;\n\t"
                 "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 done, [%1], %2;\n\t"
                 "selp.u32 %0, 1, 0, done;\n\t"
                 "}"
                 : "=r"(done)
                 : "r"(barrier), "r"(parity)
                 : "memory");
  } while (!done);
}

// ---- tensor copies: (x, y) is the element where the box of the map begins, x innermost
// -----------------------------

__device__ inline void tma_prefetch(const TensorMap* map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

__device__ inline void tma_load(uint32_t to, const TensorMap* map, int x, int y, uint32_t barrier) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
               "[%0], [%1, {%2, %3}], [%4];" ::"r"(to),
               "l"(map), "r"(x), "r"(y), "r"(barrier)
               : "memory");
}

// The same to every CTA whose rank is a bit of `ranks`, at the same place in each, completing on the mbarrier
// of each.
__device__ inline void tma_load_multicast(uint32_t to, const TensorMap* map, int x, int y, uint32_t barrier,
                                          uint16_t ranks) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster "
      "[%0], [%1, {%2, %3}], [%4], %5;" ::"r"(to),
      "l"(map), "r"(x), "r"(y), "r"(barrier), "h"(ranks)
      : "memory");
}

__device__ inline void tma_store(const TensorMap* map, int x, int y, uint32_t from) {
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];" ::"l"(map),
               "r"(x), "r"(y), "r"(from)
               : "memory");
}

// Closes the group of this thread's stores so far, and waits until all of them are written.
__device__ inline void tma_store_wait() {
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
  asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

// Lets the tensor copies that follow see what this thread wrote to shared memory by ordinary stores.
__device__ inline void fence_proxy_async() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// ---- wgmma
// ---------------------------------------------------------------------------------------------------------

// The descriptor of a tile whose rows are 128 bytes of K, swizzled as a tensor map with 128B swizzle writes
// them. Eight rows are an atom of 1024 bytes, atoms follow each other (stride dimension offset: 1024); the
// leading dimension offset means nothing here. Adding n / 16 to a descriptor moves it n bytes along K.
__device__ inline uint64_t matrix_descriptor(uint32_t tile) {
  constexpr uint64_t leading = 1, stride = 1024 >> 4, swizzle_128b = 1;
  return (tile & 0x3ffff) >> 4 | leading << 16 | stride << 32 | swizzle_128b << 62;
}

// Before the first wgmma that uses registers written otherwise.
__device__ inline void wgmma_fence() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

__device__ inline void wgmma_commit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

// Waits until at most `pending` groups of this warp are still running.
template <int pending>
__device__ inline void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(pending) : "memory");
}

// Tells the compiler that the accumulators change here, so that it moves no use of them over a wait.
__device__ inline void wgmma_pin(float (&d)[64]) {
  for (int i = 0; i < 64; ++i)
    asm volatile("" : "+f"(d[i])::"memory");
}

// d = a * b + (accumulate ? d : 0), issued: a is 64 rows and b 128, both of K, named by descriptors. Of the
// 64x128 result thread t of the warpgroup holds in d[4 * j + 2 * h + i] the element of row t / 32 * 16 + h *
// 8 + t % 32 / 4 and column j * 8 + t % 4 * 2 + i. `modifiers` is what the instruction wants after scale-d:
// signs, and for bf16 transpositions.
#define WGMMA_M64N128(instruction, modifiers, d, a, b, accumulate)                                           \
  asm volatile("{\n\t"                                                                                       \
               ".reg .pred accumulate;\n\t"                                                                  \
               "setp.ne.b32 accumulate, %66, 0;\n\t" instruction " "                                         \
               "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "                     \
               "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "            \
               "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "            \
               "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "           \
               "%64, %65, accumulate, " modifiers ";\n\t"                                                    \
               "}"                                                                                           \
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),         \
                 "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]),     \
                 "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]),  \
                 "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]),  \
                 "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]),  \
                 "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), "+f"(d[41]),  \
                 "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]),  \
                 "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]),  \
                 "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]),  \
                 "+f"(d[63])                                                                                 \
               : "l"(a), "l"(b), "r"((int)(accumulate))                                                      \
               : "memory")

// ---- warpgroups and clusters
// ---------------------------------------------------------------------------------------

template <int registers>
__device__ inline void registers_give() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(registers));
}

template <int registers>
__device__ inline void registers_take() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(registers));
}

// True in one thread of the warp.
__device__ inline bool elect_one() {
  uint32_t elected;
  asm volatile("{\n\t"
               ".reg .pred elected;\n\t"
               "elect.sync _|elected, 0xffffffff;\n\t"
               "selp.u32 %0, 1, 0, elected;\n\t"
               "}"
               : "=r"(elected));
  return elected;
}

__device__ inline uint32_t cluster_rank() {
  uint32_t rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

// All threads of the cluster meet.
__device__ inline void cluster_sync() {
  asm volatile("barrier.cluster.arrive.release;\n\t"
               "barrier.cluster.wait.acquire;" ::
                   : "memory");
}

// The 128 threads that name this barrier (1 to 15) meet.
__device__ inline void warpgroup_sync(uint32_t barrier) {
  asm volatile("barrier.sync %0, 128;" ::"r"(barrier) : "memory");
}
