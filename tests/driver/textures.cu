// What textures.cc, surfaces.cc and arrays.cc launch. compile.sh makes textures.ptx of it.
#include <cuda_runtime.h>

extern "C" {

// Fetches by whole numbers from linear memory.
__global__ void fetch_linear(float* out, cudaTextureObject_t texture, int first) {
  out[threadIdx.x] = tex1Dfetch<float>(texture, first + static_cast<int>(threadIdx.x));
}

// out[y][x] = the texture at (x * step + offset, y * step + offset)
__global__ void sample_2d(float* out, cudaTextureObject_t texture, float step, float offset) {
  out[threadIdx.y * blockDim.x + threadIdx.x] = tex2D<float>(texture, threadIdx.x * step + offset,
                                                             threadIdx.y * step + offset);
}

__global__ void sample_1d(float* out, cudaTextureObject_t texture, float step, float offset) {
  out[threadIdx.x] = tex1D<float>(texture, threadIdx.x * step + offset);
}

__global__ void sample_3d(float* out, cudaTextureObject_t texture, float x, float y, float step) {
  out[threadIdx.x] = tex3D<float>(texture, x, y, threadIdx.x * step);
}

__global__ void sample_layers(float4* out, cudaTextureObject_t texture, float x, float y) {
  out[threadIdx.x] = tex2DLayered<float4>(texture, x, y, static_cast<int>(threadIdx.x));
}

__global__ void sample_bytes(uchar4* out, cudaTextureObject_t texture) {
  out[threadIdx.x] = tex2D<uchar4>(texture, threadIdx.x, 1.0f);
}

__global__ void gather(float4* out, cudaTextureObject_t texture, float x, float y) {
  *out = tex2Dgather<float4>(texture, x, y, 0);
}

// Rows and columns change places.
__global__ void transpose_surface(cudaSurfaceObject_t to, cudaSurfaceObject_t from) {
  float value;
  surf2Dread(&value, from, static_cast<int>(threadIdx.x * sizeof(float)), threadIdx.y);
  surf2Dwrite(value, to, static_cast<int>(threadIdx.y * sizeof(float)), threadIdx.x);
}

__global__ void read_outside(float* out, cudaSurfaceObject_t surface, int x, int y) {
  surf2Dread(&out[0], surface, x * static_cast<int>(sizeof(float)), y, cudaBoundaryModeZero);
  surf2Dread(&out[1], surface, x * static_cast<int>(sizeof(float)), y, cudaBoundaryModeClamp);
}

__global__ void write_outside(cudaSurfaceObject_t surface, int x) {
  surf2Dwrite(1.0f, surface, x * static_cast<int>(sizeof(float)), 0, cudaBoundaryModeTrap);
}
}
