// Instructions through which the lanes of a warp speak to each other: shfl, vote, match, redux, activemask,
// elect.sync, bar.warp.sync.
//
// The .sync forms first wait (Exec::converge) until every lane that they name is here; one execution may then
// hold several groups of lanes, each with a membermask of its own, and each group is computed by itself. The
// old forms without .sync take the lanes that happen to be together.
//
// The ISA leaves undefined what a lane gets from one that does not take part; here it is that lane's register
// as it stands, and the read is reported as one of what was never written.
//
// Not here: wait and wake-up (warp.cc). Not checked on hardware: redux.sync of .f32, which no H200 has.
//
// PTX ISA: shfl, shfl.sync, vote, vote.sync, match.sync, activemask, redux.sync, elect.sync, bar.warp.sync.
// Tests: tests/unit/vgpu/warp_ops_test.cc.
#include "numeric/arithmetic.h"
#include "vgpu/code/decoder.h"
#include "vgpu/engine/observer.h"
#include "vgpu/handlers/control/lane_moves.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace lemma::vgpu {

void tell_convergence(const Exec& x, const DecodedInst& in, LaneMask lanes, LaneMask members) {
  x.watch.tell([&](Observer& observer) {
    const bool barrier = x.ptx_instruction(in).opcode == isa::Opcode::bar_warp_sync;
    observer.synchronizes(x, {.kind = barrier ? SyncKind::warp_barrier : SyncKind::convergence,
                              .lanes = lanes,
                              .order = in.order,
                              .members = members});
  });
}

namespace {

using isa::Opcode;
using isa::Qual;
using isa::Type;
using ptx::Operand;
using ptx::OperandKind;

// --- groups
// -------------------------------------------------------------------------------------------------------

// Calls f(lanes) for every set of executing lanes that have the same membermask.
template <class F>
void for_groups(LaneMask active, const uint32_t* members, F&& f) {
  while (active != 0) {
    const uint32_t mask = members[std::countr_zero(active)];
    LaneMask group = 0;
    for_lanes(active, [&](int lane) { group |= LaneMask{members[lane] == mask} << lane; });
    f(group);
    active &= ~group;
  }
}

// The common case, decided quickly: all 32 lanes are here, and each names all that have not exited.
bool whole_warp_is_here(const Exec& x, const uint32_t* members) {
  if (x.active != kAllLanes)
    return false;
  uint32_t named = kAllLanes;
  for (int lane = 0; lane < kWarpSize; ++lane)
    named &= members[lane];
  return named == kAllLanes;
}

// Waits for the lanes that the membermasks - source `index`; negative: an instruction without one - name,
// then calls f(lanes) for each group of them. The masks are copied: a destination may be the same register.
template <class F>
Step for_converged_groups(Exec& x, const DecodedInst& in, int index, F&& f) {
  if (index < 0 || whole_warp_is_here(x, x.src<uint32_t>(in, index))) {
    if (index >= 0)
      tell_convergence(x, in, x.active, kAllLanes);
    f(x.active);
    return Step::next;
  }
  if (!x.converge(in, x.src<uint32_t>(in, index)))
    return Step::reschedule;
  uint32_t members[kWarpSize];
  std::copy_n(x.src<uint32_t>(in, index), kWarpSize, members);
  for_groups(x.active, members, [&](LaneMask group) {
    tell_convergence(x, in, group, members[std::countr_zero(group)]);
    f(group);
  });
  return Step::next;
}

// values[lane] = value for the lanes of the group.
template <class T>
void fill_group(T* values, LaneMask group, T value) {
  if (group == kAllLanes)
    std::fill_n(values, kWarpSize, value);
  else
    for_lanes(group, [&](int lane) { values[lane] = value; });
}

// Index of the membermask, the last source, in DecodedInst::imm; -1 where there is none.
int members_index(const DecodedInst& in) {
  return static_cast<int>(in.imm);
}

// --- shfl
// -----------------------------------------------------------------------------------------------------------

// The lane to read from, by the ISA's formulas; beyond max_lane (below it for .up) is out of range.
template <Shuffle mode>
int shuffle_source(int lane, int b, int segment_mask) {
  switch (mode) {
  case Shuffle::up:
    return lane - b;
  case Shuffle::down:
    return lane + b;
  case Shuffle::bfly:
    return lane ^ b;
  case Shuffle::idx:
    return (lane & segment_mask) | (b & ~segment_mask);
  }
}

// What a lane reads for its operands b and c.
struct ReadLane {
  int source;
  bool reaches; // in range; else it is the lane itself
};
template <Shuffle mode>
ReadLane read_by_shuffle(int lane, uint32_t b, uint32_t c) {
  const int segment_mask = static_cast<int>(c >> 8 & 31);
  const int max_lane = (lane & segment_mask) | (static_cast<int>(c & 31) & ~segment_mask);
  const int source = shuffle_source<mode>(lane, static_cast<int>(b & 31), segment_mask);
  const bool reaches = mode == Shuffle::up ? source >= max_lane : source <= max_lane;
  return {reaches ? source : lane, reaches};
}

} // namespace

