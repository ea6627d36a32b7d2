// The CUDA driver and the CUDA runtime as a project links them; the declarations are cuda.h's and cuda_runtime_api.h's.
#include <stdio.h>
#include <string.h>

int cuInit(unsigned flags);
int cuDeviceGetName(char* name, int size, int device);
int cudaGetDeviceCount(int* count);

int main(void) {
  char name[64] = "";
  int count = 0;
  const int status = cuInit(0) || cuDeviceGetName(name, sizeof name, 0) || cudaGetDeviceCount(&count);
  printf("%s, %d\n", name, count);
  return status || count != 1 || strlen(name) == 0;
}
