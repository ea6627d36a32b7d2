// Blocks of the text as ranges of pcs: what the decoder puts in between belongs to what is behind it. See
// pieces.h.
#include "check/pieces.h"

#include "ptx/flow.h"

#include <algorithm>

namespace lemma::check {

size_t piece_with(const std::vector<Piece>& pieces, uint32_t pc) {
  return static_cast<size_t>(
      std::upper_bound(pieces.begin(), pieces.end(), pc,
                       [](uint32_t at, const Piece& piece) { return at < piece.begin; }) -
      pieces.begin() - 1);
}

std::vector<Piece> pieces_of(const vgpu::Code& code, std::vector<uint32_t> cuts) {
  const ptx::Flow flow = ptx::flow_of(*code.function);
  if (!flow.has_successors || flow.blocks.empty())
    return {};
  std::vector<uint32_t>& begins = cuts;
  for (const ptx::BasicBlock& block : flow.blocks)
    begins.push_back(code.inst_to_pc[block.begin]);
  std::sort(begins.begin(), begins.end());
  begins.erase(std::unique(begins.begin(), begins.end()), begins.end());
  const auto size = static_cast<uint32_t>(code.insts.size());
  while (!begins.empty() && begins.back() >= size)
    begins.pop_back();
  std::vector<Piece> pieces;
  for (size_t i = 0; i < begins.size(); ++i)
    pieces.push_back(
        {begins[i], i + 1 < begins.size() ? begins[i + 1] : size, {i + 1}, true}); // but at a block's end
  std::vector<bool> begins_block(pieces.size() + 1);
  begins_block[pieces.size()] = true;
  for (const ptx::BasicBlock& block : flow.blocks)
    begins_block[piece_with(pieces, code.inst_to_pc[block.begin])] = true;
  for (const ptx::BasicBlock& block : flow.blocks) {
    size_t last = piece_with(pieces, code.inst_to_pc[block.begin]);
    while (!begins_block[last + 1])
      ++last;
    pieces[last].next.clear();
    for (const uint32_t next : block.successors)
      pieces[last].next.push_back(piece_with(pieces, code.inst_to_pc[flow.blocks[next].begin]));
    pieces[last].falls_through = block.falls_through;
  }
  return pieces;
}

} // namespace lemma::check
