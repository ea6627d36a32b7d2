// vprintf, __assertfail, malloc and free, as nvcc's code calls them. Lanes are served in lane order.
//
// CUDA C++ Programming Guide, "Formatted Output", "Assertion", "Dynamic Global Memory Allocation and
// Operations".
#include "vgpu/engine/builtins.h"

#include "vgpu/engine/observer.h"
#include "vgpu/reports/device_printf.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>

namespace lemma::vgpu {
namespace {

using isa::StateSpace;

enum Builtin : int { kPrintf, kAssertFail, kMalloc, kFree };

// Sizes in bytes; none takes more than five arguments.
struct Signature {
  std::string_view name;
  size_t arguments;
  uint32_t argument_bytes[5];
  uint32_t result_bytes; // 0: gives nothing
};
constexpr Signature kSignatures[] = {
    {"vprintf", 2, {8, 8}, 4},
    {"__assertfail", 5, {8, 8, 4, 8, 8}, 0},
    {"malloc", 1, {8}, 8},
    {"free", 1, {8}, 0},
};

// Argument or result `offset` bytes into a lane's param area.
std::byte* param(const Exec& x, int lane, uint32_t offset) {
  return x.bases[0] + x.code->param_area_offset + static_cast<size_t>(lane) * x.code->param_bytes + offset;
}

template <class T>
T load_param(const Exec& x, int lane, uint32_t offset) {
  T value;
  std::memcpy(&value, param(x, lane, offset), sizeof value);
  return value;
}

template <class T>
void store_result(const Exec& x, int lane, std::span<const uint32_t> results, T value) {
  if (!results.empty())
    std::memcpy(param(x, lane, results[0]), &value, sizeof value);
}

// A lane's read, to who watches too; null after a fault.
Access read(Exec& x, const DecodedInst& in, uint64_t address, uint32_t bytes, int lane) {
  const Access access = x.access(in, StateSpace::generic, address, bytes, bytes, AccessKind::read, lane);
  PieceAccesses accesses(x);
  if (access)
    accesses.add(lane, access);
  accesses.tell();
  return access;
}

// The zero-terminated string at a generic address, or its beginning; none after a fault.
std::optional<std::string> read_string(Exec& x, const DecodedInst& in, uint64_t address, int lane) {
  std::string text;
  for (;; ++address) {
    const Access p = vgpu::read(x, in, address, 1, lane);
    if (!p)
      return std::nullopt;
    const char c =
        static_cast<char>(__atomic_load_n(reinterpret_cast<const unsigned char*>(p.host), __ATOMIC_RELAXED));
    if (c == '\0' || text.size() == kMaxPrintfBytes)
      return text;
    text += c;
  }
}

class LaneArguments : public PrintfArguments {
public:
  LaneArguments(Exec& x, const DecodedInst& in, uint64_t base, int lane)
      : x_(x), in_(in), base_(base), lane_(lane) {}

