// The window of segments is the whole function where that is small enough, or as many on both sides of the pc
// as there is room for. Loops are intervals of the order in which blocks lie, from a backward jump's target
// to the jump.
#include "vgpu/compiled/unit.h"

#include "vgpu/compiled/state.h"

#include <algorithm>
#include <map>

namespace lemma::vgpu {

std::vector<Segment> segments_of(const Code& code) {
  std::vector<Segment> all;
  for (uint32_t pc = 0; pc < code.insts.size(); ++pc) {
    if (code.insts[pc].begins_segment || pc == 0)
      all.push_back({.begin = pc, .end = pc});
    Segment& last = all.back();
    const DecodedInst& in = code.insts[pc];
    last.end = pc + 1;
    if (in.source != ptx::kNone) {
      ++last.counted;
      last.unguarded += !in.guarded;
    }
  }
  return all;
}

bool falls_through(const Code& code, const DecodedInst& in) {
  if (is_goto(in))
    return false;
  return !is_branch(code, in) || in.guarded;
}

namespace {

void take_window(std::vector<Segment>& all, uint32_t pc) {
  const auto at = std::ranges::upper_bound(all, pc, {}, &Segment::begin) - 1;
  auto first = at, last = at + 1;
  const auto length = [&] { return std::prev(last)->end - first->begin; };
  bool grew = true;
  while (grew && length() < kMostInUnit) {
    grew = false;
    if (first != all.begin() && std::prev(last)->end - std::prev(first)->begin <= kMostInUnit) {
      --first;
      grew = true;
    }
    if (last != all.end() && last->end - first->begin <= kMostInUnit) {
      ++last;
      grew = true;
    }
  }
  all = std::vector<Segment>(first, last);
}

void connect(Unit& unit) {
  const Code& code = *unit.code;
  for (uint32_t i = 0; i < unit.segments.size(); ++i) {
    Segment& segment = unit.segments[i];
    const DecodedInst& last = code.insts[segment.end - 1];
    if (falls_through(code, last) && i + 1 < unit.segments.size() &&
        unit.segments[i + 1].begin == segment.end)
      segment.next = i + 1;
    if (!is_branch(code, last) && !is_goto(last))
      continue;
    segment.target = unit.segment_at(last.target());
    if (segment.target != kNoSegment)
      unit.segments[segment.target].is_jumped_to = true;
  }
  // Where a branch divides a part: both of its ends.
  std::vector<bool> joins(unit.segments.size());
  for (const Segment& segment : unit.segments)
    if (code.insts[segment.end - 1].guarded && segment.target != kNoSegment && segment.next != kNoSegment)
      joins[segment.target] = joins[segment.next] = true;
  for (const Segment& segment : unit.segments) // and where others may come by
    if (segment.target != kNoSegment)
      joins[segment.target] = true;
  for (uint32_t i = 0; i < unit.segments.size() && unit.join_pcs.size() < kMostJoinPoints; ++i)
    if (joins[i]) {
      unit.segments[i].join_point = static_cast<uint32_t>(unit.join_pcs.size());
      unit.join_pcs.push_back(unit.segments[i].begin);
    }
}

struct Interval {
  uint32_t first = 0, last = 0; // segments, closed
};

std::vector<Interval> loops_of(const Unit& unit) {
  std::map<uint32_t, uint32_t> last_by_first;
  for (uint32_t i = 0; i < unit.segments.size(); ++i)
    if (const uint32_t target = unit.segments[i].target; target != kNoSegment && target <= i) {
      uint32_t& last = last_by_first[target];
      last = std::max(last, i);
    }
  std::vector<Interval> loops;
  for (const auto& [first, last] : last_by_first)
    loops.push_back({first, last});
  return loops;
}

// What the zone keeps: of values that a segment reads before it writes them, those most used.
std::vector<Kept> kept_in(const Unit& unit, uint32_t zone, uint32_t parts) {
  struct Use {
    Kept kept;
    uint32_t count = 0;
    bool comes_in = false;
  };
  std::map<Place, Use> uses;
  const Code& code = *unit.code;
  for (const Segment& segment : unit.segments) {
    if (segment.zone != zone)
      continue;
    std::map<Place, bool> written;
    for (uint32_t pc = segment.begin; pc < segment.end; ++pc) {
      const DecodedInst& in = code.insts[pc];
      for (const Slot& slot : code.srcs_of(in)) {
        if (slot.bytes == 0)
          continue;
        Use& use = uses[place_of(slot)];
        use.kept.place = place_of(slot);
        use.kept.bytes = std::max<uint8_t>(use.kept.bytes, slot.bytes);
        ++use.count;
        use.comes_in |= !written[place_of(slot)];
      }
      for (const Slot& slot : code.dsts_of(in)) {
        if (slot.bytes == 0)
          continue;
        Use& use = uses[place_of(slot)];
        use.kept.place = place_of(slot);
        use.kept.bytes = std::max<uint8_t>(use.kept.bytes, slot.bytes);
        use.kept.is_written = true;
        ++use.count;
        if (in.guarded) // keeps what it was for others
          use.comes_in |= !written[place_of(slot)];
        else
          written[place_of(slot)] = true;
      }
    }
  }
  std::vector<Use> candidates;
  for (const auto& [place, use] : uses)
    if (use.comes_in && use.kept.bytes <= 8)
      candidates.push_back(use);
  std::ranges::stable_sort(candidates, std::greater<>{}, &Use::count);
  std::vector<Kept> kept;
  for (const Use& use : candidates) {
    const uint32_t needed = use.kept.bytes / 2u;
    if (needed > parts)
      continue;
    parts -= needed;
    kept.push_back(use.kept);
  }
  return kept;
}

void find_zones(Unit& unit, uint32_t parts) {
  std::vector<Interval> loops = loops_of(unit);
  std::ranges::sort(loops, std::greater<>{}, [](const Interval& loop) { return loop.last - loop.first; });
  for (uint32_t zone = 0; zone < loops.size(); ++zone) // inner ones come later
    for (uint32_t i = loops[zone].first; i <= loops[zone].last; ++i)
      unit.segments[i].zone = zone;
  for (uint32_t zone = 0; zone < loops.size(); ++zone)
    unit.zones.push_back(kept_in(unit, zone, parts));
}

} // namespace

bool is_branch(const Code& code, const DecodedInst& in) {
  return code.opcode_of(in) == isa::Opcode::bra;
}

uint32_t Unit::segment_at(uint32_t pc) const {
  const auto at = std::ranges::lower_bound(segments, pc, {}, &Segment::begin);
  return at != segments.end() && at->begin == pc ? static_cast<uint32_t>(at - segments.begin()) : kNoSegment;
}

Unit find_unit(const Code& code, uint32_t pc, const std::function<void(Segment&)>& choose,
               uint32_t parts_of_registers) {
  Unit unit;
  unit.code = &code;
  unit.segments = segments_of(code);
  take_window(unit.segments, pc);
  std::ranges::for_each(unit.segments, choose);
  std::erase_if(unit.segments, [](const Segment& segment) { return !segment.for_all && !segment.for_some; });
  connect(unit);
  find_zones(unit, parts_of_registers);
  return unit;
}

} // namespace lemma::vgpu
