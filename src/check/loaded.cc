// The values of loads that race, through registers. See loaded.h.
#include "check/loaded.h"

#include "vgpu/computes.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

namespace lemma::check {

using isa::Opcode;
using vgpu::Code;
using vgpu::DecodedInst;

namespace {

// Whether all that comes of its sources is in its destinations, and those are no predicates. A carry is
// elsewhere.
bool only_computes(const Code& code, const DecodedInst& in) {
  if (in.source != ptx::kNone && (!vgpu::computes(code.opcode_of(in)) || in.updates ||
                                  code.function->instructions[in.source].has(isa::Qual::cc)))
    return false;
  return in.dst_count != 0 && std::all_of(in.ops, in.ops + in.dst_count, [](const vgpu::Slot& slot) {
           return slot.bytes != 0 || slot.reg == ptx::kNone;
         });
}

// A shuffle's first source goes to other lanes, and decides nothing.
bool goes_to_other_lanes(const Code& code, const DecodedInst& in, int source) {
  const Opcode opcode = code.opcode_of(in);
  return source == 0 && (opcode == Opcode::shfl_sync || opcode == Opcode::shfl);
}

// Calls f(offset, number of the source) for the registers that the instruction may read, its guard apart.
template <class F>
void each_source(const DecodedInst& in, F&& f) {
  for (int i = in.updates ? 0 : in.dst_count; i < in.op_count; ++i)
    if (in.ops[i].base == 0)
      f(in.ops[i].offset, i - in.dst_count);
}

// The lanes in which a source of a selection is the one that is taken; `chosen`: the predicate; null if
// it is not known.
LaneMask taken_by(const Code& code, const DecodedInst& in, int source, const LaneMask* chosen) {
  if (code.opcode_of(in) != Opcode::selp || source > 1 || !chosen)
    return vgpu::kAllLanes;
  return source == 0 ? *chosen : ~*chosen;
}
constexpr int kChosenBy = 2; // the source of selp that is a predicate

// ... that it writes.
template <class F>
void each_destination(const DecodedInst& in, F&& f) {
  for (int i = 0; i < in.dst_count; ++i)
    if (in.ops[i].base == 0)
      f(in.ops[i].offset);
}

// The ways from a load to where lanes are, and what of its value comes along.
class Ways {
public:
  Ways(uint32_t load, const Whereabouts& where) : load_(load), where_(where), code_(*where.code) {}

  Fate follow() {
    Fate fate;
    if (!cut()) {
      fate.used = where_.lanes;
      fate.repeats = true;
      return fate;
    }
    find_passed();
    fate.repeats = reaches_[piece_at(load_)];
    State& begin = states_.at(piece_at(load_ + 1));
    begin.lanes = where_.lanes;
    each_destination(code_.insts[load_], [&](uint32_t offset) { begin.values[offset] |= where_.lanes; });
    for (std::vector<size_t> left{piece_at(load_ + 1)}; !left.empty() && used_ != where_.lanes;) {
      const size_t piece = left.back();
      left.pop_back();
      if (!is_passed_[piece])
        continue;
      State after = states_[piece];
      for (uint32_t pc = pieces_[piece].begin; pc < pieces_[piece].end; ++pc)
        execute(pc, after);
      for (size_t i = 0; i < pieces_[piece].next.size(); ++i)
        if (const size_t next = pieces_[piece].next[i];
            join(states_[next], after, lanes_that_go(pieces_[piece], i, after.lanes)))
          left.push_back(next);
    }
    State& now = states_[piece_at(where_.pc)];
    if (where_.executes)
      execute(where_.pc, now, where_.active);
    fate.used = used_ & where_.lanes;
    for (const auto& [offset, lanes] : now.values)
      if (lanes)
        fate.holds.push_back({offset, lanes});
    return fate;
  }

private:
  // A part of a basic block: one begins behind the load, and one where the lanes are.
  struct Piece {
    uint32_t begin = 0, end = 0; // pcs, half open
    std::vector<size_t> next;    // the one fallen into, if any, first
    bool falls_through = false;
  };
  struct State {
    LaneMask lanes = 0; // that come here
    std::map<uint32_t, LaneMask> values;
  };

