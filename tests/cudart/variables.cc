// Module variables by the host's symbols; managed ones; both after a reset of the device.
#include "check.h"

int main() {
  // nvcc's host code calls it before the first use of a managed variable.
  CHECK(__cudaInitModule(kernels.handle) == 1);
  CHECK(managed != nullptr);
  EQUAL(5, *managed);
  *managed = 50;
  int* out = allocate(4);
  OK(launch(variables, 1, 1, 0, nullptr, out));
  CHECK(read_ints(out, 3) == std::vector<int>({7, 4, 50}));
  EQUAL(51, *managed);

  void* at = nullptr;
  size_t bytes = 0;
  OK(cudaGetSymbolAddress(&at, &counter));
  EQUAL(8, read_ints(static_cast<int*>(at), 1)[0]);
  OK(cudaGetSymbolSize(&bytes, table));
  EQUAL(size_t{16}, bytes);
  // What &managed_variable is in a .cu file: its address on the device.
  OK(cudaGetSymbolAddress(&at, managed));
  CHECK(at == managed);
  OK(cudaGetSymbolSize(&bytes, managed));
  EQUAL(size_t{4}, bytes);
  FAILS(cudaErrorInvalidSymbol, cudaGetSymbolAddress(&at, &bytes));
  FAILS(cudaErrorInvalidSymbol, cudaGetSymbolSize(&bytes, nullptr));

  const int values[4] = {10, 20, 30, 40};
  OK(cudaMemcpyToSymbol(table, values, sizeof values, 0, cudaMemcpyHostToDevice));
  OK(cudaMemcpyToSymbol(table, &values[1], 4, 12, cudaMemcpyDefault)); // table[3] = 20
  OK(cudaMemcpyToSymbolAsync(&counter, values, 4, 0, cudaMemcpyHostToDevice, nullptr));
  OK(cudaMemcpyToSymbol(managed, &values[2], 4, 0, cudaMemcpyHostToDevice));
  OK(launch(variables, 1, 1, 0, nullptr, out));
  CHECK(read_ints(out, 3) == std::vector<int>({10, 20, 30}));
  int back[4] = {};
  OK(cudaMemcpyFromSymbol(back, table, sizeof back, 0, cudaMemcpyDeviceToHost));
  CHECK(back[0] == 10 && back[3] == 20);
  OK(cudaMemcpyFromSymbolAsync(back, &counter, 4, 0, cudaMemcpyDeviceToHost, nullptr));
  OK(cudaDeviceSynchronize());
  EQUAL(11, back[0]);
  FAILS(cudaErrorInvalidValue, cudaMemcpyToSymbol(table, values, 8, 12, cudaMemcpyHostToDevice));
  FAILS(cudaErrorInvalidMemcpyDirection, cudaMemcpyToSymbol(table, values, 8, 0, cudaMemcpyDeviceToHost));
  FAILS(cudaErrorInvalidMemcpyDirection, cudaMemcpyFromSymbol(back, table, 8, 0, cudaMemcpyHostToDevice));

  // A reset loads everything anew; managed variables outlive it.
  OK(cudaDeviceReset());
  out = allocate(4);
  EQUAL(31, *managed);
  OK(launch(variables, 1, 1, 0, nullptr, out));
  CHECK(read_ints(out, 3) == std::vector<int>({7, 4, 31}));
  EQUAL(32, *managed);
  return result();
}
