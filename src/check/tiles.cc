// How tiles lie in shared memory: notes, for a kernel may mean what looks odd here. A swizzled tile that does
// not begin where the pattern of its swizzle does; a matrix of wgmma whose descriptor leads to the same bytes
// twice, or to bytes that nobody has written beside some that it leaves out.
//
// The bits of the address decide which chunk goes where, so that what a tensor copy has put at another phase
// is found by whoever asks the address likewise, and by nobody who counts rows from the tile's begin.
//
// PTX ISA: "Swizzling Modes", "Matrix Descriptor", "Shared Memory Matrix Layout". Tests: docs/checks.md,
// tests/unit/check/protocol_test.cc.
#include "check/checker.h"
#include "layout/smem_descriptor.h"
#include "layout/tensor_box.h"
#include "layout/tensor_map.h"
#include "vgpu/code/program.h"
#include "vgpu/engine/exec.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace lemma::check {

using layout::kChunkBytes;
using layout::SmemDescriptor;
using vgpu::AsyncKind;
using vgpu::AsyncOperation;
using vgpu::SharedMatrix;

namespace {

// At which of the rows of 128 bytes of the pattern, which has so many bytes, a tile begins.
uint32_t phase_of(uint32_t address, uint32_t pattern, uint32_t base_offset = 0) {
  return ((address >> 7) - base_offset) % (pattern / 128);
}

std::string phase_text(uint32_t address, TensorSwizzle swizzle) {
  return fmt::format(
      "a tile with swizzle {} begins at shared address {:#x}, which is no multiple of {}: its first "
      "row is not that of the pattern",
      layout::swizzle_word(swizzle), address, layout::pattern_bytes(swizzle));
}

constexpr std::string_view kUnwritten = " (unwritten)"; // in a DefectKey

// The chunks of a matrix of wgmma, in their order in memory; of each as often as the descriptor leads there.
std::vector<uint32_t> chunks_of(const SharedMatrix& matrix, const SmemDescriptor& descriptor) {
  std::vector<uint32_t> chunks;
  const uint32_t mn_chunks = matrix.rows / 8; // of 16-bit elements
  for (uint32_t i = 0; i < matrix.rows * matrix.row_chunks; ++i)
    chunks.push_back(matrix.mn_major
                         ? descriptor.mn_major_chunk(i % mn_chunks, i / mn_chunks)
                         : descriptor.k_major_chunk(i / matrix.row_chunks, i % matrix.row_chunks));
  std::ranges::sort(chunks);
  return chunks;
}

bool is_written(const vgpu::Cta& cta, uint32_t chunk) {
  const auto begin = cta.shared_written.begin() + chunk;
  return std::all_of(begin, begin + kChunkBytes, [](uint8_t written) { return written != 0; });
}

// Chunks that were written and are not among them: from the first of the matrix to as far after it as it has
// bytes.
std::vector<uint32_t> left_out(const vgpu::Cta& cta, const std::vector<uint32_t>& chunks,
                               size_t matrix_bytes) {
  std::vector<uint32_t> left;
  const uint64_t end = std::min<uint64_t>(cta.shared.size(), chunks.front() + matrix_bytes);
  for (uint32_t chunk = chunks.front(); chunk + kChunkBytes <= end; chunk += kChunkBytes)
    if (is_written(cta, chunk) && !std::ranges::binary_search(chunks, chunk))
      left.push_back(chunk);
  return left;
}

} // namespace

void Checker::notes_tile(const vgpu::Exec& x, const AsyncOperation& operation, std::string message,
                         uint32_t address, std::string fix, std::string_view kind) {
  const vgpu::MemoryPlace place{.space = isa::StateSpace::shared, .cta = x.cta, .offset = address};
  Statement who = Statement::of(operation.issuer);
  if (operation.kind == AsyncKind::wgmma)
    who.lane = -1;
  misuse({.id = "tile.layout",
          .is_note = true,
          .message = std::move(message),
          .who = who,
          .what = fmt::format("{} {}", to_string(operation.kind),
                              operation.kind == AsyncKind::tensor_load ? "writes there" : "reads there"),
          .memory = launch_->program->describe(place, *launch_->entry),
          .fix = std::move(fix),
          .address = address,
          .kind = kind});
}

