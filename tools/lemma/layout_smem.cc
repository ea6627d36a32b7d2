// Tiles in shared memory: addresses, matrix descriptors, bank conflicts.
//
// Shared memory has 32 banks of 4 bytes; a request of 16 bytes a lane is served eight lanes at a time (a
// phase), and a phase takes as many turns as the fullest group of four banks has different chunks.
#include "layout_picture.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>

namespace lemma::cli {
namespace {

using layout::SmemDescriptor;
using layout::Swizzle;
using nlohmann::json;

constexpr uint32_t kChunk = layout::kChunkBytes, kBankGroups = 8, kPhaseLanes = 8, kBanks = 32;
constexpr uint32_t kStepBytes = 32; // of K, that one wgmma takes

const char* swizzle_word(Swizzle swizzle) {
  constexpr const char* kWords[] = {"none", "32B", "64B", "128B"};
  return kWords[static_cast<int>(swizzle)];
}

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

struct Conflicts {
  std::string access;
  uint32_t phases = 0, turns = 0, worst = 0;

  void add(uint32_t turns_of_phase) {
    ++phases;
    turns += turns_of_phase;
    worst = std::max(worst, turns_of_phase);
  }
};

std::vector<Conflicts> conflicts_of(const SmemTile& tile) {
  Conflicts matrix{.access = tile.k_major ? "ldmatrix: 8 rows of a 16-byte chunk"
                                          : "ldmatrix.trans: 8 rows of K of a 16-byte chunk"};
  for (uint32_t chunk = 0; chunk < tile.chunks(); ++chunk)
    for (uint32_t line = 0; line + kPhaseLanes <= tile.lines(); line += kPhaseLanes) {
      std::vector<uint32_t> addresses;
      for (uint32_t i = 0; i < kPhaseLanes; ++i)
        addresses.push_back(tile.address(line + i, chunk));
      matrix.add(turns_of(addresses));
    }
  Conflicts along{.access =
                      tile.k_major ? "16 bytes a lane along rows" : "16 bytes a lane along columns (MN)"};
  std::vector<uint32_t> addresses;
  for (uint32_t line = 0; line < tile.lines(); ++line)
    for (uint32_t chunk = 0; chunk < tile.chunks(); ++chunk) {
      addresses.push_back(tile.address(line, chunk));
      if (addresses.size() == kPhaseLanes) {
        along.add(turns_of(addresses));
        addresses.clear();
      }
    }
  Conflicts across{.access = tile.k_major ? "4 bytes a lane down a column, 32 rows"
                                          : "4 bytes a lane along K, 32 deep"};
  for (uint32_t word = 0; word < tile.chunks() * kChunk / 4; ++word)
    for (uint32_t line = 0; line + kBanks <= tile.lines(); line += kBanks) {
      std::vector<uint32_t> words;
      for (uint32_t i = 0; i < kBanks; ++i)
        words.push_back(tile.address(line + i, word * 4 / kChunk) + word * 4 % kChunk);
      across.add(word_turns_of(words));
    }
  return {matrix, along, across};
}

// The matrix descriptors of the tile for the K steps of wgmma, with the tile at address 0.
struct Step {
  uint32_t k = 0; // first column
  SmemDescriptor descriptor;
};

bool wgmma_reads(const SmemTile& tile) {
  return tile.k_major || tile.element_bytes() == 2;
}

std::vector<Step> steps_of(const SmemTile& tile) {
  std::vector<Step> steps;
  if (!wgmma_reads(tile))
    return steps;
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
      d.start = k / 8 * eight_lines;
      const bool one_slab = tile.chunks() * kChunk == line;
      d.leading = tile.swizzle == Swizzle::none ? eight_lines : one_slab ? kChunk : tile.slab_bytes();
      d.stride = tile.swizzle == Swizzle::none ? tile.slab_bytes() : eight_lines;
    }
    steps.push_back({k, d});
  }
  return steps;
}

std::string title_of(const SmemTile& tile) {
  return fmt::format("{} x {} of {} in shared memory, {}-major, swizzle {}", tile.rows, tile.cols,
                     isa::to_string(tile.type), tile.k_major ? "K" : "MN", swizzle_word(tile.swizzle));
}

} // namespace

uint32_t SmemTile::element_bytes() const {
  return static_cast<uint32_t>(isa::bits_of(type)) / 8;
}
uint32_t SmemTile::chunk_elems() const {
  return kChunk / element_bytes();
}
uint32_t SmemTile::lines() const {
  return k_major ? rows : cols;
}
uint32_t SmemTile::chunks() const {
  return (k_major ? cols : rows) / chunk_elems();
}
uint32_t SmemTile::slab_bytes() const {
  return lines() * layout::line_bytes(swizzle);
}

uint32_t SmemTile::address(uint32_t line, uint32_t chunk) const {
  const uint32_t in_line = layout::line_bytes(swizzle) / kChunk;
  const uint32_t linear =
      chunk / in_line * slab_bytes() + line * layout::line_bytes(swizzle) + chunk % in_line * kChunk;
  return layout::swizzle_address(linear, swizzle);
}

