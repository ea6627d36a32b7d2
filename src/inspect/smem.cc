// Tiles in shared memory (lemma/layout.h): addresses, matrix descriptors of wgmma and tcgen05, bank
// conflicts.
//
// Shared memory has 32 banks of 4 bytes; a request of 16 bytes a lane is served eight lanes at a time (a
// phase), and a phase takes as many turns as the fullest group of four banks has different chunks.
#include "inspect/availability.h"
#include "isa/vocabulary.h"
#include "layout/tensor_smem_descriptor.h"
#include "lemma/layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

namespace lemma {
namespace inspect {
namespace {

using layout::SmemDescriptor;
using layout::Swizzle;

constexpr uint32_t kChunk = layout::kChunkBytes, kBankGroups = 8, kPhaseLanes = 8, kBanks = 32;
constexpr uint32_t kStepBytes = 32; // of K, that one wgmma takes

const char* swizzle_word(Swizzle swizzle) {
  constexpr const char* kWords[] = {"none", "32B", "64B", "128B"};
  return kWords[static_cast<int>(swizzle)];
}

// A tile whose type is known.
struct Tile {
  isa::Type type = isa::Type::none;
  Swizzle swizzle = Swizzle::none;
  bool k_major = true;
  uint32_t rows = 0, cols = 0;
  bool atoms_of_32_bytes = false;

