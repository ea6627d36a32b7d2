// Events with Lamport's time: each CTA has a clock, which is one more after every event, and no less than
// what a message says that it gets. Messages go from each CTA to the two after it, a time and a word; who
// gets one waits for its flag.
#include "strong.cuh"

struct Message {
  uint32_t time, word;
};

extern "C" __global__ void __launch_bounds__(32)
    clocks(Message* boxes, uint32_t* flags, uint32_t* out, int events) {
  if (threadIdx.x != 0)
    return;
  uint32_t me = blockIdx.x, all = gridDim.x, clock = me * 3, word = me + 1, seen;
#pragma unroll 1
  for (int i = 0; i < events; ++i) {
#pragma unroll 1
    for (uint32_t d = 1; d <= 2; ++d) {
      uint32_t box = (i * all + me) * 2 + d - 1;
      boxes[box].time = ++clock;                // @write_time
      boxes[box].word = word * 2 + d;           // @write_word
      ST("release.gpu.global", flags + box, 1); // @send
    }
#pragma unroll 1
    for (uint32_t d = 1; d <= 2; ++d) {
      uint32_t box = (i * all + (me + all - d) % all) * 2 + d - 1;
      do
        LD("acquire.gpu.global", seen, flags + box); // @receive
      while (seen == 0);
      Message message = boxes[box]; // @read
      clock = max(clock, message.time) + 1;
      word = word * 3 + message.word;
    }
  }
  out[me * 2] = clock;
  out[me * 2 + 1] = word;
}