  std::optional<uint64_t> read(uint64_t offset, int bytes) override {
    const Access p = vgpu::read(x_, in_, base_ + offset, static_cast<uint32_t>(bytes), lane_);
    if (!p)
      return std::nullopt;
    uint64_t value = 0;
    std::memcpy(&value, p.host, static_cast<size_t>(bytes));
    return value;
  }
  std::optional<std::string> read_string(uint64_t address) override {
    return vgpu::read_string(x_, in_, address, lane_);
  }

private:
  Exec& x_;
  const DecodedInst& in_;
  uint64_t base_;
  int lane_;
};

// int vprintf(const char* format, const void* arguments)
Step call_printf(Exec& x, const DecodedInst& in, std::span<const uint32_t> arguments,
                 std::span<const uint32_t> results) {
  std::string text;
  for (LaneMask left = x.active; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    const auto format_address = load_param<uint64_t>(x, lane, arguments[0]);
    if (format_address == 0) {
      store_result(x, lane, results, int32_t{-1});
      continue;
    }
    const std::optional<std::string> format = read_string(x, in, format_address, lane);
    if (!format)
      return Step::stopped;
    LaneArguments packed(x, in, load_param<uint64_t>(x, lane, arguments[1]), lane);
    const std::optional<PrintfResult> printed = format_device_printf(*format, packed);
    if (!printed)
      return Step::stopped;
    text += printed->text;
    store_result(x, lane, results, static_cast<int32_t>(printed->arguments));
  }
  x.effect();
  if (x.launch->config.print)
    x.launch->callbacks.call(text.size(), [print = &x.launch->config.print, text] { (*print)(text); });
  else
    std::fwrite(text.data(), 1, text.size(), stdout);
  return Step::next;
}

// void __assertfail(const char* message, const char* file, unsigned line, const char* function, size_t
// char_bytes)
Step call_assert_fail(Exec& x, const DecodedInst& in, std::span<const uint32_t> arguments) {
  const int lane = std::countr_zero(x.active);
  const auto text = [&](int argument) {
    const auto address = load_param<uint64_t>(x, lane, arguments[argument]);
    return address == 0 ? std::optional<std::string>("") : read_string(x, in, address, lane);
  };
  const std::optional<std::string> message = text(0);
  const std::optional<std::string> file = message ? text(1) : std::nullopt;
  const std::optional<std::string> function = file ? text(3) : std::nullopt;
  if (!function)
    return Step::stopped;
  // In the words of CUDA. MLIR's cf.assert knows no function.
  const Dim3& cta = x.cta->id;
  const Dim3& block = x.launch->config.block;
  const uint32_t thread = x.warp->index * kWarpSize + static_cast<uint32_t>(lane);
  return x.fault(in, FaultKind::assertion,
                 fmt::format("{}:{}: {}: block: [{},{},{}], thread: [{},{},{}] Assertion `{}` failed.", *file,
                             load_param<uint32_t>(x, lane, arguments[2]),
                             *function == "(unknown)" ? x.launch->entry->function->name : *function, cta[0],
                             cta[1], cta[2], thread % block[0], thread / block[0] % block[1],
                             thread / block[0] / block[1], *message),
                 lane);
}

// void* malloc(size_t bytes)
Step call_malloc(Exec& x, std::span<const uint32_t> arguments, std::span<const uint32_t> results) {
  for_lanes(x.active, [&](int lane) {
    const Allocation* block = x.launch->memory->heap_allocate(load_param<uint64_t>(x, lane, arguments[0]));
    store_result(x, lane, results, block ? block->base : uint64_t{0});
  });
  x.effect();
  return Step::next;
}

// void free(void* block)
Step call_free(Exec& x, const DecodedInst& in, std::span<const uint32_t> arguments) {
  for (LaneMask left = x.active; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    const auto address = load_param<uint64_t>(x, lane, arguments[0]);
    if (address == 0)
      continue;
    switch (x.launch->memory->heap_free(address)) {
    case HeapFree::done:
      break;
    case HeapFree::already_freed:
      return x.fault_at(in, FaultKind::out_of_bounds,
                        fmt::format("free of {:#x}, which was freed before", address), lane, address);
    case HeapFree::not_a_block:
      return x.fault_at(in, FaultKind::out_of_bounds,
                        fmt::format("free of {:#x}, which no malloc of a kernel returned", address), lane,
                        address);
    }
  }
  x.effect();
  return Step::next;
}

} // namespace

int find_builtin(std::string_view name) {
  for (size_t i = 0; i < std::size(kSignatures); ++i)
    if (kSignatures[i].name == name)
      return static_cast<int>(i);
  return -1;
}

std::span<const std::string_view> builtin_names() {
  static const auto names = [] {
    std::array<std::string_view, std::size(kSignatures)> out;
    std::transform(std::begin(kSignatures), std::end(kSignatures), out.begin(),
                   [](const Signature& signature) { return signature.name; });
    return out;
  }();
  return names;
}

bool fits_builtin(int builtin, std::span<const uint32_t> argument_bytes,
                  std::span<const uint32_t> result_bytes) {
  const Signature& signature = kSignatures[builtin];
  for (size_t i = 0; i < std::min(argument_bytes.size(), signature.arguments); ++i)
    if (argument_bytes[i] < signature.argument_bytes[i])
      return false;
  return result_bytes.empty() || result_bytes[0] >= signature.result_bytes;
}

Step call_builtin(Exec& x, const DecodedInst& in, int builtin, std::span<const uint32_t> arguments,
                  std::span<const uint32_t> results) {
  if (builtin < 0 || builtin >= static_cast<int>(std::size(kSignatures)))
    return x.fault(in, FaultKind::internal, "call of an unknown builtin function");
  const Signature& signature = kSignatures[builtin];
  if (arguments.size() < signature.arguments)
    return x.fault(in, FaultKind::bad_call,
                   fmt::format("{} takes {} arguments, and the call gives {}", signature.name,
                               signature.arguments, arguments.size()));
  switch (builtin) {
  case kPrintf:
    return call_printf(x, in, arguments, results);
  case kAssertFail:
    return call_assert_fail(x, in, arguments);
  case kMalloc:
    return call_malloc(x, arguments, results);
  default:
    return call_free(x, in, arguments);
  }
}

} // namespace lemma::vgpu
