// What rdc_library.cu has, for rdc_main.cu.
#pragma once

__device__ int library_function(int x);
extern __device__ int library_calls;
extern __constant__ int library_table[4];

int calls_of_library();
void launch_library_kernel(int* data, int count);