std::string problem_of(const SmemTile& tile) {
  const uint32_t line = layout::line_bytes(tile.swizzle);
  if (isa::bits_of(tile.type) < 8 || isa::bits_of(tile.type) > 32)
    return fmt::format("--type {}: tiles have elements of 8, 16 or 32 bits", isa::to_string(tile.type));
  const uint32_t elems = line / tile.element_bytes();
  const char* major = tile.k_major ? "--cols" : "--rows";
  const char* minor = tile.k_major ? "--rows" : "--cols";
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

Picture picture_of(const SmemTile& tile) {
  Picture picture;
  picture.title = title_of(tile);
  picture.palette = Palette::banks;
  picture.notes = {
      "a cell is a 16-byte chunk: its byte offset in the tile, which starts at a multiple of 1024 bytes; "
      "colour and b: its four banks",
      "same colours in one row or column of the drawing meet in the same banks"};
  Grid grid;
  const std::string lines = tile.k_major ? "rows" : "K", chunks = tile.k_major ? "K" : "rows";
  grid.title = fmt::format("down: {}; across: {}, {} elements a chunk", lines, chunks, tile.chunk_elems());
  const uint32_t in_line = layout::line_bytes(tile.swizzle) / kChunk;
  for (uint32_t chunk = 0; chunk < tile.chunks(); ++chunk)
    grid.column_heads.push_back(
        fmt::format("{}-{}", chunk * tile.chunk_elems(), (chunk + 1) * tile.chunk_elems() - 1));
  for (uint32_t line = 0; line < tile.lines(); ++line) {
    grid.row_heads.push_back(fmt::format("{}", line));
    std::vector<Cell> cells;
    for (uint32_t chunk = 0; chunk < tile.chunks(); ++chunk) {
      const uint32_t address = tile.address(line, chunk), group = bank_group(address);
      Cell cell;
      cell.color = static_cast<int>(group);
      cell.upper = fmt::format("0x{:04x}", address);
      cell.lower = fmt::format("b{}-{}", group * 4, group * 4 + 3);
      cell.text = fmt::format("{:04x}:b{}", address, group * 4);
      cell.title =
          fmt::format("{} {}, {} {} to {}: offset {} (0x{:x}), banks {} to {}", tile.k_major ? "row" : "k",
                      line, tile.k_major ? "k" : "rows", chunk * tile.chunk_elems(),
                      (chunk + 1) * tile.chunk_elems() - 1, address, address, group * 4, group * 4 + 3);
      cells.push_back(std::move(cell));
    }
    grid.cells.push_back(std::move(cells));
  }
  grid.rule_columns = static_cast<int>(in_line);
  picture.grids.push_back(std::move(grid));
  for (uint32_t group = 0; group < kBankGroups; ++group)
    picture.legend.emplace_back(static_cast<int>(group),
                                fmt::format("banks {}-{}", group * 4, group * 4 + 3));

  picture.remarks.emplace_back("bank conflicts, in turns of shared memory");
  for (const Conflicts& c : conflicts_of(tile))
    if (c.phases > 0)
      picture.remarks.push_back(fmt::format("  {:<46} {:>5} phases, {:>5} turns: {}", c.access, c.phases,
                                            c.turns,
                                            c.worst == 1 ? "none" : fmt::format("up to {} ways", c.worst)));
  const std::vector<Step> steps = steps_of(tile);
  picture.remarks.emplace_back("");
  if (steps.empty())
    picture.remarks.emplace_back("wgmma reads MN-major tiles of 16-bit types only: no matrix descriptor");
  else
    picture.remarks.emplace_back(
        "matrix descriptors for wgmma, of a tile at shared address 0: add address / 16");
  for (const Step& step : steps)
    picture.remarks.push_back(
        fmt::format("  k = {:<5} start {:<7} leading {:<6} stride {:<6} swizzle {:<5} 0x{:016x}", step.k,
                    step.descriptor.start, step.descriptor.leading, step.descriptor.stride,
                    swizzle_word(step.descriptor.swizzle), step.descriptor.encode()));
  return picture;
}

json facts_of(const SmemTile& tile) {
  json chunks = json::array(), conflicts = json::array(), steps = json::array();
  for (uint32_t line = 0; line < tile.lines(); ++line)
    for (uint32_t chunk = 0; chunk < tile.chunks(); ++chunk) {
      const uint32_t first = chunk * tile.chunk_elems(), address = tile.address(line, chunk);
      chunks.push_back({{"row", tile.k_major ? line : first},
                        {"k", tile.k_major ? first : line},
                        {"address", address},
                        {"bank", bank_group(address) * 4}});
    }
  for (const Conflicts& c : conflicts_of(tile))
    conflicts.push_back({{"access", c.access}, {"phases", c.phases}, {"turns", c.turns}, {"worst", c.worst}});
  for (const Step& step : steps_of(tile))
    steps.push_back({{"k", step.k},
                     {"start", step.descriptor.start},
                     {"leading", step.descriptor.leading},
                     {"stride", step.descriptor.stride},
                     {"descriptor", fmt::format("0x{:016x}", step.descriptor.encode())}});
  return {{"type", isa::to_string(tile.type)},
          {"swizzle", swizzle_word(tile.swizzle)},
          {"major", tile.k_major ? "k" : "mn"},
          {"rows", tile.rows},
          {"cols", tile.cols},
          {"chunk_elements", tile.chunk_elems()},
          {"bytes", tile.rows * tile.cols * tile.element_bytes()},
          {"chunks", std::move(chunks)},
          {"conflicts", std::move(conflicts)},
          {"descriptors", std::move(steps)}};
}

} // namespace lemma::cli
