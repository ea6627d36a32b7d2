// The integer instructions with a name of their own: counting, reversing, bit fields, dot products of bytes,
// high halves of products, funnel shifts, byte permutation in all modes, carries over 128 bits, saturation,
// division.
using u64 = unsigned long long;
using i64 = long long;

#define PRMT(mode)                                                                                           \
  {                                                                                                          \
    unsigned d;                                                                                              \
    asm("prmt.b32." #mode " %0, %1, %2, %3;" : "=r"(d) : "r"(x), "r"(y), "r"(z));                            \
    put(d);                                                                                                  \
  }
#define ASM2(text, a, b)                                                                                     \
  {                                                                                                          \
    unsigned d;                                                                                              \
    asm(text " %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));                                                     \
    put(d);                                                                                                  \
  }

extern "C" __global__ void integer_ops(const unsigned* xs, const unsigned* ys, const unsigned* zs,
                                       unsigned* out, u64* out64, unsigned n) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  unsigned x = xs[i], y = ys[i], z = zs[i], row = 0, row64 = 0;
  auto put = [&](unsigned v) { out[row++ * n + i] = v; };
  auto put64 = [&](u64 v) { out64[row64++ * n + i] = v; };
  u64 X = (u64)x << 32 | y, Y = (u64)z << 32 | x;

  put(__popc(x));
  put(__clz(x & z));
  put(__brev(x));
  put(__ffs(x & y & z));
  put(__popcll(X));
  put(__clzll(X & Y));
  put(__ffsll(X & Y));
  put(__dp4a((int)x, (int)y, (int)z));
  put(__dp4a(x, y, z));
  put(__dp2a_lo((int)x, (int)y, (int)z));
  put(__dp2a_hi(x, y, z));
  put(__mulhi((int)x, (int)y));
  put(__umulhi(x, y));
  put(__mul24((int)x, (int)y));
  put(__umul24(x, y));
  put(__funnelshift_l(x, y, z));
  put(__funnelshift_r(x, y, z));
  put(__funnelshift_lc(x, y, z & 63));
  put(__funnelshift_rc(x, y, z & 63));
  put(__byte_perm(x, y, z));
  put(__sad((int)x, (int)y, z));
  put(__usad(x, y, z));
  put(__hadd((int)x, (int)y));
  put(__urhadd(x, y));
  put(abs((int)x));
  put(min((int)x, (int)y));
  put(max(x, y));
  put((int)x / (int)(y | 1));
  put((int)x % (int)(z | 1));
  put(x / (z | 1));
  put(x % (y | 1));
  put((int)x >> (z & 31));
  PRMT(f4e)
  PRMT(b4e)
  PRMT(rc8)
  PRMT(ecl)
  PRMT(ecr)
  PRMT(rc16) {
    unsigned d;
    asm("bfe.u32 %0, %1, %2, %3;" : "=r"(d) : "r"(x), "r"(y & 63), "r"(z & 63));
    put(d);
    asm("bfe.s32 %0, %1, %2, %3;" : "=r"(d) : "r"(x), "r"(y & 63), "r"(z & 63));
    put(d);
    asm("bfi.b32 %0, %1, %2, %3, %4;" : "=r"(d) : "r"(x), "r"(y), "r"(z & 63), "r"(z >> 8 & 63));
    put(d);
    asm("lop3.b32 %0, %1, %2, %3, 0x6a;" : "=r"(d) : "r"(x), "r"(y), "r"(z));
    put(d);
    asm("bfind.u32 %0, %1;" : "=r"(d) : "r"(x & z));
    put(d);
    asm("bfind.shiftamt.s32 %0, %1;" : "=r"(d) : "r"(x));
    put(d);
  }
  ASM2("add.sat.s32", x, y)
  ASM2("sub.sat.s32", x, y)
  ASM2("shl.b32", x, z & 63) // shifts of 32 and more give 0
  ASM2("shr.u32", x, z & 63)
  ASM2("shr.s32", x, z & 63)
  ASM2("bmsk.clamp.b32", y & 63, z & 63)
  ASM2("bmsk.wrap.b32", y & 63, z & 63)
  ASM2("szext.clamp.s32", x, z & 63) {
    unsigned d;
    asm("mad.hi.sat.s32 %0, %1, %2, %3;" : "=r"(d) : "r"(x), "r"(y), "r"(z));
    put(d);
    asm("{ .reg .pred p, q, o; setp.ne.u32 o, %3, 0; setp.lt.and.s32 p|q, %1, %2, o; selp.b32 %0, 5, 0, p;"
        " @q add.s32 %0, %0, 100; }"
        : "=r"(d)
        : "r"(x), "r"(y), "r"(z & 1));
    put(d);
  }

  put64(__umul64hi(X, Y));
  put64(__mul64hi((i64)X, (i64)Y));
  put64(X * Y);
  put64(X / (Y | 1));
  put64(X % (Y >> 40 | 1));
  put64((i64)X / (i64)(Y >> 20 | 1));
  put64((i64)X % (i64)((Y & 0xffffff) | 1));
  put64(__brevll(X));
  put64((i64)X >> (z & 63));
  put64((i64)(int)x * (int)y);
  put64((u64)x * y + X);
  unsigned __int128 wide = (unsigned __int128)X * Y + (((unsigned __int128)Y << 64) | X);
  put64((u64)wide);
  put64((u64)(wide >> 64));
  unsigned __int128 difference = ((unsigned __int128)X << 64 | Y) - wide;
  put64((u64)(difference >> 64));
}
