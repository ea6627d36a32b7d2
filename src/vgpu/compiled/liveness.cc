// The usual equations, a segment being a block. What an instruction reads is its operands, but for those that
// take more by their plans, or whose callee does: these read everything.
#include "vgpu/compiled/liveness.h"

#include <algorithm>

namespace lemma::vgpu {
namespace {

constexpr size_t kMostWords = size_t{1} << 21; // of all sets

void set_bit(std::vector<uint64_t>& set, uint32_t bit) {
  set[bit / 64] |= uint64_t{1} << bit % 64;
}
bool has_bit(const std::vector<uint64_t>& set, uint32_t bit) {
  return (set[bit / 64] >> bit % 64 & 1) != 0;
}

// Whether all that the instruction reads is in its operands.
bool is_plain(const Code& code, const DecodedInst& in) {
  using namespace isa::effect;
  if (in.source == ptx::kNone)
    return true;
  const isa::Effects effects = isa::effects_of(code.opcode_of(in));
  return in.computes ||
         effects.has_any(pure | accesses | reduces | shuffles | collects | meets_cta | leaves) ||
         is_branch(code, in);
}

// Whether the thread is over.
bool ends(const Code& code, const DecodedInst& in) {
  return isa::effects_of(code.opcode_of(in)).has(isa::effect::leaves) && code.function->is_entry &&
         !in.guarded;
}

} // namespace

Liveness::Liveness(const Code& code) : code_(code) {
  number_registers();
  const std::vector<Segment> segments = segments_of(code);
  const size_t words = numbers_.size() / 64 + 1;
  if (3 * words * segments.size() > kMostWords) {
    numbers_.clear();
    return;
  }
  for (const Segment& segment : segments) {
    Part& part = parts_.emplace_back();
    part.begin = segment.begin;
    part.reads.resize(words);
    part.writes.resize(words);
    part.live.resize(words);
    look_at(part, segment);
  }
  connect(segments);
  spread();
}

void Liveness::number_registers() {
  for (const DecodedInst& in : code_.insts)
    for (const Slot& slot : code_.ops_of(in))
      if (slot.base == 0 && slot.bytes != 0)
        numbers_.try_emplace(place_of(slot), static_cast<uint32_t>(numbers_.size()));
  always_.resize(numbers_.size());
  const auto keep = [&](std::span<const Slot> slots) {
    for (const Slot& slot : slots)
      if (slot.base == 0 && slot.bytes != 0)
        always_[numbers_.at(place_of(slot))] = true;
  };
  for (const PcRange& group : code_.constant_groups)
    for (uint32_t pc = group.begin; pc < group.end; ++pc)
      keep(code_.dsts_of(code_.insts[pc]));
  for (const DecodedInst& in : code_.insts) // lanes may ask others that are elsewhere
    if (isa::effects_of(code_.opcode_of(in)).has_any(isa::effect::shuffles))
      keep(code_.srcs_of(in));
}

void Liveness::look_at(Part& part, const Segment& segment) {
  for (uint32_t pc = segment.begin; pc < segment.end; ++pc) {
    const DecodedInst& in = code_.insts[pc];
    if (!is_plain(code_, in))
      for (size_t word = 0; word < part.reads.size(); ++word)
        part.reads[word] |= ~part.writes[word];
    const auto number = [&](const Slot& slot) { return numbers_.at(place_of(slot)); };
    const auto is_register = [](const Slot& slot) { return slot.base == 0 && slot.bytes != 0; };
    for (const Slot& slot : code_.srcs_of(in))
      if (is_register(slot) && !has_bit(part.writes, number(slot)))
        set_bit(part.reads, number(slot));
    for (const Slot& slot : code_.dsts_of(in)) {
      if (!is_register(slot))
        continue;
      if (in.updates && !has_bit(part.writes, number(slot)))
        set_bit(part.reads, number(slot));
      if (!in.guarded && in.computes) // any other may wait, and run again
        set_bit(part.writes, number(slot));
    }
  }
}

void Liveness::connect(const std::vector<Segment>& segments) {
  const auto at = [&](uint32_t pc) {
    const auto found = std::ranges::lower_bound(segments, pc, {}, &Segment::begin);
    return static_cast<uint32_t>(found - segments.begin());
  };
  for (uint32_t i = 0; i < segments.size(); ++i) {
    const DecodedInst& last = code_.insts[segments[i].end - 1];
    Part& part = parts_[i];
    if (is_branch(code_, last) || is_goto(last))
      part.successors.push_back(at(last.target()));
    else if (isa::effects_of(code_.opcode_of(last)).has_any(isa::effect::jumps) && !ends(code_, last))
      part.goes_anywhere = true;
    const bool falls = falls_through(code_, last) && !ends(code_, last);
    if (falls && i + 1 < segments.size())
      part.successors.push_back(i + 1);
    else if (falls && last.source != ptx::kNone)
      part.goes_anywhere = true;
  }
}

void Liveness::spread() {
  for (Part& part : parts_)
    if (part.goes_anywhere)
      for (size_t word = 0; word < part.live.size(); ++word)
        part.live[word] = part.reads[word] | ~part.writes[word];
    else
      part.live = part.reads;
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t i = parts_.size(); i-- > 0;) {
      Part& part = parts_[i];
      for (const uint32_t successor : part.successors)
        for (size_t word = 0; word < part.live.size(); ++word) {
          const uint64_t live = part.live[word] | (parts_[successor].live[word] & ~part.writes[word]);
          changed |= live != part.live[word];
          part.live[word] = live;
        }
    }
  }
}

bool Liveness::is_live(uint32_t pc, Place place) const {
  const auto number = numbers_.find(place);
  if (number == numbers_.end() || always_[number->second])
    return true;
  const auto part = std::ranges::lower_bound(parts_, pc, {}, &Part::begin);
  return part == parts_.end() || part->begin != pc || has_bit(part->live, number->second);
}

} // namespace lemma::vgpu
