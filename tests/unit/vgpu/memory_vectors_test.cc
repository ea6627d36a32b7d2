// Loads and stores by the host's vectors against the plain ones: the same memory, report and counts at every
// level of the host, for every element and vector, state space and way in which the lanes' addresses lie;
// wrong ones too.
#include "kernel.h"
#include "vgpu/handlers/arithmetic/levels.h"
#include "vgpu/handlers/memory/memory_handlers.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include <array>
#include <functional>
#include <random>
#include <string>
#include <vector>

namespace lemma::vgpu {
namespace {

struct Element {
  std::string type;
  int bytes;
  std::string reg; // the registers' type
};

struct Shape {
  Element element;
  int count = 1;
  int width() const { return element.bytes * count; }
};

constexpr uint32_t kTileBytes = 4096;

// "{%v0, %v1}" or "%v0".
std::string registers(int count) {
  std::string out;
  for (int i = 0; i < count; ++i)
    out += fmt::format("{}%v{}", i ? ", " : "", i);
  return count == 1 ? out : "{" + out + "}";
}

// Lane t loads from its offset, where the mask lets it, and stores what it has got in its turn; then it
// stores numbers of its own at its offset. What is at `in` stands in shared memory first, where that is asked
// for, but for `left_out` bytes.
std::string kernel_text(const Shape& shape, const std::string& space, uint32_t left_out) {
  const std::string vector = shape.count == 1 ? "" : fmt::format(".v{}", shape.count);
  const std::string access = fmt::format("{}{}.{}", space, vector, shape.element.type);
  const std::string list = registers(shape.count);
  const bool shared = space == ".shared";
  std::string text = fmt::format(R"(
.visible .entry k(.param .u64 p_in, .param .u64 p_out, .param .u64 p_second, .param .u64 p_offsets, .param .u64 p_mask) {{
  .reg .pred %on, %more; .reg .b32 %t, %o, %m, %i, %w, %s; .reg .b64 %in, %out, %second, %offsets, %mask, %a, %b, %d;
  .reg .{} %v<4>;
  .shared .align 16 .b8 tile[{}], other[{}];
  ld.param.u64 %in, [p_in]; ld.param.u64 %out, [p_out]; ld.param.u64 %second, [p_second];
  ld.param.u64 %offsets, [p_offsets]; ld.param.u64 %mask, [p_mask];
  mov.u32 %t, %tid.x;
  mad.wide.u32 %a, %t, 4, %offsets; ld.global.u32 %o, [%a];
  cvt.u32.u64 %m, %mask; shr.u32 %m, %m, %t; and.b32 %m, %m, 1; setp.ne.u32 %on, %m, 0;
)",
                                 shape.element.reg, kTileBytes, kTileBytes);
  for (int i = 0; i < shape.count; ++i)
    text += fmt::format("  mov.b{} %v{}, 7;\n", shape.element.reg.substr(1), i);
  if (shared)
    text += fmt::format(R"(
  mul.lo.u32 %i, %t, 4;
FILL: cvt.u64.u32 %a, %i; add.u64 %a, %a, %in; ld.global.u32 %w, [%a];
  mov.u32 %s, tile; add.u32 %s, %s, %i; st.shared.u32 [%s], %w;
  add.u32 %i, %i, 128; setp.lt.u32 %more, %i, {}; @%more bra FILL;
  bar.sync 0;
  mov.u32 %s, tile; add.u32 %s, %s, %o;
  @%on ld{} {}, [%s+16];
)",
                        kTileBytes - left_out, access, list);
  else
    text +=
        fmt::format("  cvt.s64.s32 %a, %o; add.s64 %a, %a, %in;\n  @%on ld{} {}, [%a+16];\n", access, list);
  text += fmt::format("  mad.wide.u32 %b, %t, {}, %out; st.global{}.{} [%b], {};\n", shape.width(), vector,
                      shape.element.type, list);
  for (int i = 0; i < shape.count; ++i)
    text += fmt::format("  mad.lo.u32 %w, %t, 77, {}; cvt.u{}.u32 %v{}, %w;\n", i,
                        shape.element.reg.substr(1), i);
  if (shared)
    text += fmt::format(R"(
  mov.u32 %s, other; add.u32 %s, %s, %o;
  @%on st{} [%s+16], {};
  bar.sync 0;
  mul.lo.u32 %i, %t, 4;
BACK: mov.u32 %s, other; add.u32 %s, %s, %i; ld.shared.u32 %w, [%s];
  cvt.u64.u32 %a, %i; add.u64 %a, %a, %second; st.global.u32 [%a], %w;
  add.u32 %i, %i, 128; setp.lt.u32 %more, %i, {}; @%more bra BACK;
)",
                        access, list, kTileBytes);
  else
    text += fmt::format("  cvt.s64.s32 %d, %o; add.s64 %d, %d, %second;\n  @%on st{} [%d+16], {};\n", access,
                        list);
  return text + "  ret;\n}\n";
}

struct Place {
  std::string name;
  std::function<int(int lane, int width)> offset;
  bool faults = false;
};

const std::vector<Place>& places() {
  static const std::vector<Place> all = {
      {"dense", [](int lane, int width) { return lane * width; }},
      {"uniform", [](int, int width) { return 5 * width; }},
      {"reversed", [](int lane, int width) { return (31 - lane) * width; }},
      {"twice", [](int lane, int width) { return lane / 2 * width; }},
      {"strided", [](int lane, int width) { return lane * width * 3; }},
      {"shuffled", [](int lane, int width) { return (lane * 11 + 3) % 32 * width; }},
      {"all but one", [](int lane, int width) { return lane == 17 ? 0 : lane * width; }},
      {"misaligned", [](int lane, int width) { return lane * width + (lane == 7 ? width / 2 : 0); }, true},
      {"beyond", [](int lane, int width) { return lane == 9 ? 1 << 20 : lane * width; }, true},
      {"before", [](int lane, int width) { return lane == 30 ? -(1 << 16) : lane * width; }, true},
      {"across the end", [](int lane, int width) { return 4096 - 16 - 31 * width + lane * width; }, true},
  };
  return all;
}

struct Outcome {
  std::string text;
  std::vector<uint8_t> out;
  friend bool operator==(const Outcome&, const Outcome&) = default;
};

struct Accesses {
  Shape shape;
  std::string space;
  const Place& place;
  uint32_t mask = kAllLanes;
  uint32_t left_out = 0; // bytes of what is loaded that were never written, at the end
  bool tracked = false;  // out
};

Outcome run_at(HostLevel level, const Accesses& run) {
  set_host_level(level);
  Kernel kernel(kernel_text(run.shape, run.space, run.left_out));
  std::vector<uint8_t> in(kTileBytes);
  for (size_t i = 0; i < in.size(); ++i)
    in[i] = static_cast<uint8_t>(i * 37 ^ i >> 5);
  std::vector<int> offsets(kWarpSize);
  for (int lane = 0; lane < kWarpSize; ++lane)
    offsets[static_cast<size_t>(lane)] = run.place.offset(lane, run.shape.width());
  const auto made = [&] { return run.tracked ? kernel.uninitialized_buffer(kTileBytes) : kernel.buffer(in); };
  const uint64_t out = kernel.buffer(std::vector<uint8_t>(kTileBytes)), second = made();
  const uint64_t source = run.tracked && run.space != ".shared" ? made() : kernel.buffer(in);
  const Report report = kernel.run({source, out, second, kernel.buffer(offsets), run.mask});
  Outcome outcome{fault_text(report) + "\n" + uninitialized_text(report), {}};
  for (const std::string& note : report.fault ? report.fault->notes : std::vector<std::string>())
    outcome.text += "\n" + note;
  if (report.fault)
    outcome.text += fmt::format("\nlane {}", report.fault->lane);
  outcome.text += fmt::format("\n{} warp instructions, {} lane instructions, {} unwritten",
                              *report.stats.warp_instructions, *report.stats.lane_instructions,
                              report.uninitialized_reads);
  for (const uint64_t buffer : {out, second})
    for (const uint8_t byte : kernel.read<uint8_t>(buffer, kTileBytes))
      outcome.out.push_back(byte);
  return outcome;
}

class MemoryVectors : public testing::Test {
protected:
  void TearDown() override { set_host_level(before_); }

