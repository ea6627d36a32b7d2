// atom, red, and the fences: membar, fence, fence.proxy.
//
// Lanes are applied in lane order, each element by a compare-and-swap of the host, so CTAs that run on other
// host threads never tear or lose an update (atomic_vectors.inc does the usual cases faster). An operation
// that leaves memory as it was is no effect: a loop around it only polls. Every order and scope is
// sequentially consistent here, stronger than asked. Vector forms are atomic element by element, as the ISA
// says.
//
// atom.add.f32 without .noftz flushes subnormal inputs and results on global memory and keeps them on shared
// memory, as the ISA describes the current implementation.
//
// Fences order host memory. Proxy fences publish what threads have stored in shared memory to the async proxy
// (Cta::async_view); the tensormap proxy reads tensor maps where they are, so it has nothing to publish. An
// acquiring fence orders what comes after it, for which the model needs nothing.
// Asynchronous reductions take the arithmetic from here (reduction.h). Not here: multimem.red.
//
// PTX ISA: "Parallel Synchronization and Communication Instructions": atom, red, membar/fence.
// Tests: tests/unit/vgpu/atomic_test.cc.
#include "vgpu/code/decoder.h"
#include "vgpu/engine/observer.h"
#include "vgpu/handlers/memory/atomic_operations.h"
#include "vgpu/handlers/memory/lane_memory.h"
#include "vgpu/handlers/memory/reduction.h"
#include "vgpu/memory/find_access.h"

#include <algorithm>
#include <vector>

