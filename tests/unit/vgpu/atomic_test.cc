// atom and red: every operation and type, on global and shared memory, against a sequential statement that
// uses the host's own arithmetic; what happens between CTAs; what counts as progress.
#include "kernel.h"
#include "numeric/arithmetic.h"
#include "vgpu/handlers/arithmetic/levels.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <thread>

namespace lemma::vgpu {
namespace {

using Values = std::array<uint64_t, 2>; // low, high half of 128 bits

// --- the statement
// --------------------------------------------------------------------------------------------------

double from_half(uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const double fraction = bits & 1023;
  const double magnitude = exponent == 31  ? (fraction != 0 ? NAN : INFINITY)
                           : exponent == 0 ? std::ldexp(fraction, -24)
                                           : std::ldexp(1024 + fraction, exponent - 25);
  return bits >> 15 ? -magnitude : magnitude;
}

// Correct for sums of two halves: they are exact in double, and rounded here once by the host.
uint16_t to_half(double value) {
  if (std::isnan(value))
    return 0x7fff;
  return std::bit_cast<uint16_t>(static_cast<_Float16>(value));
}

uint16_t add_half(uint16_t a, uint16_t b) {
  return to_half(from_half(a) + from_half(b));
}

float from_bfloat(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

// The double sum of two bfloats is exact for the exponents used here.
uint16_t add_bfloat(uint16_t a, uint16_t b) {
  const double sum = static_cast<double>(from_bfloat(a)) + from_bfloat(b);
  if (std::isnan(sum))
    return 0x7fff;
  const float rounded = static_cast<float>(sum);
  auto bits = std::bit_cast<uint32_t>(rounded);
  if (std::isinf(rounded))
    return static_cast<uint16_t>(bits >> 16);
  // Nearest even on the 16 bits that go; the float's own rounding was exact or lies far below them.
  bits += 0x7fff + (bits >> 16 & 1);
  return static_cast<uint16_t>(bits >> 16);
}

float flushed(float value) {
  return std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(0.0f, value) : value;
}

uint32_t add_float(uint32_t a, uint32_t b, bool flush) {
  float x = std::bit_cast<float>(a), y = std::bit_cast<float>(b);
  if (flush) {
    x = flushed(x);
    y = flushed(y);
  }
  volatile float sum = x + y;
  if (std::isnan(sum))
    return 0x7fffffff;
  return std::bit_cast<uint32_t>(flush ? flushed(sum) : sum);
}

uint64_t add_double(uint64_t a, uint64_t b) {
  const double sum = std::bit_cast<double>(a) + std::bit_cast<double>(b);
  if (!std::isnan(sum))
    return std::bit_cast<uint64_t>(sum);
  // Which NaN is src/numeric's to know.
  const uint64_t operands[] = {b, a};
  const bool has_nan = std::isnan(std::bit_cast<double>(a)) || std::isnan(std::bit_cast<double>(b));
  return numeric::nan_result(numeric::FloatFormat::f64, operands, has_nan ? 2 : 0);
}

struct Case {
  const char* op;
  const char* type;
  int bytes;
  std::function<Values(Values old, Values b, Values c, bool global)> apply;
};

template <class F>
auto scalar(F f) {
  return [f](Values old, Values b, Values c, bool) { return Values{f(old[0], b[0], c[0]), 0}; };
}

uint64_t low32(uint64_t value) {
  return value & 0xffffffffu;
}
uint64_t pack(uint32_t old, uint32_t b, uint16_t (*f)(uint16_t, uint16_t)) {
  return static_cast<uint64_t>(f(old >> 16, b >> 16)) << 16 | f(old & 0xffff, b & 0xffff);
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const auto& [bytes, type] : {std::pair{4, "b32"}, {8, "b64"}}) {
    all.push_back({"and", type, bytes, scalar([](uint64_t o, uint64_t b, uint64_t) { return o & b; })});
    all.push_back({"or", type, bytes, scalar([](uint64_t o, uint64_t b, uint64_t) { return o | b; })});
    all.push_back({"xor", type, bytes, scalar([](uint64_t o, uint64_t b, uint64_t) { return o ^ b; })});
    all.push_back({"exch", type, bytes, scalar([](uint64_t, uint64_t b, uint64_t) { return b; })});
    all.push_back(
        {"cas", type, bytes, scalar([](uint64_t o, uint64_t b, uint64_t c) { return o == b ? c : o; })});
  }
  all.push_back({"cas", "b16", 2, scalar([](uint64_t o, uint64_t b, uint64_t c) { return o == b ? c : o; })});
  all.push_back({"exch", "b128", 16, [](Values, Values b, Values, bool) { return b; }});
  all.push_back({"cas", "b128", 16, [](Values o, Values b, Values c, bool) { return o == b ? c : o; }});
  for (const char* type : {"u32", "s32"})
    all.push_back({"add", type, 4, scalar([](uint64_t o, uint64_t b, uint64_t) { return low32(o + b); })});
  all.push_back({"add", "u64", 8, scalar([](uint64_t o, uint64_t b, uint64_t) { return o + b; })});
  all.push_back(
      {"inc", "u32", 4, scalar([](uint64_t o, uint64_t b, uint64_t) { return o >= b ? 0 : o + 1; })});
  all.push_back({"dec", "u32", 4,
                 scalar([](uint64_t o, uint64_t b, uint64_t) { return o == 0 || o > b ? b : o - 1; })});
  all.push_back({"min", "u32", 4, scalar([](uint64_t o, uint64_t b, uint64_t) { return o < b ? o : b; })});
  all.push_back({"max", "u32", 4, scalar([](uint64_t o, uint64_t b, uint64_t) { return o > b ? o : b; })});
  all.push_back({"min", "u64", 8, scalar([](uint64_t o, uint64_t b, uint64_t) { return o < b ? o : b; })});
  all.push_back({"max", "u64", 8, scalar([](uint64_t o, uint64_t b, uint64_t) { return o > b ? o : b; })});
  all.push_back({"min", "s32", 4,
                 scalar([](uint64_t o, uint64_t b, uint64_t) { return int32_t(o) < int32_t(b) ? o : b; })});
  all.push_back({"max", "s32", 4,
                 scalar([](uint64_t o, uint64_t b, uint64_t) { return int32_t(o) > int32_t(b) ? o : b; })});
  all.push_back({"min", "s64", 8,
                 scalar([](uint64_t o, uint64_t b, uint64_t) { return int64_t(o) < int64_t(b) ? o : b; })});
  all.push_back({"max", "s64", 8,
                 scalar([](uint64_t o, uint64_t b, uint64_t) { return int64_t(o) > int64_t(b) ? o : b; })});
  all.push_back({"add", "f32", 4, [](Values o, Values b, Values, bool global) {
                   return Values{add_float(uint32_t(o[0]), uint32_t(b[0]), global), 0};
                 }});
  all.push_back({"add", "f64", 8, scalar([](uint64_t o, uint64_t b, uint64_t) { return add_double(o, b); })});
  all.push_back({"add.noftz", "f32", 4, scalar([](uint64_t o, uint64_t b, uint64_t) {
                   return uint64_t{add_float(uint32_t(o), uint32_t(b), false)};
                 })});
  all.push_back({"add.noftz", "f16", 2, scalar([](uint64_t o, uint64_t b, uint64_t) {
                   return uint64_t{add_half(uint16_t(o), uint16_t(b))};
                 })});
  all.push_back({"add.noftz", "bf16", 2, scalar([](uint64_t o, uint64_t b, uint64_t) {
                   return uint64_t{add_bfloat(uint16_t(o), uint16_t(b))};
                 })});
  all.push_back({"add.noftz", "f16x2", 4, scalar([](uint64_t o, uint64_t b, uint64_t) {
                   return pack(uint32_t(o), uint32_t(b), add_half);
                 })});
  all.push_back({"add.noftz", "bf16x2", 4, scalar([](uint64_t o, uint64_t b, uint64_t) {
                   return pack(uint32_t(o), uint32_t(b), add_bfloat);
                 })});
  return all;
}

// --- the kernel
// -----------------------------------------------------------------------------------------------------

const char* register_of(int bytes) {
  return bytes == 2 ? "%h" : bytes == 4 ? "%r" : bytes == 8 ? "%q" : "%w";
}

// Each lane works on the cell that its word in `cells` names, 16 bytes each; its operands are 32 bytes in
// `operands`, its result 16 bytes in `out`. On shared memory the cells are copied there and back.
std::string kernel_text(const std::string& instruction, int bytes, bool shared, bool has_result) {
  const std::string r = register_of(bytes);
  std::string text = R"(
.shared .align 16 .b8 copy[512];
.visible .entry k(.param .u64 memory, .param .u64 cells, .param .u64 operands, .param .u64 out) {
  .reg .b32 %t, %cell, %r<4>;
  .reg .b64 %memory, %cells, %operands, %out, %own, %d, %at, %q<4>;
  .reg .b16 %h<4>;
  .reg .b128 %w<4>;
  mov.u32 %t, %tid.x;
  ld.param.u64 %memory, [memory];
  ld.param.u64 %cells, [cells];
  ld.param.u64 %operands, [operands];
  ld.param.u64 %out, [out];
  mul.wide.u32 %d, %t, 4;
  add.u64 %cells, %cells, %d;
  mul.wide.u32 %d, %t, 32;
  add.u64 %operands, %operands, %d;
  mul.wide.u32 %d, %t, 16;
  add.u64 %out, %out, %d;
  add.u64 %own, %memory, %d;
  ld.global.u32 %cell, [%cells];
)";
  if (shared)
    text += R"(
  mov.u64 %at, copy;
  add.u64 %at, %at, %d;
  ld.global.v2.b64 {%q0, %q1}, [%own];
  st.shared.v2.b64 [%at], {%q0, %q1};
  bar.sync 0;
  mov.u64 %memory, copy;
)";
  text += fmt::format(R"(
  mul.wide.u32 %d, %cell, 16;
  add.u64 %at, %memory, %d;
  ld.global.b{0} {1}1, [%operands];
  ld.global.b{0} {1}2, [%operands+16];
  {2};
)",
                      8 * bytes, r, instruction);
  if (has_result)
    text += fmt::format("  st.global.b{} [%out], {}0;\n", 8 * bytes, r);
  if (shared)
    text += R"(
  bar.sync 0;
  mul.wide.u32 %d, %t, 16;
  add.u64 %at, %memory, %d;
  ld.shared.v2.b64 {%q0, %q1}, [%at];
  st.global.v2.b64 [%own], {%q0, %q1};
)";
  return text + "  ret;\n}\n";
}

