// Tensor maps of memrefs: a kernel copies a box into its shared memory and out again; rules that are broken
// are named.
#include "program.h"

#include <array>
#include <numeric>

namespace lemma::mgpu {
namespace {

// fetch_2d(map, out, c0, c1): the box at the coordinates (innermost first), `words` of it to out. The map's
// address is a pointer, as MLIR passes it. The same for im2col of rank 3.
std::string fetch(const std::string& name, const std::string& coordinates, int bytes,
                  const std::string& mode) {
  return ".visible .entry " + name + R"((.param .u64 map, .param .u64 out, .param .u32 c0, .param .u32 c1)
{
  .shared .align 128 .b8 box[1024];
  .shared .align 8 .b64 bar;
  .reg .pred %p1;
  .reg .b16 %h1;
  .reg .b32 %r<8>;
  .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [map];
  ld.param.u64 %rd2, [out];
  ld.param.u32 %r1, [c0];
  ld.param.u32 %r2, [c1];
  mov.u32 %r3, box;
  mov.u32 %r4, bar;
  mov.u32 %r7, 0;
  mov.u16 %h1, 0;
  mbarrier.init.shared.b64 [%r4], 1;
  fence.mbarrier_init.release.cluster;
  mbarrier.arrive.expect_tx.shared.b64 _, [%r4], )" +
         std::to_string(bytes) + ";\n  cp.async.bulk.tensor." + mode + " [%r3], [%rd1, " + coordinates + R"(;
wait:
  mbarrier.try_wait.parity.shared.b64 %p1, [%r4], 0;
  @!%p1 bra wait;
  mov.u32 %r5, 0;
copy:
  add.u32 %r6, %r3, %r5;
  ld.shared.u32 %r6, [%r6];
  cvt.u64.u32 %rd3, %r5;
  add.u64 %rd3, %rd3, %rd2;
  st.global.u32 [%rd3], %r6;
  add.u32 %r5, %r5, 4;
  setp.lt.u32 %p1, %r5, )" +
         std::to_string(bytes) + R"(;
  @%p1 bra copy;
  ret;
}
)";
}

constexpr int32_t kU32 = 2, kF32 = 7;

// memref<rows x columns> of words.
struct Matrix {
  void* allocated;
  void* aligned;
  int64_t offset, sizes[2], strides[2];
};
struct Image { // width x pixels x channels
  void* allocated;
  void* aligned;
  int64_t offset, sizes[3], strides[3];
};

class TensorMaps : public Program {
protected:
  TensorMaps() {
    std::iota(words_.begin(), words_.end(), 0);
    memory_ = device_memory(words_);
    out_ = mgpuMemAlloc(1024, nullptr, false);
  }

  void* kernel_of(const std::string& text) {
    const std::string module = ".version 8.0\n.target sm_90a\n.address_size 64\n" + text;
    return mgpuModuleGetFunction(mgpuModuleLoadJIT(module.c_str(), 2), "fetch");
  }
  // The box of `count` words at column, row.
  Words box(void* map, uint32_t column, uint32_t row, int count) {
    void* function = kernel_of(fetch("fetch", "{%r1, %r2}], [%r4]", count * 4,
                                     "2d.shared::cluster.global.mbarrier::complete_tx::bytes"));
    return run(function, map, column, row, count);
  }
  Words run(void* function, void* map, uint32_t c0, uint32_t c1, int count) {
    void* params[] = {&map, &out_, &c0, &c1};
    mgpuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, params, nullptr, 4);
    return read(out_, static_cast<size_t>(count));
  }
  Matrix matrix() const { return {memory_, memory_, 0, {16, 32}, {32, 1}}; }

  Words words_ = Words(512);
  void* memory_ = nullptr;
  void* out_ = nullptr;
};

TEST_F(TensorMaps, ReverseTheDimensions) {
  const Matrix memref = matrix();
  const int64_t sizes[] = {2, 4}; // rows, columns
  void* map = mgpuTensorMapEncodeTiledMemref(2, &memref, kU32, 0, 0, 0, 0, sizes);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(map) % 64, 0u);
  EXPECT_EQ(box(map, 8, 3, 8), (Words{104, 105, 106, 107, 136, 137, 138, 139}));
  EXPECT_EQ(box(map, 28, 15, 8), (Words{508, 509, 510, 511, 0, 0, 0, 0})); // zeros outside
  mgpuMemFree(map, nullptr);
}

TEST_F(TensorMaps, HaveTheMemrefsOffsetAndStrides) {
  const Matrix part{memory_, memory_, 36, {4, 8}, {64, 1}}; // every second row, from row 1, column 4
  const int64_t sizes[] = {2, 4};
  void* map = mgpuTensorMapEncodeTiledMemref(2, &part, kU32, 0, 0, 0, 0, sizes);
  EXPECT_EQ(box(map, 0, 1, 8), (Words{100, 101, 102, 103, 164, 165, 166, 167}));
}

TEST_F(TensorMaps, TakeElementStrides) {
  const Matrix memref = matrix();
  const int64_t sizes[] = {4, 4}, strides[] = {2, 1}; // every second row of four
  void* map = mgpuTensorMapEncodeTiledStridedMemref(2, &memref, kU32, 0, 0, 0, 0, sizes, strides);
  EXPECT_EQ(box(map, 0, 0, 8), (Words{0, 1, 2, 3, 64, 65, 66, 67}));
  map = mgpuTensorMapEncodeTiledStridedMemref(2, &memref, kU32, 0, 0, 0, 0, sizes, nullptr);
  EXPECT_EQ(box(map, 0, 0, 16)[4], 32u);
}

