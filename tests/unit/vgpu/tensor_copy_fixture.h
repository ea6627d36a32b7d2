// A tensor of f32 and a kernel whose first thread copies boxes of it, for the tests of tensor copies.
//
// Tests: tensor_copy_test.cc, tensor_store_test.cc, tensor_map_use_test.cc, tensor_rows_test.cc,
// tensor_wide_test.cc, swizzle_atoms_test.cc.
#pragma once

#include "kernel.h"
#include "layout/tensor_map.h"

#include <gtest/gtest.h>

#include <functional>
#include <numeric>

namespace lemma::vgpu {

inline constexpr uint32_t kWidth = 64, kHeight = 8; // of the tensor, f32

// One kernel: thread 0 does `body`. %map, %in (the tensor) and %out are addresses, %s that of `box` in shared
// memory, %b that of `bar`, an mbarrier of one arrival.
inline std::string kernel(const std::string& body, const std::string& tail = "") {
  return R"(
.visible .entry k(.param .u64 map, .param .u64 in, .param .u64 out) {
  .shared .align 1024 .b8 box[8192];
  .shared .align 128 .b8 map_copy[128];
  .shared .align 8 .b64 bar;
  .reg .b64 %map, %in, %out, %a<8>;
  .reg .b32 %t, %s, %b, %rank, %r<16>;
  .reg .b16 %h<4>;
  .reg .pred %p<4>;
  ld.param.u64 %map, [map];
  ld.param.u64 %in, [in];
  ld.param.u64 %out, [out];
  mov.u32 %t, %tid.x;
  mov.u32 %rank, %cluster_ctarank;
  mov.u32 %s, box;
  mov.u32 %b, bar;
  setp.ne.u32 %p0, %t, 0;
  @%p0 bra after_init;
  mbarrier.init.shared.b64 [%b], 1;
  fence.mbarrier_init.release.cluster;
after_init:
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
  @%p0 bra done;
)" + body +
         R"(
done:
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
)" + tail +
         "  ret;\n}\n";
}

inline std::string load_box(uint32_t bytes, const std::string& coordinates, int rank = 2) {
  return "  mbarrier.arrive.expect_tx.shared.b64 _, [%b], " + std::to_string(bytes) +
         ";\n  cp.async.bulk.tensor." + std::to_string(rank) +
         "d.shared::cluster.global.mbarrier::complete_tx::bytes [%s], [%map, {" + coordinates + "}], [%b];\n";
}

inline constexpr const char* kWait = R"(
wait:
  mbarrier.try_wait.parity.shared.b64 %p1, [%b], 0;
  @!%p1 bra wait;
)";

// Copies `words` words of the box to %out, one thread.
inline std::string copy_to_out(uint32_t words) {
  return R"(
  mov.u32 %r0, 0;
copy:
  cvt.u64.u32 %a0, %r0;
  add.u64 %a0, %a0, %out;
  add.u32 %r1, %r0, %s;
  ld.shared.u32 %r2, [%r1];
  st.global.u32 [%a0], %r2;
  add.u32 %r0, %r0, 4;
  setp.lt.u32 %p2, %r0, )" +
         std::to_string(4 * words) + ";\n  @%p2 bra copy;\n";
}

class TensorCopies : public testing::TestWithParam<AsyncMode> {
protected:
  void SetUp() override {
    words.resize(kWidth * kHeight);
    std::iota(words.begin(), words.end(), 0x3f800000u);
  }

  Report run(const std::string& text, uint32_t ctas = 1, uint32_t threads = 32) {
    Kernel kernel(text);
    kernel.config().grid = {ctas, 1, 1};
    kernel.config().block = {threads, 1, 1};
    kernel.config().cluster = {ctas, 1, 1};
    kernel.config().async = GetParam();
    const uint64_t in = kernel.buffer(words, "tensor");
    const uint64_t to = kernel.buffer(std::vector<uint32_t>(4096, 0xaaaaaaaa), "out");
    map.address = store_to_out ? to : in;
    EXPECT_EQ(layout::wrong_with(map), "");
    layout::TensorMapBytes bytes = layout::encode(map);
    if (forge) {
      layout::TensorMapFields fields = layout::decode(bytes);
      forge(fields);
      bytes = layout::encode(fields);
    }
    if (forge_bytes)
      forge_bytes(bytes);
    const uint64_t at = kernel.buffer(std::vector<std::byte>(bytes.begin(), bytes.end()), "map");
    Report report = kernel.run({at, in, to});
    out = kernel.read<uint32_t>(to, 4096);
    return report;
  }

  uint32_t word(int64_t x, int64_t y, uint32_t outside = 0) const {
    return x < 0 || y < 0 || x >= kWidth || y >= kHeight ? outside
                                                         : words[static_cast<size_t>(y * kWidth + x)];
  }

  TensorMap map{
      .type = TensorType::f32, .dims = {kWidth, kHeight}, .strides_bytes = {kWidth * 4}, .box = {32, 4}};
  std::vector<uint32_t> words, out;
  std::function<void(layout::TensorMapFields&)> forge;
  std::function<void(layout::TensorMapBytes&)> forge_bytes;
  bool store_to_out = false;
};

inline auto every_async_mode() {
  return testing::Values(AsyncMode::eager, AsyncMode::late, AsyncMode::random);
}
inline std::string async_mode_name(const testing::TestParamInfo<AsyncMode>& mode) {
  return mode.param == AsyncMode::eager ? "eager" : mode.param == AsyncMode::late ? "late" : "random";
}

} // namespace lemma::vgpu