// Operands that meet: few distinct values, special ones of the floating-point formats among them.
std::vector<uint64_t> operand_bits(const Case& c, std::mt19937_64& random, size_t count) {
  const std::string type = c.type;
  std::vector<uint64_t> special{0, 1, 2, 0x7fffffff, 0x80000000, 0xffffffff, ~uint64_t{0}};
  if (type == "f32")
    special = {0,          0x80000000, 1,          0x80000001, 0x007fffff, 0x00800000, 0x80800001,
               0x3f800000, 0xbf800000, 0x7f7fffff, 0x7f800000, 0xff800000, 0x7fc00001, 0x00800001};
  else if (type == "f64")
    special = {0,
               uint64_t{1} << 63,
               1,
               0x0010000000000000,
               0x3ff0000000000000,
               0x7fefffffffffffff,
               0x7ff0000000000000,
               0xfff0000000000000,
               0x7ff8000000000001};
  else if (type == "f16" || type == "f16x2")
    special = {0, 0x8000, 1, 0x8001, 0x03ff, 0x0400, 0x3c00, 0xbc00, 0x7bff, 0x7c00, 0xfc00, 0x7e01};
  else if (type == "bf16" || type == "bf16x2")
    special = {0, 0x8000, 0x3f80, 0xbf80, 0x3f81, 0x4000, 0x7f80, 0xff80, 0x7fc1, 0x4110, 0x3e01};
  const auto one = [&]() -> uint64_t {
    if (random() % 2)
      return special[random() % special.size()];
    if (type == "bf16" || type == "bf16x2") // exponents near one, so that the double sum is exact
      return 0x3c00 + random() % 0x0800 + (random() % 2 << 15);
    return random();
  };
  std::vector<uint64_t> bits(count);
  for (uint64_t& value : bits) {
    value = one();
    if (type == "f16x2" || type == "bf16x2")
      value = (value & 0xffff) | (one() & 0xffff) << 16;
    if (c.bytes < 8)
      value &= (uint64_t{1} << (8 * c.bytes)) - 1;
  }
  return bits;
}