  // Whether the plain way faults or reports as the place says; the others must do the same.
  void expect_same(const Accesses& run) {
    const std::string name = fmt::format(
        "{} v{}.{} {} mask {:#x}{}{}", run.space, run.shape.count, run.shape.element.type, run.place.name,
        run.mask, run.left_out ? ", some unwritten" : "", run.tracked ? ", tracked" : "");
    take_plain_memory_handlers(true);
    const Outcome plain = run_at(HostLevel::baseline, run);
    take_plain_memory_handlers(false);
    if (!run.place.faults) {
      EXPECT_TRUE(plain.text.starts_with("\n")) << name << ": " << plain.text;
    }
    for (const HostLevel level : host_levels()) {
      const Outcome got = run_at(level, run);
      EXPECT_EQ(got.text, plain.text) << name << " at " << to_string(level);
      EXPECT_TRUE(got.out == plain.out) << name << " at " << to_string(level) << ": other bytes";
    }
    ++runs_;
  }

  int runs_ = 0;

private:
  const HostLevel before_ = host_level();
};

const std::array<Shape, 13> kShapes = {{{{"u8", 1, "b16"}, 1},
                                        {{"s8", 1, "b32"}, 1},
                                        {{"u16", 2, "b16"}, 1},
                                        {{"s16", 2, "b32"}, 1},
                                        {{"u32", 4, "b32"}, 1},
                                        {{"s32", 4, "b64"}, 1},
                                        {{"u64", 8, "b64"}, 1},
                                        {{"u16", 2, "b16"}, 2},
                                        {{"u32", 4, "b32"}, 2},
                                        {{"f32", 4, "f32"}, 4},
                                        {{"u64", 8, "b64"}, 2},
                                        {{"u8", 1, "b16"}, 4},
                                        {{"u32", 4, "b64"}, 2}}};

TEST_F(MemoryVectors, AreThePlainOnes) {
  for (const Shape& shape : kShapes)
    for (const std::string space : {".shared", ".global", ""})
      for (const Place& place : places()) {
        if (place.name == "misaligned" && shape.width() == 1)
          continue;
        Accesses run{.shape = shape, .space = space, .place = place};
        if (shape.element.reg == "f32")
          run.shape.element.reg = "b32";
        expect_same(run);
        if (place.faults)
          continue;
        run.mask = 0x8421f0fe;
        expect_same(run);
      }
  EXPECT_GT(runs_, 600);
}

// Reads of what was never written are reported the same, and what is written then counts as written.
TEST_F(MemoryVectors, KnowWhatWasWritten) {
  for (const Shape& shape : {kShapes[0], kShapes[2], kShapes[4], kShapes[6], kShapes[8], kShapes[10]})
    for (const std::string space : {".shared", ".global"})
      for (const Place& place : places()) {
        if (place.faults)
          continue;
        Accesses run{.shape = shape, .space = space, .place = place, .tracked = true};
        expect_same(run);
        run.left_out = kTileBytes - 128; // the tile's first 32 words are written
        run.mask = 0xffff00ff;
        expect_same(run);
      }
  EXPECT_GT(runs_, 100);
}

// One load and one store in a loop, each round's where a table says: of each lane, `base + lane * step`.
std::string loop_text(int bytes) {
  return fmt::format(R"(
.visible .entry k(.param .u64 p_table, .param .u64 p_rounds) {{
  .reg .pred %more; .reg .b32 %t, %r, %in_step, %out_step; .reg .b64 %table, %rounds, %in, %out, %i; .reg .b{0} %v;
  ld.param.u64 %table, [p_table]; ld.param.u64 %rounds, [p_rounds]; mov.u32 %t, %tid.x; mov.u64 %i, 0;
ROUND:
  ld.global.u64 %in, [%table]; ld.global.u64 %out, [%table+8];
  ld.global.u32 %in_step, [%table+16]; ld.global.u32 %out_step, [%table+20];
  mad.wide.s32 %in, %t, %in_step, %in; mad.wide.s32 %out, %t, %out_step, %out;
  ld.global.b{0} %v, [%in+{1}];
  st.global.b{0} [%out+{1}], %v;
  add.u64 %table, %table, 24; add.u64 %i, %i, 1;
  setp.lt.u64 %more, %i, %rounds; @%more bra ROUND;
  ret;
}}
)",
                     8 * bytes, bytes);
}

