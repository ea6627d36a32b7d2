// The values of loads that race, through registers. See loaded.h.
#include "check/loaded.h"

#include "check/settled.h"
#include "isa/effects.h"
#include "ptx/flow.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

namespace lemma::check {

namespace effect = isa::effect;
using vgpu::Code;
using vgpu::DecodedInst;

namespace {

// A shuffle's first source goes to other lanes, and decides nothing.
bool goes_to_other_lanes(const Code& code, const DecodedInst& in, int source) {
  return source == 0 && isa::effects_of(code.opcode_of(in)).has(effect::shuffles);
}

constexpr int kNoNumber = -1;

// Calls f(offset, number of the source) for the registers that the instruction may read, its guard apart; the
// carry has no number.
template <class F>
void each_source(const Code& code, const DecodedInst& in, F&& f) {
  for (int i = in.updates ? 0 : in.dst_count; i < in.op_count; ++i)
    if (const vgpu::Slot& slot = code.ops_of(in)[static_cast<size_t>(i)]; slot.base == 0)
      f(slot.offset, i - in.dst_count);
  if (reads_carry(code.opcode_of(in)))
    f(kCarry, kNoNumber);
}

// The lanes in which the source has no part in what comes out: a selection takes the other one, or the other
// one of an `and` or `or` of predicates decides. `known(source)`: where it is known what a predicate is;
// `racing(source)`: in which lanes that is not sure.
template <class Known, class Racing>
LaneMask decided_without(const Code& code, const DecodedInst& in, int source, Known&& known,
                         Racing&& racing) {
  constexpr int kChosenBy = 2;
  const isa::Effects does = isa::effects_of(code.opcode_of(in));
  const auto predicate = [&](int of) {
    const vgpu::Slot& slot = code.srcs_of(in)[static_cast<size_t>(of)];
    return slot.base == 0 && slot.bytes == 0 ? known(of) : Settled{};
  };
  if (source < 0 || source > 1)
    return 0;
  if (does.has(effect::selects)) {
    const Settled chosen = predicate(kChosenBy);
    return source == 0 ? chosen.clear : chosen.set;
  }
  if (!does.has_any(effect::zero_decides | effect::one_decides))
    return 0;
  const int other = 1 - source;
  const Settled value = predicate(other);
  return (does.has(effect::zero_decides) ? value.clear : value.set) & ~racing(other);
}

// The ways from a load to where lanes are, and what of its value comes along.
class Ways {
public:
  Ways(uint32_t load, const Whereabouts& where, bool every, PrivateRegions& regions)
      : load_(load), where_(where), every_(every), code_(*where.code), regions_(regions) {}

  Fate follow() {
    Fate fate;
    const auto size = static_cast<uint32_t>(code_.insts.size());
    pieces_ = pieces_of(code_, {load_, load_ + 1, where_.pc});
    if (pieces_.empty() || load_ + 1 >= size || where_.pc >= size) {
      fate.used = where_.lanes;
      return fate;
    }
    find_passed();
    State& begin = states_.at(piece_at(load_ + 1));
    begin.lanes = where_.lanes;
    each_destination(code_, code_.insts[load_],
                     [&](uint32_t offset) { begin.values[offset] |= where_.lanes; });
    for (left_ = {piece_at(load_ + 1)}; !left_.empty() && used_ != where_.lanes;) {
      const size_t piece = left_.back();
      left_.pop_back();
      if (!is_passed_[piece])
        continue;
      State after = states_[piece];
      for (uint32_t pc = pieces_[piece].begin; pc < pieces_[piece].end; ++pc)
        execute(pc, after);
      for (size_t i = 0; i < pieces_[piece].next.size(); ++i)
        if (const size_t next = pieces_[piece].next[i];
            join(states_[next], after, lanes_that_go(pieces_[piece], i, after.lanes)))
          left_.push_back(next);
    }
    State& now = states_[piece_at(where_.pc)];
    if (where_.executes)
      execute(where_.pc, now, where_.active);
    fate.used = used_ & where_.lanes;
    for (const auto& [offset, lanes] : now.values)
      if (lanes)
        fate.holds.push_back({offset, lanes});
    for (const auto& [region, lanes] : branched_)
      if (region->has(where_.pc))
        fate.in.push_back({region, lanes & now.lanes});
    return fate;
  }

private:
  struct State {
    LaneMask lanes = 0; // that come here
    std::map<uint32_t, LaneMask> values;

