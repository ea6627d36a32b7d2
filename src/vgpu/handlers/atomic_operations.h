// What atom, red and reductions do to an element, and doing it atomically among the host's threads.
//
// Tests: tests/unit/vgpu/atomic_test.cc.
#pragma once

#include "numeric/arithmetic.h"
#include "vgpu/handlers/lane_memory.h"

#include <algorithm>
#include <bit>
#include <type_traits>
#if !defined(__x86_64__)
#include <mutex>
#endif

namespace lemma::vgpu::atomic_operations {

using numeric::FloatFormat;

// --- what is done to memory ---

// What an operation may depend on besides the old value.
template <class E>
struct Operands {
  E b{};
  E c{};
  bool global = true; // the location is in global memory, not shared
};

// The operations: the new value of the location.
template <class E>
struct And {
  using Element = E;
  static E apply(E old, const Operands<E>& o) { return old & o.b; }
};
template <class E>
struct Or {
  using Element = E;
  static E apply(E old, const Operands<E>& o) { return old | o.b; }
};
template <class E>
struct Xor {
  using Element = E;
  static E apply(E old, const Operands<E>& o) { return old ^ o.b; }
};
template <class E>
struct Exchange {
  using Element = E;
  static E apply(E, const Operands<E>& o) { return o.b; }
};
template <class E>
struct CompareAndSwap {
  using Element = E;
  static E apply(E old, const Operands<E>& o) { return old == o.b ? o.c : old; }
};
template <class E>
struct Add {
  using Element = E;
  static E apply(E old, const Operands<E>& o) {
    using U = std::make_unsigned_t<E>;
    return static_cast<E>(static_cast<U>(old) + static_cast<U>(o.b));
  }
};
template <class E>
struct Min {
  using Element = E;
  static E apply(E old, const Operands<E>& o) { return std::min(old, o.b); }
};
template <class E>
struct Max {
  using Element = E;
  static E apply(E old, const Operands<E>& o) { return std::max(old, o.b); }
};
struct Increment {
  using Element = uint32_t;
  static uint32_t apply(uint32_t old, const Operands<uint32_t>& o) { return old >= o.b ? 0 : old + 1; }
};
struct Decrement {
  using Element = uint32_t;
  static uint32_t apply(uint32_t old, const Operands<uint32_t>& o) {
    return old == 0 || old > o.b ? o.b : old - 1;
  }
};

enum class FloatOp : uint8_t { add, min, max };

// An element E of one number, or of two packed ones.
template <class E, FloatFormat format, FloatOp op>
struct Float {
  using Element = E;
  static constexpr bool kFollowsOrder = op == FloatOp::add;
  static constexpr int kBits = numeric::traits(format).storage_bits;
  static uint64_t one(uint64_t old, uint64_t b, bool flush) {
    if constexpr (op == FloatOp::add)
      return numeric::add(format, old, b, {.ftz = flush});
    else if constexpr (op == FloatOp::min)
      return numeric::min(format, old, b);
    else
      return numeric::max(format, old, b);
  }
  static E apply(E old, const Operands<E>& o) {
    const bool flush = format == FloatFormat::f32 && o.global;
    uint64_t result = 0;
    for (size_t shift = 0; shift < 8 * sizeof(E); shift += kBits) {
      const uint64_t mask = numeric::traits(format).storage_mask();
      result |= one(old >> shift & mask, o.b >> shift & mask, flush) << shift;
    }
    return static_cast<E>(result);
  }
};

// Asynchronous reductions hand a signalling NaN on as it is (measured on an H200: cp.reduce.async.bulk),
// where atom and red make it quiet.
struct AsyncAddF64 {
  using Element = uint64_t;
  static uint64_t apply(uint64_t old, const Operands<uint64_t>& o) {
    constexpr uint64_t kQuiet = uint64_t{1} << 51;
    const uint64_t sum = Float<uint64_t, FloatFormat::f64, FloatOp::add>::apply(old, o);
    const auto is_source = [&](uint64_t operand) {
      return (operand & ~(uint64_t{1} << 63)) > numeric::traits(FloatFormat::f64).infinity() &&
             (operand | kQuiet) == sum;
    };
    return is_source(old) ? old : is_source(o.b) ? o.b : sum;
  }
};

// --- doing it atomically ---

#if defined(__x86_64__)
// Every x86-64 processor since 2006 has it, but the baseline that the rest is compiled for does not say so.
__attribute__((target("cx16"))) inline bool compare_exchange(std::byte* p, Bits128& expected,
                                                             Bits128 desired) {
  using Wide = unsigned __int128;
  const auto old = __sync_val_compare_and_swap(reinterpret_cast<Wide*>(p), std::bit_cast<Wide>(expected),
                                               std::bit_cast<Wide>(desired));
  const bool done = old == std::bit_cast<Wide>(expected);
  expected = std::bit_cast<Bits128>(old);
  return done;
}
#else
inline bool compare_exchange(std::byte* p, Bits128& expected, Bits128 desired) {
  static std::mutex mutex;
  const std::scoped_lock lock(mutex);
  const Bits128 old = load_relaxed<Bits128>(p);
  const bool done = old == expected;
  if (done)
    store_relaxed(p, desired);
  expected = old;
  return done;
}
#endif

template <class E>
bool compare_exchange(std::byte* p, E& expected, E desired) {
  return __atomic_compare_exchange_n(reinterpret_cast<E*>(p), &expected, desired, false, __ATOMIC_SEQ_CST,
                                     __ATOMIC_SEQ_CST);
}

// Returns the old value.
template <class Op, class E = typename Op::Element>
E update(std::byte* p, const Operands<E>& operands, bool& changed) {
  E old = load_relaxed<E>(p);
  for (;;) {
    const E desired = Op::apply(old, operands);
    if (compare_exchange(p, old, desired)) {
      changed |= !(old == desired);
      return old;
    }
  }
}

// --- the instruction ---

// atom and red, the plain way. Sources: address, the elements of b, and for cas c. Destinations, if any: the
// elements of d. atomic.cc has the operations and types that there are.
template <class Op>
Step atomic(Exec& x, const DecodedInst& in);

} // namespace lemma::vgpu::atomic_operations

namespace lemma::vgpu {

// What does the instruction of a plain handler faster at the host's level; its operands, flags and width are
// set. Null: the plain handler it is.
Handler vector_atomic(const DecodedInst& in); // atomic_vectors.cc

} // namespace lemma::vgpu