struct Round {
  uint64_t in = 0, out = 0;
  int32_t in_step = 0, out_step = 0;
};

// What an instruction accessed last says nothing about what it accesses next.
TEST_F(MemoryVectors, FollowAnInstructionFromMemoryToMemory) {
  std::mt19937_64 random(1);
  const auto draw = [&](uint64_t n) { return random() % n; };
  for (int run = 0; run < 400; ++run) {
    const int bytes = run % 2 ? 8 : 4;
    const auto width = static_cast<uint64_t>(bytes);
    std::vector<std::array<uint64_t, 4>> choices; // of in and out: which buffer, where; steps by number
    for (uint64_t rounds = 2 + draw(8); rounds > 0; --rounds)
      choices.push_back({draw(64), draw(64), draw(run % 3 ? 2 : 16), draw(run % 5 ? 1 : 16)});
    const bool strays = run % 4 == 3; // the last one may leave its buffer, or be misaligned
    const uint64_t way = draw(6);
    std::string plain;
    std::vector<uint8_t> plain_bytes;
    for (const HostLevel level : host_levels()) {
      set_host_level(level);
      Kernel kernel(loop_text(bytes));
      std::vector<uint8_t> values(kTileBytes);
      for (size_t i = 0; i < values.size(); ++i)
        values[i] = static_cast<uint8_t>(i * 37 ^ i >> 5);
      const uint64_t buffers[] = {kernel.buffer(values), kernel.buffer(values),
                                  kernel.uninitialized_buffer(kTileBytes), kernel.buffer(values)};
      std::vector<Round> rounds;
      for (const auto& [in, out, in_step, out_step] : choices) {
        const auto step = [&](uint64_t number) {
          return static_cast<int32_t>(number == 0   ? width
                                      : number == 1 ? 0
                                      : number == 2 ? 2 * width
                                                    : 3 * width);
        };
        rounds.push_back({buffers[in % 4] + in / 4 * 2 * width, buffers[out % 4] + out / 4 * 2 * width,
                          step(in_step), step(out_step)});
      }
      if (strays) {
        uint64_t& at = way % 2 ? rounds.back().in : rounds.back().out;
        at = way < 2 ? at + width / 2 : buffers[0] + (way < 4 ? kTileBytes - 17 * width : kTileBytes + width);
      }
      const Report report = kernel.run({kernel.buffer(rounds), rounds.size()});
      std::string text =
          fmt::format("{}\n{}\n{} lanes, {} unwritten", fault_text(report), uninitialized_text(report),
                      *report.stats.lane_instructions, report.uninitialized_reads);
      std::vector<uint8_t> got;
      for (const uint64_t buffer : buffers)
        for (const uint8_t byte : kernel.read<uint8_t>(buffer, kTileBytes))
          got.push_back(byte);
      if (level == HostLevel::baseline) {
        plain = text;
        plain_bytes = got;
        runs_ += !fault_text(report).empty();
      }
      EXPECT_EQ(text, plain) << "run " << run << " at " << to_string(level);
      EXPECT_TRUE(got == plain_bytes) << "run " << run << " at " << to_string(level) << ": other bytes";
    }
  }
  EXPECT_GT(runs_, 50); // faults
  EXPECT_LT(runs_, 200);
}

