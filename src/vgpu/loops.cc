// A way that comes back to the pc it began at stays within what the backward jumps span, if those that
// overlap count as one: it could leave that only by another backward jump that overlaps it. So no loop need
// be known, in whatever order the blocks lie. See loops.h.
#include "vgpu/loops.h"

#include "vgpu/decoder.h"

#include <algorithm>

namespace lemma::vgpu {
namespace {

constexpr uint32_t kHashed = 8; // bytes at a time

// The return at the end of a body is none.
bool is_jump(const Code& code, const DecodedInst& in) {
  return code.opcode_of(in) == isa::Opcode::bra ||
         (in.source == ptx::kNone && in.always_run && in.handler != return_instruction().handler);
}

// Backward jumps that overlap as one, by pc.
std::vector<Code::Loop> spans_of_jumps(const Code& code) {
  std::vector<Code::Loop> loops;
  for (uint32_t pc = 0; pc < code.insts.size(); ++pc) { // so their ends are in order
    const DecodedInst& in = code.insts[pc];
    if (!is_jump(code, in) || in.target > pc)
      continue;
    uint32_t begin = in.target;
    for (; !loops.empty() && loops.back().end > begin; loops.pop_back())
      begin = std::min(begin, loops.back().begin);
    loops.push_back({.begin = begin, .end = pc + 1, .changes = {}});
  }
  return loops;
}

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
    for (int i = 0; i < in.dst_count; ++i) {
      const Slot& slot = in.ops[i];
      const uint32_t bytes = slot.bytes == 0 ? sizeof(LaneMask) : slot.bytes * kWarpSize;
      ranges.push_back({slot.offset / kHashed * kHashed,
                        std::min((slot.offset + bytes + kHashed - 1) / kHashed * kHashed, end_of_frame)});
    }
  }
  return common(merged(std::move(ranges)), code.loop_state);
}

} // namespace

void find_loops(Code& code) {
  // Where a table leads is not looked at, nor when a wgmma writes its registers.
  if (code.has_wgmma || std::any_of(code.insts.begin(), code.insts.end(), [&](const DecodedInst& in) {
        return code.opcode_of(in) == isa::Opcode::brx_idx;
      }))
    return;
  code.loops = spans_of_jumps(code);
  for (Code::Loop& loop : code.loops)
    loop.changes = changes_of(code, loop);
}

const Code::Loop* loop_around(const Code& code, uint32_t pc) {
  const auto after = std::partition_point(code.loops.begin(), code.loops.end(),
                                          [&](const Code::Loop& loop) { return loop.end <= pc; });
  return after != code.loops.end() && after->begin <= pc ? &*after : nullptr;
}

} // namespace lemma::vgpu
