// The instructions of tcgen05, as macros like those of ops.cuh, which it includes.
#pragma once
#include "ops.cuh"

#define TC_ALLOC(slot, columns)                                                                              \
  asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], %1;" ::"r"(slot), "r"(columns) \
               : "memory")
#define TC_RELINQUISH()                                                                                      \
  asm volatile("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;" ::: "memory")
#define TC_DEALLOC(address, columns)                                                                         \
  asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, %1;" ::"r"(address), "r"(columns)          \
               : "memory")
#define TC_BEFORE() asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory")
#define TC_AFTER() asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory")

// ---- a warp's 32 lanes, 8 columns
#define TC_LD8(r, from)                                                                                      \
  asm volatile("tcgen05.ld.sync.aligned.32x32b.x8.b32 {%0, %1, %2, %3, %4, %5, %6, %7}, [%8];"               \
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]), "=r"(r[4]), "=r"(r[5]), "=r"(r[6]),         \
                 "=r"(r[7])                                                                                  \
               : "r"(from)                                                                                   \
               : "memory")
#define TC_ST8(to, r)                                                                                        \
  asm volatile("tcgen05.st.sync.aligned.32x32b.x8.b32 [%8], {%0, %1, %2, %3, %4, %5, %6, %7};" ::"r"(r[0]),  \
               "r"(r[1]), "r"(r[2]), "r"(r[3]), "r"(r[4]), "r"(r[5]), "r"(r[6]), "r"(r[7]), "r"(to)          \
               : "memory")
#define TC_WAIT_LD() asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory")
#define TC_WAIT_ST() asm volatile("tcgen05.wait::st.sync.aligned;" ::: "memory")

// ---- what one thread issues
#define TC_MMA(d, a, b, shape, adds)                                                                         \
  asm volatile("{\n\t.reg .pred adds;\n\tsetp.ne.u32 adds, %4, 0;\n\t"                                       \
               "tcgen05.mma.cta_group::1.kind::f16 [%0], %1, %2, %3, adds;\n\t}" ::"r"(d),                   \
               "l"(a), "l"(b), "r"(shape), "r"((uint32_t)(adds))                                             \
               : "memory")
// A in tensor memory.
#define TC_MMA_T(d, a, b, shape, adds)                                                                       \
  asm volatile("{\n\t.reg .pred adds;\n\tsetp.ne.u32 adds, %4, 0;\n\t"                                       \
               "tcgen05.mma.cta_group::1.kind::f16 [%0], [%1], %2, %3, adds;\n\t}" ::"r"(d),                 \
               "r"(a), "l"(b), "r"(shape), "r"((uint32_t)(adds))                                             \
               : "memory")
#define TC_MMA_SCALED(d, a, b, shape, scale_a, scale_b, adds)                                                \
  asm volatile("{\n\t.reg .pred adds;\n\tsetp.ne.u32 adds, %6, 0;\n\t"                                       \
               "tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale.scale_vec::1X "                          \
               "[%0], %1, %2, %3, [%4], [%5], adds;\n\t}" ::"r"(d),                                          \
               "l"(a), "l"(b), "r"(shape), "r"(scale_a), "r"(scale_b), "r"((uint32_t)(adds))                 \
               : "memory")
#define TC_CP_SCALES(to, from)                                                                               \
  asm volatile("tcgen05.cp.cta_group::1.32x128b.warpx4 [%0], %1;" ::"r"(to), "l"(from) : "memory")
#define TC_COMMIT(bar)                                                                                       \
  asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(bar)      \
               : "memory")

// ---- mbarriers whose arrivals and waits order nothing but tcgen05, by its fences
#define MBAR_ARRIVE_RELAXED(bar)                                                                             \
  asm volatile("mbarrier.arrive.relaxed.cta.shared::cta.b64 _, [%0];" ::"r"(bar) : "memory")
#define MBAR_WAIT_RELAXED(bar, parity)                                                                       \
  asm volatile("{\n\t.reg .pred done;\n\t"                                                                   \
               "AGAIN:\n\tmbarrier.try_wait.parity.relaxed.cta.shared::cta.b64 done, [%0], %1;\n\t"          \
               "@!done bra AGAIN;\n\t}" ::"r"(bar),                                                          \
               "r"(parity)                                                                                   \
               : "memory")

// ---- pairs of CTAs
#define TC2_ALLOC(slot, columns)                                                                             \
  asm volatile("tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [%0], %1;" ::"r"(slot), "r"(columns) \
               : "memory")
#define TC2_RELINQUISH()                                                                                     \
  asm volatile("tcgen05.relinquish_alloc_permit.cta_group::2.sync.aligned;" ::: "memory")
#define TC2_DEALLOC(address, columns)                                                                        \
  asm volatile("tcgen05.dealloc.cta_group::2.sync.aligned.b32 %0, %1;" ::"r"(address), "r"(columns)          \
               : "memory")
#define TC2_MMA(d, a, b, shape, adds)                                                                        \
  asm volatile("{\n\t.reg .pred adds;\n\tsetp.ne.u32 adds, %4, 0;\n\t"                                       \
               "tcgen05.mma.cta_group::2.kind::f16 [%0], %1, %2, %3, adds;\n\t}" ::"r"(d),                   \
               "l"(a), "l"(b), "r"(shape), "r"((uint32_t)(adds))                                             \
               : "memory")
#define TC2_COMMIT(bar, ranks)                                                                               \
  asm volatile("tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 "   \
               "[%0], %1;" ::"r"(bar),                                                                       \
               "h"((uint16_t)(ranks))                                                                        \
               : "memory")
// The mbarrier may be the even CTA's: bit 24 of the address of one's own cleared.
#define TC2_TMA_LOAD(to, map, x, y, bar)                                                                     \
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"            \
               ".cta_group::2 [%0], [%1, {%2, %3}], [%4];" ::"r"(to),                                        \
               "l"(map), "r"(x), "r"(y), "r"(bar)                                                            \
               : "memory")

// Rows of 128 bytes, swizzled as a tensor map with 128B swizzle leaves them; 32 bytes on is 2 more.
__device__ inline uint64_t tensor_descriptor(uint32_t tile) {
  return (tile & 0x3ffff) >> 4 | 1ull << 16 | 64ull << 32 | 1ull << 46 | 2ull << 61;
}
// Rows of 16 bytes in eights of 128, one chunk each: scale factors for TC_CP_SCALES.
__device__ inline uint64_t scales_descriptor(uint32_t tile) {
  return (tile & 0x3ffff) >> 4 | 8ull << 16 | 8ull << 32 | 1ull << 46;
}
// Rows of 32 bytes in eights of 256 without swizzle, chunks of 16 bytes 128 apart.
__device__ inline uint64_t plain_descriptor(uint32_t tile) {
  return (tile & 0x3ffff) >> 4 | 8ull << 16 | 16ull << 32 | 1ull << 46;
}
// e4m3 times e4m3, scaled by ue8m0, summed in f32.
__device__ constexpr uint32_t scaled_shape(uint32_t m, uint32_t n) {
  return 1u << 23 | n / 8 << 17 | m / 16 << 24;
}
// f16 times f16, summed in f32.
__device__ constexpr uint32_t product_shape(uint32_t m, uint32_t n) {
  return 1u << 4 | n / 8 << 17 | m / 16 << 24;
}