// Offsets are of 32 bits: of a larger allocation they begin near the lanes.
TEST_F(MemoryVectors, FindTheirPlaceInMoreThan4GiB) {
  const std::string text = R"(
.visible .entry k(.param .u64 p_in, .param .u64 p_out) {
  .reg .b32 %t, %r<4>; .reg .b64 %in, %out, %a;
  ld.param.u64 %in, [p_in]; ld.param.u64 %out, [p_out];
  mov.u32 %t, %tid.x; sub.u32 %t, 31, %t;
  mul.wide.u32 %a, %t, 32; add.u64 %in, %in, %a; add.u64 %out, %out, %a;
  ld.global.u32 %r0, [%in]; ld.global.v2.u32 {%r1, %r2}, [%in+8];
  st.global.u32 [%out], %r0; st.global.v2.u32 [%out+8], {%r1, %r2};
  ret;
}
)";
  constexpr uint64_t kTable = 32 * 32, kWordsOfALane = 8;
  for (const HostLevel level : host_levels()) {
    set_host_level(level);
    Kernel kernel(text);
    const Allocation* large = kernel.memory().allocate((uint64_t{4} << 30) + kTileBytes, "large");
    ASSERT_TRUE(large);
    for (const uint64_t from :
         {uint64_t{0}, uint64_t{3} << 29, uint64_t{5} << 29, large->size_bytes - 2 * kTable}) {
      std::vector<uint32_t> values(kTable / sizeof(uint32_t)), wanted(values.size()), got(values.size());
      for (size_t i = 0; i < values.size(); ++i) {
        values[i] = static_cast<uint32_t>(from >> 20) + static_cast<uint32_t>(i) * 0x01010101;
        wanted[i] = i % kWordsOfALane == 1 || i % kWordsOfALane > 3 ? 0 : values[i];
      }
      std::memcpy(large->host + from, values.data(), kTable);
      EXPECT_EQ(fault_text(kernel.run({large->base + from, large->base + from + kTable})), "");
      std::memcpy(got.data(), large->host + from + kTable, kTable);
      EXPECT_EQ(got, wanted) << from << " at " << to_string(level);
    }
  }
}