    LaneMask of(uint32_t offset) const {
      const auto found = values.find(offset);
      return found == values.end() ? 0 : found->second;
    }
  };

  size_t piece_at(uint32_t pc) const { return piece_with(pieces_, pc); }

  // What lies on a way that does not execute the load again, where only the last time counts.
  void find_passed() {
    const size_t here = piece_at(where_.pc), load = piece_at(load_);
    const bool stops = !code_.insts[load_].guarded && !every_;
    std::vector<std::vector<size_t>> before(pieces_.size());
    for (size_t i = 0; i < pieces_.size(); ++i)
      for (const size_t next : pieces_[i].next)
        before[next].push_back(i);
    const auto reach = [&](size_t from, const auto& edges) {
      std::vector<bool> reached(pieces_.size());
      for (std::vector<size_t> left{from}; !left.empty();) {
        const size_t piece = left.back();
        left.pop_back();
        for (const size_t next : edges(piece))
          if (!reached[next]) {
            reached[next] = true;
            if (next != load || !stops)
              left.push_back(next);
          }
      }
      return reached;
    };
    reaches_ = reach(piece_at(load_ + 1), [&](size_t piece) { return pieces_[piece].next; });
    is_passed_ = reach(here, [&](size_t piece) { return before[piece]; });
    for (size_t i = 0; i < pieces_.size(); ++i)
      is_passed_[i] = is_passed_[i] && (reaches_[i] || i == piece_at(load_ + 1)) && (i != load || !stops);
    states_.resize(pieces_.size());
  }

  void execute(uint32_t pc, State& state, std::optional<LaneMask> active = {}) {
    const DecodedInst& in = code_.insts[pc];
    LaneMask may = state.lanes, must = state.lanes;
    if (active)
      may = must = state.lanes & *active;
    else if (in.guarded) {
      const Settled guard = guard_of(pc);
      may &= ~guard.clear;
      must &= guard.set;
    }
    const LaneMask guards = in.guarded ? state.of(in.guard_offset) & state.lanes : 0;
    const LaneMask led = led_to(pc) & state.lanes;
    LaneMask taken = 0, given = 0;
    each_source(code_, in, [&](uint32_t offset, int source) {
      const LaneMask lanes = state.of(offset) & may & ~decided_without(pc, state, source);
      (goes_to_other_lanes(code_, in, source) ? given : taken) |= lanes;
    });
    const auto use = [&](LaneMask& lanes) { used_ |= std::exchange(lanes, 0); };
    const Effect effect = effect_of(code_, in);
    switch (effect) {
    case Effect::computes:
      break;
    case Effect::loads:
      if (!led)
        use(taken);
      break;
    case Effect::loads_privately:
      break;
    case Effect::gathers: // who takes part is not known
      given |= taken;
      taken = 0;
      break;
    case Effect::stores_privately:
      if (const LaneMask stored = taken | guards | led)
        state.values[kLocalMemory] |= stored;
      return;
    case Effect::branches:
      if (guards)
        branch(pc, state, guards);
      return;
    case Effect::acts:
      use(taken);
      used_ |= guards;
      break;
    }
    if (may_load_local(code_, in))
      taken |= state.of(kLocalMemory) & may;
    if (given) // to which of them is not known
      taken = may;
    if (effect != Effect::acts)
      taken |= guards | led;
    each_destination(code_, in, [&](uint32_t offset) {
      if (taken)
        state.values[offset] = (state.of(offset) & ~must) | taken;
      else if (const auto value = state.values.find(offset); value != state.values.end())
        value->second &= ~must;
    });
  }

  LaneMask decided_without(uint32_t pc, const State& state, int source) {
    const DecodedInst& in = code_.insts[pc];
    const auto offset = [&](int of) { return code_.srcs_of(in)[static_cast<size_t>(of)].offset; };
    return lemma::check::decided_without(
        code_, in, source, [&](int of) { return predicate_at(pc, offset(of)); },
        [&](int of) { return state.of(offset(of)); });
  }

