// The instructions that the kernels of this folder are made of, as macros: so the line information names the
// line that uses one, and a tag there (`// @tag`) finds its instruction in the PTX.
#pragma once
#include <cstdint>

struct alignas(64) TensorMap {
  uint64_t words[16];
};

#define SHARED(p) ((uint32_t)__cvta_generic_to_shared(p))

// ---- mbarriers
#define MBAR_INIT(bar, count)                                                                                \
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(bar), "r"(count) : "memory")
#define MBAR_INVAL(bar) asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(bar) : "memory")
#define FENCE_MBAR_INIT() asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory")
#define MBAR_EXPECT(bar, bytes)                                                                              \
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(bar), "r"(bytes) : "memory")
#define MBAR_ARRIVE(bar) asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(bar) : "memory")
#define MBAR_ARRIVE_AT(bar, rank)                                                                            \
  asm volatile("{\n\t.reg .b32 there;\n\t"                                                                   \
               "mapa.shared::cluster.u32 there, %0, %1;\n\t"                                                 \
               "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [there];\n\t}" ::"r"(bar),            \
               "r"(rank)                                                                                     \
               : "memory")
#define MBAR_WAIT(bar, parity)                                                                               \
  asm volatile("{\n\t.reg .pred done;\n\t"                                                                   \
               "AGAIN:\n\tmbarrier.try_wait.parity.acquire.cta.shared::cta.b64 done, [%0], %1;\n\t"          \
               "@!done bra AGAIN;\n\t}" ::"r"(bar),                                                          \
               "r"(parity)                                                                                   \
               : "memory")
#define MBAR_WAIT_CLUSTER(bar, parity)                                                                       \
  asm volatile("{\n\t.reg .pred done;\n\t"                                                                   \
               "AGAIN:\n\tmbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 done, [%0], %1;\n\t"      \
               "@!done bra AGAIN;\n\t}" ::"r"(bar),                                                          \
               "r"(parity)                                                                                   \
               : "memory")

// ---- copies
#define CP_ASYNC_16(to, from)                                                                                \
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory")
#define CP_ASYNC_COMMIT() asm volatile("cp.async.commit_group;" ::: "memory")
#define CP_ASYNC_WAIT(n) asm volatile("cp.async.wait_group %0;" ::"n"(n) : "memory")
#define BULK_LOAD(to, from, bytes, bar)                                                                      \
  asm volatile(                                                                                              \
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to),   \
      "l"(from), "r"(bytes), "r"(bar)                                                                        \
      : "memory")
#define BULK_STORE(to, from, bytes)                                                                          \
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(from),           \
               "r"(bytes)                                                                                    \
               : "memory")
#define BULK_COMMIT() asm volatile("cp.async.bulk.commit_group;" ::: "memory")
#define BULK_WAIT(n) asm volatile("cp.async.bulk.wait_group %0;" ::"n"(n) : "memory")
#define BULK_WAIT_READ(n) asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(n) : "memory")
#define TMA_LOAD(to, map, x, y, bar)                                                                         \
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "           \
               "[%0], [%1, {%2, %3}], [%4];" ::"r"(to),                                                      \
               "l"(map), "r"(x), "r"(y), "r"(bar)                                                            \
               : "memory")
#define TMA_LOAD_MULTICAST(to, map, x, y, bar, ranks)                                                        \
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"            \
               ".multicast::cluster [%0], [%1, {%2, %3}], [%4], %5;" ::"r"(to),                              \
               "l"(map), "r"(x), "r"(y), "r"(bar), "h"(ranks)                                                \
               : "memory")
#define TMA_STORE(map, x, y, from)                                                                           \
  asm volatile(                                                                                              \
      "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];" ::"l"(map), "r"(x), \
      "r"(y), "r"(from)                                                                                      \
      : "memory")
#define FENCE_PROXY() asm volatile("fence.proxy.async;" ::: "memory")

// ---- barriers
#define BAR_SYNC(id, n) asm volatile("barrier.sync %0, %1;" ::"r"(id), "r"(n) : "memory")
#define BAR_ARRIVE(id, n) asm volatile("barrier.arrive %0, %1;" ::"r"(id), "r"(n) : "memory")
#define CLUSTER_ARRIVE() asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory")
#define CLUSTER_WAIT() asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory")
#define MAPA(there, address, rank)                                                                           \
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(address), "r"(rank))
#define LD_CLUSTER(value, there)                                                                             \
  asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(value) : "r"(there) : "memory")
#define ST_CLUSTER(there, value)                                                                             \
  asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(there), "r"(value) : "memory")
#define CLUSTER_RANK(rank) asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank))
#define ELECT(elected)                                                                                       \
  asm volatile("{\n\t.reg .pred p;\n\telect.sync _|p, 0xffffffff;\n\tselp.u32 %0, 1, 0, p;\n\t}"             \
               : "=r"(elected))

// ---- tensor cores
#define LDMATRIX_4(r, from)                                                                                  \
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"                            \
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])                                              \
               : "r"(from)                                                                                   \
               : "memory")
