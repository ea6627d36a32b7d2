// Dominators say which places every path comes through; a walk says whether one lies between two
// instructions. See meeting.h.
#include "check/meeting.h"

#include "isa/effects.h"
#include "ptx/dominators.h"
#include "ptx/registers.h"

#include <algorithm>
#include <limits>
#include <tuple>

namespace lemma::check {

namespace effect = isa::effect;
using isa::SpecialRegister;
using ptx::Instruction;
using ptx::kNone;
using ptx::Operand;
using ptx::OperandKind;

namespace {

constexpr size_t kMostBlocks = 2048;
constexpr uint64_t kMostSteps = uint64_t{1} << 28;

bool differs_in_cta(SpecialRegister reg) {
  return (reg >= SpecialRegister::tid_x && reg <= SpecialRegister::tid_w) || reg == SpecialRegister::laneid ||
         reg == SpecialRegister::warpid ||
         (reg >= SpecialRegister::lanemask_eq && reg <= SpecialRegister::lanemask_gt);
}
bool differs_in_cluster(SpecialRegister reg) {
  return (reg >= SpecialRegister::ctaid_x && reg <= SpecialRegister::ctaid_w) ||
         (reg >= SpecialRegister::cluster_ctaid_x && reg <= SpecialRegister::cluster_ctaid_w) ||
         reg == SpecialRegister::cluster_ctarank;
}

class Differing {
public:
  Differing(const ptx::Function& function, Together together)
      : together_(together), registers_(function.registers.size()), threads_(function.registers.size()) {}

  bool guard(const Instruction& instruction) const {
    return instruction.guard.reg != kNone && registers_[instruction.guard.reg];
  }
  // Whether that is news. `divided`: not all threads come here.
  bool step(const Instruction& instruction, bool divided) {
    if (!instruction.form() || instruction.operands.empty())
      return false;
    const isa::Effects does = isa::effects_of(instruction.opcode);
    bool differs = divided || guard(instruction) || does.has(effect::varies);
    if (!differs && !(together_ == Together::warp && is_of_warp(instruction)))
      for (size_t i = ptx::first_source(instruction); i < instruction.operands.size() && !differs; ++i)
        differs = is_different(instruction.operands[i]);
    if (does.has(effect::moves) && is_thread(instruction.operands[1]))
      threads_[instruction.operands[0].reg] = true;
    bool changed = false;
    ptx::for_each_written(instruction, [&](uint32_t reg) {
      changed |= differs && !registers_[reg];
      registers_[reg] = registers_[reg] || differs;
    });
    return changed;
  }

private:
  // %tid.x, where warps are rows of 32.
  bool is_thread(const Operand& operand) const {
    return (operand.kind == OperandKind::sreg && operand.sreg == SpecialRegister::tid_x) ||
           (operand.kind == OperandKind::reg && threads_[operand.reg]);
  }
  // The lanes of a warp get one value, whatever it is: of %tid.x the number of the warp, and on which side of
  // a warp's begin it lies.
  bool is_of_warp(const Instruction& instruction) const {
    constexpr uint64_t kLanes = 32;
    if (instruction.operands.size() < 3 || !is_thread(instruction.operands[1]) ||
        instruction.operands[2].kind != OperandKind::imm)
      return false;
    const uint64_t bits = instruction.operands[2].bits;
    const isa::Effects does = isa::effects_of(instruction.opcode);
    const auto has_one = [&](std::initializer_list<isa::Qual> words) {
      return instruction.one_of(words) != isa::Qual::none;
    };
    using isa::Qual;
    if (does.has(effect::shifts_right))
      return bits >= 5;
    if (does.has(effect::zero_decides))
      return bits % kLanes == 0;
    return does.has(effect::compares) &&
           ((bits % kLanes == 0 && has_one({Qual::lt, Qual::lo, Qual::ge, Qual::hs})) ||
            (bits % kLanes == kLanes - 1 && has_one({Qual::le, Qual::ls, Qual::gt, Qual::hi})));
  }
  bool is_different(const Operand& operand) const {
    if (operand.kind == OperandKind::reg && registers_[operand.reg])
      return true;
    if (operand.kind == OperandKind::sreg &&
        ((differs_in_cta(operand.sreg) &&
          !(together_ == Together::warp && operand.sreg == SpecialRegister::warpid)) ||
         (together_ == Together::cluster && differs_in_cluster(operand.sreg))))
      return true;
    return std::any_of(operand.elems.begin(), operand.elems.end(),
                       [&](const Operand& element) { return is_different(element); });
  }

