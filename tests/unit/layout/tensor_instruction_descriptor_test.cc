// Instruction descriptors of tcgen05.mma: whole examples, every field alone, the shapes next to the ISA's
// table written out as lists, and each rule's words.
#include "layout/tensor_instruction_descriptor.h"

#include <gtest/gtest.h>

#include <set>

namespace lemma::layout {
namespace {

using Descriptor = TensorInstructionDescriptor;
using Kind = TensorKind;
using Format = TensorFormat;

constexpr Kind kKinds[] = {Kind::f16,      Kind::tf32, Kind::f8f6f4,  Kind::i8,
                           Kind::mxf8f6f4, Kind::mxf4, Kind::mxf4nvf4};

// A right one of each kind: 128 x 64 of one CTA.
Descriptor plain(Kind kind) {
  Descriptor d{.kind = kind, .m = 128, .n = 64, .a = Format::e2m1, .b = Format::e2m1, .d = Format::f32};
  if (kind == Kind::f16)
    d.a = d.b = Format::f16;
  if (kind == Kind::tf32)
    d.a = d.b = Format::tf32;
  if (kind == Kind::i8)
    d.a = d.b = Format::s8, d.d = Format::s32;
  if (is_block_scaled(kind))
    d.scale = ScaleFormat::ue8m0;
  return d;
}

std::string words(uint32_t bits, Kind kind, const TensorInstruction& instruction = {}) {
  return wrong(Descriptor::decode(bits, kind), instruction).value_or("");
}
std::string words(const Descriptor& d, const TensorInstruction& instruction = {}) {
  return words(d.encode(), d.kind, instruction);
}
void expect_words(const Descriptor& d, const std::string& want, const TensorInstruction& instruction = {}) {
  const std::string got = words(d, instruction);
  EXPECT_TRUE(got.ends_with(": " + want)) << got << "\nwant: " << want;
}

TEST(TensorInstructionDescriptor, AWholeOne) {
  const Descriptor d = Descriptor::decode(0x08020010, Kind::f16);
  EXPECT_EQ(d.m, 128u);
  EXPECT_EQ(d.n, 8u);
  EXPECT_EQ(d.a, Format::f16);
  EXPECT_EQ(d.b, Format::f16);
  EXPECT_EQ(d.d, Format::f32);
  EXPECT_FALSE(d.transpose_a || d.transpose_b || d.negate_a || d.negate_b || d.sparse || d.saturate || d.k96);
  EXPECT_EQ(d.k(), 16u);
  EXPECT_EQ(d.encode(), 0x08020010u);
  EXPECT_EQ(wrong(d, {}), std::nullopt);
}

// As CUTLASS's bit fields place them.
TEST(TensorInstructionDescriptor, AWholeBlockScaledOne) {
  const uint32_t bits =
      2u << 4 | 1u << 7 | 1u << 10 | 1u << 13 | (256u >> 3) << 17 | (256u >> 4) << 24 | 2u << 29;
  const Descriptor d = Descriptor::decode(bits, Kind::mxf4nvf4);
  EXPECT_EQ(d.m, 256u);
  EXPECT_EQ(d.n, 256u);
  EXPECT_EQ(d.a, Format::e2m1);
  EXPECT_EQ(d.b, Format::e2m1);
  EXPECT_EQ(d.d, Format::f32);
  EXPECT_EQ(d.scale, ScaleFormat::ue4m3);
  EXPECT_EQ(d.scale_a_id, 2);
  EXPECT_EQ(d.scale_b_id, 2);
  EXPECT_TRUE(d.negate_a);
  EXPECT_EQ(d.k(), 64u);
  EXPECT_EQ(d.encode(), bits);
  EXPECT_EQ(words(bits, Kind::mxf4nvf4, {.cta_group = 2, .scale_vec = 2}), "");
  EXPECT_EQ(Descriptor::decode(bits | 1u << 31, Kind::mxf4nvf4).k(), 96u);
}

TEST(TensorInstructionDescriptor, EachFieldAlone) {
  const Descriptor p = Descriptor::decode(0, Kind::i8);
  EXPECT_EQ(p.m + p.n, 0u);
  EXPECT_EQ(Descriptor::decode(3, Kind::f16).sparsity_selector, 3);
  EXPECT_TRUE(Descriptor::decode(1u << 2, Kind::f16).sparse);
  EXPECT_TRUE(Descriptor::decode(1u << 3, Kind::i8).saturate);
  EXPECT_EQ(Descriptor::decode(2u << 4, Kind::i8).d, Format::s32);
  EXPECT_EQ(Descriptor::decode(0, Kind::f16).d, Format::f16);
  EXPECT_EQ(Descriptor::decode(1u << 7, Kind::f16).a, Format::bf16);
  EXPECT_EQ(Descriptor::decode(5u << 10, Kind::f8f6f4).b, Format::e2m1);
  EXPECT_TRUE(Descriptor::decode(1u << 13, Kind::f16).negate_a);
  EXPECT_TRUE(Descriptor::decode(1u << 14, Kind::f16).negate_b);
  EXPECT_TRUE(Descriptor::decode(1u << 15, Kind::f16).transpose_a);
  EXPECT_TRUE(Descriptor::decode(1u << 16, Kind::f16).transpose_b);
  EXPECT_EQ(Descriptor::decode(1u << 17, Kind::f16).n, 8u);
  EXPECT_EQ(Descriptor::decode(1u << 22, Kind::f16).n, 256u);
  EXPECT_EQ(Descriptor::decode(1u << 24, Kind::f16).m, 16u);
  EXPECT_EQ(Descriptor::decode(1u << 28, Kind::f16).m, 256u);
  EXPECT_EQ(Descriptor::decode(3u << 30, Kind::f16).max_shift, 32);
  EXPECT_EQ(Descriptor::decode(1u << 30, Kind::f16).max_shift, 8);
  EXPECT_EQ(Descriptor::decode(3u << 4, Kind::mxf8f6f4).scale_b_id, 3);
  EXPECT_EQ(Descriptor::decode(3u << 29, Kind::mxf8f6f4).scale_a_id, 3);
  EXPECT_EQ(Descriptor::decode(1u << 23, Kind::mxf4).scale, ScaleFormat::ue8m0);
  EXPECT_EQ(Descriptor::decode(1u << 27, Kind::mxf4).m, 128u);
}

TEST(TensorInstructionDescriptor, TypesByTheirCodes) {
  using enum TensorFormat;
  const std::vector<std::pair<Kind, std::vector<Format>>> codes = {
      {Kind::f16, {f16, bf16, none, none, none, none, none, none}},
      {Kind::tf32, {none, none, tf32, none, none, none, none, none}},
      {Kind::f8f6f4, {e4m3, e5m2, none, e2m3, e3m2, e2m1, none, none}},
      {Kind::i8, {u8, s8, none, none, none, none, none, none}},
      {Kind::mxf8f6f4, {e4m3, e5m2, none, e2m3, e3m2, e2m1, none, none}},
      {Kind::mxf4, {none, e2m1, none, none, none, none, none, none}},
      {Kind::mxf4nvf4, {none, e2m1, none, none, none, none, none, none}}};
  for (const auto& [kind, formats] : codes)
    for (uint32_t code = 0; code < 8; ++code) {
      EXPECT_EQ(Descriptor::decode(code << 7, kind).a, formats[code]) << to_string(kind) << code;
      EXPECT_EQ(Descriptor::decode(code << 10, kind).b, formats[code]) << to_string(kind) << code;
      Descriptor d = plain(kind);
      const uint32_t others = d.encode() & ~(7u << 7);
      EXPECT_EQ(words(others | code << 7, kind).empty(), formats[code] != none) << to_string(kind) << code;
    }
}

TEST(TensorInstructionDescriptor, EncodesWhatItDecodes) {
  for (const Kind kind : kKinds) {
    const uint32_t base = plain(kind).encode();
    EXPECT_EQ(words(base, kind), "");
    for (int bit = 0; bit < 32; ++bit) {
      const uint32_t bits = base ^ 1u << bit;
      const Descriptor d = Descriptor::decode(bits, kind);
      const bool typed = d.a != Format::none && d.b != Format::none && d.d != Format::none;
      const bool lost =
          words(bits, kind).find("reserved") != std::string::npos || (kind == Kind::mxf8f6f4 && bit == 31);
      if (typed && !lost) {
        EXPECT_EQ(d.encode(), bits) << to_string(kind) << " bit " << bit;
      }
    }
  }
}

TEST(TensorInstructionDescriptor, KIs32BytesOfA) {
  const uint32_t dense[] = {16, 8, 32, 32, 32, 64, 64};
  for (size_t i = 0; i < std::size(kKinds); ++i) {
    Descriptor d = plain(kKinds[i]);
    EXPECT_EQ(d.k(), dense[i]);
    d.sparse = true;
    EXPECT_EQ(d.k(), 2 * dense[i]);
  }
}

TEST(TensorKind, Spellings) {
  for (const Kind kind : kKinds)
    EXPECT_EQ(tensor_kind(to_string(kind)), kind);
  EXPECT_EQ(tensor_kind(".kind::mxf4nvf4"), Kind::mxf4nvf4);
  EXPECT_EQ(tensor_kind(".kind::ti16"), std::nullopt);
  EXPECT_EQ(tensor_kind("f16"), std::nullopt);
}

// The ISA's table of shapes, a list a row, and CUTLASS's shapes of K = 96.
TEST(TensorInstructionRules, ShapesOfTheTable) {
  struct Row {
    std::vector<Kind> kinds;
    uint32_t cta_group;
    bool ws, sparse, k96;
    std::set<uint32_t> m, n;
  };
  const auto steps = [](uint32_t step) {
    std::set<uint32_t> list;
    for (uint32_t n = step; n <= 256; n += step)
      list.insert(n);
    return list;
  };
  std::set<uint32_t> integers = steps(16);
  integers.insert({8, 24});
  const std::vector<Kind> floats = {Kind::f16, Kind::tf32, Kind::f8f6f4},
                          all = {Kind::f16, Kind::tf32, Kind::f8f6f4, Kind::i8},
                          scaled = {Kind::mxf8f6f4, Kind::mxf4, Kind::mxf4nvf4},
                          f4 = {Kind::mxf4, Kind::mxf4nvf4};
  std::vector<Row> rows;
  for (const bool sparse : {false, true}) {
    rows.push_back({floats, 1, false, sparse, false, {64, 128}, steps(8)});
    rows.push_back({floats, 2, false, sparse, false, {128, 256}, steps(16)});
    rows.push_back({{Kind::i8}, 1, false, sparse, false, {64, 128}, integers});
    rows.push_back({{Kind::i8}, 2, false, sparse, false, {128, 256}, steps(32)});
    rows.push_back({scaled, 1, false, sparse, false, {128}, steps(8)});
  }
  rows.push_back({all, 1, true, false, false, {32, 64, 128}, {64, 128, 256}});
  rows.push_back({all, 1, true, true, false, {32, 64, 128}, {64, 128}});
  rows.push_back({scaled, 2, false, false, false, {128, 256}, steps(16)});
  rows.push_back({scaled, 2, false, true, false, {256}, steps(16)});
  rows.push_back({f4, 1, false, false, true, {128}, steps(16)});
  rows.push_back({f4, 2, false, false, true, {128, 256}, steps(16)});
  for (const Row& row : rows)
    for (const Kind kind : row.kinds)
      for (const bool a_in_tensor_memory : {false, true})
        for (uint32_t m = 0; m < 512; m += 16)
          for (uint32_t n = 0; n < 512; n += 8) {
            Descriptor d = plain(kind);
            d.m = m, d.n = n, d.sparse = row.sparse, d.k96 = row.k96;
            const std::string got = words(d, {.cta_group = row.cta_group,
                                              .ws = row.ws,
                                              .sp = row.sparse,
                                              .a_in_tensor_memory = a_in_tensor_memory});
            ASSERT_EQ(got.empty(), row.m.contains(m) && row.n.contains(n))
                << to_string(kind) << " " << m << " x " << n << " cta_group " << row.cta_group << ": " << got;
          }
}

TEST(TensorInstructionRules, WordsForShapes) {
  Descriptor d = plain(Kind::f16);
  d.m = 96;
  EXPECT_EQ(words(d), "instruction descriptor 0x06100010: M (bits 24-28) is 96; legal for .kind::f16 with "
                      ".cta_group::1: 64, 128");
  d.m = 64;
  expect_words(d, "M (bits 24-28) is 64; legal for .kind::f16 with .cta_group::2: 128, 256",
               {.cta_group = 2});
  d.n = 72;
  d.m = 128;
  expect_words(d, "N (bits 17-22) is 72; legal for .kind::f16 with .cta_group::2: 16 to 256 in steps of 16",
               {.cta_group = 2});
  expect_words(d, "N (bits 17-22) is 72; legal for .kind::f16 .ws with .cta_group::1: 64, 128, 256",
               {.ws = true});
  d.n = 256, d.sparse = true;
  expect_words(d, "N (bits 17-22) is 256; legal for .kind::f16 .ws with .cta_group::1, sparse: 64, 128",
               {.ws = true, .sp = true});
  d = plain(Kind::i8);
  d.n = 40;
  expect_words(
      d, "N (bits 17-22) is 40; legal for .kind::i8 with .cta_group::1: 8, 24, and 16 to 256 in steps of 16");
  d = plain(Kind::mxf8f6f4);
  d.m = 64;
  expect_words(d, "M (bits 24-28) is 64; legal for .kind::mxf8f6f4 with .cta_group::1: 128");
  d = plain(Kind::mxf4);
  d.k96 = true, d.n = 8;
  expect_words(
      d, "N (bits 17-22) is 8; legal for .kind::mxf4 with .cta_group::1, K = 96: 16 to 256 in steps of 16");
}

// B of 8 bits that is N-major has N in steps of 16, or of 32 for two CTAs.
TEST(TensorInstructionRules, TransposedBytes) {
  for (const Kind kind : {Kind::f8f6f4, Kind::i8, Kind::mxf8f6f4}) {
    Descriptor d = plain(kind);
    d.transpose_b = true;
    EXPECT_EQ(words(d), "");
    d.n = 24;
    EXPECT_TRUE(words(d).ends_with(": 16 to 256 in steps of 16, as B is transposed and of 8 bits"))
        << words(d);
    d.n = 48;
    EXPECT_EQ(words(d), "");
    const TensorInstruction pair{.cta_group = 2};
    EXPECT_TRUE(words(d, pair).ends_with(": 32 to 256 in steps of 32, as B is transposed and of 8 bits"));
    d.n = 96;
    EXPECT_EQ(words(d, pair), "");
  }
  Descriptor d = plain(Kind::f16);
  d.transpose_b = true, d.n = 24;
  EXPECT_EQ(words(d), "");
}

TEST(TensorInstructionRules, TypesThatGoTogether) {
  Descriptor d = plain(Kind::f16);
  d.d = Format::f16;
  EXPECT_EQ(words(d), "");
  d.a = Format::bf16;
  expect_words(d, "type of A (bits 7-9) is 1 (bf16); legal for .kind::f16: 0 (f16), as D is f16");
  d.a = Format::f16, d.b = Format::bf16;
  expect_words(d, "type of B (bits 10-12) is 1 (bf16); legal for .kind::f16: 0 (f16), as D is f16");
  d.d = Format::f32;
  EXPECT_EQ(words(d), "");
  const uint32_t f8 = plain(Kind::f8f6f4).encode();
  EXPECT_EQ(words(f8 & ~(1u << 4), Kind::f8f6f4), "") << "D is f16";
  EXPECT_TRUE(words(f8 ^ 3u << 4, Kind::f8f6f4)
                  .ends_with(": type of D (bits 4-5) is 2; legal for .kind::f8f6f4: 0 (f16), 1 (f32)"));
  EXPECT_TRUE(words(plain(Kind::tf32).encode() & ~(1u << 4), Kind::tf32)
                  .ends_with(": type of D (bits 4-5) is 0; legal for .kind::tf32: 1 (f32)"));
  EXPECT_TRUE(
      words((f8 & ~(7u << 7)) | 2u << 7, Kind::f8f6f4)
          .ends_with(": type of A (bits 7-9) is 2; legal for .kind::f8f6f4: 0 (e4m3), 1 (e5m2), 3 (e2m3), "
                     "4 (e3m2), 5 (e2m1)"));
  EXPECT_TRUE(words(plain(Kind::mxf4).encode() | 1u << 12, Kind::mxf4)
                  .ends_with(": type of B (bits 10-12) is 5; legal for .kind::mxf4: 1 (e2m1)"));
  for (const Kind kind : {Kind::mxf8f6f4, Kind::mxf4}) {
    Descriptor scaled = plain(kind);
    scaled.scale = ScaleFormat::ue4m3;
    EXPECT_TRUE(words(scaled).find("type of the scale factors (bit 23) is 0 (ue4m3); legal for ") !=
                std::string::npos);
  }
  Descriptor nvf4 = plain(Kind::mxf4nvf4);
  EXPECT_EQ(words(nvf4), "");
  nvf4.scale = ScaleFormat::ue4m3;
  EXPECT_EQ(words(nvf4), "");
}

TEST(TensorInstructionRules, BitsThatMustBeZero) {
  for (const Kind kind : kKinds) {
    const std::vector<int> reserved =
        is_block_scaled(kind) ? std::vector<int>{0, 1, 3, 6} : std::vector<int>{6, 23, 29};
    for (const int bit : reserved)
      EXPECT_NE(words(plain(kind).encode() | 1u << bit, kind).find("reserved bit"), std::string::npos)
          << to_string(kind) << bit;
  }
  EXPECT_TRUE(words(plain(Kind::f16).encode() | 1u << 23, Kind::f16)
                  .ends_with(": reserved bit 23 is 0b1; legal for .kind::f16: 0"));
  EXPECT_TRUE(words(plain(Kind::mxf4).encode() | 2u, Kind::mxf4)
                  .ends_with(": reserved bits 0-1 are 0b10; legal for .kind::mxf4: 0"));
  EXPECT_TRUE(words(plain(Kind::mxf8f6f4).encode() | 1u << 31, Kind::mxf8f6f4)
                  .ends_with(": size of K (bit 31) is 1; legal for .kind::mxf8f6f4: 0"));
}

TEST(TensorInstructionRules, WhatIsDoneToTheOperands) {
  struct Row {
    bool Descriptor::* field;
    std::string words;
    std::set<Kind> not_of;
  };
  const std::set<Kind> f4 = {Kind::mxf4, Kind::mxf4nvf4};
  const Row rows[] = {{&Descriptor::negate_a, "negate A (bit 13)", {Kind::i8}},
                      {&Descriptor::negate_b, "negate B (bit 14)", {Kind::i8}},
                      {&Descriptor::transpose_a, "transpose A (bit 15)", f4},
                      {&Descriptor::transpose_b, "transpose B (bit 16)", f4},
                      {&Descriptor::saturate, "saturate (bit 3)", {Kind::f16, Kind::tf32, Kind::f8f6f4}}};
  for (const Row& row : rows)
    for (const Kind kind : kKinds) {
      Descriptor d = plain(kind);
      d.*row.field = true;
      if (row.not_of.contains(kind))
        expect_words(d, fmt::format("{} is 1; legal for {}: 0", row.words, to_string(kind)));
      else {
        EXPECT_EQ(words(d), "") << row.words << to_string(kind);
      }
    }
  for (const Kind kind : {Kind::f16, Kind::tf32, Kind::f8f6f4, Kind::i8}) {
    Descriptor d = plain(kind);
    d.transpose_a = true;
    expect_words(d,
                 fmt::format("transpose A (bit 15) is 1; legal for {}: 0 where A is in tensor memory",
                             to_string(kind)),
                 {.a_in_tensor_memory = true});
    d = plain(kind);
    d.max_shift = 16;
    expect_words(
        d, fmt::format("maximum shift (bits 30-31) is 2; legal for {}: 0 without .ws", to_string(kind)));
    EXPECT_EQ(words(d, {.ws = true}), "");
  }
}

TEST(TensorInstructionRules, Sparsity) {
  for (const Kind kind : kKinds) {
    const std::string name(to_string(kind));
    Descriptor d = plain(kind);
    expect_words(d, "sparsity (bit 2) is 0; legal for " + name + ": 1, as the instruction is tcgen05.mma.sp",
                 {.sp = true});
    d.sparse = true;
    EXPECT_EQ(words(d, {.sp = true}), "");
    expect_words(d, "sparsity (bit 2) is 1; legal for " + name +
                        ": 0, as the instruction is not tcgen05.mma.sp");
    d.sparsity_selector = 1;
    if (kind == Kind::f16 || kind == Kind::tf32) {
      EXPECT_EQ(words(d, {.sp = true}), "");
    } else if (!is_block_scaled(kind))
      expect_words(d, "sparsity selector (bits 0-1) is 1; legal for " + name + ": 0", {.sp = true});
  }
  Descriptor d = plain(Kind::mxf4);
  d.sparse = d.k96 = true;
  expect_words(d, "size of K (bit 31) is 1; legal for .kind::mxf4: 0 where A is sparse", {.sp = true});
}

TEST(TensorInstructionRules, ScaleFactorIds) {
  struct Row {
    Kind kind;
    bool k96;
    uint32_t scale_vec;
    std::set<int> legal;
  };
  const Row rows[] = {{Kind::mxf8f6f4, false, 1, {0, 1, 2, 3}}, {Kind::mxf4, false, 2, {0, 2}},
                      {Kind::mxf4nvf4, false, 2, {0, 2}},       {Kind::mxf4nvf4, false, 4, {0}},
                      {Kind::mxf4nvf4, false, 0, {0, 2}},       {Kind::mxf4, true, 2, {0, 1, 2, 3}},
                      {Kind::mxf4nvf4, true, 4, {0, 2}}};
  for (const Row& row : rows)
    for (int id = 0; id < 4; ++id) {
      Descriptor a = plain(row.kind), b = plain(row.kind);
      a.k96 = b.k96 = row.k96;
      a.scale_a_id = b.scale_b_id = static_cast<uint8_t>(id);
      EXPECT_EQ(words(a, {.scale_vec = row.scale_vec}).empty(), row.legal.contains(id))
          << to_string(row.kind) << id;
      EXPECT_EQ(words(b, {.scale_vec = row.scale_vec}).empty(), row.legal.contains(id))
          << to_string(row.kind) << id;
    }
  Descriptor d = plain(Kind::mxf4nvf4);
  d.scale_b_id = 3;
  expect_words(d, "scale factor id of B (bits 4-5) is 3; legal for .kind::mxf4nvf4: 0 with .scale_vec::4X",
               {.scale_vec = 4});
  d.scale_b_id = 0, d.scale_a_id = 1;
  expect_words(d, "scale factor id of A (bits 29-30) is 1; legal for .kind::mxf4nvf4: 0, 2");
}

TEST(TensorInstructionDescriptor, ExplainsEveryBitOnce) {
  for (const Kind kind : kKinds)
    for (const uint32_t bits : {plain(kind).encode(), 0u, 0xffffffffu, 0x5a5a5a5au}) {
      int next = 0;
      uint64_t again = 0;
      for (const DescriptorField& field : explain(Descriptor::decode(bits, kind))) {
        const size_t dash = field.bits.find('-');
        const int first = std::stoi(field.bits),
                  last = dash == std::string::npos ? first : std::stoi(field.bits.substr(dash + 1));
        EXPECT_EQ(first, next);
        next = last + 1;
        again |= field.value << first;
        EXPECT_FALSE(field.name.empty());
      }
      EXPECT_EQ(next, 32);
      EXPECT_EQ(again, bits);
    }
}

TEST(TensorInstructionDescriptor, ExplainsInWords) {
  std::string text;
  for (const DescriptorField& field : explain(Descriptor::decode(0x08020010, Kind::f16)))
    text += fmt::format("{} {} {} {}\n", field.bits, field.name, field.value, field.meaning);
  EXPECT_EQ(text, "0-1 sparsity selector 0 A is dense\n"
                  "2 sparsity 0 A is dense\n"
                  "3 saturate 0 D wraps\n"
                  "4-5 type of D 1 f32\n"
                  "6 reserved 0 \n"
                  "7-9 type of A 0 f16\n"
                  "10-12 type of B 0 f16\n"
                  "13 negate A 0 A\n"
                  "14 negate B 0 B\n"
                  "15 transpose A 0 K-major\n"
                  "16 transpose B 0 K-major\n"
                  "17-22 N 1 8\n"
                  "23 reserved 0 \n"
                  "24-28 M 8 128\n"
                  "29 reserved 0 \n"
                  "30-31 maximum shift 0 no shift\n");
}

} // namespace
} // namespace lemma::layout