struct Scene {
  std::vector<uint64_t> memory;   // 32 cells of 16 bytes
  std::vector<uint32_t> cells;    // by lane
  std::vector<uint64_t> operands; // by lane: b, c, 16 bytes each
};

Scene make_scene(const Case& c, std::mt19937_64& random, bool one_cell) {
  Scene scene;
  scene.memory = operand_bits(c, random, 64);
  scene.operands = operand_bits(c, random, 128);
  for (int lane = 0; lane < 32; ++lane)
    scene.cells.push_back(one_cell ? 6 : random() % 5 * 3);
  // Half of all compare-and-swaps meet what they compare with.
  for (int lane = 0; lane < 32; lane += 2) {
    scene.operands[lane * 4] = scene.memory[scene.cells[lane] * 2];
    scene.operands[lane * 4 + 1] = scene.memory[scene.cells[lane] * 2 + 1];
  }
  return scene;
}

// Applies the lanes in order to `memory`; returns the old values.
std::vector<uint64_t> expected(const Case& c, const Scene& scene, bool global,
                               std::vector<uint64_t>& memory) {
  memory = scene.memory;
  std::vector<uint64_t> old(64);
  for (int lane = 0; lane < 32; ++lane) {
    uint64_t* cell = &memory[scene.cells[lane] * 2];
    const uint64_t mask = c.bytes < 8 ? (uint64_t{1} << (8 * c.bytes)) - 1 : ~uint64_t{0};
    const uint64_t* o = &scene.operands[lane * 4];
    const bool wide = c.bytes == 16;
    const Values before{cell[0] & mask, wide ? cell[1] : 0};
    const Values after =
        c.apply(before, {o[0] & mask, wide ? o[1] : 0}, {o[2] & mask, wide ? o[3] : 0}, global);
    cell[0] = (cell[0] & ~mask) | after[0];
    if (wide)
      cell[1] = after[1];
    old[lane * 2] = before[0];
    old[lane * 2 + 1] = before[1];
  }
  return old;
}

