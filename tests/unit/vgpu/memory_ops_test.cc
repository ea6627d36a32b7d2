// ld and st: every type, register width, vector length, state space and pattern of addresses against a
// byte-wise statement of the ISA; where nothing may be written; what orders and what counts as progress.
#include "kernel.h"

#include "vgpu/handlers/memory/store_order.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

namespace lemma::vgpu {
namespace {

struct ElementType {
  const char* name;
  int bytes;
  bool is_signed;
};
constexpr ElementType kTypes[] = {{"u8", 1, false},  {"s8", 1, true},   {"b8", 1, false},  {"u16", 2, false},
                                  {"s16", 2, true},  {"b16", 2, false}, {"u32", 4, false}, {"s32", 4, true},
                                  {"b32", 4, false}, {"f32", 4, false}, {"u64", 8, false}, {"s64", 8, true},
                                  {"b64", 8, false}, {"f64", 8, false}};

struct Pattern {
  const char* name;
  std::vector<uint32_t> offsets; // in accesses, by lane
  uint32_t active;
};

// Lane's offsets in units of the access; every pattern stays below 64 units.
std::vector<Pattern> patterns() {
  std::vector<uint32_t> dense(32), uniform(32, 7), reversed(32), strided(32), shuffled(32);
  std::iota(dense.begin(), dense.end(), 0);
  for (uint32_t lane = 0; lane < 32; ++lane) {
    reversed[lane] = 31 - lane;
    strided[lane] = 2 * lane;
  }
  std::iota(shuffled.begin(), shuffled.end(), 3);
  std::shuffle(shuffled.begin(), shuffled.end(), std::mt19937(5));
  return {{"dense", dense, ~0u},       {"dense, some", dense, 0x0ff0f00fu},
          {"uniform", uniform, ~0u},   {"uniform, some", uniform, 0x00010100u},
          {"reversed", reversed, ~0u}, {"strided", strided, ~0u},
          {"shuffled", shuffled, ~0u}, {"shuffled, one", shuffled, 1u << 13}};
}

std::vector<uint8_t> random_bytes(size_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<uint8_t> bytes(count);
  for (uint8_t& byte : bytes)
    byte = static_cast<uint8_t>(random());
  return bytes;
}

// `count` little-endian bytes as a number, extended to 64 bits as the type says.
uint64_t number(const uint8_t* bytes, const ElementType& type) {
  uint64_t value = 0;
  for (int i = 0; i < type.bytes; ++i)
    value |= static_cast<uint64_t>(bytes[i]) << (8 * i);
  if (type.is_signed && type.bytes < 8 && (value >> (8 * type.bytes - 1) & 1))
    value |= ~uint64_t{0} << (8 * type.bytes);
  return value;
}

constexpr uint32_t kUnits = 64;
constexpr uint64_t kSentinel = 0x1122334455667788;

// The head of a kernel whose lanes each work on the unit that `offsets` names, if their bit of `active` is
// set: %unit is its address in `space`, %p says whether the lane is active, %mine is the lane's 64-byte slot
// in `out`. In shared memory the units are a copy of `in`.
std::string head(const std::string& space, int unit_bytes) {
  std::string text = fmt::format(R"(
.shared .align 128 .b8 copy[{0}];
.visible .entry k(.param .u64 in, .param .u64 offsets, .param .u64 active, .param .u64 out) {{
  .reg .b32 %t, %offset, %active, %bit;
  .reg .b64 %in, %offsets, %out, %mine, %unit, %delta, %from, %to, %word, %q<8>;
  .reg .b32 %r<8>;
  .reg .b16 %h<8>;
  .reg .b128 %w<2>;
  .reg .pred %p;
  mov.u32 %t, %tid.x;
  ld.param.u64 %in, [in];
  ld.param.u64 %offsets, [offsets];
  ld.param.u32 %active, [active];
  ld.param.u64 %out, [out];
  mul.wide.u32 %delta, %t, 4;
  add.u64 %from, %offsets, %delta;
  ld.global.u32 %offset, [%from];
  mul.wide.u32 %delta, %offset, {1};
  add.u64 %unit, %in, %delta;
  mul.wide.u32 %mine, %t, 64;
  add.u64 %mine, %mine, %out;
  shr.u32 %bit, %active, %t;
  and.b32 %bit, %bit, 1;
  setp.ne.u32 %p, %bit, 0;
)",
                                 kUnits * unit_bytes, unit_bytes);
  if (space == ".shared" || space == "generic shared") {
    text += fmt::format("  mul.wide.u32 %delta, %t, {};\n  mov.u64 %to, copy;\n  add.u64 %to, %to, %delta;\n"
                        "  add.u64 %from, %in, %delta;\n",
                        kUnits * unit_bytes / 32);
    for (uint32_t i = 0; i < kUnits * unit_bytes / 32; i += 2)
      text += fmt::format("  ld.global.b16 %h0, [%from+{0}];\n  st.shared.b16 [%to+{0}], %h0;\n", i);
    text += "  bar.sync 0;\n";
    text += fmt::format("  mul.wide.u32 %delta, %offset, {};\n  mov.u64 %unit, copy;\n", unit_bytes);
    if (space == "generic shared")
      text += "  cvta.shared.u64 %unit, %unit;\n";
    text += "  add.u64 %unit, %unit, %delta;\n";
  }
  return text;
}

std::string vector_of(const std::string& prefix, int count) {
  if (count == 1)
    return prefix + "0";
  std::string text = "{";
  for (int i = 0; i < count; ++i)
    text += fmt::format("{}{}{}", i ? ", " : "", prefix, i);
  return text + "}";
}

const char* register_prefix(int bytes) {
  return bytes == 2 ? "%h" : bytes == 4 ? "%r" : "%q";
}
std::string vector_suffix(int count) {
  return count == 1 ? "" : fmt::format(".v{}", count);
}
std::string space_suffix(const std::string& space) {
  return space.starts_with("generic") ? "" : space;
}

// One load of every kind; a lane's registers hold the sentinel before it.
TEST(Load, EveryTypeWidthVectorSpaceAndPattern) {
  int kernels = 0;
  for (const std::string space : {".global", ".shared", "generic global", "generic shared"})
    for (const ElementType& type : kTypes)
      for (const int reg : {2, 4, 8})
        for (const int count : {1, 2, 4}) {
          const int unit = type.bytes * count;
          if (reg < type.bytes || unit > 16 || unit * kUnits % 64 != 0 ||
              (type.name[0] == 'f' && reg != type.bytes))
            continue;
          const std::string prefix = register_prefix(reg);
          std::string text = head(space, unit);
          for (int i = 0; i < count; ++i)
            text += fmt::format("  mov.b{} {}{}, {:#x};\n", 8 * reg, prefix, i,
                                kSentinel & (~uint64_t{0} >> (64 - 8 * reg)));
          text += fmt::format("  @%p ld{}{}.{} {}, [%unit];\n", space_suffix(space), vector_suffix(count),
                              type.name, vector_of(prefix, count));
          for (int i = 0; i < count; ++i)
            text += fmt::format("  st.global.b{} [%mine+{}], {}{};\n", 8 * reg, 8 * i, prefix, i);
          Kernel kernel(text + "  ret;\n}\n");
          ++kernels;
          const std::vector<uint8_t> memory = random_bytes(kUnits * unit, kernels);
          const uint64_t in = kernel.buffer(memory);
          for (const Pattern& pattern : patterns()) {
            const uint64_t out = kernel.buffer(std::vector<uint64_t>(32 * 8));
            const Report report = kernel.run({in, kernel.buffer(pattern.offsets), pattern.active, out});
            ASSERT_EQ(fault_text(report), "");
            ASSERT_EQ(uninitialized_text(report), "");
            const auto result = kernel.read<uint64_t>(out, 32 * 8);
            for (int lane = 0; lane < 32; ++lane)
              for (int i = 0; i < count; ++i) {
                const uint64_t loaded = number(&memory[pattern.offsets[lane] * unit + i * type.bytes], type);
                const uint64_t expected = (pattern.active >> lane & 1) ? loaded : kSentinel;
                ASSERT_EQ(result[lane * 8 + i], expected & (~uint64_t{0} >> (64 - 8 * reg)))
                    << space << " " << type.name << " x" << count << " into " << reg << " bytes, "
                    << pattern.name << ", lane " << lane << ", element " << i;
              }
          }
        }
  EXPECT_GT(kernels, 200);
}

TEST(Store, EveryTypeWidthVectorSpaceAndPattern) {
  int kernels = 0;
  for (const std::string space : {".global", ".shared", "generic global", "generic shared"})
    for (const ElementType& type : kTypes)
      for (const int reg : {2, 4, 8})
        for (const int count : {1, 2, 4}) {
          const int unit = type.bytes * count;
          if (reg < type.bytes || unit > 16 || unit * kUnits % 64 != 0 ||
              (type.name[0] == 'f' && reg != type.bytes))
            continue;
          const std::string prefix = register_prefix(reg);
          std::string text = head(space, unit);
          for (int i = 0; i < count; ++i)
            text += fmt::format("  ld.global.b{} {}{}, [%mine+{}];\n", 8 * reg, prefix, i, 8 * i);
          text += fmt::format("  @%p st{}{}.{} [%unit], {};\n", space_suffix(space), vector_suffix(count),
                              type.name, vector_of(prefix, count));
          if (space.ends_with("shared")) { // copy back
            text += "  bar.sync 0;\n";
            text += fmt::format("  mul.wide.u32 %delta, %t, {};\n  mov.u64 %to, copy;\n"
                                "  add.u64 %to, %to, %delta;\n  add.u64 %from, %in, %delta;\n",
                                kUnits * unit / 32);
            for (uint32_t i = 0; i < kUnits * unit / 32; i += 2)
              text += fmt::format("  ld.shared.b16 %h7, [%to+{0}];\n  st.global.b16 [%from+{0}], %h7;\n", i);
          }
          Kernel kernel(text + "  ret;\n}\n");
          ++kernels;
          const std::vector<uint8_t> before = random_bytes(kUnits * unit, kernels);
          const std::vector<uint8_t> values = random_bytes(32 * 64, kernels + 1000);
          for (const Pattern& pattern : patterns()) {
            const uint64_t in = kernel.buffer(before);
            const Report report =
                kernel.run({in, kernel.buffer(pattern.offsets), pattern.active, kernel.buffer(values)});
            ASSERT_EQ(fault_text(report), "");
            std::vector<uint8_t> expected = before;
            for_lanes_as_stored(pattern.active, static_cast<uint32_t>(unit), [&](int lane) {
              for (int i = 0; i < count; ++i)
                for (int byte = 0; byte < type.bytes; ++byte)
                  expected[pattern.offsets[lane] * unit + i * type.bytes + byte] =
                      values[lane * 64 + 8 * i + byte];
            });
            ASSERT_EQ(kernel.read<uint8_t>(in, before.size()), expected)
                << space << " " << type.name << " x" << count << " from " << reg << " bytes, "
                << pattern.name;
          }
        }
  EXPECT_GT(kernels, 200);
}

TEST(Load, OneHundredAndTwentyEightBits) {
  Kernel kernel(head(".global", 16) + R"(
  ld.global.b128 %w0, [%unit];
  st.global.b128 [%mine], %w0;
  ret;
})");
  const std::vector<uint8_t> memory = random_bytes(kUnits * 16, 1);
  for (const Pattern& pattern : patterns()) {
    const uint64_t out = kernel.buffer(std::vector<uint64_t>(32 * 8));
    ASSERT_EQ(fault_text(kernel.run({kernel.buffer(memory), kernel.buffer(pattern.offsets), ~0u, out})), "");
    const auto result = kernel.read<uint8_t>(out, 32 * 64);
    for (int lane = 0; lane < 32; ++lane)
      EXPECT_TRUE(
          std::equal(&result[lane * 64], &result[lane * 64 + 16], &memory[pattern.offsets[lane] * 16]));
  }
}

TEST(Load, SinksAndADestinationThatIsTheAddress) {
  Kernel kernel(head(".global", 16) + R"(
  ld.global.v4.u32 {_, %r1, _, %r3}, [%unit];
  st.global.u32 [%mine], %r1;
  st.global.u32 [%mine+4], %r3;
  ld.global.v2.u64 {%unit, %q0}, [%unit];
  st.global.v2.u64 [%mine+16], {%unit, %q0};
  ret;
})");
  const std::vector<uint8_t> memory = random_bytes(kUnits * 16, 2);
  const std::vector<uint32_t> offsets = patterns()[6].offsets;
  const uint64_t out = kernel.buffer(std::vector<uint64_t>(32 * 8));
  ASSERT_EQ(fault_text(kernel.run({kernel.buffer(memory), kernel.buffer(offsets), ~0u, out})), "");
  for (int lane = 0; lane < 32; ++lane) {
    const auto words = kernel.read<uint8_t>(out + lane * 64, 32);
    const uint8_t* unit = &memory[offsets[lane] * 16];
    EXPECT_TRUE(std::equal(&words[0], &words[4], unit + 4));
    EXPECT_TRUE(std::equal(&words[4], &words[8], unit + 12));
    EXPECT_TRUE(std::equal(words.begin() + 16, words.end(), unit));
  }
}

// Every lane sees its own bytes, by .local and generic addresses.
TEST(LocalMemory, BelongsToTheLane) {
  Kernel kernel(R"(
.visible .entry k(.param .u64 out) {
  .local .align 16 .b8 depot[64];
  .reg .b32 %t, %r<4>;
  .reg .b64 %out, %mine, %sp, %spl, %d;
  mov.u32 %t, %tid.x;
  ld.param.u64 %out, [out];
  mul.wide.u32 %mine, %t, 16;
  add.u64 %mine, %mine, %out;
  mov.u64 %spl, depot;
  cvta.local.u64 %sp, %spl;
  st.local.u32 [depot+4], %t;
  and.b32 %r0, %t, 7;
  mul.wide.u32 %d, %r0, 4;
  add.u64 %sp, %sp, %d;
  add.u64 %spl, %spl, %d;
  st.u32 [%sp+16], %t;
  st.local.u8 [%spl+16], 255;
  ld.local.u32 %r1, [depot+4];
  ld.local.u32 %r2, [%spl+16];
  ld.u32 %r3, [%sp+16];
  st.global.v2.u32 [%mine], {%r1, %r2};
  st.global.u32 [%mine+8], %r3;
  ret;
})");
  const uint64_t out = kernel.buffer(std::vector<uint32_t>(128));
  ASSERT_EQ(fault_text(kernel.run({out})), "");
  const auto result = kernel.read<uint32_t>(out, 128);
  for (uint32_t lane = 0; lane < 32; ++lane) {
    EXPECT_EQ(result[4 * lane], lane);
    EXPECT_EQ(result[4 * lane + 1], lane | 255);
    EXPECT_EQ(result[4 * lane + 2], lane | 255);
  }
}

TEST(Parameters, OfTheKernelAndOfAFunction) {
  Kernel kernel(R"(
.func (.param .b64 r) sum(.param .align 16 .b8 p[24]) {
  .reg .b64 %a, %b, %c;
  ld.param.v2.b64 {%a, %b}, [p];
  ld.param.b64 %c, [p+16];
  add.u64 %a, %a, %b;
  add.u64 %a, %a, %c;
  st.param.b64 [r], %a;
  ret;
}
.visible .entry k(.param .align 8 .b8 pair[16], .param .u64 out) {
  .reg .b32 %t;
  .reg .b64 %x, %y, %z, %out, %mine, %address;
  .param .align 16 .b8 args[24];
  .param .b64 result;
  mov.u32 %t, %tid.x;
  ld.param.u64 %out, [out];
  mul.wide.u32 %mine, %t, 8;
  add.u64 %mine, %mine, %out;
  ld.param.v2.u64 {%x, %y}, [pair];
  mov.b64 %address, pair;
  cvta.param.u64 %address, %address;
  ld.u8 %z, [%address+9];
  mul.wide.u32 %z, %t, 100;
  st.param.v2.b64 [args], {%x, %y};
  st.param.b64 [args+16], %z;
  call (result), sum, (args);
  ld.param.b64 %x, [result];
  st.global.u64 [%mine], %x;
  ret;
})");
  const uint64_t out = kernel.buffer(std::vector<uint64_t>(32));
  ASSERT_EQ(fault_text(kernel.run({1000, 0x0700, out})), "");
  const auto result = kernel.read<uint64_t>(out, 32);
  for (uint64_t lane = 0; lane < 32; ++lane)
    EXPECT_EQ(result[lane], 1000 + 0x0700 + 100 * lane);
}

TEST(Hints, DoNothing) {
  Kernel kernel(R"(
.visible .entry k(.param .u64 buffer) {
  .reg .b64 %buffer, %policy, %null;
  .reg .b32 %r;
  ld.param.u64 %buffer, [buffer];
  mov.b64 %null, 0;
  prefetch.global.L1 [%null];
  prefetch.L2 [%buffer];
  prefetchu.L1 [%buffer+4096];
  applypriority.global.L2::evict_normal [%buffer], 128;
  discard.global.L2 [%buffer+128], 128;
  createpolicy.fractional.L2::evict_first.b64 %policy, 1.0;
  ld.global.nc.L1::no_allocate.L2::cache_hint.L2::128B.u32 %r, [%buffer], %policy;
  st.global.L2::cache_hint.u32 [%buffer+4], %r, %policy;
  ld.relaxed.gpu.global.u32 %r, [%buffer+8];
  st.release.sys.global.u32 [%buffer+12], %r;
  ld.acquire.cta.u32 %r, [%buffer+16];
  ld.volatile.global.u32 %r, [%buffer+20];
  st.wt.global.u32 [%buffer+24], %r;
  ret;
})");
  const uint64_t buffer = kernel.buffer(std::vector<uint32_t>{1, 2, 3, 4, 5, 6, 7});
  const uint64_t wide = kernel.buffer(std::vector<uint32_t>(64, 9));
  EXPECT_NE(fault_text(kernel.run({buffer})), "") << "28 bytes are no 128";
  ASSERT_EQ(fault_text(kernel.run({wide})), "");
  EXPECT_EQ(kernel.read<uint32_t>(wide, 64), std::vector<uint32_t>(64, 9));
}

// --- progress
// -----------------------------------------------------------------------------------------------------

// A loop around the given body that ends only when memory changes, which nobody does.
std::string spin(const std::string& body) {
  return R"(
.visible .entry k(.param .u64 flag) {
  .local .align 4 .b8 spill[8];
  .reg .b64 %flag;
  .reg .b32 %r, %n;
  .reg .pred %p;
  ld.param.u64 %flag, [flag];
  mov.b32 %n, 0;
  st.local.u32 [spill+4], %n;
loop:
)" + body +
         R"(
  setp.eq.u32 %p, %r, 0;
  @%p bra loop;
  ret;
})";
}

