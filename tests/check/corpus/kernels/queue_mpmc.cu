// A queue of 8 cells for many who put and many who take, Vyukov's: each cell has a number that says whose
// turn it is. Who finds the number of his place draws that place by a CAS of the counter, then uses the cell,
// then sets its number for the next. CTAs 0 and 1 take, 2 and 3 put, four threads of each.
#include "strong.cuh"

struct Cell {
  uint32_t turn, value, twice;
};

extern "C" __global__ void __launch_bounds__(32)
    queue_mpmc(Cell* cells, uint32_t* put, uint32_t* taken, uint32_t* out, int each) {
  uint32_t t = threadIdx.x, at, turn, old, sum = 0;
  if (t >= 4)
    return;
  bool puts = blockIdx.x >= 2;
  uint32_t* counter = puts ? put : taken;
#pragma unroll 1
  for (int i = 0; i < each;) {
    LD("relaxed.gpu.global", at, counter); // @look
    Cell* cell = cells + at % 8;
    LD("acquire.gpu.global", turn, &cell->turn); // @turn
    if (turn != at / 8 * 2 + !puts)
      continue;
    CAS("relaxed.gpu.global", old, counter, at, at + 1); // @draw
    if (old != at)
      continue;
    if (puts) {
      uint32_t v = blockIdx.x * 1000 + t * 100 + i;
      cell->value = v;     // @write
      cell->twice = v * 2; // @write_twice
    } else
      sum += cell->value * 3 + cell->twice;          // @read
    ST("release.gpu.global", &cell->turn, turn + 1); // @pass
    ++i;
  }
  if (!puts)
    RED_ADD("relaxed.gpu.global", out, sum); // @total
}