// Sets the host's level for a test, and what it was afterwards.
class AtLevel {
public:
  explicit AtLevel(HostLevel level) { set_host_level(level); }
  ~AtLevel() { set_host_level(before_); }
  AtLevel(const AtLevel&) = delete;

private:
  const HostLevel before_ = host_level();
};

// As if another thread of the host ran kernels on the memory: nobody is alone with it.
std::unique_ptr<GlobalMemory::Users> another_user(Kernel& kernel) {
  return std::make_unique<GlobalMemory::Users>(kernel.memory(), 1);
}

void try_every_operation_type_and_space() {
  std::mt19937_64 random(7);
  for (const Case& c : cases())
    for (const bool shared : {false, true})
      for (const bool generic : {false, true})
        for (const bool returns : {true, false}) {
          const bool is_cas = std::string_view(c.op) == "cas";
          if (!returns && (is_cas || std::string_view(c.op) == "exch"))
            continue;
          const std::string r = register_of(c.bytes);
          std::string instruction;
          if (shared && generic)
            instruction = "cvta.shared.u64 %at, %at;\n  ";
          instruction += fmt::format("{}{}.{}.{} {}[%at], {}1{}", returns ? "atom" : "red",
                                     generic  ? ""
                                     : shared ? ".shared"
                                              : ".global",
                                     c.op, c.type, returns ? r + "0, " : "", r, is_cas ? ", " + r + "2" : "");
          Kernel kernel(kernel_text(instruction, c.bytes, shared, returns));
          for (int repeat = 0; repeat < 20; ++repeat) {
            const auto other = repeat % 3 == 2 ? another_user(kernel) : nullptr;
            const Scene scene = make_scene(c, random, repeat % 4 == 3);
            std::vector<uint64_t> memory;
            const std::vector<uint64_t> old = expected(c, scene, !shared, memory);
            const uint64_t cells = kernel.buffer(scene.memory);
            const uint64_t out = kernel.buffer(std::vector<uint64_t>(64));
            ASSERT_EQ(fault_text(kernel.run(
                          {cells, kernel.buffer(scene.cells), kernel.buffer(scene.operands), out})),
                      "");
            ASSERT_EQ(kernel.read<uint64_t>(cells, 64), memory) << instruction;
            if (returns) {
              ASSERT_EQ(kernel.read<uint64_t>(out, 64), old) << instruction;
            }
          }
        }
}