  const Together together_;
  std::vector<bool> registers_; // that differ
  std::vector<bool> threads_;   // that are %tid.x
};

// Of `count` blocks those that a walk from some comes to without `end`; `next(block)`: where it goes on.
template <class Next>
std::vector<bool> reached(std::vector<uint32_t> from, uint32_t end, size_t count, Next next) {
  std::vector<bool> seen(count);
  while (!from.empty()) {
    const uint32_t at = from.back();
    from.pop_back();
    if (at == end || seen[at])
      continue;
    seen[at] = true;
    const std::vector<uint32_t>& more = next(at);
    from.insert(from.end(), more.begin(), more.end());
  }
  return seen;
}

} // namespace

Paths::Paths(const ptx::Function& function) : flow_(ptx::flow_of(function)) {
  block_of_.resize(function.instructions.size());
  for (uint32_t b = 0; b < flow_.blocks.size(); ++b)
    for (uint32_t i = flow_.blocks[b].begin; i < flow_.blocks[b].end; ++i)
      block_of_[i] = b;
}

bool Paths::reaches(uint32_t from, uint32_t to, const Stops& stops, const Point* cut) const {
  if (cut && *cut == Point{from, true})
    return false;
  enum class Way : uint8_t { arrives, stops, goes_on };
  const auto scan = [&](uint32_t i, uint32_t end) {
    for (; i < end; ++i, ++steps_) {
      if (cut && *cut == Point{i, false})
        return Way::stops;
      if (i == to)
        return Way::arrives;
      if ((stops && stops(i)) || (cut && *cut == Point{i, true}))
        return Way::stops;
    }
    return Way::goes_on;
  };
  std::vector<bool> seen(flow_.blocks.size());
  std::vector<uint32_t> stack;
  const auto follow = [&](uint32_t block, Way way) {
    if (way == Way::goes_on)
      stack.insert(stack.end(), flow_.blocks[block].successors.begin(), flow_.blocks[block].successors.end());
    return way == Way::arrives;
  };
  if (follow(block_of_[from], scan(from + 1, flow_.blocks[block_of_[from]].end)))
    return true;
  while (!stack.empty()) {
    const uint32_t at = stack.back();
    stack.pop_back();
    if (seen[at])
      continue;
    seen[at] = true;
    if (steps_ > kMostSteps)
      return true; // so that nothing lies between
    if (follow(at, scan(flow_.blocks[at].begin, flow_.blocks[at].end)))
      return true;
  }
  return false;
}

MeetingPlaces::MeetingPlaces(const ptx::Function& function)
    : function_(function), paths_(function),
      is_known_(paths_.is_known() && flow_.blocks.size() <= kMostBlocks) {
  if (!is_known_)
    return;
  dominator_ = ptx::dominators(flow_);
  post_dominator_ = ptx::post_dominators(flow_);
  find_loops();
  warp_ = divided(Together::warp);
  cta_ = divided(Together::cta);
  cluster_ = divided(Together::cluster);
}

// A block that does nothing but end.
bool MeetingPlaces::is_end(uint32_t block) const {
  if (block >= flow_.blocks.size() || flow_.blocks[block].begin == flow_.blocks[block].end)
    return true;
  return isa::effects_of(function_.instructions[flow_.blocks[block].begin].opcode).has(effect::leaves);
}

MeetingPlaces::Divided MeetingPlaces::divided(Together together) const {
  const size_t count = flow_.blocks.size();
  Divided found{std::vector<uint32_t>(count), std::vector<uint32_t>(count)};
  Differing differing(function_, together);
  for (bool changed = true; changed;) {
    changed = false;
    for (uint32_t b = 0; b < count; ++b)
      for (uint32_t i = flow_.blocks[b].begin; i < flow_.blocks[b].end; ++i)
        changed |= differing.step(function_.instructions[i], found.surely[b] + found.by_exits[b] > 0);
    Divided now{std::vector<uint32_t>(count), std::vector<uint32_t>(count)};
    for (uint32_t b = 0; b < count; ++b) {
      const ptx::BasicBlock& block = flow_.blocks[b];
      if (block.successors.size() < 2 || !differing.guard(function_.instructions[block.end - 1]))
        continue;
      const uint32_t end = post_dominator_[b];
      const bool exits = std::any_of(block.successors.begin(), block.successors.end(),
                                     [&](uint32_t next) { return is_end(next); });
      std::vector<uint32_t>& counts = exits ? now.by_exits : now.surely;
      const std::vector<bool> on_a_way = reached(
          block.successors, end, count, [&](uint32_t at) -> auto& { return flow_.blocks[at].successors; });
      for (size_t at = 0; at < count; ++at)
        counts[at] += on_a_way[at];
    }
    changed |= now.surely != found.surely || now.by_exits != found.by_exits;
    found = std::move(now);
  }
  return found;
}

// Natural loops: of every edge back to a block that dominates it.
void MeetingPlaces::find_loops() {
  const size_t count = flow_.blocks.size();
  loops_.assign(count, 0);
  std::vector<std::vector<uint32_t>> before(count), latches(count);
  const auto dominates = [&](uint32_t a, uint32_t b) {
    while (b != a && dominator_[b] != kNone && dominator_[b] != b)
      b = dominator_[b];
    return a == b;
  };
  for (uint32_t b = 0; b < count; ++b)
    for (const uint32_t next : flow_.blocks[b].successors) {
      before[next].push_back(b);
      if (dominator_[b] != kNone && dominates(next, b))
        latches[next].push_back(b);
    }
  for (uint32_t head = 0; head < count; ++head) {
    if (latches[head].empty())
      continue;
    std::vector<bool> loop =
        reached(latches[head], head, count, [&](uint32_t at) -> auto& { return before[at]; });
    loop[head] = true;
    for (size_t b = 0; b < count; ++b)
      loops_[b] += loop[b];
  }
}

bool MeetingPlaces::separates(const Point& point, uint32_t from, uint32_t to) const {
  return !paths_.reaches(from, to, {}, &point);
}

// The nearest to `to` first.
std::vector<Point> MeetingPlaces::candidates(uint32_t from, uint32_t to) const {
  std::vector<Point> points{{to, false}};
  for (uint32_t b = paths_.block_of(to); dominator_[b] != kNone && dominator_[b] != b;) {
    b = dominator_[b];
    if (flow_.blocks[b].begin == flow_.blocks[b].end)
      continue;
    const uint32_t last = flow_.blocks[b].end - 1;
    points.push_back({last, !ptx::ends_block(function_.instructions[last].opcode)});
  }
  std::vector<Point> behind{{from, true}};
  for (uint32_t b = paths_.block_of(from); post_dominator_[b] < flow_.blocks.size();) {
    b = post_dominator_[b];
    if (flow_.blocks[b].begin != flow_.blocks[b].end)
      behind.push_back({flow_.blocks[b].begin, false});
  }
  points.insert(points.end(), behind.rbegin(), behind.rend());
  return points;
}

std::optional<Point> MeetingPlaces::between(uint32_t from, uint32_t to, Together together) const {
  const Divided& divided = divided_of(together);
  const auto cost = [&](const Point& point) {
    const uint32_t b = paths_.block_of(point.instruction);
    return std::tuple(divided.by_exits[b], loops_[b]);
  };
  std::optional<Point> best;
  for (const Point& point : candidates(from, to))
    if ((together == Together::thread || divided.surely[paths_.block_of(point.instruction)] == 0) &&
        (!best || cost(point) < cost(*best)) && separates(point, from, to))
      best = point;
  return best;
}

std::optional<Point> MeetingPlaces::outside(uint32_t instruction, Together together, bool behind) const {
  const Divided& divided = divided_of(together);
  const auto ways = [&](uint32_t block) { return divided.surely[block] + divided.by_exits[block]; };
  const std::vector<uint32_t>& next = behind ? post_dominator_ : dominator_;
  const uint32_t own = paths_.block_of(instruction);
  for (uint32_t b = own; b < flow_.blocks.size() && next[b] != b;) {
    b = next[b];
    if (b >= flow_.blocks.size())
      break;
    if (ways(b) >= ways(own) || flow_.blocks[b].begin == flow_.blocks[b].end)
      continue;
    if (behind)
      return Point{flow_.blocks[b].begin, false};
    const uint32_t last = flow_.blocks[b].end - 1;
    return Point{last, !ptx::ends_block(function_.instructions[last].opcode)};
  }
  return std::nullopt;
}

bool MeetingPlaces::dominates(uint32_t first, uint32_t second) const {
  uint32_t b = paths_.block_of(second);
  if (b == paths_.block_of(first))
    return first < second;
  while (dominator_[b] != kNone && dominator_[b] != b && b != paths_.block_of(first))
    b = dominator_[b];
  return b == paths_.block_of(first);
}

} // namespace lemma::check