  // What is narrower than a byte is padded to one: 16 elements in a chunk.
  uint32_t element_bytes() const { return std::max(static_cast<uint32_t>(isa::bits_of(type)) / 8, 1u); }
  uint32_t chunk_elems() const { return kChunk / element_bytes(); }
  uint32_t lines() const { return k_major ? rows : cols; }
  uint32_t chunks() const { return (k_major ? cols : rows) / chunk_elems(); }
  uint32_t slab_bytes() const { return lines() * layout::line_bytes(swizzle); }
  uint32_t chunks_per_line() const { return layout::line_bytes(swizzle) / kChunk; }
  // `line` counts along the minor dimension, `chunk` along the major.
  uint32_t address(uint32_t line, uint32_t chunk) const {
    const uint32_t in_line = chunks_per_line();
    const uint32_t linear =
        chunk / in_line * slab_bytes() + line * layout::line_bytes(swizzle) + chunk % in_line * kChunk;
    return atoms_of_32_bytes ? layout::swizzle_address_of_32b_atoms(linear)
                             : layout::swizzle_address(linear, swizzle);
  }
};

uint32_t bank_group(uint32_t address) {
  return address / kChunk % kBankGroups;
}

// Turns that a phase of 16-byte accesses takes.
uint32_t turns_of(const std::vector<uint32_t>& addresses) {
  std::set<uint32_t> chunks[kBankGroups];
  for (const uint32_t address : addresses)
    chunks[bank_group(address)].insert(address);
  size_t most = 0;
  for (const auto& group : chunks)
    most = std::max(most, group.size());
  return static_cast<uint32_t>(most);
}

// The same of one 4-byte word a lane, 32 lanes.
uint32_t word_turns_of(const std::vector<uint32_t>& addresses) {
  std::set<uint32_t> words[kBanks];
  for (const uint32_t address : addresses)
    words[address / 4 % kBanks].insert(address / 4);
  size_t most = 0;
  for (const auto& bank : words)
    most = std::max(most, bank.size());
  return static_cast<uint32_t>(most);
}

void add_phase(BankConflicts& conflicts, uint32_t turns) {
  ++conflicts.phases;
  conflicts.turns += turns;
  conflicts.worst = std::max(conflicts.worst, turns);
}

std::vector<BankConflicts> conflicts_of(const Tile& tile) {
  BankConflicts matrix{.access = tile.k_major ? "ldmatrix: 8 rows of a 16-byte chunk"
                                              : "ldmatrix.trans: 8 rows of K of a 16-byte chunk"};
  for (uint32_t chunk = 0; chunk < tile.chunks(); ++chunk)
    for (uint32_t line = 0; line + kPhaseLanes <= tile.lines(); line += kPhaseLanes) {
      std::vector<uint32_t> addresses;
      for (uint32_t i = 0; i < kPhaseLanes; ++i)
        addresses.push_back(tile.address(line + i, chunk));
      add_phase(matrix, turns_of(addresses));
    }
  BankConflicts along{.access =
                          tile.k_major ? "16 bytes a lane along rows" : "16 bytes a lane along columns (MN)"};
  std::vector<uint32_t> addresses;
  for (uint32_t line = 0; line < tile.lines(); ++line)
    for (uint32_t chunk = 0; chunk < tile.chunks(); ++chunk) {
      addresses.push_back(tile.address(line, chunk));
      if (addresses.size() == kPhaseLanes) {
        add_phase(along, turns_of(addresses));
        addresses.clear();
      }
    }
  BankConflicts across{.access = tile.k_major ? "4 bytes a lane down a column, 32 rows"
                                              : "4 bytes a lane along K, 32 deep"};
  for (uint32_t word = 0; word < tile.chunks() * kChunk / 4; ++word)
    for (uint32_t line = 0; line + kBanks <= tile.lines(); line += kBanks) {
      std::vector<uint32_t> words;
      for (uint32_t i = 0; i < kBanks; ++i)
        words.push_back(tile.address(line + i, word * 4 / kChunk) + word * 4 % kChunk);
      add_phase(across, word_turns_of(words));
    }
  return {matrix, along, across};
}

bool is_padded(isa::Type type) {
  return type == isa::Type::e2m1 || type == isa::Type::e2m3 || type == isa::Type::e3m2;
}

bool wgmma_reads(const Tile& tile) {
  return (tile.k_major || tile.element_bytes() == 2) && !tile.atoms_of_32_bytes && !is_padded(tile.type);
}

// The descriptor of a step in bits of wgmma or of tcgen05; none: it does not read such a tile.
using Encode = std::optional<uint64_t> (*)(const Tile&, const SmemDescriptor&);

std::optional<uint64_t> encode_for_wgmma(const Tile& tile, const SmemDescriptor& step) {
  return wgmma_reads(tile) ? std::optional(step.encode()) : std::nullopt;
}

std::optional<uint64_t> encode_for_tensor(const Tile& tile, const SmemDescriptor& step) {
  using layout::SmemSwizzle;
  constexpr SmemSwizzle kSwizzles[] = {SmemSwizzle::none, SmemSwizzle::b32, SmemSwizzle::b64,
                                       SmemSwizzle::b128};
  layout::TensorSmemDescriptor d{.start = step.start, .leading = step.leading, .stride = step.stride};
  d.swizzle =
      tile.atoms_of_32_bytes ? SmemSwizzle::b128_32b_atoms : kSwizzles[static_cast<size_t>(tile.swizzle)];
  d.bits = d.encode();
  if (wrong(d, {.mn_major = !tile.k_major, .tf32 = tile.element_bytes() == 4}))
    return std::nullopt;
  return d.bits;
}

// For the K steps, with the tile at address 0.
std::vector<TileDescriptor> descriptors_of(const Tile& tile, TensorSwizzle swizzle, Encode encode) {
  std::vector<TileDescriptor> steps;
  const uint32_t line = layout::line_bytes(tile.swizzle), eight_lines = 8 * line;
  const uint32_t step_k = kStepBytes / tile.element_bytes();
  for (uint32_t k = 0; k + step_k <= tile.cols; k += step_k) {
    SmemDescriptor d;
    d.swizzle = tile.swizzle;
    if (tile.k_major) {
      const uint32_t byte = k * tile.element_bytes();
      d.start = byte / line * tile.slab_bytes() + byte % line;
      d.stride = eight_lines;
      d.leading =
          tile.swizzle == Swizzle::none ? tile.slab_bytes() : kChunk; // the hardware looks at the first
    } else {
      const uint32_t group = tile.atoms_of_32_bytes ? 4 : 8; // lines of K that the stride leads over
      d.start = k * line;
      const bool one_slab = tile.chunks() * kChunk == line;
      d.leading = tile.swizzle == Swizzle::none ? eight_lines : one_slab ? kChunk : tile.slab_bytes();
      d.stride = tile.swizzle == Swizzle::none ? tile.slab_bytes() : group * line;
    }
    const auto bits = encode(tile, d);
    if (!bits)
      return {};
    steps.push_back({.k = k,
                     .start = d.start,
                     .leading = d.leading,
                     .stride = d.stride,
                     .swizzle = swizzle,
                     .bits = *bits});
  }
  return steps;
}

// Empty if the tile can be laid out so; else what is wrong, and what is legal.
std::string problem_of(const Tile& tile) {
  const uint32_t line = layout::line_bytes(tile.swizzle);
  if ((isa::bits_of(tile.type) < 8 && !is_padded(tile.type)) || isa::bits_of(tile.type) > 32)
    return fmt::format("type {}: tiles have elements of 8, 16 or 32 bits, or e2m1, e2m3, e3m2",
                       isa::to_string(tile.type));
  if (tile.atoms_of_32_bytes && tile.swizzle != Swizzle::b128)
    return fmt::format("swizzle {}: legal with atoms of 32 bytes: 128B", swizzle_word(tile.swizzle));
  const uint32_t elems = line / tile.element_bytes();
  const char* major = tile.k_major ? "cols" : "rows";
  const char* minor = tile.k_major ? "rows" : "cols";
  if (tile.chunks() == 0 || (tile.k_major ? tile.cols : tile.rows) % elems != 0)
    return fmt::format(
        "{} {}: with swizzle {} a line has {} bytes, {} elements of {}; legal: multiples of {}", major,
        tile.k_major ? tile.cols : tile.rows, swizzle_word(tile.swizzle), line, elems,
        isa::to_string(tile.type), elems);
  if (tile.lines() == 0 || tile.lines() % 8 != 0)
    return fmt::format("{} {}: lines come in groups of eight; legal: multiples of 8", minor, tile.lines());
  constexpr uint32_t kMostBytes = 227 * 1024;
  if (tile.rows > kMostBytes || tile.cols > kMostBytes ||
      uint64_t{tile.rows} * tile.cols * tile.element_bytes() > kMostBytes)
    return fmt::format("a tile of {} bytes does not fit shared memory ({} bytes)",
                       uint64_t{tile.rows} * tile.cols * tile.element_bytes(), kMostBytes);
  return "";
}

} // namespace
} // namespace inspect

Result<SmemLayout, Error> lay_out(const SmemTile& asked) {
  const auto type = isa::parse_type(asked.type);
  if (!type)
    return inspect::wrong(
        fmt::format("type {}: no such type; such as f16, bf16, tf32, f32, e4m3, s8", asked.type));
  if (asked.swizzle > TensorSwizzle::b128)
    return inspect::wrong(fmt::format(
        "swizzle {}: legal are 0 (none), 1 (32B), 2 (64B) and 3 (128B), which may have atoms of 32 bytes",
        static_cast<unsigned>(asked.swizzle)));
  const inspect::Tile tile{.type = *type,
                           .swizzle = static_cast<layout::Swizzle>(asked.swizzle),
                           .k_major = asked.k_major,
                           .rows = asked.rows,
                           .cols = asked.cols,
                           .atoms_of_32_bytes = asked.atoms_of_32_bytes};
  if (std::string problem = inspect::problem_of(tile); !problem.empty())
    return inspect::wrong(std::move(problem));
  SmemLayout out{.element_bytes = tile.element_bytes(),
                 .chunk_elems = tile.chunk_elems(),
                 .lines = tile.lines(),
                 .chunks = tile.chunks(),
                 .chunks_per_line = tile.chunks_per_line(),
                 .addresses = {},
                 .conflicts = inspect::conflicts_of(tile),
                 .descriptors = inspect::descriptors_of(tile, asked.swizzle, inspect::encode_for_wgmma),
                 .tensor_descriptors =
                     inspect::descriptors_of(tile, asked.swizzle, inspect::encode_for_tensor)};
  for (uint32_t line = 0; line < out.lines; ++line)
    for (uint32_t chunk = 0; chunk < out.chunks; ++chunk)
      out.addresses.push_back(tile.address(line, chunk));
  return out;
}

} // namespace lemma