TEST(Atomic, EveryOperationTypeAndSpace) {
  for (const HostLevel level : {HostLevel::baseline, host_levels().back()}) {
    const AtLevel at(level);
    try_every_operation_type_and_space();
  }
}

// Lanes that have neighbouring elements, some of them or all.
TEST(Atomic, LanesSideBySide) {
  struct Operation {
    std::string text; // of 32 bits
    uint32_t (*apply)(uint32_t old, uint32_t b, bool global);
  };
  const Operation operations[] = {
      {"add.u32", [](uint32_t old, uint32_t b, bool) { return old + b; }},
      {"min.s32",
       [](uint32_t old, uint32_t b, bool) {
         return static_cast<uint32_t>(std::min(static_cast<int32_t>(old), static_cast<int32_t>(b)));
       }},
      {"exch.b32", [](uint32_t, uint32_t b, bool) { return b; }},
      {"inc.u32", [](uint32_t old, uint32_t b, bool) { return old >= b ? 0 : old + 1; }},
      {"and.b32", [](uint32_t old, uint32_t b, bool) { return old & b; }},
      {"add.f32", add_float},
      {"add.noftz.f16x2",
       [](uint32_t old, uint32_t b, bool) { return static_cast<uint32_t>(pack(old, b, add_half)); }}};
  for (const HostLevel level : {HostLevel::baseline, host_levels().back()})
    for (const Operation& operation : operations)
      for (const bool shared : {false, true})
        for (const uint32_t mask : {kAllLanes, 0x0ff0a5c1u}) {
          const AtLevel at(level);
          Kernel kernel(fmt::format(R"(
.visible .entry k(.param .u64 p_cells, .param .u64 p_old, .param .u64 p_mask) {{
  .reg .b64 %cells, %old, %at, %back, %wide; .reg .b32 %t, %b, %r, %m, %s; .reg .pred %p;
  .shared .align 4 .b8 tile[128];
  ld.param.u64 %cells, [p_cells]; ld.param.u64 %old, [p_old]; ld.param.u64 %wide, [p_mask];
  mov.u32 %t, %tid.x;
  cvt.u32.u64 %m, %wide; shr.u32 %m, %m, %t; and.b32 %m, %m, 1; setp.ne.u32 %p, %m, 0;
  mad.wide.u32 %at, %t, 4, %cells; mad.wide.u32 %back, %t, 4, %old;
  mov.u32 %s, tile; mad.lo.u32 %s, %t, 4, %s;
  ld.global.u32 %r, [%at]; st.shared.u32 [%s], %r;
  mul.lo.u32 %b, %t, 0x08000f11; mov.u32 %r, 99;
  @%p atom.{}.{} %r, [{}], %b;
  st.global.u32 [%back], %r;
  {}
  ret;
}})",
                                    shared ? "shared" : "global", operation.text, shared ? "%s" : "%at",
                                    shared ? "ld.shared.u32 %r, [%s]; st.global.u32 [%at], %r;" : ""));
          for (const bool beside : {false, true}) {
            const auto other = beside ? another_user(kernel) : nullptr;
            std::vector<uint32_t> cells(32), old(32, 99);
            for (uint32_t i = 0; i < 32; ++i)
              cells[i] = i % 3 == 0 ? i * 0x08000f11 : i * 0x12345679;
            const uint64_t memory = kernel.buffer(cells), out = kernel.buffer(std::vector<uint32_t>(32));
            ASSERT_EQ(fault_text(kernel.run({memory, out, mask})), "");
            for (uint32_t i = 0; i < 32; ++i)
              if (mask >> i & 1) {
                old[i] = cells[i];
                cells[i] = operation.apply(cells[i], i * 0x08000f11, !shared);
              }
            EXPECT_EQ(kernel.read<uint32_t>(memory, 32), cells)
                << operation.text << " at " << to_string(level);
            EXPECT_EQ(kernel.read<uint32_t>(out, 32), old) << operation.text << " at " << to_string(level);
          }
        }
}