  // The value decides where the lanes go on.
  void branch(uint32_t pc, State& state, LaneMask lanes) {
    const PrivateRegion* const region = regions_.behind(code_, pc);
    if (!region || region->waits_for(code_.id_at(load_))) {
      used_ |= lanes;
      return;
    }
    for (const PrivateRegion::Guard& guard : region->stores_under) {
      const Settled value = predicate_at(pc, guard.predicate);
      const LaneMask kept = (guard.negated ? value.set : value.clear) & ~state.of(guard.predicate);
      used_ |= lanes & ~kept;
      lanes &= kept;
    }
    for (const uint32_t offset : region->writes)
      state.values[offset] |= lanes;
    if (region->stores)
      state.values[kLocalMemory] |= lanes;
    LaneMask& known = branched_[region];
    if ((lanes & ~known) == 0)
      return;
    known |= lanes;
    for (size_t i = 0; i < pieces_.size(); ++i)
      if (region->has(pieces_[i].begin))
        left_.push_back(i);
  }

  // Lanes that may be here by such a branch.
  LaneMask led_to(uint32_t pc) const {
    LaneMask lanes = 0;
    for (const auto& [region, branched] : branched_)
      if (region->has(pc))
        lanes |= branched;
    return lanes;
  }

  // Lanes that a guard lets execute.
  Settled guard_of(uint32_t pc) {
    const DecodedInst& in = code_.insts[pc];
    const Settled value = predicate_at(pc, in.guard_offset);
    return in.guard_negated ? value.negated() : value;
  }

  // What a predicate was at an instruction: what it is now, if on no way from there it is written, or comes
  // out the same.
  Settled predicate_at(uint32_t pc, uint32_t predicate) {
    const auto [known, is_new] = predicates_.try_emplace({pc, predicate});
    if (!is_new)
      return known->second;
    const auto writes = [&](uint32_t from, uint32_t to) {
      return std::any_of(code_.insts.begin() + from, code_.insts.begin() + to, [&](const DecodedInst& other) {
        bool written = false;
        each_destination(code_, other, [&](uint32_t offset) { written |= offset == predicate; });
        return written;
      });
    };
    const size_t own = piece_at(pc);
    bool written = writes(pc, pieces_[own].end);
    std::vector<bool> seen(pieces_.size());
    for (std::vector<size_t> left{own}; !left.empty() && !written;) {
      const size_t piece = left.back();
      left.pop_back();
      for (const size_t next : pieces_[piece].next)
        if (is_passed_[next] && !seen[next]) {
          seen[next] = true;
          written |= writes(pieces_[next].begin, pieces_[next].end);
          left.push_back(next);
        }
    }
    if (written && !settled_)
      settled_.emplace(code_);
    known->second = written ? settled_->of(predicate, where_.registers)
                            : Settled::as(*reinterpret_cast<const LaneMask*>(where_.registers + predicate));
    return known->second;
  }

  // Which lanes go on from a piece to one of those that follow.
  LaneMask lanes_that_go(const Piece& piece, size_t to, LaneMask lanes) {
    for (uint32_t pc = piece.begin; pc < piece.end; ++pc) {
      const DecodedInst& in = code_.insts[pc];
      if (!in.guarded || in.source == ptx::kNone || !ptx::ends_block(code_.opcode_of(in)))
        continue;
      if (piece.falls_through)
        return lanes & ~(to == 0 ? guard_of(pc).set : guard_of(pc).clear);
    }
    return lanes;
  }

  static bool join(State& state, const State& other, LaneMask lanes) {
    bool grows = (lanes & ~state.lanes) != 0;
    state.lanes |= lanes;
    for (const auto& [offset, value] : other.values)
      if (const LaneMask more = value & lanes) {
        LaneMask& held = state.values[offset];
        grows |= (more & ~held) != 0;
        held |= more;
      }
    return grows;
  }