// Destinations d, and p where selected; sources a, b, c, membermask.
template <Shuffle mode>
Step shuffle(Exec& x, const DecodedInst& in) {
  uint32_t result[kWarpSize];
  LaneMask in_range = 0;
  const Step step = for_converged_groups(x, in, members_index(in), [&](LaneMask group) {
    const uint32_t* a = x.src<uint32_t>(in, 0);
    const uint32_t* b = x.src<uint32_t>(in, 1);
    const uint32_t* c = x.src<uint32_t>(in, 2);
    int sources[kWarpSize]; // of all lanes, the group's or not, so that this is a plain loop
    int reaches[kWarpSize];
    for (int lane = 0; lane < kWarpSize; ++lane) {
      const ReadLane read = read_by_shuffle<mode>(lane, b[lane], c[lane]);
      reaches[lane] = read.reaches;
      sources[lane] = read.source;
    }
    const auto tell = [&] {
      if (x.warp->follows_values)
        x.watch.tell(&Observer::shuffles, x, sources);
    };
    LaneMask reached = 0;
    for (int lane = 0; lane < kWarpSize; ++lane)
      reached |= static_cast<LaneMask>(reaches[lane]) << lane;
    in_range |= reached & group;
    if (group == kAllLanes && !in.checks_init) {
      for (int lane = 0; lane < kWarpSize; ++lane)
        result[lane] = a[sources[lane]];
      tell();
      return;
    }
    LaneMask asked = 0;
    for_lanes(group, [&](int lane) {
      result[lane] = a[sources[lane]];
      asked |= LaneMask{1} << sources[lane];
    });
    if (in.checks_init) // whose register is not read may leave it unwritten
      x.check_written(in, 0, asked & group);
    tell(); // who may follow values only since that
    if (asked & ~group) {
      LaneMask readers = 0;
      for_lanes(group, [&](int lane) {
        if (group >> sources[lane] & 1)
          return;
        readers |= LaneMask{1} << lane;
        x.uninitialized(in, lane, fmt::format("lane {} (which takes no part)", sources[lane]));
      });
      x.watch.tell(&Observer::reads_absent, x, readers, asked & ~group);
    }
  });
  if (step != Step::next)
    return step;
  keep_active(x.dst<uint32_t>(in), result, x.active);
  if (in.dst_count > 1)
    x.set_pred(in, 1, in_range);
  return Step::next;
}

template Step shuffle<Shuffle::up>(Exec&, const DecodedInst&);
template Step shuffle<Shuffle::down>(Exec&, const DecodedInst&);
template Step shuffle<Shuffle::bfly>(Exec&, const DecodedInst&);
template Step shuffle<Shuffle::idx>(Exec&, const DecodedInst&);

// --- vote
// -----------------------------------------------------------------------------------------------------------

// Destination a predicate, or for ballot 32 bits; sources a predicate and the membermask.
Step vote(Exec& x, const DecodedInst& in) {
  const auto mode = static_cast<Vote>(in.flags);
  uint32_t ballots[kWarpSize] = {};
  LaneMask result = 0;
  const Step step = for_converged_groups(x, in, members_index(in), [&](LaneMask group) {
    const LaneMask ballot = x.pred(in, 0) & group;
    fill_group(ballots, group, ballot);
    const bool all = ballot == group;
    const bool yes = mode == Vote::all ? all : mode == Vote::any ? ballot != 0 : all || ballot == 0;
    result |= yes ? group : 0;
  });
  if (step != Step::next)
    return step;
  if (mode == Vote::ballot)
    keep_active(x.dst<uint32_t>(in), ballots, x.active);
  else
    x.set_pred(in, 0, result);
  return Step::next;
}