// A launch that begins while another is alone with the memory: neither loses what the other adds.
TEST(Atomic, NoUpdateIsLostBetweenLaunches) {
  Kernel kernel(R"(
.visible .entry k(.param .u64 memory) {
  .reg .b64 %memory, %mine; .reg .b32 %t, %n; .reg .pred %p;
  ld.param.u64 %memory, [memory];
  mov.u32 %t, %tid.x; mad.wide.u32 %mine, %t, 4, %memory;
  mov.b32 %n, 0;
again:
  red.global.add.u32 [%mine], 1;
  red.global.add.u32 [%memory+128], 1;
  add.u32 %n, %n, 1;
  setp.lt.u32 %p, %n, 300;
  @%p bra again;
  ret;
})");
  kernel.config().workers = 1;
  constexpr uint32_t kLaunches = 30, kTimes = 300;
  const uint64_t memory = kernel.buffer(std::vector<uint32_t>(33));
  const auto launch_often = [&] {
    for (uint32_t i = 0; i < kLaunches; ++i)
      EXPECT_EQ(fault_text(kernel.run_beside({memory})), "");
  };
  std::thread beside(launch_often);
  launch_often();
  beside.join();
  std::vector<uint32_t> want(33, 2 * kLaunches * kTimes);
  want.back() *= kWarpSize;
  EXPECT_EQ(kernel.read<uint32_t>(memory, 33), want);
}