TEST(Progress, ALoopThatOnlyPollsIsADeadlock) {
  Kernel kernel(spin("  ld.volatile.global.u32 %r, [%flag];"));
  kernel.config().max_instructions = 1'000'000;
  EXPECT_EQ(fault_in(kernel.run({kernel.buffer(std::vector<uint32_t>{0})})).kind, FaultKind::deadlock);
}

TEST(Progress, SpillingWhatIsPolledIsPollingToo) {
  Kernel kernel(spin("  ld.volatile.global.u32 %r, [%flag];\n  st.local.u32 [spill], %r;"));
  kernel.config().max_instructions = 1'000'000;
  EXPECT_EQ(fault_in(kernel.run({kernel.buffer(std::vector<uint32_t>{0})})).kind, FaultKind::deadlock);
}

TEST(Progress, AStoreToGlobalMemoryIsNot) {
  Kernel kernel(spin("  ld.volatile.global.u32 %r, [%flag];\n  st.global.u32 [%flag+4], %r;"));
  kernel.config().max_instructions = 100'000;
  EXPECT_EQ(fault_in(kernel.run({kernel.buffer(std::vector<uint32_t>{0, 0})})).kind,
            FaultKind::too_many_instructions);
}

TEST(Progress, CountingInLocalMemoryIsProgress) {
  Kernel kernel(spin(R"(
  ld.local.u32 %r, [spill+4];
  add.u32 %r, %r, 1;
  st.local.u32 [spill+4], %r;
  setp.ge.u32 %p, %r, 100000;
  selp.b32 %r, 1, 0, %p;)"));
  EXPECT_EQ(fault_text(kernel.run({kernel.buffer(std::vector<uint32_t>{0})})), "");
}

} // namespace
} // namespace lemma::vgpu
