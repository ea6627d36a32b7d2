// Products of tcgen05.mma that are multiplied together: what a kernel with nothing but arithmetic between
// them computes, counts and reports is what one does that has an instruction between them which parts them.
#include "tensor_operand.h"
#include "tensor_run.h"
#include "vgpu/engine/observer.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>

namespace lemma::vgpu {
namespace {

constexpr uint32_t kB = 32768;                             // bytes from A to B
constexpr uint32_t kOtherD = 128, kA = 192, kFilled = 256; // columns

// One tcgen05.mma, and a step of K further in lines of 128 bytes than the one before.
struct Product {
  std::string kind = "f16";
  uint32_t idesc = 0;
  std::string words = ""; // ".ws"
  std::string d = "%d";
  int a_column = -1; // A in tensor memory, from the column on
  std::string adds = "%p", disable = "", last = "", before = "";
};

struct Chain {
  std::vector<Product> products;
  Layout layout = Layout::k_128;
  uint32_t cta_group = 1;
  bool has_specials = false; // A and B: NaN and infinities
  AsyncMode async = AsyncMode::eager;
  uint64_t schedule = 0;
  bool is_watched = false;
  uint32_t filled = kFilled;
};

uint32_t idesc_of(const Element& a, const Element& b, uint32_t d_code, uint32_t m, uint32_t n,
                  uint32_t more = 0) {
  return d_code << 4 | a.code << 7 | b.code << 10 | n / 8 << 17 | m / 16 << 24 | more;
}

std::string text_of(const Chain& chain, bool is_parted) {
  std::string text = "mov.u32 %y1, 0;\n";
  for (size_t i = 0; i < chain.products.size(); ++i) {
    const Product& p = chain.products[i];
    const uint64_t layout = Operand{.layout = chain.layout}.descriptor_bits();
    text += fmt::format("{} add.u64 %x0, %sm, {}; or.b64 %x0, %x0, {:#x}; add.u64 %x1, %sm, {}; or.b64 %x1, "
                        "%x1, {:#x}; add.u32 %y0, %d, {}; add.u32 %y2, %d, {}; {}\n",
                        p.before, 2 * (i % 4), layout, kB / 16 + 2 * (i % 4), layout, std::max(p.a_column, 0),
                        kOtherD, is_parted ? "tcgen05.fence::before_thread_sync;" : "add.u32 %y1, %y1, 1;");
    text += fmt::format("tcgen05.mma{}.cta_group::{}.kind::{} [{}], {}, %x1, {:#x}{}, {}{};\n", p.words,
                        chain.cta_group, p.kind, p.d, p.a_column >= 0 ? "[%y0]" : "%x0", p.idesc,
                        p.disable.empty() ? "" : ", " + p.disable, p.adds, p.last);
  }
  return text;
}

class Bystander : public Observer {};

TensorRun run_chain(const Chain& chain, bool is_parted) {
  TensorRun run;
  Bystander observer;
  std::mt19937 generator(1);
  run.cta_group = chain.cta_group;
  run.columns = 512;
  run.filled_columns = chain.filled;
  run.async = chain.async;
  run.schedule = chain.schedule;
  run.observer = chain.is_watched ? &observer : nullptr;
  const uint32_t mask = chain.has_specials ? 0xffffffff : 0xbfffbfff; // below 2
  for (uint32_t cta = 0; cta < chain.cta_group; ++cta) {
    TensorRun::Memory memory{std::vector<std::byte>(2 * kB),
                             std::vector<uint32_t>(size_t{128} * chain.filled)};
    for (size_t at = 0; at < memory.shared.size(); at += 4) {
      const uint32_t word = static_cast<uint32_t>(generator()) & mask;
      std::memcpy(&memory.shared[at], &word, sizeof word);
    }
    for (uint32_t& cell : memory.tensor)
      cell = static_cast<uint32_t>(generator()) & 0xbfffbfff;
    run.ctas.push_back(std::move(memory));
  }
  run.issue = text_of(chain, is_parted);
  run.run();
  run.observer = nullptr;
  return run;
}

// `may_leave`: how many of the products.
void expect_same(const Chain& chain, size_t may_leave) {
  const Product& first = chain.products.front();
  SCOPED_TRACE(fmt::format("{}{} {:#010x}, layout {}", first.kind, first.words, first.idesc,
                           static_cast<int>(chain.layout)));
  const TensorRun parted = run_chain(chain, true), together = run_chain(chain, false);
  EXPECT_EQ(parted.may_leave, 0u);
  EXPECT_EQ(together.may_leave, may_leave);
  ASSERT_EQ(parted.fault, "");
  ASSERT_EQ(together.fault, "");
  EXPECT_EQ(uninitialized_text(together.report), uninitialized_text(parted.report));
  EXPECT_EQ(together.report.warnings, parted.report.warnings);
  EXPECT_EQ(together.report.stats.matrix_flops, parted.report.stats.matrix_flops);
  EXPECT_EQ(together.report.stats.matrix_outputs->total(), parted.report.stats.matrix_outputs->total());
  EXPECT_EQ(together.out, parted.out);
}

Chain chain_of(const Product& product, size_t count = 7) {
  Chain chain{.products = std::vector<Product>(count, product)};
  chain.products.front().adds = "%np";
  return chain;
}

const Product kPlain{.idesc = idesc_of(kF16, kF16, 1, 128, 128)};

TEST(TensorChain, EveryKindAndSize) {
  for (const uint32_t m : {64u, 128u})
    for (const uint32_t n : {16u, 128u}) {
      for (const uint32_t d : {0u, 1u})
        expect_same(chain_of({.idesc = idesc_of(kF16, kF16, d, m, n)}), 6);
      expect_same(chain_of({.idesc = idesc_of(kBf16, kBf16, 1, m, n)}), 6);
      expect_same(chain_of({.kind = "tf32", .idesc = idesc_of(kTf32, kTf32, 1, m, n)}), 6);
      for (const Element& b : {kE4m3, kE2m1})
        expect_same(chain_of({.kind = "f8f6f4", .idesc = idesc_of(kE5m2, b, 1, m, n)}), 6);
      for (const uint32_t saturates : {0u, 1u << 3})
        expect_same(chain_of({.kind = "i8", .idesc = idesc_of(kS8, kU8, 2, m, n, saturates)}), 6);
    }
}

TEST(TensorChain, EveryLayout) {
  for (const Layout layout : {Layout::k_none, Layout::k_32, Layout::k_64, Layout::mn_none, Layout::mn_128}) {
    const bool mn_major = Operand{.layout = layout}.mn_major();
    Chain chain = chain_of({.idesc = idesc_of(kF16, kF16, 1, 128, 64, mn_major ? 3u << 15 : 0)});
    chain.layout = layout;
    expect_same(chain, 6);
  }
}

TEST(TensorChain, NumbersThatAreNone) {
  Chain chain = chain_of(kPlain);
  chain.has_specials = true;
  expect_same(chain, 6);
}

TEST(TensorChain, PairsAndBlocksOfColumns) {
  for (const uint32_t m : {128u, 256u}) {
    Chain pair = chain_of({.idesc = idesc_of(kF16, kF16, 1, m, 64)});
    pair.cta_group = 2;
    expect_same(pair, 6);
  }
  for (const uint32_t m : {32u, 64u, 128u})
    for (const std::string_view mask : {"", ", %x2"}) {
      Product product{.idesc = idesc_of(kF16, kF16, 1, m, 64), .words = ".ws", .last = std::string(mask)};
      product.before = "mov.b64 %x2, 0x0003020000000000;";
      expect_same(chain_of(product), 6);
    }
}

// In the middle of others of which each is one product with the one before.
TEST(TensorChain, WhatIsNoProductWithTheOneBefore) {
  std::vector<Product> others(7, kPlain);
  others[0].adds = "%np";
  others[1].d = "%y2";
  others[1].idesc = idesc_of(kF16, kF16, 1, 128, 64);
  others[2].last = ", 3";      // D is divided before
  others[3].idesc |= 1u << 13; // A is negated
  others[4].before = "mov.b32 %y4, 0x000000f0; mov.b32 %y5, 0; mov.b32 %y6, 0xffffffff; mov.b32 %y7, 1;";
  others[4].disable = "{%y4, %y5, %y6, %y7}";
  others[5].idesc = idesc_of(kBf16, kBf16, 1, 128, 128);
  others[6].idesc = idesc_of(kF16, kF16, 0, 128, 128);
  for (const Product& other : others) {
    Chain chain = chain_of(kPlain, 4);
    chain.products.insert(chain.products.begin() + 2, other);
    expect_same(chain, 4);
    chain.products.insert(chain.products.begin() + 2, other);
    expect_same(chain, 5);
  }
}

TEST(TensorChain, AInTensorMemory) {
  for (const int column : {int{kA}, 4}) { // beside D, and in D
    Product product{.idesc = idesc_of(kF16, kF16, 1, 128, 64), .a_column = column};
    expect_same(chain_of(product), 6);
    Chain chain = chain_of({.idesc = product.idesc}, 5);
    chain.products[2] = product;
    expect_same(chain, 4);
  }
}

TEST(TensorChain, OthersDoNotLeaveTheirs) {
  Chain chain = chain_of(kPlain, 4);
  chain.products[1].before = "setp.ne.u32 %q, %d, 0; @%q";
  EXPECT_EQ(run_chain(chain, false).may_leave, 3u); // the guard is an addition's
  TensorRun run = run_chain(chain, false);
  const size_t second = run.issue.find("tcgen05.mma", run.issue.find("tcgen05.mma") + 1);
  run.issue.insert(second, "@%p ");
  run.run();
  EXPECT_EQ(run.fault, "");
  EXPECT_EQ(run.may_leave, 1u); // not the first, behind which is a guard, nor that one
  EXPECT_EQ(run.out, run_chain(chain, true).out);
}

TEST(TensorChain, EveryModeAndSchedule) {
  const Chain chain = chain_of(kPlain);
  const TensorRun usual = run_chain(chain, true);
  for (const AsyncMode async : {AsyncMode::eager, AsyncMode::late, AsyncMode::random})
    for (const bool is_watched : {false, true}) {
      Chain other = chain;
      other.async = async;
      other.is_watched = is_watched;
      EXPECT_EQ(run_chain(other, false).out, usual.out);
    }
  for (uint64_t schedule = 1; schedule <= 24; ++schedule) {
    Chain other = chain;
    other.schedule = schedule;
    EXPECT_EQ(run_chain(other, false).out, usual.out) << schedule;
  }
}

// D that the first product does not write is reported for each, in the same way.
TEST(TensorChain, UnwrittenCellsAreCountedForEach) {
  Chain chain = chain_of(kPlain);
  chain.filled = 64;
  expect_same(chain, 6);
  chain.products[0].adds = "%p";
  expect_same(chain, 6);
  chain.products[0].before = "mov.b32 %y4, 0xff; mov.b32 %y5, 0; mov.b32 %y6, 0; mov.b32 %y7, 0;";
  for (Product& product : chain.products)
    product.disable = "{%y4, %y5, %y6, %y7}";
  expect_same(chain, 6);
}

TEST(TensorChain, AFaultNamesItsInstruction) {
  for (size_t wrong = 0; wrong < 5; ++wrong) {
    Chain chain = chain_of(kPlain, 5);
    chain.products[wrong].idesc |= 1u << 6;
    const TensorRun parted = run_chain(chain, true), together = run_chain(chain, false);
    ASSERT_NE(together.fault, "");
    EXPECT_EQ(together.fault, parted.fault);
    EXPECT_EQ(together.report.fault->place.ptx_line, parted.report.fault->place.ptx_line);
    EXPECT_EQ(together.report.stats.matrix_flops, parted.report.stats.matrix_flops);
    EXPECT_EQ(together.report.stats.matrix_outputs->total(), parted.report.stats.matrix_outputs->total());
  }
}

} // namespace
} // namespace lemma::vgpu