// CTAs whose threads have one element each, of an array that ends in the middle of one.
TEST_F(MemoryVectors, EndWhereMemoryDoes) {
  for (const char* access : {"ld.global.u32 %r, [%a];", "st.global.u32 [%a], %r;"})
    for (const HostLevel level : host_levels()) {
      set_host_level(level);
      Kernel kernel(fmt::format(R"(
.visible .entry k(.param .u64 p) {{
  .reg .b32 %t, %c, %r; .reg .b64 %a;
  ld.param.u64 %a, [p]; mov.u32 %t, %tid.x; mov.u32 %c, %ctaid.x; mad.lo.u32 %t, %c, 64, %t;
  mad.wide.u32 %a, %t, 4, %a; mov.u32 %r, 1;
  {}
  ret;
}}
)",
                                access));
      kernel.config().grid = {8, 1, 1};
      kernel.config().block = {64, 1, 1};
      kernel.config().workers = 1;
      const Report report = kernel.run({kernel.buffer(std::vector<uint32_t>(6 * 64 + 40))});
      ASSERT_TRUE(report.fault) << access << " at " << to_string(level);
      EXPECT_EQ(report.fault->lane, 8) << access << " at " << to_string(level);
      EXPECT_EQ(report.fault->warp, 1) << access << " at " << to_string(level);
    }
}

// What a load may read a store may not write, wherever the two stand: each has an instruction of the other at
// every distance up to 70.
TEST_F(MemoryVectors, StoresAreNoLoads) {
  std::string head = R"(
.const .align 128 .b32 table[32];
.visible .entry k(.param .u64 p_rounds) {
  .reg .pred %more; .reg .b32 %t, %r; .reg .b64 %a, %i, %rounds;
  ld.param.u64 %rounds, [p_rounds]; mov.u32 %t, %tid.x; mov.u64 %a, table; cvta.const.u64 %a, %a;
  mad.wide.u32 %a, %t, 4, %a; mov.u64 %i, 0;
ROUND:
  ld.b32 %r, [%a];
)";
  for (int apart = 1; apart <= 70; ++apart) {
    std::string text = head;
    for (int i = 1; i < apart; ++i)
      text += "  add.u32 %r, %r, 1;\n";
    text += "  add.u64 %i, %i, 1; setp.lt.u64 %more, %i, %rounds; @%more bra ROUND;\n  st.b32 [%a], %r;\n  "
            "ret;\n}\n";
    for (const HostLevel level : host_levels()) {
      set_host_level(level);
      Kernel kernel(text);
      EXPECT_NE(fault_text(kernel.run({3})), "") << apart << " apart at " << to_string(level);
    }
  }
}

