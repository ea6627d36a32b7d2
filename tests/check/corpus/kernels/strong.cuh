// Strong accesses and fences, as macros: what a CUDA program gets of cuda::atomic_ref. `how` is what stands
// between the opcode and the type, "acquire.gpu.global" or "relaxed.cta.shared::cta.add", say. LD, ST, ...
// take a pointer into global memory, LD_AT, ST_AT, ... a 32-bit address in shared memory, of the CTA or of
// the cluster.
#pragma once
#include "ops.cuh"

#define LD(how, value, p) asm volatile("ld." how ".u32 %0, [%1];" : "=r"(value) : "l"(p) : "memory")
#define LD64(how, value, p) asm volatile("ld." how ".u64 %0, [%1];" : "=l"(value) : "l"(p) : "memory")
#define ST(how, p, value) asm volatile("st." how ".u32 [%0], %1;" ::"l"(p), "r"(value) : "memory")
#define ST64(how, p, value) asm volatile("st." how ".u64 [%0], %1;" ::"l"(p), "l"(value) : "memory")
#define ATOM_EXCH(how, old, p, value)                                                                        \
  asm volatile("atom." how ".exch.b32 %0, [%1], %2;" : "=r"(old) : "l"(p), "r"(value) : "memory")
#define ATOM_ADD(how, old, p, value)                                                                         \
  asm volatile("atom." how ".add.u32 %0, [%1], %2;" : "=r"(old) : "l"(p), "r"(value) : "memory")
#define ATOM_INC(how, old, p, last)                                                                          \
  asm volatile("atom." how ".inc.u32 %0, [%1], %2;" : "=r"(old) : "l"(p), "r"(last) : "memory")
#define RED_MAX(how, p, value) asm volatile("red." how ".max.u32 [%0], %1;" ::"l"(p), "r"(value) : "memory")
#define CAS(how, old, p, compare, value)                                                                     \
  asm volatile("atom." how ".cas.b32 %0, [%1], %2, %3;"                                                      \
               : "=r"(old)                                                                                   \
               : "l"(p), "r"(compare), "r"(value)                                                            \
               : "memory")
#define CAS64(how, old, p, compare, value)                                                                   \
  asm volatile("atom." how ".cas.b64 %0, [%1], %2, %3;"                                                      \
               : "=l"(old)                                                                                   \
               : "l"(p), "l"(compare), "l"(value)                                                            \
               : "memory")
#define RED_ADD(how, p, value) asm volatile("red." how ".add.u32 [%0], %1;" ::"l"(p), "r"(value) : "memory")
#define RED_OR(how, p, value) asm volatile("red." how ".or.b32 [%0], %1;" ::"l"(p), "r"(value) : "memory")
#define FENCE(how) asm volatile("fence." how ";" ::: "memory")

#define LD_AT(how, value, at) asm volatile("ld." how ".u32 %0, [%1];" : "=r"(value) : "r"(at) : "memory")
#define ST_AT(how, at, value) asm volatile("st." how ".u32 [%0], %1;" ::"r"(at), "r"(value) : "memory")
#define CAS_AT(how, old, at, compare, value)                                                                 \
  asm volatile("atom." how ".cas.b32 %0, [%1], %2, %3;"                                                      \
               : "=r"(old)                                                                                   \
               : "r"(at), "r"(compare), "r"(value)                                                           \
               : "memory")
#define RED_ADD_AT(how, at, value)                                                                           \
  asm volatile("red." how ".add.u32 [%0], %1;" ::"r"(at), "r"(value) : "memory")
