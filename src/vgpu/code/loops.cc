// Loops are the lowered program's (lowered/loops.h); here are their places in the frame.
#include "vgpu/code/loops.h"

#include <algorithm>

namespace lemma::vgpu {
namespace {

constexpr uint32_t kHashed = 8; // bytes at a time

// Sorted, those that touch as one.
std::vector<FrameRange> merged(std::vector<FrameRange> ranges) {
  std::sort(ranges.begin(), ranges.end(),
            [](const FrameRange& a, const FrameRange& b) { return a.begin < b.begin; });
  std::vector<FrameRange> result;
  for (const FrameRange& range : ranges)
    if (!result.empty() && range.begin <= result.back().end)
      result.back().end = std::max(result.back().end, range.end);
    else
      result.push_back(range);
  return result;
}

// What both have; both are sorted.
std::vector<FrameRange> common(const std::vector<FrameRange>& a, const std::vector<FrameRange>& b) {
  std::vector<FrameRange> result;
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const FrameRange both{std::max(a[i].begin, b[j].begin), std::min(a[i].end, b[j].end)};
    if (both.begin < both.end)
      result.push_back(both);
    a[i].end < b[j].end ? ++i : ++j;
  }
  return result;
}

std::vector<FrameRange> changes_of(const Code& code, const Code::Loop& loop) {
  const auto end_of_frame = static_cast<uint32_t>(code.frame_bytes);
  std::vector<FrameRange> ranges;
  if (code.param_area_offset < end_of_frame) // calls, and stores, change it
    ranges.push_back({code.param_area_offset, end_of_frame});
  for (uint32_t pc = loop.begin; pc < loop.end; ++pc) {
    const DecodedInst& in = code.insts[pc];
    for (const Slot& slot : code.dsts_of(in)) {
      const uint32_t bytes = slot.bytes == 0 ? sizeof(LaneMask) : slot.bytes * kWarpSize;
      ranges.push_back({slot.offset / kHashed * kHashed,
                        std::min((slot.offset + bytes + kHashed - 1) / kHashed * kHashed, end_of_frame)});
    }
  }
  return common(merged(std::move(ranges)), code.loop_state);
}

} // namespace

void place_loops(Code& code, const lowered::Function& lowered, std::span<const Slot> slots) {
  std::vector<FrameRange> clocks;
  for (size_t reg = 0; reg < slots.size(); ++reg)
    if (lowered.registers[reg].holds_clock)
      clocks.push_back({slots[reg].offset, slots[reg].offset + slots[reg].bytes * kWarpSize});
  uint32_t begin = 0;
  for (const FrameRange& clock : merged(std::move(clocks))) {
    if (begin < clock.begin)
      code.loop_state.push_back({begin, clock.begin});
    begin = clock.end;
  }
  code.loop_state.push_back({begin, static_cast<uint32_t>(code.frame_bytes)});
  for (const lowered::Range& loop : lowered.loops)
    code.loops.push_back({.begin = loop.begin, .end = loop.end, .changes = {}});
  find_changes(code);
}

void find_changes(Code& code) {
  for (Code::Loop& loop : code.loops)
    loop.changes = changes_of(code, loop);
}

const Code::Loop* loop_around(const Code& code, uint32_t pc) {
  const auto after = std::partition_point(code.loops.begin(), code.loops.end(),
                                          [&](const Code::Loop& loop) { return loop.end <= pc; });
  return after != code.loops.end() && after->begin <= pc ? &*after : nullptr;
}

} // namespace lemma::vgpu