  // False: the ways are not known.
  bool cut() {
    const ptx::Flow flow = ptx::flow_of(*code_.function);
    if (!flow.has_successors || flow.blocks.empty())
      return false;
    std::vector<uint32_t> begins{load_, load_ + 1, where_.pc};
    for (const ptx::BasicBlock& block : flow.blocks)
      begins.push_back(code_.inst_to_pc[block.begin]);
    std::sort(begins.begin(), begins.end());
    begins.erase(std::unique(begins.begin(), begins.end()), begins.end());
    const auto size = static_cast<uint32_t>(code_.insts.size());
    while (!begins.empty() && begins.back() >= size)
      begins.pop_back();
    for (size_t i = 0; i < begins.size(); ++i)
      pieces_.push_back(
          {begins[i], i + 1 < begins.size() ? begins[i + 1] : size, {i + 1}, true}); // but at a block's end
    std::vector<bool> begins_block(pieces_.size() + 1);
    begins_block[pieces_.size()] = true;
    for (const ptx::BasicBlock& block : flow.blocks)
      begins_block[piece_at(code_.inst_to_pc[block.begin])] = true;
    for (const ptx::BasicBlock& block : flow.blocks) {
      size_t last = piece_at(code_.inst_to_pc[block.begin]);
      while (!begins_block[last + 1])
        ++last;
      pieces_[last].next.clear();
      for (const uint32_t next : block.successors)
        pieces_[last].next.push_back(piece_at(code_.inst_to_pc[flow.blocks[next].begin]));
      pieces_[last].falls_through = block.falls_through;
    }
    return load_ + 1 < size && where_.pc < size;
  }

  size_t piece_at(uint32_t pc) const {
    return static_cast<size_t>(
        std::lower_bound(pieces_.begin(), pieces_.end(), pc,
                         [](const Piece& piece, uint32_t at) { return piece.begin < at; }) -
        pieces_.begin());
  }

  // What lies on a way that does not execute the load again.
  void find_passed() {
    const size_t here = piece_at(where_.pc), load = piece_at(load_);
    const bool stops = !code_.insts[load_].guarded;
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
      const std::optional<LaneMask> guard = guard_of(pc);
      may &= guard.value_or(kAllLanes);
      must &= guard.value_or(0);
    }
    std::optional<LaneMask> chosen;
    if (code_.opcode_of(in) == Opcode::selp && in.ops[in.dst_count + kChosenBy].base == 0)
      chosen = predicate_at(pc, in.ops[in.dst_count + kChosenBy].offset);
    LaneMask taken = 0, given = 0;
    each_source(in, [&](uint32_t offset, int source) {
      const auto value = state.values.find(offset);
      if (value == state.values.end())
        return;
      const LaneMask lanes = value->second & may & taken_by(code_, in, source, chosen ? &*chosen : nullptr);
      (goes_to_other_lanes(code_, in, source) ? given : taken) |= lanes;
    });
    if (taken && !only_computes(code_, in))
      used_ |= std::exchange(taken, 0);
    if (given) // to which of them is not known
      taken = may;
    each_destination(in, [&](uint32_t offset) {
      if (taken)
        state.values[offset] = (state.values[offset] & ~must) | taken;
      else if (const auto value = state.values.find(offset); value != state.values.end())
        value->second &= ~must;
    });
  }

  // Lanes that a guard lets execute.
  std::optional<LaneMask> guard_of(uint32_t pc) {
    const DecodedInst& in = code_.insts[pc];
    const std::optional<LaneMask> value = predicate_at(pc, in.guard_offset);
    return value && in.guard_negated ? ~*value : value;
  }

  // What a predicate was at an instruction: what it is now, if on no way from there it is written.
  std::optional<LaneMask> predicate_at(uint32_t pc, uint32_t predicate) {
    const auto [known, is_new] = predicates_.try_emplace({pc, predicate});
    if (!is_new)
      return known->second;
    const auto writes = [&](uint32_t from, uint32_t to) {
      return std::any_of(code_.insts.begin() + from, code_.insts.begin() + to, [&](const DecodedInst& other) {
        bool written = false;
        each_destination(other, [&](uint32_t offset) { written |= offset == predicate; });
        return written;
      });
    };
    const size_t own = static_cast<size_t>(
        std::upper_bound(pieces_.begin(), pieces_.end(), pc,
                         [](uint32_t at, const Piece& piece) { return at < piece.begin; }) -
        pieces_.begin() - 1);
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
    if (!written)
      known->second = *reinterpret_cast<const LaneMask*>(where_.registers + predicate);
    return known->second;
  }

