// Several lanes of one store with one address: whose value stays, as tests/golden/asked/store_order.csv has
// it of an H200. Each row runs by the handlers of a plain run, and by those that an observer is told by.
#include "kernel.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>
#include <vector>

namespace lemma::vgpu {
namespace {

constexpr uint32_t kNoStore = 0xffffffff;

struct Store {
  std::string text; // [%to] is the place
  uint32_t bytes = 0;
};
// Of the store's name in the file. A lane's bytes are its number: %l, and of it %h, %d; of row r of stmatrix'
// matrices r: %m0 to %m3.
Store store_of(const std::string& name) {
  static const std::map<std::string, Store> kStores = {
      {"b8", {"st.{}.b8 [%to], %h;", 1}},
      {"b16", {"st.{}.b16 [%to], %h;", 2}},
      {"b32", {"st.{}.b32 [%to], %l;", 4}},
      {"v2_b16", {"st.{}.v2.b16 [%to], {{%h, %h}};", 4}},
      {"b64", {"st.{}.b64 [%to], %d;", 8}},
      {"v2_b32", {"st.{}.v2.b32 [%to], {{%l, %l}};", 8}},
      {"v4_b16", {"st.{}.v4.b16 [%to], {{%h, %h, %h, %h}};", 8}},
      {"v4_b32", {"st.{}.v4.b32 [%to], {{%l, %l, %l, %l}};", 16}},
      {"v2_b64", {"st.{}.v2.b64 [%to], {{%d, %d}};", 16}},
      {"stmatrix_x1", {"stmatrix.sync.aligned.m8n8.x1.{}.b16 [%to], {{%m0}};", 16}},
      {"stmatrix_x2", {"stmatrix.sync.aligned.m8n8.x2.{}.b16 [%to], {{%m0, %m1}};", 16}},
      {"stmatrix_x4", {"stmatrix.sync.aligned.m8n8.x4.{}.b16 [%to], {{%m0, %m1, %m2, %m3}};", 16}},
  };
  return kStores.at(name);
}

// out[2 t] and [2 t + 1]: the first and the last byte at the place of thread t.
std::string kernel_text(const std::string& space, const Store& store) {
  return fmt::format(
      R"(
.visible .entry k(.param .u64 p_at, .param .u64 p_memory, .param .u64 p_out) {{
  .shared .align 128 .b8 memory[4096];
  .reg .pred %stores; .reg .b16 %h; .reg .b32 %t, %l, %at, %to32, %m0, %m1, %m2, %m3, %first, %last;
  .reg .b64 %in, %out, %to, %step, %d;
  ld.param.u64 %in, [p_at]; ld.param.u64 %out, [p_out];
  mov.u32 %t, %tid.x;
  mul.wide.u32 %step, %t, 4; add.u64 %in, %in, %step; add.u64 %out, %out, %step; add.u64 %out, %out, %step;
  ld.global.u32 %at, [%in];
  mul.lo.u32 %l, %t, 0x01010101; cvt.u16.u32 %h, %l; mov.b64 %d, {{%l, %l}};
  shr.u32 %m0, %t, 2; mul.lo.u32 %m0, %m0, 0x01010101;
  add.u32 %m1, %m0, 0x08080808; add.u32 %m2, %m0, 0x10101010; add.u32 %m3, %m0, 0x18181818;
  setp.ne.u32 %stores, %at, {};
  {}
  cvt.u64.u32 %step, %at; add.u64 %to, %to, %step;
  {} {}
  bar.warp.sync -1;
  @%stores ld.{}.u8 %first, [%to];
  @%stores ld.{}.u8 %last, [%to+{}];
  @%stores st.global.v2.u32 [%out], {{%first, %last}};
  ret;
}})",
      kNoStore, space == "global" ? "ld.param.u64 %to, [p_memory];" : "mov.u64 %to, memory;",
      store.text.starts_with("stmatrix") ? "" : "@%stores", fmt::format(fmt::runtime(store.text), space),
      space, space, store.bytes - 1);
}

TEST(StoreOrder, WhatStaysIsWhatStaysOnAnH200) {
  std::ifstream file(LEMMA_GOLDEN "/asked/store_order.csv");
  std::map<std::string, std::unique_ptr<Kernel>> kernels;
  int compared = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#'))
      continue;
    std::istringstream fields(line);
    std::string name, offsets, left;
    std::getline(fields, name, ',');
    std::getline(fields, offsets, ',');
    std::getline(fields, left);
    const std::string space = name.substr(0, name.find('_'));
    const Store store = store_of(name.substr(name.find('_') + 1));
    auto& kernel = kernels[name];
    if (!kernel)
      kernel = std::make_unique<Kernel>(kernel_text(space, store));

    std::vector<uint32_t> at;
    std::istringstream words(offsets);
    for (std::string word; words >> word;)
      at.push_back(word == "-" ? kNoStore : static_cast<uint32_t>(std::stoul(word)));
    ASSERT_EQ(at.size(), 32u);
    std::map<uint32_t, uint32_t> stays;
    std::istringstream pairs(left);
    for (std::string pair; pairs >> pair;)
      stays[static_cast<uint32_t>(std::stoul(pair))] =
          static_cast<uint32_t>(std::stoul(pair.substr(pair.find(':') + 1)));

    for (const bool check : {false, true}) {
      kernel->config().check = check;
      const uint64_t out = kernel->buffer(std::vector<uint32_t>(64));
      const Report report =
          kernel->run({kernel->buffer(at), kernel->buffer(std::vector<uint32_t>(1024, 0xeeeeeeee)), out});
      ASSERT_EQ(fault_text(report), "");
      const auto got = kernel->read<uint32_t>(out, 64);
      for (uint32_t t = 0; t < 32; ++t) {
        if (at[t] == kNoStore || stays.at(at[t]) == 0xee)
          continue;
        EXPECT_EQ(got[2 * t], stays.at(at[t])) << line << ", lane " << t;
        EXPECT_EQ(got[2 * t + 1], stays.at(at[t])) << line << ", lane " << t;
        ++compared;
      }
    }
  }
  EXPECT_GT(compared, 10000);
}

} // namespace
} // namespace lemma::vgpu