#define LDMATRIX_2_T(r, from)                                                                                \
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"                              \
               : "=r"(r[0]), "=r"(r[1])                                                                      \
               : "r"(from)                                                                                   \
               : "memory")
#define MMA_16816(d, a, b)                                                                                   \
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "                                          \
               "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"                             \
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                                              \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))
// Keeps writes of the registers before what follows, and reads after what precedes.
#define PIN(d)                                                                                               \
  for (auto& pinned : d)                                                                                     \
  asm volatile("" : "+f"(pinned)::"memory")
#define WGMMA_FENCE() asm volatile("wgmma.fence.sync.aligned;" ::: "memory")
#define WGMMA_COMMIT() asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory")
#define WGMMA_WAIT(n) asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(n) : "memory")
// d (64x16) += a (64x16) * b (16x16), f16 tiles of rows of 128 bytes.
#define WGMMA_64_16(d, a, b)                                                                                 \
  asm volatile("wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 "                                         \
               "{%0, %1, %2, %3, %4, %5, %6, %7}, %8, %9, 1, 1, 1, 0, 0;"                                    \
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),         \
                 "+f"(d[7])                                                                                  \
               : "l"(a), "l"(b)                                                                              \
               : "memory")
// The same with a in registers; b is transposed if `trans` is 1.
#define WGMMA_64_16_R(d, a, b, trans)                                                                        \
  asm volatile("wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 "                                         \
               "{%0, %1, %2, %3, %4, %5, %6, %7}, {%8, %9, %10, %11}, %12, 1, 1, 1, %13;"                    \
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),         \
                 "+f"(d[7])                                                                                  \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "n"(trans)                              \
               : "memory")
#define REGISTERS_GIVE(n) asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(n))
#define REGISTERS_TAKE(n) asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(n))

// Rows of 128 bytes, swizzled as a tensor map with 128B swizzle leaves them; 32 bytes on is 2 more.
__device__ inline uint64_t descriptor(uint32_t tile) {
  return (tile & 0x3ffff) >> 4 | 1ull << 16 | 64ull << 32 | 1ull << 62;
}

// ---- more of clusters
#define ST_ASYNC(there, value, bar)                                                                          \
  asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], %1, [%2];" ::"r"(there),     \
               "r"(value), "r"(bar)                                                                          \
               : "memory")
#define RED_CLUSTER(there, value)                                                                            \
  asm volatile("red.relaxed.cluster.shared::cluster.add.u32 [%0], %1;" ::"r"(there), "r"(value) : "memory")
#define CP_ASYNC_ARRIVE(bar)                                                                                 \
  asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(bar) : "memory")
#define GRID_WAIT() asm volatile("griddepcontrol.wait;" ::: "memory")
#define GRID_LAUNCH() asm volatile("griddepcontrol.launch_dependents;" ::: "memory")

// ---- more of bulk copies
#define BULK_ADD(to, from, bytes)                                                                            \
  asm volatile(                                                                                              \
      "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%0], [%1], %2;" ::"l"(to), "r"(from),     \
      "r"(bytes)                                                                                             \
      : "memory")
#define BULK_TO_CLUSTER(to, from, bytes, bar)                                                                \
  asm volatile(                                                                                              \
      "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(  \
          to),                                                                                               \
      "r"(from), "r"(bytes), "r"(bar)                                                                        \
      : "memory")
#define BULK_MULTICAST(to, from, bytes, bar, ranks)                                                          \
  asm volatile(                                                                                              \
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "                \
      "[%0], [%1], %2, [%3], %4;" ::"r"(to),                                                                 \
      "l"(from), "r"(bytes), "r"(bar), "h"(ranks)                                                            \
      : "memory")
#define TMA_ADD(map, x, y, from)                                                                             \
  asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%0, {%1, %2}], "      \
               "[%3];" ::"l"(map),                                                                           \
               "r"(x), "r"(y), "r"(from)                                                                     \
               : "memory")
#define RED_ASYNC(there, value, bar)                                                                         \
  asm volatile("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 "             \
               "[%0], %1, [%2];" ::"r"(there),                                                               \
               "r"(value), "r"(bar)                                                                          \
               : "memory")
#define CP_ASYNC_4(to, from)                                                                                 \
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(from) : "memory")
#define CP_ASYNC_4_ZERO(to, from, size)                                                                      \
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(to), "l"(from), "r"(size) : "memory")
#define ST_RELEASE(to, value)                                                                                \
  asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(to), "r"(value) : "memory")
#define LD_ACQUIRE(value, from)                                                                              \
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(from) : "memory")
#define BULK_ADD_TO_CLUSTER(to, from, bytes, bar)                                                            \
  asm volatile(                                                                                              \
      "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.u32 "               \
      "[%0], [%1], %2, [%3];" ::"r"(to),                                                                     \
      "r"(from), "r"(bytes), "r"(bar)                                                                        \
      : "memory")