namespace lemma::vgpu {
namespace {

using isa::Opcode;
using isa::Qual;
using isa::StateSpace;
using isa::Type;
using numeric::FloatFormat;
using namespace atomic_operations;
using ptx::Operand;
using ptx::OperandKind;

constexpr int kMaxElements = 8;

// --- the instruction
// ----------------------------------------------------------------------------------------------

template <class E>
E source_element(const Exec& x, const DecodedInst& in, int index, int lane) {
  return with_register_type(x.src_slot(in, index).bytes,
                            [&](auto r) { return resize<E>(x.src<decltype(r)>(in, index)[lane]); });
}

// One check for all lanes, beside the lowest address; none where each needs one of its own: the addresses lie
// apart, or what they name is not all written yet.
struct LanesAtOnce {
  Access range;
  uint64_t lowest = 0;
};
LanesAtOnce find_lanes(Exec& x, const DecodedInst& in, StateSpace space, const uint64_t* at) {
  const auto [lowest, highest] = std::minmax_element(at, at + kWarpSize);
  uint64_t low_bits = 0;
  for (int lane = 0; lane < kWarpSize; ++lane)
    low_bits |= at[lane];
  LanesAtOnce all{.range =
                      x.find(in, space, *lowest, span_of(*lowest, *highest, in.width), AccessKind::atomic),
                  .lowest = *lowest};
  bool plain = all.range && all.range.lane_stride == 0 && (low_bits & (in.width - 1u)) == 0;
  for (LaneMask left = plain && all.range.is_tracked() ? x.active : 0; left != 0; left &= left - 1)
    plain &= all.range.was_written(at[std::countr_zero(left)] - *lowest, in.width);
  if (!plain)
    all.range = {};
  else if (all.range.unpublished)
    for_lanes(x.active, [&](int lane) { all.range.mark_written(at[lane] - *lowest, in.width); });
  return all;
}

} // namespace

template <class Op>
Step atomic_operations::atomic(Exec& x, const DecodedInst& in) {
  using E = typename Op::Element;
  const auto space = static_cast<StateSpace>(in.flags);
  const int elements = in.width / static_cast<int>(sizeof(E));
  const bool has_c = in.op_count - in.dst_count > 1 + elements;
  if constexpr (requires { requires Op::kFollowsOrder; })
    x.float_atomics = true;
  uint64_t at[kWarpSize];
  lane_addresses(x, in, at);
  const LanesAtOnce all = find_lanes(x, in, space, at);
  if (all.range)
    x.tell(all.range, at, all.lowest, in.width);
  PieceAccesses accesses(x);
  bool changed = false;
  for (LaneMask left = x.active; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    MemoryPlace place;
    if (all.range) {
      place = all.range.at(at[lane] - all.lowest);
    } else {
      const Access past = x.access_past_end(in, space, at[lane], in.width, AccessKind::atomic, lane);
      const Access access =
          past ? past : x.access(in, space, at[lane], in.width, in.width, AccessKind::atomic, lane);
      if (!access)
        return Step::stopped;
      accesses.add(lane, access);
      place = access;
    }
    Operands<E> operands[kMaxElements]; // all read before a destination is written
    for (int i = 0; i < elements; ++i) {
      operands[i].b = source_element<E>(x, in, 1 + i, lane);
      operands[i].global = place.allocation != nullptr;
    }
    if (has_c)
      operands[0].c = source_element<E>(x, in, 1 + elements, lane);
    for (int i = 0; i < elements; ++i) {
      const E old = update<Op>(place.host + i * sizeof(E), operands[i], changed);
      if (i < in.dst_count)
        with_register_type(x.dst_slot(in, i).bytes,
                           [&](auto r) { x.dst<decltype(r)>(in, i)[lane] = resize<decltype(r)>(old); });
    }
  }
  accesses.tell();
  x.watch.tell(&Observer::has_read, x);
  if (changed)
    x.effect();
  return Step::next;
}

namespace {

// The same on one element at a host address, for reductions.
template <class Op, class E = typename Op::Element>
void reduce(std::byte* memory, const std::byte* operand, bool flush) {
  Operands<E> operands;
  operands.global = flush;
  std::memcpy(&operands.b, operand, sizeof operands.b);
  bool changed = false;
  update<Op>(memory, operands, changed);
}

// Both ways to do an operation; null: the type has none.
struct Update {
  Handler handler = nullptr;
  Reduce reduce = nullptr;
  int vector = VectorOperations::kNone; // its place there
};
template <class Op>
constexpr Update update_by{atomic<Op>, reduce<Op>, VectorOperations::index_of<Op>()};

template <template <class> class Op>
Update for_unsigned(Type type) {
  switch (isa::bits_of(type)) {
  case 32:
    return update_by<Op<uint32_t>>;
  case 64:
    return update_by<Op<uint64_t>>;
  default:
    return Update{};
  }
}

template <template <class> class Op>
Update for_integer(Type type) {
  switch (type) {
  case Type::s32:
    return update_by<Op<int32_t>>;
  case Type::s64:
    return update_by<Op<int64_t>>;
  case Type::u32:
    return update_by<Op<uint32_t>>;
  case Type::u64:
    return update_by<Op<uint64_t>>;
  default:
    return Update{};
  }
}

template <FloatOp op>
Update for_float(Type type) {
  switch (type) {
  case Type::f16:
    return update_by<Float<uint16_t, FloatFormat::f16, op>>;
  case Type::bf16:
    return update_by<Float<uint16_t, FloatFormat::bf16, op>>;
  case Type::f16x2:
    return update_by<Float<uint32_t, FloatFormat::f16, op>>;
  case Type::bf16x2:
    return update_by<Float<uint32_t, FloatFormat::bf16, op>>;
  case Type::f32:
    return op == FloatOp::add ? update_by<Float<uint32_t, FloatFormat::f32, FloatOp::add>> : Update{};
  case Type::f64:
    return op == FloatOp::add ? update_by<Float<uint64_t, FloatFormat::f64, FloatOp::add>> : Update{};
  default:
    return Update{};
  }
}

Update exchange(Type type) {
  return isa::bits_of(type) == 128 ? update_by<Exchange<Bits128>> : for_unsigned<Exchange>(type);
}

Update compare_and_swap(Type type) {
  switch (isa::bits_of(type)) {
  case 16:
    return update_by<CompareAndSwap<uint16_t>>;
  case 128:
    return update_by<CompareAndSwap<Bits128>>;
  default:
    return for_unsigned<CompareAndSwap>(type);
  }
}

Update find_update(Qual operation, Type type) {
  switch (operation) {
  case Qual::and_:
    return for_unsigned<And>(type);
  case Qual::or_:
    return for_unsigned<Or>(type);
  case Qual::xor_:
    return for_unsigned<Xor>(type);
  case Qual::exch:
    return exchange(type);
  case Qual::cas:
    return compare_and_swap(type);
  case Qual::add:
    return isa::is_float(type) ? for_float<FloatOp::add>(type) : for_integer<Add>(type);
  case Qual::inc:
    return type == Type::u32 ? update_by<Increment> : Update{};
  case Qual::dec:
    return type == Type::u32 ? update_by<Decrement> : Update{};
  case Qual::min:
    return isa::is_float(type) ? for_float<FloatOp::min>(type) : for_integer<Min>(type);
  case Qual::max:
    return isa::is_float(type) ? for_float<FloatOp::max>(type) : for_integer<Max>(type);
  default:
    return Update{};
  }
}

// add.noftz.f32: subnormals stay in global memory too.
struct AddKeepingSubnormals {
  using Element = uint32_t;
  static constexpr bool kFollowsOrder = true;
  static uint32_t apply(uint32_t old, const Operands<uint32_t>& o) {
    return Float<uint32_t, FloatFormat::f32, FloatOp::add>::apply(old, {.b = o.b, .global = false});
  }
};

Update find_update(const ptx::Instruction& instruction) {
  if (instruction.has(Qual::noftz) && instruction.type() == Type::f32)
    return update_by<AddKeepingSubnormals>;
  return find_update(instruction.one_of({Qual::and_, Qual::or_, Qual::xor_, Qual::exch, Qual::cas, Qual::add,
                                         Qual::inc, Qual::dec, Qual::min, Qual::max}),
                     instruction.type());
}

} // namespace

bool select_atomic(Decoder& decoder, const ptx::Instruction& instruction, DecodedInst& in) {
  const Type type = instruction.type();
  const bool returns = instruction.opcode == Opcode::atom;
  const size_t at = returns ? 1 : 0; // of the address
  const Update update = find_update(instruction);
  in.handler = update.handler;
  if (!in.handler || instruction.operands.size() < at + 2)
    return false;
  const PlacedAddress address = decoder.address(at);
  in.flags = static_cast<uint8_t>(address.space);
  in.imm = address.offset;
  std::vector<Slot> srcs{address.base};
  decoder.add_srcs(srcs, at + 1, type);
  const size_t elements = srcs.size() - 1;
  if (elements > kMaxElements)
    return false;
  in.width = static_cast<uint8_t>(elements * isa::bytes_of(type));
  if (instruction.has(Qual::cas)) { // else a further operand is a cache policy
    if (instruction.operands.size() < at + 3)
      return false;
    srcs.push_back(decoder.src(at + 2, type));
  }
  std::vector<Slot> dsts;
  if (returns)
    decoder.add_dsts(dsts, 0, type);
  decoder.set_operands(in, dsts, srcs);
  if (const Handler handler = vector_atomic(update.vector, decoder.code(), in))
    in.handler = handler;
  return true;
}

namespace {

bool select_fence(Decoder& decoder, const ptx::Instruction&, DecodedInst& in) {
  in.handler = [](Exec& x, const DecodedInst& in) {
    fence(std::memory_order_seq_cst);
    x.watch.tell(&Observer::synchronizes, x, {.kind = SyncKind::fence, .lanes = x.active, .order = in.order});
    return Step::next;
  };
  decoder.set_operands(in, {}, {});
  return true;
}

// What a proxy fence publishes: everything in this CTA's shared memory, and - where the fence covers the
// cluster's - what this CTA may have stored in the others'. What other CTAs have stored in their own memory
// is theirs to publish.
enum PublishedMemory : uint8_t { kNone, kOwn, kCluster };

void tell_proxy_fence(const Exec& x, const DecodedInst& in) {
  x.watch.tell([&](Observer& observer) {
    uint64_t at[kWarpSize];
    const bool names_map = in.op_count != 0;
    if (names_map)
      lane_addresses(x, in, at);
    observer.synchronizes(x, {.kind = SyncKind::proxy_fence,
                              .lanes = x.active,
                              .order = in.order,
                              .addresses = names_map ? at : nullptr});
  });
}

bool select_proxy_fence(Decoder& decoder, const ptx::Instruction& instruction, DecodedInst& in) {
  if (instruction.has(Qual::async_generic))
    in.flags = instruction.has(Qual::release) ? kOwn : kNone;
  else if (instruction.has(Qual::async))
    in.flags = instruction.has(Qual::global) ? kNone : instruction.has(Qual::shared_cta) ? kOwn : kCluster;
  else
    in.flags = kNone; // alias, tensormap
  in.handler = [](Exec& x, const DecodedInst& in) {
    fence(std::memory_order_seq_cst);
    tell_proxy_fence(x, in);
    if (in.flags == kNone || x.cta->async_view.empty())
      return Step::next;
    x.cta->publish_to_async_proxy();
    if (in.flags == kCluster)
      for (const auto& cta : x.cta->cluster->ctas)
        if (cta.get() != x.cta)
          cta->publish_to_async_proxy(true);
    return Step::next;
  };
  if (instruction.operands.empty()) {
    decoder.set_operands(in, {}, {});
    return true;
  }
  const PlacedAddress address = decoder.address(0); // of a tensor map
  in.imm = address.offset;
  decoder.set_operands(in, {}, {address.base});
  return true;
}

} // namespace

Reduce find_reduction(Qual operation, Type type) {
  if (operation == Qual::add && type == Type::f64)
    return reduce<AsyncAddF64>;
  return find_update(operation, type).reduce;
}

bool adds_floats(Reduce reduce) {
  constexpr Type kFloats[] = {Type::f16, Type::f16x2, Type::bf16, Type::bf16x2, Type::f32, Type::f64};
  return std::any_of(std::begin(kFloats), std::end(kFloats),
                     [&](Type type) { return reduce == find_reduction(Qual::add, type); });
}

void add_atomic_selectors(SelectorTable& table) {
  table.add({Opcode::atom, Opcode::red}, select_atomic);
  table.add({Opcode::membar, Opcode::fence, Opcode::fence_mbarrier_init}, select_fence);
  table.add(Opcode::fence_alias, select_proxy_fence);
  table.add(Opcode::fence_proxy, select_proxy_fence);
}

} // namespace lemma::vgpu