TEST(Atomic, VectorsElementByElement) {
  Kernel kernel(R"(
.visible .entry k(.param .u64 memory, .param .u64 out) {
  .reg .b64 %memory, %out, %d;
  .reg .b32 %t, %a<4>;
  .reg .b16 %h<8>;
  ld.param.u64 %memory, [memory];
  ld.param.u64 %out, [out];
  mov.u32 %t, %tid.x;
  mul.wide.u32 %d, %t, 16;
  add.u64 %out, %out, %d;
  mov.b32 %a0, 0f3F800000;
  mov.b32 %a1, 0f40000000;
  mov.b32 %a2, 0f00000001;
  mov.b32 %a3, 0fC0000000;
  atom.global.v4.f32.add {%a0, %a1, %a2, %a3}, [%memory], {%a0, %a1, %a2, %a3};
  st.global.v4.b32 [%out], {%a0, %a1, %a2, %a3};
  mov.b32 %a0, 0x3C004000;
  mov.b32 %a1, 0xBC007E00;
  red.global.v2.f16x2.max.noftz [%memory+16], {%a0, %a1};
  mov.b16 %h0, 0x3F80;
  mov.b16 %h1, 0xBF80;
  red.relaxed.gpu.global.v8.bf16.min.noftz [%memory+32], {%h0, %h1, %h0, %h1, %h0, %h1, %h0, %h1};
  ret;
})");
  std::vector<uint32_t> memory(12);
  memory[2] = 5;
  memory[4] = 0x40003C00;
  memory[5] = 0x3C003C00;
  memory[8] = 0x40003F00;
  memory[9] = 0x4000C000;
  const uint64_t at = kernel.buffer(memory);
  const uint64_t out = kernel.buffer(std::vector<uint32_t>(128));
  ASSERT_EQ(fault_text(kernel.run({at, out})), "");
  EXPECT_EQ(kernel.read<uint32_t>(at, 12),
            (std::vector<uint32_t>{std::bit_cast<uint32_t>(32.0f), std::bit_cast<uint32_t>(64.0f), 0,
                                   std::bit_cast<uint32_t>(-64.0f), 0x40004000, 0x3C003C00, 0, 0, 0xBF803F00,
                                   0xBF80C000, 0xBF800000, 0xBF800000}));
  const auto old = kernel.read<uint32_t>(out, 128);
  for (int lane = 0; lane < 32; ++lane) {
    EXPECT_EQ(std::bit_cast<float>(old[4 * lane]), lane);
    EXPECT_EQ(std::bit_cast<float>(old[4 * lane + 1]), 2 * lane);
    EXPECT_EQ(old[4 * lane + 2], lane == 0 ? 5u : 0u) << "subnormals are flushed";
    EXPECT_EQ(std::bit_cast<float>(old[4 * lane + 3]), -2.0f * lane);
  }
}

TEST(Atomic, NoUpdateIsLostBetweenCtas) {
  Kernel kernel(R"(
.visible .entry k(.param .u64 memory) {
  .reg .b64 %memory, %low, %high;
  .reg .b32 %f, %n;
  .reg .b128 %old, %new, %seen;
  .reg .b64 %a, %b, %c, %d;
  .reg .b16 %h, %h1;
  .reg .pred %p;
  ld.param.u64 %memory, [memory];
  mov.b32 %n, 0;
again:
  red.global.add.u32 [%memory], 1;
  mov.b32 %f, 0f3F800000;
  red.global.add.f32 [%memory+4], %f;
  red.global.add.u64 [%memory+8], 3;
  mov.b16 %h, 0x3C00;
  red.global.add.noftz.f16 [%memory+32], %h;
  red.global.add.noftz.f16 [%memory+34], %h;
  ld.global.b128 %old, [%memory+16];
swap:
  mov.b128 {%a, %b}, %old;
  add.u64 %c, %a, 1;
  add.u64 %d, %b, 2;
  mov.b128 %new, {%c, %d};
  atom.global.cas.b128 %seen, [%memory+16], %old, %new;
  mov.b128 {%c, %d}, %seen;
  mov.b128 %old, %seen;
  setp.ne.u64 %p, %a, %c;
  @%p bra swap;
  add.u32 %n, %n, 1;
  setp.lt.u32 %p, %n, 4;
  @%p bra again;
  ret;
})");
  kernel.config().block = {64, 1, 1};
  kernel.config().grid = {50, 1, 1};
  constexpr uint32_t kTimes = 64 * 50 * 4;
  const uint64_t memory = kernel.buffer(std::vector<uint64_t>(6));
  ASSERT_EQ(fault_text(kernel.run({memory})), "");
  EXPECT_EQ(kernel.read<uint32_t>(memory, 1)[0], kTimes);
  EXPECT_EQ(kernel.read<float>(memory + 4, 1)[0], kTimes);
  EXPECT_EQ(kernel.read<uint64_t>(memory + 8, 1)[0], 3u * kTimes);
  EXPECT_EQ(kernel.read<uint64_t>(memory + 16, 2), (std::vector<uint64_t>{kTimes, 2 * kTimes}));
  // Half precision counts to 2048 and stays there.
  EXPECT_EQ(kernel.read<uint16_t>(memory + 32, 2), (std::vector<uint16_t>{0x6800, 0x6800}));
}