// Arrays in local memory that lanes index differently, by its own addresses and by generic ones, in whole
// warps and parts of one: the same at every level, what was never written too.
TEST(MemoryVectorsOfLanes, LocalArraysThatLanesIndexDifferently) {
  const struct {
    const char* type;
    const char* prefix;
    int bytes;
  } kinds[] = {{"u8", "%h", 1}, {"s16", "%h", 2}, {"u32", "%r", 4}, {"u64", "%d", 8}};
  const HostLevel before = host_level();
  for (const auto& kind : kinds)
    for (const bool generic : {false, true})
      for (const uint32_t threads : {32u, 8u, 45u}) {
        std::string body = "cvta.local.u64 %generic, array; mov.u64 %base, array;\n";
        const char* space = generic ? "" : ".local";
        const char* base = generic ? "%generic" : "%base";
        const auto address = [&](uint32_t factor, uint32_t add) {
          return fmt::format("mad.lo.u32 %i, %t, {}, {}; and.b32 %i, %i, 31; mul.wide.u32 %at, %i, {}; "
                             "add.u64 %at, %at, {};\n",
                             factor, add, kind.bytes, base);
        };
        for (uint32_t i = 0; i < 12; ++i)
          body +=
              address(5, i * 3) +
              fmt::format("add.u32 %r0, %t, {}; cvt.{}.u32 {}0, %r0; @%p st{}.{} [%at], {}0;\n", i * 7,
                          kind.bytes == 1 ? "u16" : kind.type, kind.prefix, space, kind.type, kind.prefix);
        for (uint32_t i = 0; i < 8; ++i)
          body += address(3, i * 11) +
                  fmt::format("ld{}.{} {}1, [%at]; cvt.u64.{} %d2, {}1; st.global.u64 [%out+{}], "
                              "%d2;\n",
                              space, kind.type, kind.prefix, kind.bytes == 1 ? "u16" : kind.type, kind.prefix,
                              8 * i);
        const std::string text = fmt::format(R"(
.visible .entry k(.param .u64 p_out) {{
  .local .align 16 .b8 array[256];
  .reg .b64 %out, %generic, %base, %at, %d<3>; .reg .b32 %t, %i, %r<3>; .reg .b16 %h<3>; .reg .pred %p;
  ld.param.u64 %out, [p_out]; mov.u32 %t, %tid.x; mad.wide.u32 %out, %t, 64, %out;
  and.b32 %i, %t, 4; setp.eq.u32 %p, %i, 0;
  {}
  ret;
}})",
                                             body);
        std::vector<uint64_t> out[2];
        uint64_t unwritten[2] = {};
        for (const int highest : {0, 1}) {
          set_host_level(highest ? host_levels().back() : HostLevel::baseline);
          Kernel kernel(text);
          kernel.config().block = {threads, 1, 1};
          const uint64_t memory = kernel.buffer(std::vector<uint64_t>(8 * threads));
          const Report report = kernel.run({memory});
          ASSERT_EQ(fault_text(report), "");
          out[highest] = kernel.read<uint64_t>(memory, 8 * threads);
          unwritten[highest] = report.uninitialized_reads;
        }
        set_host_level(before);
        EXPECT_EQ(out[0], out[1]) << kind.type << generic << threads;
        EXPECT_EQ(unwritten[0], unwritten[1]) << kind.type << generic << threads;
        EXPECT_NE(unwritten[0], 0u); // lanes whose number has the bit 4 write nothing
      }
}

} // namespace
} // namespace lemma::vgpu
