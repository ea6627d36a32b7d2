// What the memory and atomic handlers share: element types, plain memory operations that other host threads
// may race with, and moving one value between a register of any width and an element.
//
// Tests: tests/unit/vgpu/memory_ops_test.cc, atomic_test.cc.
#pragma once

#include "vgpu/engine/exec.h"

#include <atomic>
#include <type_traits>

namespace lemma::vgpu {

struct alignas(16) Bits128 {
  uint64_t low = 0;
  uint64_t high = 0;
  friend bool operator==(const Bits128&, const Bits128&) = default;
};

// Loads and stores of aligned elements that CTAs on other host threads may access at the same time: relaxed
// atomics, which are plain moves on the hosts we know. 128-bit elements are single-copy atomic where the
// host's aligned 16-byte moves are (x86-64 with AVX).
template <class T>
inline T load_relaxed(const std::byte* p) {
  if constexpr (std::is_same_v<T, Bits128>) {
#if defined(__SSE2__) && !defined(__SANITIZE_THREAD__)
    typedef long long Vector __attribute__((vector_size(16), may_alias));
    const Vector v = *reinterpret_cast<const volatile Vector*>(p);
    return {static_cast<uint64_t>(v[0]), static_cast<uint64_t>(v[1])};
#else
    return {__atomic_load_n(reinterpret_cast<const uint64_t*>(p), __ATOMIC_RELAXED),
            __atomic_load_n(reinterpret_cast<const uint64_t*>(p) + 1, __ATOMIC_RELAXED)};
#endif
  } else {
    return __atomic_load_n(reinterpret_cast<const T*>(p), __ATOMIC_RELAXED);
  }
}

template <class T>
inline void store_relaxed(std::byte* p, T value) {
  if constexpr (std::is_same_v<T, Bits128>) {
#if defined(__SSE2__) && !defined(__SANITIZE_THREAD__)
    typedef long long Vector __attribute__((vector_size(16), may_alias));
    *reinterpret_cast<volatile Vector*>(p) =
        Vector{static_cast<long long>(value.low), static_cast<long long>(value.high)};
#else
    __atomic_store_n(reinterpret_cast<uint64_t*>(p), value.low, __ATOMIC_RELAXED);
    __atomic_store_n(reinterpret_cast<uint64_t*>(p) + 1, value.high, __ATOMIC_RELAXED);
#endif
  } else {
    __atomic_store_n(reinterpret_cast<T*>(p), value, __ATOMIC_RELAXED);
  }
}

// A fence between host threads. ThreadSanitizer does not know fences; it gets an atomic operation that orders
// as much.
inline void fence(std::memory_order order) {
#if defined(__SANITIZE_THREAD__)
  static std::atomic<int> everyone{0};
  everyone.fetch_add(0, std::memory_order_acq_rel);
  (void)order;
#else
  std::atomic_thread_fence(order);
#endif
}

// A value as a wider or narrower one: sign-extended from a signed type, else zero-extended; or truncated.
template <class To, class From>
inline To resize(From value) {
  if constexpr (std::is_same_v<To, From>)
    return value;
  else if constexpr (std::is_same_v<From, Bits128>)
    return static_cast<To>(value.low);
  else if constexpr (std::is_same_v<To, Bits128>)
    return {static_cast<uint64_t>(value), 0};
  else
    return static_cast<To>(value);
}

// Calls f with a value of the unsigned type that a register of this many bytes a lane holds.
template <class F>
inline decltype(auto) with_register_type(int bytes, F&& f) {
  switch (bytes) {
  case 2:
    return f(uint16_t{});
  case 4:
    return f(uint32_t{});
  case 8:
    return f(uint64_t{});
  default:
    return f(Bits128{});
  }
}

// Calls f with a value of the type that elements have in memory, of kSigned a signed one if theirs is and
// registers may be wider; nullptr for what cannot be in memory.
template <bool kSigned, class F>
inline Handler with_element_type(isa::Type type, F&& f) {
  if constexpr (kSigned)
    if (isa::is_signed(type))
      switch (isa::bits_of(type)) {
      case 8:
        return f(int8_t{});
      case 16:
        return f(int16_t{});
      case 32:
        return f(int32_t{});
      default:;
      }
  switch (isa::bits_of(type)) {
  case 8:
    return f(uint8_t{});
  case 16:
    return f(uint16_t{});
  case 32:
    return f(uint32_t{});
  case 64:
    return f(uint64_t{});
  case 128:
    return f(Bits128{});
  default:
    return nullptr;
  }
}

// Source `index` plus an offset, an address, of the active lanes; inactive ones get that of the lowest active
// lane. 32-bit addresses wrap.
inline void lane_addresses(const Exec& x, const DecodedInst& in, int index, int64_t offset, uint64_t* at) {
  const Slot& slot = x.src_slot(in, index);
  if (slot.bytes == 4) {
    const uint32_t* base = x.src<uint32_t>(in, index);
    for (int lane = 0; lane < kWarpSize; ++lane)
      at[lane] = static_cast<uint32_t>(base[lane] + static_cast<uint32_t>(offset));
  } else {
    const uint64_t* base = x.src<uint64_t>(in, index);
    for (int lane = 0; lane < kWarpSize; ++lane)
      at[lane] = base[lane] + static_cast<uint64_t>(offset);
  }
  if (x.active != kAllLanes) {
    const uint64_t first = at[std::countr_zero(x.active)];
    for (int lane = 0; lane < kWarpSize; ++lane)
      at[lane] = (x.active >> lane & 1) ? at[lane] : first;
  }
}
// The address operand of an instruction whose offset is `imm`: source 0.
inline void lane_addresses(const Exec& x, const DecodedInst& in, uint64_t* at) {
  lane_addresses(x, in, 0, in.imm, at);
}

// The lowest and the highest of the addresses, and the bits that any of them has.
struct AddressRange {
  uint64_t lowest, highest, any_bits;
};
inline AddressRange range_of(const uint64_t* at, int count) {
  AddressRange range{at[0], at[0], at[0]};
  for (int i = 1; i < count; ++i) {
    range.lowest = at[i] < range.lowest ? at[i] : range.lowest;
    range.highest = at[i] > range.highest ? at[i] : range.highest;
    range.any_bits |= at[i];
  }
  return range;
}

} // namespace lemma::vgpu