  // Which lanes go on from a piece to one of those that follow.
  LaneMask lanes_that_go(const Piece& piece, size_t to, LaneMask lanes) {
    for (uint32_t pc = piece.begin; pc < piece.end; ++pc) {
      const DecodedInst& in = code_.insts[pc];
      if (!in.guarded || in.source == ptx::kNone || !ptx::ends_block(code_.opcode_of(in)))
        continue;
      const std::optional<LaneMask> guard = guard_of(pc);
      if (guard && piece.falls_through)
        return lanes & (to == 0 ? ~*guard : *guard);
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
  const Code& code_;
  std::vector<Piece> pieces_; // by pc
  std::vector<bool> reaches_, is_passed_;
  std::vector<State> states_;                                                   // as they begin
  std::map<std::pair<uint32_t, uint32_t>, std::optional<LaneMask>> predicates_; // by pc and offset
  LaneMask used_ = 0;
};

} // namespace

Fate fate_of(uint32_t load, const Whereabouts& where) {
  return Ways(load, where).follow();
}

// --- from then on

void RacingValues::add(std::vector<Made>& to, uint32_t race, LaneMask lanes) {
  for (Made& made : to)
    if (made.race == race) {
      made.lanes |= lanes;
      return;
    }
  to.push_back({race, lanes});
}

void RacingValues::load(uint32_t race, LaneMask lanes) {
  add(loaded_, race, lanes);
}

void RacingValues::hold(uint32_t race, const std::byte* registers, const Holding& holding) {
  for (Value& value : values_)
    if (value.race == race && value.registers == registers && value.in.offset == holding.offset) {
      value.in.lanes |= holding.lanes;
      return;
    }
  values_.push_back({race, registers, holding});
}

void RacingValues::begin(const vgpu::Exec& x, const Report& report) {
  const DecodedInst& in = x.code->insts[x.pc];
  now_ = &in;
  made_.clear();
  loaded_.clear();
  if (values_.empty())
    return;
  const LaneMask chosen = x.code->opcode_of(in) == Opcode::selp ? x.pred(in, kChosenBy) : 0;
  each_source(in, [&](uint32_t offset, int source) {
    if (goes_to_other_lanes(*x.code, in, source))
      return;
    for (const Value& value : values_)
      if (value.registers == x.bases[0] && value.in.offset == offset)
        if (const LaneMask lanes = value.in.lanes & x.active & taken_by(*x.code, in, source, &chosen))
          add(made_, value.race, lanes);
  });
  if (made_.empty() || only_computes(*x.code, in))
    return;
  for (const Made& used : std::exchange(made_, {})) {
    vgpu::for_lanes(used.lanes, [&](int lane) { report(used.race, lane); });
    std::erase_if(values_, [&](const Value& value) { return value.race == used.race; });
  }
}

void RacingValues::shuffle(const vgpu::Exec& x, const int* sources) {
  const uint32_t offset = x.src_slot(*now_, 0).offset;
  for (const Value& value : values_) {
    if (value.registers != x.bases[0] || value.in.offset != offset)
      continue;
    LaneMask lanes = 0;
    vgpu::for_lanes(x.active, [&](int lane) { lanes |= (value.in.lanes >> sources[lane] & 1) << lane; });
    if (lanes)
      add(made_, value.race, lanes);
  }
}

void RacingValues::end(const vgpu::Exec& x, const DecodedInst& in) {
  if (!empty() || !made_.empty())
    each_destination(in, [&](uint32_t offset) {
      for (Value& value : values_)
        if (value.registers == x.bases[0] && value.in.offset == offset)
          value.in.lanes &= ~x.active;
      const auto give = [&](const std::vector<Made>& made) {
        for (const Made& each : made)
          hold(each.race, x.bases[0], {offset, each.lanes});
      };
      if (now_ == &in)
        give(made_);
      give(loaded_);
    });
  std::erase_if(values_, [](const Value& value) { return value.in.lanes == 0; });
  made_.clear();
  loaded_.clear();
  now_ = nullptr;
}

} // namespace lemma::check