// --- progress
// -------------------------------------------------------------------------------------------------------

FaultKind spin_on(const std::string& instruction, const std::string& setup = "") {
  Kernel kernel(R"(
.visible .entry k(.param .u64 memory) {
  .reg .b64 %memory;
  .reg .b32 %old, %r1;
  .reg .f32 %f;
  .reg .pred %p;
  ld.param.u64 %memory, [memory];
  mov.b32 %old, 5;
)" + setup + "\nloop:\n  " +
                instruction + R"(
  setp.ne.u32 %p, %old, 77;
  @%p bra loop;
  ret;
})");
  kernel.config().max_instructions = 200'000;
  return fault_in(kernel.run({kernel.buffer(std::vector<uint32_t>{5, 0})})).kind;
}

TEST(Progress, AnAtomicThatChangesNothingOnlyPolls) {
  for (const char* instruction :
       {"atom.global.cas.b32 %old, [%memory], 6, 1;", "atom.global.add.u32 %old, [%memory], 0;",
        "atom.global.max.u32 %old, [%memory], 4;", "atom.global.min.s32 %old, [%memory], 5;",
        "atom.global.or.b32 %old, [%memory], 4;", "atom.global.exch.b32 %old, [%memory], 5;",
        "atom.acquire.gpu.global.and.b32 %old, [%memory], -1;\n  fence.acq_rel.gpu;\n  membar.gl;\n  "
        "fence.sc.cta;"})
    EXPECT_EQ(spin_on(instruction), FaultKind::deadlock) << instruction;
}

TEST(Progress, AnAtomicThatChangesMemoryIsNoPoll) {
  for (const char* instruction :
       {"atom.global.xor.b32 %old, [%memory+4], 8;", "red.global.add.u32 [%memory+4], 1;"})
    EXPECT_EQ(spin_on(instruction), FaultKind::too_many_instructions) << instruction;
}

// One lane of each warp takes a lock; the others of its warp and all other CTAs wait for it.
TEST(Progress, ASpinLockBetweenLanesWarpsAndCtas) {
  Kernel kernel(R"(
.visible .entry k(.param .u64 memory) {
  .reg .b64 %memory;
  .reg .b32 %old, %n;
  .reg .pred %p;
  ld.param.u64 %memory, [memory];
take:
  atom.global.acquire.gpu.cas.b32 %old, [%memory], 0, 1;
  setp.ne.u32 %p, %old, 0;
  @%p bra take;
  ld.global.u32 %n, [%memory+4];
  add.u32 %n, %n, 1;
  st.global.u32 [%memory+4], %n;
  fence.acq_rel.gpu;
  atom.global.release.gpu.exch.b32 %old, [%memory], 0;
  ret;
})");
  kernel.config().block = {96, 1, 1};
  kernel.config().grid = {20, 1, 1};
  const uint64_t memory = kernel.buffer(std::vector<uint32_t>(2));
  ASSERT_EQ(fault_text(kernel.run({memory})), "");
  EXPECT_EQ(kernel.read<uint32_t>(memory, 2), (std::vector<uint32_t>{0, 96 * 20}));
}

TEST(Unsupported, WhatIsNotModelledSaysSo) {
  Kernel kernel(R"(
.visible .entry k(.param .u64 memory) {
  .reg .b64 %memory;
  ld.param.u64 %memory, [memory];
  multimem.red.relaxed.gpu.global.add.u32 [%memory], 1;
  ret;
})");
  const Report report = kernel.run({kernel.buffer(std::vector<uint32_t>(64))});
  EXPECT_EQ(fault_in(report).kind, FaultKind::unsupported);
  EXPECT_TRUE(fault_in(report).place.instruction.starts_with("multimem.red"))
      << fault_in(report).place.instruction;
}

} // namespace
} // namespace lemma::vgpu
