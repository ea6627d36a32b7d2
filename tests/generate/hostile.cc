// Programs of random instructions. See hostile.h; what stands around the instructions, and what their
// operands are made to point to, is in hostile_function.cc.
#include "generate/hostile.h"

#include "generate/hostile_function.h"
#include "layout/tensor_map.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>

namespace lemma::generate {
namespace {

constexpr size_t kParamBuffer = 0, kParamMap = 64, kParamBytes = 192, kParamSize = kParamBytes + 64;

constexpr uint64_t kWords[] = {0,          1,          2,          16,         31,         32,
                               64,         128,        0x7f800000, 0x7fc00001, 0x80000000, 0x7fffffff,
                               0xffffffff, 0x00000001, 0x3f800000, 0x3c003c00, 0x7c007e00, 0x807f0080};

void set_bytes(std::vector<std::byte>& bytes, size_t offset, const void* source, size_t size) {
  std::memcpy(bytes.data() + offset, source, size);
}

// A map of the buffer that follows the rules, or nearly: the generator need not know them all.
layout::TensorMapFields some_map(Rng& rng, const HostileMachine& machine) {
  layout::TensorMapFields map;
  map.dims.fill(1);
  map.box.fill(1);
  map.address = machine.buffer + 16 * rng.below(machine.buffer_bytes / 32);
  map.rank = static_cast<uint8_t>(1 + rng.below(5));
  map.type = static_cast<TensorType>(rng.below(13));
  const uint64_t element = layout::element_bytes(map.type);
  uint64_t bytes = 16 * (1 + rng.below(8));
  map.dims[0] = bytes / element;
  for (size_t i = 1; i < layout::kMaxTensorRank; ++i) {
    map.dims[i] = 1 + rng.below(4);
    map.strides_bytes[i - 1] = bytes;
    bytes *= map.dims[i];
  }
  map.box[0] = static_cast<uint16_t>(16 * (1 + rng.below(4)) / element);
  for (size_t i = 1; i < layout::kMaxTensorRank; ++i)
    map.box[i] = static_cast<uint16_t>(1 + rng.below(3));
  map.element_strides.fill(1);
  map.swizzle = static_cast<TensorSwizzle>(rng.chance(60) ? 0 : rng.below(4));
  map.oob_fill = static_cast<TensorFill>(rng.below(2));
  if (map.rank >= 3 && rng.chance(25)) {
    map.mode = layout::TensorMode::im2col;
    map.channels = static_cast<uint16_t>(16 / element);
    map.pixels = static_cast<uint16_t>(1 + rng.below(8));
  }
  return map;
}

void forge(layout::TensorMapBytes& bytes, Rng& rng) {
  constexpr uint8_t kBytes[] = {0, 1, 2, 7, 0x7f, 0x80, 0xff};
  for (size_t i = 1 + rng.below(4); i > 0; --i) {
    // Mostly behind the address, and before the words that nothing reads.
    const size_t at = (rng.chance(90) ? 8 : 0) + rng.below(rng.chance(90) ? 64 - 8 : bytes.size() - 8);
    for (size_t run = rng.chance(30) ? 1 + rng.below(8) : 1; run > 0 && at + run <= bytes.size(); --run)
      bytes[at + run - 1] = std::byte{rng.pick(kBytes)};
  }
}

std::vector<std::byte> some_params(Rng& rng, const HostileMachine& machine) {
  std::vector<std::byte> params(kParamSize);
  set_bytes(params, kParamBuffer, &machine.buffer, sizeof machine.buffer);
  layout::TensorMapBytes map{};
  if (!rng.chance(10)) {
    map = layout::encode(some_map(rng, machine));
    if (rng.chance(35))
      forge(map, rng);
  }
  set_bytes(params, kParamMap, map.data(), map.size());
  for (size_t at = kParamBytes; at < kParamSize; at += 4) {
    const auto word = static_cast<uint32_t>(rng.chance(70) ? rng.pick(kWords) : rng.next());
    set_bytes(params, at, &word, sizeof word);
  }
  return params;
}

HostileLaunch some_launch(Rng& rng, const HostileMachine& machine, bool warpgroups, bool clusters,
                          bool pairs) {
  HostileLaunch launch;
  const uint32_t threads = warpgroups && rng.chance(90) ? 128
                           : rng.chance(50)             ? 32
                           : rng.chance(50)             ? 64
                                                        : 1 + static_cast<uint32_t>(rng.below(128));
  launch.block = {threads, 1, 1};
  if (threads % 2 == 0 && rng.chance(warpgroups ? 2 : 10))
    launch.block = {2, threads / 2, 1};
  if (rng.chance(pairs ? 90 : clusters ? 20 : 1)) {
    const uint32_t size = rng.chance(80) ? 2 : 4;
    launch.cluster = {size, 1, 1};
    launch.grid = {size, 1, 1};
  } else {
    launch.grid = {1 + static_cast<uint32_t>(rng.chance(75) ? 0 : rng.below(4)), 1, 1};
  }
  launch.dynamic_shared_bytes = rng.chance(80) ? 0 : 16 * static_cast<uint32_t>(rng.below(64));
  launch.seed = rng.chance(50) ? 0 : 1 + rng.below(1000);
  launch.params = some_params(rng, machine);
  return launch;
}

constexpr std::string_view kTargets[] = {"sm_90a", "sm_90a",  "sm_90a",  "sm_80",
                                         "sm_75",  "sm_100a", "sm_100a", "sm_120a"};
constexpr std::string_view kTensorTarget = "sm_100a";

} // namespace

HostileProgram make_hostile_program(Rng& rng, const HostileMachine& machine, std::string_view only_target) {
  HostileProgram program;
  const std::string_view target = only_target.empty() ? rng.pick(kTargets) : only_target;
  const HostileTensor tensor = target == kTensorTarget && rng.chance(75) ? some_tensor(rng) : HostileTensor{};
  const HostileTable& table = HostileTable::of(target, tensor.is_on());
  // How often something points where it should not: a program that always does ends at its first access.
  const int malice = static_cast<int>(rng.pick(std::array{0, 0, 2, 8}));
  HostileFunction kernel(rng, machine, table,
                         {.malice = malice, .is_entry = true, .has_callees = true, .tensor = tensor});
  HostileFunction leaf(rng, machine, table, {.malice = malice, .tensor = tensor});
  HostileFunction recursive(rng, machine, table, {.malice = malice, .recursive = true, .tensor = tensor});
  kernel.write(20 + rng.below(20));
  leaf.write(1 + rng.below(5));
  recursive.write(1 + rng.below(5));
  const bool clusters = isa::parse_target(target)->sm >= 90;
  for (int i = 0; i < HostileProgram::kLaunches; ++i)
    program.launches.push_back(some_launch(rng, machine,
                                           kernel.has_warpgroup_instructions() || tensor.is_on(), clusters,
                                           tensor.is_on() && tensor.cta_group == 2));
  const bool calls = kernel.calls();
  program.text += fmt::format(".version 9.0\n.target {}\n.address_size 64\n"
                              ".global .align 128 .b8 gvar[4096];\n.global .align 128 .b8 gmap[128];\n"
                              ".const .align 16 .b8 cvar[2048];\n.shared .align 1024 .b8 svar[16384];\n"
                              ".shared .align 8 .b64 mb0;\n.shared .align 8 .b64 mb1;\n{}",
                              target, tensor.is_on() ? ".shared .align 4 .b32 tslot;\n" : "");
  constexpr std::string_view kCallee =
      "(.param .b32 out) {} (.param .b64 depth, .param .align 16 .b8 p0[64])";
  if (calls) {
    program.text += ".func " + fmt::format(fmt::runtime(kCallee), "f0") + "\n" + leaf.str();
    program.text += ".func " + fmt::format(fmt::runtime(kCallee), "f1") + "\n" + recursive.str();
  }
  program.text += ".visible .entry k(.param .u64 buf, .param .align 64 .b8 map[128], .param .align 64 .b8 "
                  "p0[64])\n" +
                  kernel.str();
  return program;
}

std::string HostileProgram::str() const {
  std::string out;
  for (const HostileLaunch& launch : launches)
    out += fmt::format(
        "// grid {} block {} cluster {} dynamic shared {} seed {} params {:02x}\n",
        fmt::join(launch.grid, ","), fmt::join(launch.block, ","), fmt::join(launch.cluster, ","),
        launch.dynamic_shared_bytes, launch.seed,
        fmt::join(std::span(reinterpret_cast<const uint8_t*>(launch.params.data()), launch.params.size()),
                  ""));
  return out + text;
}

std::string without_lines(std::string_view text, std::span<const uint32_t> lines) {
  std::string out;
  out.reserve(text.size());
  uint32_t line = 1;
  for (size_t at = 0; at < text.size(); ++line) {
    const size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
    if (std::find(lines.begin(), lines.end(), line) == lines.end())
      out += text.substr(at, end - at);
    else
      out += '\n';
    at = end;
  }
  return out;
}

} // namespace lemma::generate
