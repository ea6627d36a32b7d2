// Arrays: made, described, and copied to and from, in whole, in part, in streams and graphs.
#include "array.h"

#include <numeric>

namespace {

void describe() {
  const CUarray array = make_array(10, 7, 5, CU_AD_FORMAT_FLOAT, 2, CUDA_ARRAY3D_SURFACE_LDST);
  CUDA_ARRAY3D_DESCRIPTOR general{};
  OK(cuArray3DGetDescriptor_v2(&general, array));
  EQUAL(10u, general.Width);
  EQUAL(5u, general.Depth);
  EQUAL(CUDA_ARRAY3D_SURFACE_LDST, general.Flags);
  CUDA_ARRAY_DESCRIPTOR flat{};
  OK(cuArrayGetDescriptor_v2(&flat, array));
  EQUAL(7u, flat.Height);
  EQUAL(2u, flat.NumChannels);
  FAILS(CUDA_ERROR_INVALID_VALUE, cuArrayGetDescriptor_v2(nullptr, array));
  OK(cuArrayDestroy(array));

  CUarray none = nullptr;
  CUDA_ARRAY_DESCRIPTOR wrong{8, 8, CU_AD_FORMAT_FLOAT, 3};
  FAILS(CUDA_ERROR_INVALID_VALUE, cuArrayCreate_v2(&none, &wrong));
  wrong.NumChannels = 1;
  wrong.Width = 0;
  FAILS(CUDA_ERROR_INVALID_VALUE, cuArrayCreate_v2(&none, &wrong));
  wrong.Width = 131073;
  FAILS(CUDA_ERROR_INVALID_VALUE, cuArrayCreate_v2(&none, &wrong));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuArrayCreate_v2(nullptr, &wrong));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuArrayCreate_v2(&none, nullptr));
  const CUDA_ARRAY3D_DESCRIPTOR odd_cube{8, 7, 6, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_CUBEMAP};
  FAILS(CUDA_ERROR_INVALID_VALUE, cuArray3DCreate_v2(&none, &odd_cube));
}

void rows() {
  CUDA_ARRAY_DESCRIPTOR descriptor{16, 4, CU_AD_FORMAT_SIGNED_INT32, 1};
  CUarray a = nullptr, b = nullptr;
  OK(cuArrayCreate_v2(&a, &descriptor));
  OK(cuArrayCreate_v2(&b, &descriptor));
  std::vector<int> values(64), back(64, -1);
  std::iota(values.begin(), values.end(), 0);
  OK(cuMemcpyHtoA_v2(a, 0, values.data(), 64));
  OK(cuMemcpyAtoH_v2(back.data(), a, 16, 32));
  EQUAL(4, back[0]);
  EQUAL(11, back[7]);
  const CUdeviceptr device = allocate_ints(16);
  write_ints(device, std::vector<int>(16, 77));
  OK(cuMemcpyDtoA_v2(a, 32, device, 8));
  OK(cuMemcpyAtoA_v2(b, 0, a, 0, 64));
  OK(cuMemcpyAtoD_v2(device, b, 0, 64));
  const std::vector<int> got = read_ints(device, 16);
  EQUAL(7, got[7]);
  EQUAL(77, got[8]);
  EQUAL(10, got[10]);
  CUstream stream = nullptr;
  OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  OK(cuMemcpyHtoAAsync_v2(b, 0, values.data() + 16, 64, stream));
  OK(cuMemcpyAtoHAsync_v2(back.data(), b, 0, 64, stream));
  OK(cuStreamSynchronize(stream));
  EQUAL(16, back[0]);
  EQUAL(31, back[15]);
  OK(cuArrayDestroy(a));
  OK(cuArrayDestroy(b));
}

void boxes() {
  constexpr int kWidth = 6, kHeight = 5, kDepth = 4;
  const CUarray array = make_array(kWidth, kHeight, kDepth, CU_AD_FORMAT_SIGNED_INT32, 1);
  std::vector<int> values(kWidth * kHeight * kDepth), back(values.size(), -1);
  std::iota(values.begin(), values.end(), 0);
  fill_array(array, values.data(), kWidth * sizeof(int), kHeight, kDepth);
  CUDA_MEMCPY3D part = between(back.data(), array, false, 2 * sizeof(int), 3, 2, 3 * sizeof(int), 1, 2);
  OK(cuMemcpy3D_v2(&part));
  EQUAL(2 * 30 + 1 * 6 + 3, back[0]);
  EQUAL(3 * 30 + 3 * 6 + 4, back[11]);
  EQUAL(-1, back[12]);

  // The same in a graph, which asks for the array when it runs.
  CUgraph graph = nullptr;
  CUgraphNode node = nullptr;
  CUgraphExec ready = nullptr;
  CUcontext context = nullptr;
  OK(cuCtxGetCurrent(&context));
  std::fill(back.begin(), back.end(), -1);
  OK(cuGraphCreate(&graph, 0));
  OK(cuGraphAddMemcpyNode(&node, graph, nullptr, 0, &part, context));
  OK(cuGraphInstantiateWithFlags(&ready, graph, 0));
  OK(cuGraphLaunch(ready, nullptr));
  OK(cuCtxSynchronize());
  EQUAL(3 * 30 + 3 * 6 + 4, back[11]);

  part = between(back.data(), array, false, 2 * sizeof(int), 3, 2, 5 * sizeof(int));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuMemcpy3D_v2(&part));
  part = between(back.data(), array, false, 2 * sizeof(int), 3, 2, 0, 3);
  FAILS(CUDA_ERROR_INVALID_VALUE, cuMemcpy3D_v2(&part));
  part = between(back.data(), array, false, 2 * sizeof(int), 3, 2, 0, 0, 3);
  FAILS(CUDA_ERROR_INVALID_VALUE, cuMemcpy3D_v2(&part));
  OK(cuArrayDestroy(array));
}

} // namespace

int main() {
  begin();
  describe();
  rows();
  boxes();
  return result();
}