namespace {

// --- match
// ----------------------------------------------------------------------------------------------------------

// Destinations d, and for match.all p where selected; sources a, membermask.
template <class T, bool all>
Step match_lanes(Exec& x, const DecodedInst& in) {
  uint32_t result[kWarpSize] = {};
  LaneMask matched = 0;
  const Step step = for_converged_groups(x, in, members_index(in), [&](LaneMask group) {
    const T* a = x.src<T>(in, 0);
    LaneMask left = group;
    while (left != 0) {
      const T value = a[std::countr_zero(left)];
      LaneMask same = 0;
      for_lanes(left, [&](int lane) { same |= LaneMask{a[lane] == value} << lane; });
      if (all && same != group)
        return; // zeros
      for_lanes(same, [&](int lane) { result[lane] = same; });
      matched |= same;
      left &= ~same;
    }
  });
  if (step != Step::next)
    return step;
  keep_active(x.dst<uint32_t>(in), result, x.active);
  if (in.dst_count > 1)
    x.set_pred(in, 1, matched);
  return Step::next;
}

// --- redux
// ----------------------------------------------------------------------------------------------------------

// Destination d; sources a, membermask. The first value is combined with itself if `f` says more than which
// of two it is.
template <class T, class F>
Step reduce(Exec& x, const DecodedInst& in, F f, bool first_with_itself = false) {
  T result[kWarpSize] = {};
  const Step step = for_converged_groups(x, in, members_index(in), [&](LaneMask group) {
    const T* a = x.src<T>(in, 0);
    T total = a[std::countr_zero(group)];
    if (first_with_itself)
      total = f(total, total);
    for_lanes(group & (group - 1), [&](int lane) { total = f(total, a[lane]); });
    fill_group(result, group, total);
  });
  if (step == Step::next)
    keep_active(x.dst<T>(in), result, x.active);
  return step;
}

// Minimum and maximum of f32, or of the magnitudes. A NaN does not count, or with .NaN it is the result; a
// result that is NaN is canonical.
template <bool kMax, bool kAbs, bool kNan>
Step reduce_f32(Exec& x, const DecodedInst& in) {
  const auto combine = [](uint32_t a, uint32_t b) {
    constexpr uint32_t kMask = kAbs ? 0x7fffffff : 0xffffffff;
    constexpr numeric::MinMaxOptions options{.nan = kNan};
    constexpr numeric::FloatFormat f32 = numeric::FloatFormat::f32;
    return static_cast<uint32_t>(kMax ? numeric::max(f32, a & kMask, b & kMask, options)
                                      : numeric::min(f32, a & kMask, b & kMask, options));
  };
  return reduce<uint32_t>(x, in, combine, true);
}
template <bool kMax>
Handler reduce_f32_handler(const ptx::Instruction& instruction) {
  const bool nan = instruction.has(Qual::NaN);
  if (instruction.has(Qual::abs))
    return nan ? reduce_f32<kMax, true, true> : reduce_f32<kMax, true, false>;
  return nan ? reduce_f32<kMax, false, true> : reduce_f32<kMax, false, false>;
}

Handler reduce_handler(const ptx::Instruction& instruction) {
  if (instruction.type() == Type::f32)
    return instruction.has(Qual::max) ? reduce_f32_handler<true>(instruction)
                                      : reduce_f32_handler<false>(instruction);
  const bool is_signed = instruction.type() == Type::s32;
  switch (instruction.one_of({Qual::add, Qual::min, Qual::max, Qual::and_, Qual::or_, Qual::xor_})) {
  case Qual::add:
    return [](Exec& x, const DecodedInst& in) {
      return reduce<uint32_t>(x, in, [](uint32_t a, uint32_t b) { return a + b; });
    };
  case Qual::min:
    if (is_signed)
      return [](Exec& x, const DecodedInst& in) {
        return reduce<int32_t>(x, in, [](int32_t a, int32_t b) { return std::min(a, b); });
      };
    return [](Exec& x, const DecodedInst& in) {
      return reduce<uint32_t>(x, in, [](uint32_t a, uint32_t b) { return std::min(a, b); });
    };
  case Qual::max:
    if (is_signed)
      return [](Exec& x, const DecodedInst& in) {
        return reduce<int32_t>(x, in, [](int32_t a, int32_t b) { return std::max(a, b); });
      };
    return [](Exec& x, const DecodedInst& in) {
      return reduce<uint32_t>(x, in, [](uint32_t a, uint32_t b) { return std::max(a, b); });
    };
  case Qual::and_:
    return [](Exec& x, const DecodedInst& in) {
      return reduce<uint32_t>(x, in, [](uint32_t a, uint32_t b) { return a & b; });
    };
  case Qual::or_:
    return [](Exec& x, const DecodedInst& in) {
      return reduce<uint32_t>(x, in, [](uint32_t a, uint32_t b) { return a | b; });
    };
  case Qual::xor_:
    return [](Exec& x, const DecodedInst& in) {
      return reduce<uint32_t>(x, in, [](uint32_t a, uint32_t b) { return a ^ b; });
    };
  default:
    return nullptr;
  }
}

// --- activemask, elect, bar.warp.sync
// -------------------------------------------------------------------------------

Step active_mask(Exec& x, const DecodedInst& in) {
  for_lanes(x.active, [&](int lane) { x.dst<uint32_t>(in)[lane] = x.active; });
  return Step::next;
}

// Destinations d (the leader's lane) and p (true in the leader); source membermask. The ISA asks only that
// the same membermask elects the same leader: it is the first lane, as on the hardware, or with Elect::any
// the last.
Step elect(Exec& x, const DecodedInst& in) {
  uint32_t leaders[kWarpSize] = {};
  LaneMask elected = 0;
  const LaunchConfig& config = x.launch->config;
  const bool last = config.elect == Elect::any && (config.schedule == 0 || config.schedule % 2 != 0);
  const Step step = for_converged_groups(x, in, members_index(in), [&](LaneMask group) {
    const int leader = last ? kWarpSize - 1 - std::countl_zero(group) : std::countr_zero(group);
    elected |= LaneMask{1} << leader;
    fill_group(leaders, group, static_cast<uint32_t>(leader));
  });
  if (step != Step::next)
    return step;
  if (last && !(elected & x.active & -x.active))
    x.remark(in, "elect.sync elects another lane than the lowest, which a GPU elects (--elect any)");
  keep_active(x.dst<uint32_t>(in), leaders, x.active);
  x.set_pred(in, 1, elected);
  return Step::next;
}

Step warp_barrier(Exec& x, const DecodedInst& in) {
  return for_converged_groups(x, in, members_index(in), [](LaneMask) {});
}

// --- selectors
// ------------------------------------------------------------------------------------------------------

// Sources of the types given, then a membermask if the instruction has one more operand. Destinations d and p
// of d|p, or d alone.
bool place_operands(Decoder& decoder, const ptx::Instruction& instruction, Type dst_type,
                    std::initializer_list<Type> src_types, bool has_members, DecodedInst& in) {
  const bool has_dst = dst_type != Type::none;
  const size_t first_src = has_dst ? 1 : 0;
  if (instruction.operands.size() < first_src + src_types.size() + (has_members ? 1 : 0))
    return false;
  std::vector<Slot> srcs;
  size_t index = first_src;
  for (const Type type : src_types)
    srcs.push_back(decoder.src(index++, type));
  in.imm = has_members ? static_cast<int64_t>(srcs.size()) : -1;
  if (has_members)
    srcs.push_back(decoder.src(index, Type::b32));
  std::vector<Slot> dsts;
  if (has_dst) {
    dsts.push_back(decoder.dst(0, dst_type));
    if (instruction.operands[0].kind == OperandKind::pair)
      dsts.push_back(decoder.dst(0, Type::pred, 1));
  }
  decoder.set_operands(in, dsts, srcs);
  return true;
}

// The handler of a mode, and what its lanes read.
struct Selected {
  Handler handler = nullptr;
  ReadLane (*read_by)(int lane, uint32_t b, uint32_t c) = nullptr;
};
template <Shuffle mode>
Selected selected_shuffle() {
  return {lane_moves().shuffles[static_cast<int>(mode)], read_by_shuffle<mode>};
}
Selected shuffle_of(Qual mode) {
  switch (mode) {
  case Qual::up:
    return selected_shuffle<Shuffle::up>();
  case Qual::down:
    return selected_shuffle<Shuffle::down>();
  case Qual::bfly:
    return selected_shuffle<Shuffle::bfly>();
  case Qual::idx:
    return selected_shuffle<Shuffle::idx>();
  default:
    return {};
  }
}

// Its operands from b on are constants, the membermask all lanes.
bool is_fixed(const ptx::Instruction& instruction) {
  const auto& operands = instruction.operands;
  const auto is_constant = [](const Operand& operand) {
    return operand.kind == OperandKind::imm && !operand.negated;
  };
  return std::all_of(operands.begin() + 2, operands.end(), is_constant) &&
         (operands.size() < 5 || static_cast<uint32_t>(operands[4].bits) == kAllLanes);
}

bool select_shuffle(Decoder& decoder, const ptx::Instruction& instruction, DecodedInst& in) {
  const Selected shuffle = shuffle_of(instruction.one_of({Qual::up, Qual::down, Qual::bfly, Qual::idx}));
  in.handler = shuffle.handler;
  in.asks_itself = 0; // the value: of the lanes that are read from
  if (!in.handler || !place_operands(decoder, instruction, Type::b32, {Type::b32, Type::b32, Type::b32},
                                     instruction.opcode == Opcode::shfl_sync, in))
    return false;
  if (lane_moves().fixed_shuffle && is_fixed(instruction)) {
    auto& fixed = decoder.make_plan<FixedShuffle>(in);
    fixed.otherwise = in.handler;
    for (int lane = 0; lane < kWarpSize; ++lane) {
      const auto [source, reaches] =
          shuffle.read_by(lane, static_cast<uint32_t>(instruction.operands[2].bits),
                          static_cast<uint32_t>(instruction.operands[3].bits));
      fixed.sources[lane] = static_cast<uint32_t>(source);
      fixed.in_range |= LaneMask{reaches} << lane;
    }
    in.handler = lane_moves().fixed_shuffle;
  }
  return true;
}

bool select_vote(Decoder& decoder, const ptx::Instruction& instruction, DecodedInst& in) {
  const Qual mode = instruction.one_of({Qual::all, Qual::any, Qual::uni, Qual::ballot});
  in.flags = static_cast<uint8_t>(mode == Qual::all   ? Vote::all
                                  : mode == Qual::any ? Vote::any
                                  : mode == Qual::uni ? Vote::uni
                                                      : Vote::ballot);
  in.handler = lane_moves().votes[in.flags];
  return mode != Qual::none &&
         place_operands(decoder, instruction, mode == Qual::ballot ? Type::b32 : Type::pred, {Type::pred},
                        instruction.opcode == Opcode::vote_sync, in);
}

bool select_match(Decoder& decoder, const ptx::Instruction& instruction, DecodedInst& in) {
  const bool all = instruction.has(Qual::all);
  const bool wide = isa::bits_of(instruction.type()) == 64;
  in.handler = all ? (wide ? match_lanes<uint64_t, true> : match_lanes<uint32_t, true>)
                   : (wide ? match_lanes<uint64_t, false> : match_lanes<uint32_t, false>);
  return place_operands(decoder, instruction, Type::b32, {instruction.type()}, true, in);
}

bool select_reduce(Decoder& decoder, const ptx::Instruction& instruction, DecodedInst& in) {
  in.handler = reduce_handler(instruction);
  return in.handler &&
         place_operands(decoder, instruction, instruction.type(), {instruction.type()}, true, in);
}

bool select_active_mask(Decoder& decoder, const ptx::Instruction& instruction, DecodedInst& in) {
  in.handler = active_mask;
  return place_operands(decoder, instruction, Type::b32, {}, false, in);
}

bool select_elect(Decoder& decoder, const ptx::Instruction& instruction, DecodedInst& in) {
  in.handler = elect;
  return place_operands(decoder, instruction, Type::b32, {}, true, in) && in.dst_count == 2;
}

bool select_warp_barrier(Decoder& decoder, const ptx::Instruction& instruction, DecodedInst& in) {
  in.handler = warp_barrier;
  return place_operands(decoder, instruction, Type::none, {}, true, in);
}

} // namespace

void add_warp_selectors(SelectorTable& table) {
  table.add({Opcode::shfl, Opcode::shfl_sync}, select_shuffle);
  table.add({Opcode::vote, Opcode::vote_sync}, select_vote);
  table.add(Opcode::match, select_match);
  table.add(Opcode::redux_sync, select_reduce);
  table.add(Opcode::activemask, select_active_mask);
  table.add(Opcode::elect_sync, select_elect);
  table.add(Opcode::bar_warp_sync, select_warp_barrier);
}

} // namespace lemma::vgpu
