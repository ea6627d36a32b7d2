// In builds with AddressSanitizer compiled code asks it before each access of a program to the host's memory,
// as the compiler's own code does: Emit::check_host().
//
// Tests: sanitized.vgpu_0, sanitized.vgpu_1, sanitized.hostile_programs_compiled.
#include "vgpu/compiled/emit.h"

#if defined(__SANITIZE_ADDRESS__)

#include <sanitizer/asan_interface.h>

namespace lemma::vgpu {
namespace {

constexpr int kVectors = 32, kGeneral = 16, kMasks = 8;
constexpr int32_t kMasksAt = kVectors * kPartBytes, kSaved = kMasksAt + kMasks * 8;

// HostAccess as the code has it, pushed before the call with `at`.
struct Packed {
  uint32_t bytes : 7, lanes : 6, offsets : 6, has_wide_offsets : 1, mask : 3, base : 4;
};

// `general`: the registers by their numbers, flags, where the code goes on, `at` and the rest. `vectors`: the
// vector registers, then the masks.
void check(const uint64_t* general, const std::byte* vectors) {
  const auto at = static_cast<int64_t>(general[kGeneral + 2]);
  const auto access = std::bit_cast<Packed>(static_cast<uint32_t>(general[kGeneral + 3]));
  const auto word = [&](const std::byte* from, size_t index, size_t bytes) {
    uint64_t value = 0;
    std::memcpy(&value, from + index * bytes, bytes);
    return value;
  };
  const uint64_t mask = access.mask == 0 ? ~uint64_t{0} : word(vectors + kMasksAt, access.mask, 8);
  for (uint32_t lane = 0; lane < access.lanes; ++lane) {
    if (!(mask >> lane & 1))
      continue;
    const std::byte* const offsets = vectors + (access.offsets - 1) * kPartBytes;
    const uint64_t offset = access.offsets == 0       ? uint64_t{lane} * access.bytes
                            : access.has_wide_offsets ? word(offsets, lane, 8)
                                                      : word(offsets, lane, 4);
    auto* const begin = reinterpret_cast<char*>(general[access.base] + offset) + at;
    if (const void* const bad = __asan_region_is_poisoned(begin, access.bytes))
      static_cast<void>(*static_cast<const volatile char*>(bad)); // which is reported
  }
}

} // namespace

void Emit::check_host(const HostAccess& access) {
  const Packed packed{static_cast<uint32_t>(access.bytes),
                      static_cast<uint32_t>(access.lanes),
                      static_cast<uint32_t>(access.offsets + 1),
                      access.has_wide_offsets,
                      access.mask,
                      access.base.id()};
  a.push(std::bit_cast<uint32_t>(packed));
  a.push(access.at);
  a.call(host_check_);
  a.lea(x86::rsp, x86::ptr(x86::rsp, 16)); // and the flags stay
}

void Emit::emit_host_check() {
  a.bind(host_check_);
  a.pushfq();
  for (uint32_t i = kGeneral; i-- > 0;)
    a.push(x86::gpq(i));
  a.mov(x86::rdi, x86::rsp);
  a.mov(x86::rbx, x86::rsp);
  a.sub(x86::rsp, kSaved);
  a.and_(x86::rsp, -kPartBytes);
  for (uint32_t i = 0; i < kVectors; ++i)
    a.vmovdqa64(x86::ptr(x86::rsp, static_cast<int32_t>(i) * kPartBytes), x86::zmm(i));
  for (uint32_t i = 0; i < kMasks; ++i)
    a.kmovq(x86::ptr(x86::rsp, kMasksAt + static_cast<int32_t>(i) * 8), x86::k(i));
  a.mov(x86::rsi, x86::rsp);
  a.mov(x86::rax, reinterpret_cast<uint64_t>(&check));
  a.call(x86::rax);
  for (uint32_t i = 0; i < kVectors; ++i)
    a.vmovdqa64(x86::zmm(i), x86::ptr(x86::rsp, static_cast<int32_t>(i) * kPartBytes));
  for (uint32_t i = 0; i < kMasks; ++i)
    a.kmovq(x86::k(i), x86::ptr(x86::rsp, kMasksAt + static_cast<int32_t>(i) * 8));
  a.mov(x86::rsp, x86::rbx);
  for (uint32_t i = 0; i < kGeneral; ++i)
    if (x86::gpq(i) == x86::rsp)
      a.lea(x86::rsp, x86::ptr(x86::rsp, 8));
    else
      a.pop(x86::gpq(i));
  a.popfq();
  a.ret();
}

} // namespace lemma::vgpu

#else

namespace lemma::vgpu {

void Emit::check_host(const HostAccess&) {}
void Emit::emit_host_check() {}

} // namespace lemma::vgpu

#endif