// What was not written yet, an error of the same instruction says better.
bool Checker::is_read_too_early(const Key& key) const {
  const auto& [id, one, other] = key;
  return id.ends_with(kUnwritten) && std::ranges::any_of(found_, [&](const auto& each) {
           return !each.second.finding.is_note &&
                  (std::get<1>(each.first) == one || std::get<2>(each.first) == one);
         });
}

// A box of whole patterns; several smaller ones may make a tile together.
void Checker::looks_at_box(const vgpu::Exec& x, const AsyncOperation& operation) {
  const layout::TensorMapFields& map = operation.box->map;
  if (map.swizzle == TensorSwizzle::none)
    return;
  const uint32_t pattern = layout::pattern_bytes(map.swizzle);
  const uint32_t address = operation.targets.empty() ? static_cast<uint32_t>(operation.source.offset)
                                                     : operation.targets.front().data.offset;
  if (phase_of(address, pattern) != 0 && shared_bytes(map) >= pattern)
    notes_tile(
        x, operation, phase_text(address, map.swizzle), address,
        fmt::format("__align__({}) for the tile, or a read that takes the bits of the address for the row",
                    pattern));
}

void Checker::looks_at_matrix(const vgpu::Exec& x, const AsyncOperation& operation,
                              const SharedMatrix& matrix) {
  const auto descriptor = SmemDescriptor::decode(matrix.descriptor);
  const auto swizzle = static_cast<TensorSwizzle>(descriptor.swizzle); // they number their cases alike
  if (swizzle != TensorSwizzle::none &&
      phase_of(descriptor.start, layout::pattern_bytes(swizzle), descriptor.base_offset) != 0)
    notes_tile(x, operation, phase_text(descriptor.start, swizzle), descriptor.start,
               "a tile that begins there, or its phase as the descriptor's base offset");
  std::vector<uint32_t> chunks = chunks_of(matrix, descriptor);
  const size_t bytes = chunks.size() * kChunkBytes;
  chunks.erase(std::ranges::unique(chunks).begin(), chunks.end());
  if (chunks.back() + kChunkBytes > x.cta->shared.size())
    return;
  const auto holes = static_cast<size_t>(
      std::ranges::count_if(chunks, [&](uint32_t chunk) { return !is_written(*x.cta, chunk); }));
  const std::vector<uint32_t> left = left_out(*x.cta, chunks, bytes);
  const bool overlaps =
      chunks.size() * kChunkBytes < bytes && descriptor.leading != 0 && descriptor.stride != 0;
  if (!overlaps && (holes == 0 || left.empty()))
    return;
  const auto described = [&](uint32_t address) {
    return launch_->program->describe({.space = isa::StateSpace::shared, .cta = x.cta, .offset = address},
                                      *launch_->entry);
  };
  std::string message =
      fmt::format("the descriptor of {} leads to {} different bytes for {} of the matrix",
                  &matrix == operation.matrices.data() ? "A" : "B", chunks.size() * kChunkBytes, bytes);
  if (holes != 0)
    message += fmt::format(", {} of which nobody has written", holes * kChunkBytes);
  if (!left.empty())
    message += fmt::format(", and past {} that were written, the first at {}", left.size() * kChunkBytes,
                           described(left.front()));
  notes_tile(
      x, operation, std::move(message), chunks.front(),
      fmt::format("leading and stride dimension byte offsets that lead to what was written, each core matrix "
                  "128 bytes of its own; they are {} and {}",
                  descriptor.leading, descriptor.stride),
      kUnwritten);
}

// Of each instruction and descriptor once.
void Checker::looks_at_tiles(ClusterState& cluster, const vgpu::Exec& x, const AsyncOperation& operation) {
  if (operation.box) {
    looks_at_box(x, operation);
    return;
  }
  for (const SharedMatrix& matrix : operation.matrices)
    if (matrix.rows != 0 && operation.parts == 1 &&
        cluster.matrices.emplace(operation.issuer.instruction, matrix.descriptor).second)
      looks_at_matrix(x, operation, matrix);
}

} // namespace lemma::check