TEST_F(TensorMaps, FillWithNan) {
  const Matrix memref = matrix();
  const int64_t sizes[] = {2, 4};
  void* map = mgpuTensorMapEncodeTiledMemref(2, &memref, kF32, 0, 0, 0, 1, sizes);
  constexpr uint32_t kNan = 0x7ff77ff7;
  EXPECT_EQ(box(map, 28, 15, 8), (Words{508, 509, 510, 511, kNan, kNan, kNan, kNan}));
}

TEST_F(TensorMaps, OfRegisteredHostMemory) {
  const Matrix memref{words_.data(), words_.data(), 0, {16, 32}, {32, 1}};
  mgpuMemHostRegisterMemRef(2, &memref, 4);
  const int64_t sizes[] = {1, 4};
  void* map = mgpuTensorMapEncodeTiledMemref(2, &memref, kU32, 0, 0, 0, 0, sizes);
  EXPECT_EQ(box(map, 4, 1, 4), (Words{36, 37, 38, 39}));
}

TEST_F(TensorMaps, Im2colWalksPixels) {
  const Image memref{memory_, memory_, 0, {4, 16, 8}, {128, 8, 1}}; // N, W, C
  const int64_t lower[] = {-1}, upper[] = {1};
  void* map = mgpuTensorMapEncodeIm2colMemref(3, &memref, kU32, 0, 0, 0, 0, lower, upper, 4, 3, nullptr);
  void* function = kernel_of(fetch("fetch", "{%r7, %r1, %r2}], [%r4], {%h1}", 48,
                                   "3d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes"));
  // Channels 0-3 of pixels -1 (outside), 0, 1 of image 2.
  EXPECT_EQ(run(function, map, UINT32_MAX, 2, 12),
            (Words{0, 0, 0, 0, 256, 257, 258, 259, 264, 265, 266, 267}));
}

TEST_F(TensorMaps, ByValueFillTheHostsMap) {
  const uint64_t dims[] = {32, 16}, strides[] = {128};
  const uint32_t sizes[] = {4, 2}, ones[] = {1, 1};
  alignas(64) std::array<std::byte, 128> map{};
  mgpuTensorMapEncodeTiled(map.data(), kU32, 2, memory_, dims, strides, sizes, ones, 0, 0, 0, 0);
  void* device_map = mgpuMemAlloc(128, nullptr, false);
  mgpuMemcpy(device_map, map.data(), 128, nullptr);
  EXPECT_EQ(box(device_map, 8, 3, 8), (Words{104, 105, 106, 107, 136, 137, 138, 139}));
}

TEST_F(TensorMaps, NameTheRuleThatIsBroken) {
  Matrix memref = matrix();
  const int64_t sizes[] = {2, 4}, wide[] = {2, 512}, negative[] = {-2, 4}, thin[] = {2, 3};
  const auto encode = [&](const int64_t* box, int32_t type = kU32, int32_t swizzle = 0, int64_t rank = 2) {
    mgpuTensorMapEncodeTiledMemref(rank, &memref, type, 0, swizzle, 0, 0, box);
  };
  const std::string who = "lemma: mgpuTensorMapEncodeTiledMemref: tensor map: ";
  EXPECT_STOP(encode(wide), who + ".*512");
  EXPECT_STOP(encode(thin), who + ".*16");
  EXPECT_STOP(encode(negative), who + "the box of dimension 0 is -2: it must be from 0 to 4294967295");
  EXPECT_STOP(encode(nullptr), who + "the box is null");
  EXPECT_STOP(encode(sizes, 13), who + "no element type 13: CUtensorMapDataType is 0 \\(u8\\) to 12");
  EXPECT_STOP(encode(sizes, kU32, 4), who + "no swizzle 4");
  EXPECT_STOP(encode(sizes, kU32, 0, 6), who + "the memref has 6 dimensions; a tensor has 1 to 5");
  memref.strides[1] = 2;
  EXPECT_STOP(encode(sizes), who + "the memref's innermost stride is 2");
  memref = matrix();
  memref.offset = 1;
  EXPECT_STOP(encode(sizes), who + ".*16");
  memref = matrix();
  memref.aligned = words_.data();
  EXPECT_STOP(encode(sizes), "the tensor's address .* is host memory that kernels cannot reach");
  memref.aligned = nullptr;
  EXPECT_STOP(encode(sizes), "the tensor's address is a null pointer");
  const Image image{memory_, memory_, 0, {4, 16, 8}, {128, 8, 1}};
  const int64_t corner[] = {0}, far[] = {1 << 20};
  EXPECT_STOP(mgpuTensorMapEncodeIm2colMemref(3, &image, kU32, 0, 0, 0, 0, corner, far, 4, 3, nullptr),
              "mgpuTensorMapEncodeIm2colMemref: tensor map: ");
  EXPECT_STOP(mgpuTensorMapEncodeIm2colMemref(3, &image, kU32, 0, 0, 0, 0, corner, corner, 0, 3, nullptr),
              "0 channels: it must be from 1 up");
  EXPECT_STOP(mgpuTensorMapEncodeIm2colMemref(2, &memref, kU32, 0, 0, 0, 0, corner, corner, 4, 3, nullptr),
              "an im2col tensor has 3 to 5 dimensions, not 2");
}

} // namespace
} // namespace lemma::mgpu
