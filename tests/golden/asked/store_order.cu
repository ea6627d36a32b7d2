// Several lanes of one store give the same address and different values: which value stays. One warp, `tests`
// times; test t stores where at[32 * t + lane] says, in bytes, unless that is ffffffff. Each lane's bytes all
// are its number. Runs by store_order.py; out has 1024 words of each test, eeeeeeee where nothing was stored.
#define SHARED(NAME, STORE)                                                                                            \
  extern "C" __global__ void NAME(const unsigned* at, unsigned* out, int tests) {                                     \
    __shared__ __align__(128) unsigned memory[1024];                                                                   \
    for (int t = 0; t < tests; ++t) {                                                                                  \
      for (int i = threadIdx.x; i < 1024; i += 32)                                                                     \
        memory[i] = 0xeeeeeeee;                                                                                        \
      __syncwarp();                                                                                                    \
      const unsigned offset = at[t * 32 + threadIdx.x], l = threadIdx.x * 0x01010101u;                                 \
      const unsigned to = (unsigned)__cvta_generic_to_shared(memory) + offset;                                         \
      if (offset != 0xffffffff)                                                                                        \
        STORE("shared", "r")                                                                                           \
      __syncwarp();                                                                                                    \
      for (int i = threadIdx.x; i < 1024; i += 32)                                                                     \
        out[t * 1024 + i] = memory[i];                                                                                 \
      __syncwarp();                                                                                                    \
    }                                                                                                                  \
  }
#define GLOBAL(NAME, STORE)                                                                                            \
  extern "C" __global__ void NAME(const unsigned* at, unsigned* out, int tests) {                                     \
    for (int t = 0; t < tests; ++t) {                                                                                  \
      const unsigned offset = at[t * 32 + threadIdx.x], l = threadIdx.x * 0x01010101u;                                 \
      const unsigned long long to = (unsigned long long)(out + t * 1024) + offset;                                     \
      if (offset != 0xffffffff)                                                                                        \
        STORE("global", "l")                                                                                           \
    }                                                                                                                  \
  }
#define BOTH(NAME, STORE)                                                                                              \
  SHARED(shared_##NAME, STORE)                                                                                         \
  GLOBAL(global_##NAME, STORE)
#define B8(SPACE, C) asm volatile("{ .reg .b16 h; cvt.u16.u32 h, %1; st." SPACE ".b8 [%0], h; }" ::C(to), "r"(l) : "memory");
#define B16(SPACE, C) asm volatile("{ .reg .b16 h; cvt.u16.u32 h, %1; st." SPACE ".b16 [%0], h; }" ::C(to), "r"(l) : "memory");
#define B32(SPACE, C) asm volatile("st." SPACE ".b32 [%0], %1;" ::C(to), "r"(l) : "memory");
#define V2B16(SPACE, C)                                                                                                \
  asm volatile("{ .reg .b16 h; cvt.u16.u32 h, %1; st." SPACE ".v2.b16 [%0], {h, h}; }" ::C(to), "r"(l) : "memory");
#define B64(SPACE, C)                                                                                                  \
  asm volatile("{ .reg .b64 d; mov.b64 d, {%1, %1}; st." SPACE ".b64 [%0], d; }" ::C(to), "r"(l) : "memory");
#define V2B32(SPACE, C) asm volatile("st." SPACE ".v2.b32 [%0], {%1, %1};" ::C(to), "r"(l) : "memory");
#define V4B16(SPACE, C)                                                                                                \
  asm volatile("{ .reg .b16 h; cvt.u16.u32 h, %1; st." SPACE ".v4.b16 [%0], {h, h, h, h}; }" ::C(to), "r"(l) : "memory");
#define V4B32(SPACE, C) asm volatile("st." SPACE ".v4.b32 [%0], {%1, %1, %1, %1};" ::C(to), "r"(l) : "memory");
#define V2B64(SPACE, C)                                                                                                \
  asm volatile("{ .reg .b64 d; mov.b64 d, {%1, %1}; st." SPACE ".v2.b64 [%0], {d, d}; }" ::C(to), "r"(l) : "memory");
BOTH(b8, B8)
BOTH(b16, B16)
BOTH(b32, B32)
BOTH(v2_b16, V2B16)
BOTH(b64, B64)
BOTH(v2_b32, V2B32)
BOTH(v4_b16, V4B16)
BOTH(v4_b32, V4B32)
BOTH(v2_b64, V2B64)

// Row r of all the matrices lies in lanes 4 (r % 8) to 4 (r % 8) + 3 of register r / 8; its bytes all are r.
#define MATRIX(NUM, REGISTERS)                                                                                         \
  __syncwarp();                                                                                                        \
  asm volatile("stmatrix.sync.aligned.m8n8.x" #NUM ".shared.b16 [%0], {" REGISTERS "};" ::"r"(to), "r"(rows[0]),       \
               "r"(rows[1]), "r"(rows[2]), "r"(rows[3])                                                                \
               : "memory");
#define STMATRIX(NUM, REGISTERS)                                                                                       \
  extern "C" __global__ void shared_stmatrix_x##NUM(const unsigned* at, unsigned* out, int tests) {                   \
    __shared__ __align__(128) unsigned memory[1024];                                                                   \
    unsigned rows[4];                                                                                                  \
    for (int i = 0; i < 4; ++i)                                                                                        \
      rows[i] = (8 * i + threadIdx.x / 4) * 0x01010101u;                                                               \
    for (int t = 0; t < tests; ++t) {                                                                                  \
      for (int i = threadIdx.x; i < 1024; i += 32)                                                                     \
        memory[i] = 0xeeeeeeee;                                                                                        \
      __syncwarp();                                                                                                    \
      const unsigned to = (unsigned)__cvta_generic_to_shared(memory) + at[t * 32 + threadIdx.x];                       \
      MATRIX(NUM, REGISTERS)                                                                                           \
      __syncwarp();                                                                                                    \
      for (int i = threadIdx.x; i < 1024; i += 32)                                                                     \
        out[t * 1024 + i] = memory[i];                                                                                 \
      __syncwarp();                                                                                                    \
    }                                                                                                                  \
  }
STMATRIX(1, "%1")
STMATRIX(2, "%1, %2")
STMATRIX(4, "%1, %2, %3, %4")
