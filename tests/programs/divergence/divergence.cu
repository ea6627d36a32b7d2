// Warps whose lanes go different ways: nested loops with a trip count of each lane, break and continue, early
// exits, shuffles and votes among the lanes of one side of a branch, __syncwarp with a mask.
extern "C" __global__ void divergence(const unsigned* in, unsigned* steps_out, unsigned* sums_out,
                                      unsigned n) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
  __shared__ unsigned mailbox[64];
  mailbox[threadIdx.x] = 0;
  __syncthreads();
  if (i >= n)
    return;

  // Collatz: every lane its own number of rounds.
  unsigned x = in[i], steps = 0;
  while (x != 1) {
    x = x % 2 ? 3 * x + 1 : x / 2;
    if (++steps == 200)
      break;
  }
  steps_out[i] = steps;

  // Nested loops, the inner one of a length that the outer one and the lane give.
  unsigned sum = 0;
  for (unsigned a = 0; a < lane % 5 + 1; ++a) {
    if ((a ^ lane) % 3 == 0)
      continue;
    for (unsigned b = 0; b < (a * 7 + lane) % 9; ++b) {
      if (b * a > 20)
        break;
      sum += b * a + (lane & b ? 1 : 100);
    }
  }
  // Two sides that only talk among themselves. n is a multiple of 32, so whole warps have left.
  if (lane % 2) {
    unsigned odd = 0xaaaaaaaa;
    mailbox[threadIdx.x] = sum;
    __syncwarp(odd);
    sum += mailbox[threadIdx.x ^ 2];
    sum += __shfl_xor_sync(odd, sum, 4) * 3;
  } else if (lane % 4) {
    sum += __popc(__ballot_sync(0x44444444, sum & 2)) * 1000;
  } else {
    sum -= __shfl_sync(0x11111111, sum, (lane + 4) % 32);
  }
  __syncwarp();
  sum += __shfl_down_sync(0xffffffff, sum, 1);

  // Early exit one by one, in a loop.
  for (unsigned round = 0;; ++round) {
    if (round == lane * 5 % 17) {
      sums_out[i] = sum;
      return;
    }
    sum = sum * 5 + round;
  }
}
