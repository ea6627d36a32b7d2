// What atom, red and reductions do to an element, and doing it atomically among the host's threads.
//
// Tests: tests/unit/vgpu/atomic_test.cc.
#pragma once

#include "numeric/arithmetic.h"
#include "numeric/half.h"
#include "vgpu/handlers/memory/lane_memory.h"

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

// Sums by the host's own addition, which has numeric::add's bits: both round once, to nearest. A sum of
// floats that is subnormal is exact, so that flushing it afterwards is what flushing in the addition gives.
// NaN is the canonical one, but in f64, where numeric knows which it is: false then.
template <FloatFormat format>
struct HostSum {
  using Host =
      std::conditional_t<format == FloatFormat::f64, double, float>; // of f32 and f64: the type itself
  static constexpr uint32_t kNan = static_cast<uint32_t>(numeric::traits(format).canonical_nan());

  [[gnu::always_inline]] static uint32_t flushed(uint32_t a) {
    return (a & 0x7f800000) == 0 ? a & 0x80000000 : a;
  }
  [[gnu::always_inline]] static bool add(uint32_t a, uint32_t b, bool flush, uint32_t& sum)
    requires(format == FloatFormat::f32)
  {
    const float exact = numeric::float_of(flush ? flushed(a) : a) + numeric::float_of(flush ? flushed(b) : b);
    const uint32_t bits = numeric::float_bits(exact);
    sum = exact != exact ? kNan : flush ? flushed(bits) : bits;
    return true;
  }
  [[gnu::always_inline]] static bool add(uint64_t a, uint64_t b, bool, uint64_t& sum)
    requires(format == FloatFormat::f64)
  {
    const double exact = std::bit_cast<double>(a) + std::bit_cast<double>(b);
    sum = std::bit_cast<uint64_t>(exact);
    return exact == exact;
  }
  // Is the host's sum of these bits the whole answer, whatever is flushed? Asked where sums wait for each
  // other.
  [[gnu::always_inline]] static bool is_plain(uint32_t a, uint32_t b, uint32_t sum) {
    const auto is_subnormal = [](uint32_t x) { return (x & 0x7fffffff) - 1 < 0x7fffff; };
    return ((sum >> 23 & 0xff) - 1) < 0xfe && !is_subnormal(a) && !is_subnormal(b);
  }
  [[gnu::always_inline]] static bool is_plain(uint64_t, uint64_t, uint64_t sum) {
    return (sum & ~(uint64_t{1} << 63)) <= numeric::traits(FloatFormat::f64).infinity();
  }
  [[gnu::always_inline]] static uint16_t half(uint16_t a, uint16_t b) {
    if constexpr (format == FloatFormat::f16)
      return numeric::narrow_f16(numeric::widen_f16(a) + numeric::widen_f16(b));
    else
      return numeric::narrow_bf16(numeric::widen_bf16(a) + numeric::widen_bf16(b));
  }
  template <class E>
  [[gnu::always_inline]] static bool add(E a, E b, bool, E& sum)
    requires(format == FloatFormat::f16 || format == FloatFormat::bf16)
  {
    sum = half(static_cast<uint16_t>(a), static_cast<uint16_t>(b));
    if constexpr (sizeof(E) == 4)
      sum |= static_cast<E>(half(static_cast<uint16_t>(a >> 16), static_cast<uint16_t>(b >> 16))) << 16;
    return true;
  }
};

// An element E of one number, or of two packed ones. f32 is flushed in global memory alone.
template <class E, FloatFormat format, FloatOp op>
struct Float {
  using Element = E;
  static constexpr bool kFollowsOrder = op == FloatOp::add;
  static constexpr bool kIsOfHost =
      op == FloatOp::add && (format == FloatFormat::f32 || format == FloatFormat::f64);
  using Sum = HostSum<format>;
  static constexpr int kBits = numeric::traits(format).storage_bits;
  static uint64_t one(uint64_t old, uint64_t b, bool flush) {
    if constexpr (op == FloatOp::add)
      return numeric::add(format, old, b, {.ftz = flush});
    else if constexpr (op == FloatOp::min)
      return numeric::min(format, old, b);
    else
      return numeric::max(format, old, b);
  }
  static E by_numeric(E old, const Operands<E>& o) {
    const bool flush = format == FloatFormat::f32 && o.global;
    uint64_t result = 0;
    for (size_t shift = 0; shift < 8 * sizeof(E); shift += kBits) {
      const uint64_t mask = numeric::traits(format).storage_mask();
      result |= one(old >> shift & mask, o.b >> shift & mask, flush) << shift;
    }
    return static_cast<E>(result);
  }
  // False: `now` is numeric's to say.
  [[gnu::always_inline]] static bool by_host(E old, const Operands<E>& o, E& now)
    requires(op == FloatOp::add)
  {
    return Sum::add(old, o.b, o.global, now);
  }
  static E apply(E old, const Operands<E>& o) {
    if constexpr (op == FloatOp::add)
      if (E now; by_host(old, o, now)) [[likely]]
        return now;
    return by_numeric(old, o);
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

template <class... Op>
struct OperationList {
  static constexpr int kCount = sizeof...(Op);
  static constexpr int kNone = -1;
  // The place of an operation in the list; kNone: it is not there.
  template <class Wanted>
  static constexpr int index_of() {
    int index = 0;
    bool found = false;
    ((found |= std::is_same_v<Wanted, Op>, index += !found), ...);
    return found ? index : kNone;
  }
  // Calls f.template operator()<Op>() for each.
  template <class F>
  static void for_each(F f) {
    (f.template operator()<Op>(), ...);
  }
};

// Those that whole warps do faster, where the host's level has vectors for it: atomic_vectors.inc.
using VectorOperations = OperationList<
    And<uint32_t>, And<uint64_t>, Or<uint32_t>, Or<uint64_t>, Xor<uint32_t>, Xor<uint64_t>,
    Exchange<uint32_t>, Exchange<uint64_t>, CompareAndSwap<uint32_t>, CompareAndSwap<uint64_t>, Add<uint32_t>,
    Add<uint64_t>, Add<int32_t>, Add<int64_t>, Min<uint32_t>, Min<uint64_t>, Min<int32_t>, Min<int64_t>,
    Max<uint32_t>, Max<uint64_t>, Max<int32_t>, Max<int64_t>, Increment, Decrement,
    Float<uint32_t, FloatFormat::f32, FloatOp::add>, Float<uint64_t, FloatFormat::f64, FloatOp::add>,
    Float<uint32_t, FloatFormat::f16, FloatOp::add>, Float<uint32_t, FloatFormat::bf16, FloatOp::add>>;

} // namespace lemma::vgpu::atomic_operations

namespace lemma::vgpu {

class Decoder;

// atom and red, and red.async of what nobody waits for.
bool select_atomic(Decoder& decoder, const ptx::Instruction& instruction, DecodedInst& in);

// What does the operation, by its place in VectorOperations, faster at the host's level; the instruction's
// operands, flags and width are set. Null: the plain handler it is.
Handler vector_atomic(int operation, const Code& code, const DecodedInst& in); // atomic_vectors.cc

} // namespace lemma::vgpu
