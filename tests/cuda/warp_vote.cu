// Votes, matches, masks of what is active, and warp-wide integer reductions.
#include "check.h"

__global__ void vote(unsigned* out) {
  const unsigned lane = threadIdx.x;
  out[0 * 32 + lane] = __all_sync(~0u, lane < 32);
  out[1 * 32 + lane] = __any_sync(~0u, lane == 40);
  out[2 * 32 + lane] = __ballot_sync(~0u, lane % 3 == 0);
  out[3 * 32 + lane] = __match_any_sync(~0u, lane % 4);
  int all = 0;
  out[4 * 32 + lane] = __match_all_sync(~0u, lane / 32, &all) + all;
  out[5 * 32 + lane] = __reduce_add_sync(~0u, lane);
  out[6 * 32 + lane] = __reduce_max_sync(~0u, static_cast<int>(lane) - 40);
  out[7 * 32 + lane] = __reduce_xor_sync(~0u, 1u << lane % 7);
  out[8 * 32 + lane] = __reduce_min_sync(~0u, 100 - lane);
  if (lane % 2)
    out[9 * 32 + lane] = __popc(__activemask() & 0x55555555u);
}

int main() {
  DeviceArray<unsigned> out(10 * 32);
  vote<<<1, 32>>>(out.data());
  ok(cudaGetLastError());
  unsigned thirds = 0, sevens = 0;
  for (unsigned lane = 0; lane < 32; ++lane) {
    thirds |= lane % 3 == 0 ? 1u << lane : 0;
    sevens ^= 1u << lane % 7;
  }
  std::vector<unsigned> wanted(10 * 32, 0);
  for (unsigned lane = 0; lane < 32; ++lane) {
    const unsigned row[] = {1, 0, thirds, 0x11111111u << lane % 4, 0, 496, unsigned(-9), sevens, 69};
    for (unsigned i = 0; i < 9; ++i)
      wanted[i * 32 + lane] = row[i];
  }
  equal(wanted, out.host());
  return result();
}
