// CTA 0 puts jobs into a queue in global memory, the others take them: a job is eight words and a word that
// says that it is there, which is stored with release and read with acquire. Who takes a job is an atomic
// counter's business.
#include <cstdint>

extern "C" __global__ void __launch_bounds__(32)
    work_queue(uint32_t* jobs, uint32_t* ready, uint32_t* taken, uint64_t* stats, uint32_t* out, int count) {
  int t = threadIdx.x;
  if (blockIdx.x == 0) {
#pragma unroll 1
    for (int i = 0; i < count; ++i) {
      if (t < 8)
        jobs[i * 8 + t] = i * 100 + t; // @put
      __syncwarp();                    // @sync_put
      if (t == 0)
        asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(ready + i), "r"(i + 1) : "memory"); // @ready
    }
  } else {
#pragma unroll 1
    for (;;) {
      uint32_t mine = 0;
      if (t == 0)
        mine = atomicAdd(taken, 1);            // @take
      mine = __shfl_sync(0xffffffff, mine, 0); // @share
      if (mine >= count)
        break;
      if (t == 0) {
        uint32_t there;
        do {
          asm volatile("ld.acquire.gpu.global.u32 %0, [%1];"
                       : "=r"(there)
                       : "l"(ready + mine)
                       : "memory"); // @poll
        } while (there != mine + 1);
        atomicAdd((unsigned long long*)stats, (unsigned long long)mine); // @stats
      }
      __syncwarp(); // @sync_poll
      if (t < 8)
        out[mine * 8 + t] = jobs[mine * 8 + (7 - t)] + 1; // @get
    }
  }
}