  static constexpr LaneMask kAllLanes = vgpu::kAllLanes;
  const uint32_t load_;
  const Whereabouts& where_;
  const bool every_;
  const Code& code_;
  PrivateRegions& regions_;
  std::vector<Piece> pieces_; // one begins behind the load, and one where the lanes are
  std::vector<bool> reaches_, is_passed_;
  std::vector<State> states_; // as they begin
  std::vector<size_t> left_;
  std::map<const PrivateRegion*, LaneMask> branched_;           // the value has led there
  std::map<std::pair<uint32_t, uint32_t>, Settled> predicates_; // by pc and offset
  std::optional<SettledPredicates> settled_;
  LaneMask used_ = 0;
};

} // namespace

Fate fate_of(uint32_t load, const Whereabouts& where, bool every, PrivateRegions& regions) {
  return Ways(load, where, every, regions).follow();
}

// --- from then on

void RacingValues::add(std::vector<Made>& to, LoadRace race, LaneMask lanes) {
  if (lanes == 0)
    return;
  for (Made& made : to)
    if (made.race == race) {
      made.lanes |= lanes;
      return;
    }
  to.push_back({race, lanes});
}

void RacingValues::add(std::vector<Made>& to, const std::vector<Made>& more) {
  for (const Made& each : more)
    add(to, each.race, each.lanes);
}

void RacingValues::load(LoadRace race, LaneMask lanes) {
  add(loaded_, race, lanes);
}

void RacingValues::hold(LoadRace race, const std::byte* registers, const Holding& holding) {
  if (holding.offset == kLocalMemory)
    registers = nullptr; // it outlives the activation
  for (Value& value : values_)
    if (value.race == race && value.registers == registers && value.in.offset == holding.offset) {
      value.in.lanes |= holding.lanes;
      return;
    }
  values_.push_back({race, registers, holding});
}

void RacingValues::branch(LoadRace race, const std::byte* registers, const Entering& entering) {
  if (entering.lanes == 0)
    return;
  for (Branched& branched : branched_)
    if (branched.race == race && branched.registers == registers && branched.in.region == entering.region) {
      branched.in.lanes |= entering.lanes;
      return;
    }
  branched_.push_back({race, registers, entering});
}

template <class F>
void RacingValues::each_in(const vgpu::Exec& x, uint32_t offset, LaneMask lanes, F&& f) const {
  const std::byte* const registers = offset == kLocalMemory ? nullptr : x.bases[0];
  for (const Value& value : values_)
    if (value.registers == registers && value.in.offset == offset && (value.in.lanes & lanes) != 0)
      f(value.race, value.in.lanes & lanes);
}

// Of the lanes in which the instruction executes. Of one that gathers, all that its values come from, and all
// lanes have what comes out.
std::vector<RacingValues::Made> RacingValues::take_sources(const vgpu::Exec& x) const {
  const DecodedInst& in = x.code->insts[x.pc];
  const bool gathers = effect_of(*x.code, in) == Effect::gathers;
  std::vector<Made> taken;
  each_source(*x.code, in, [&](uint32_t offset, int source) {
    if (goes_to_other_lanes(*x.code, in, source))
      return;
    const auto known = [&](int of) { return Settled::as(x.pred(in, of)); };
    const auto racing = [&](int of) {
      LaneMask found = 0;
      each_in(x, x.src_slot(in, of).offset, vgpu::kAllLanes,
              [&](LoadRace, LaneMask lanes) { found |= lanes; });
      return found;
    };
    const LaneMask lanes =
        gathers ? vgpu::kAllLanes : x.active & ~decided_without(*x.code, in, source, known, racing);
    each_in(x, offset, lanes,
            [&](LoadRace race, LaneMask found) { add(taken, race, gathers ? x.active : found); });
  });
  if (may_load_local(*x.code, in))
    each_in(x, kLocalMemory, x.active, [&](LoadRace race, LaneMask lanes) { add(taken, race, lanes); });
  return taken;
}

// Lanes that may execute one of the stores of a region that the branch leads to.
LaneMask RacingValues::may_store_in(const PrivateRegion& region, const vgpu::Exec& x) const {
  LaneMask lanes = 0;
  for (const PrivateRegion::Guard& guard : region.stores_under) {
    const LaneMask value = *reinterpret_cast<const LaneMask*>(x.bases[0] + guard.predicate);
    lanes |= guard.negated ? ~value : value;
    each_in(x, guard.predicate, vgpu::kAllLanes, [&](LoadRace, LaneMask racing) { lanes |= racing; });
  }
  return lanes;
}

// Whom a racing value has led here, or may have.
std::vector<RacingValues::Made> RacingValues::lead_here(const vgpu::Exec& x) {
  std::vector<Made> led;
  for (Branched& branched : branched_) {
    if (branched.registers != x.bases[0])
      continue;
    if (branched.in.region->has(x.pc))
      add(led, branched.race, branched.in.lanes & x.mask);
    else
      branched.in.lanes &= ~x.mask;
  }
  std::erase_if(branched_, [](const Branched& branched) { return branched.in.lanes == 0; });
  return led;
}

void RacingValues::use(const std::vector<Made>& values, const Report& report) {
  for (const Made& used : values) {
    vgpu::for_lanes(used.lanes, [&](int lane) { report(used.race.number, lane); });
    const auto is_it = [&](const auto& each) { return each.race == used.race; };
    std::erase_if(values_, is_it);
    std::erase_if(branched_, is_it);
    std::erase_if(made_, is_it);
  }
}

void RacingValues::begin(const vgpu::Exec& x, PrivateRegions& regions, const Report& report) {
  const DecodedInst& in = x.code->insts[x.pc];
  now_ = x.code->id_of(in);
  made_.clear();
  loaded_.clear();
  if (empty())
    return;
  const std::vector<Made> led = lead_here(x), taken = take_sources(x);
  std::vector<Made> guards;
  if (in.guarded)
    each_in(x, in.guard_offset, x.mask, [&](LoadRace race, LaneMask lanes) { add(guards, race, lanes); });
  const Effect effect = effect_of(*x.code, in);
  if (effect == Effect::branches) {
    std::vector<Made> used;
    for (const Made& each : guards) {
      const PrivateRegion* const region = regions.behind(*x.code, x.pc);
      if (!region || region->waits_for(each.race.load) || (each.lanes & may_store_in(*region, x)) != 0) {
        used.push_back(each);
        continue;
      }
      for (const uint32_t offset : region->writes)
        hold(each.race, x.bases[0], {offset, each.lanes});
      if (region->stores)
        hold(each.race, nullptr, {kLocalMemory, each.lanes});
      branch(each.race, x.bases[0], {region, each.lanes});
    }
    return use(used, report);
  }
  add(made_, guards);
  if (effect != Effect::acts) // whom it has led past what they do not execute
    add(made_, led);
  const bool addresses = effect == Effect::loads && led.empty();
  if (!addresses)
    add(made_, taken);
  if (effect == Effect::acts)
    use(std::exchange(made_, {}), report);
  else if (addresses)
    use(taken, report);
  else if (effect == Effect::stores_privately)
    for (const Made& stored : std::exchange(made_, {}))
      hold(stored.race, nullptr, {kLocalMemory, stored.lanes});
}

void RacingValues::shuffle(const vgpu::Exec& x, const int* sources) {
  const uint32_t offset = x.src_slot(x.code->at(now_), 0).offset;
  for (const Value& value : values_) {
    if (value.registers != x.bases[0] || value.in.offset != offset)
      continue;
    LaneMask lanes = 0;
    vgpu::for_lanes(x.active, [&](int lane) { lanes |= (value.in.lanes >> sources[lane] & 1) << lane; });
    add(made_, value.race, lanes);
  }
}

void RacingValues::end(const vgpu::Exec& x, const DecodedInst& in) {
  const vgpu::InstId id = x.code->id_of(in);
  if (!empty() || !made_.empty())
    each_destination(*x.code, in, [&](uint32_t offset) {
      for (Value& value : values_)
        if (value.registers == x.bases[0] && value.in.offset == offset)
          value.in.lanes &= ~x.active;
      const auto give = [&](const std::vector<Made>& made) {
        for (const Made& each : made)
          hold(each.race, x.bases[0], {offset, each.lanes});
      };
      if (now_ == id)
        give(made_);
      give(loaded_);
    });
  std::erase_if(values_, [](const Value& value) { return value.in.lanes == 0; });
  made_.clear();
  loaded_.clear();
  now_ = {};
}

} // namespace lemma::check
