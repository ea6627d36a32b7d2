// Tiles in shared memory: addresses, matrix descriptors, bank conflicts, as a picture and as JSON.
#include "layout_picture.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace lemma::cli {
namespace {

using nlohmann::json;

constexpr uint32_t kChunkBytes = 16, kBankGroups = 8; // of four banks, which a chunk fills

const char* swizzle_word(TensorSwizzle swizzle) {
  constexpr const char* kWords[] = {"none", "32B", "64B", "128B"};
  return kWords[static_cast<int>(swizzle)];
}

uint32_t bank_group(uint32_t address) {
  return address / kChunkBytes % kBankGroups;
}

std::string swizzle_words(const SmemTile& tile) {
  return fmt::format("{}{}", swizzle_word(tile.swizzle), tile.atoms_of_32_bytes ? "_ATOM_32B" : "");
}

std::string title_of(const SmemTile& tile) {
  return fmt::format("{} x {} of {} in shared memory, {}-major, swizzle {}", tile.rows, tile.cols, tile.type,
                     tile.k_major ? "K" : "MN", swizzle_words(tile));
}

void add_descriptors(const std::vector<TileDescriptor>& steps, std::string_view reader, std::string_view none,
                     std::vector<std::string>& remarks) {
  remarks.emplace_back("");
  if (steps.empty())
    remarks.emplace_back(none);
  else
    remarks.push_back(
        fmt::format("matrix descriptors for {}, of a tile at shared address 0: add address / 16", reader));
  for (const TileDescriptor& step : steps)
    remarks.push_back(
        fmt::format("  k = {:<5} start {:<7} leading {:<6} stride {:<6} swizzle {:<5} 0x{:016x}", step.k,
                    step.start, step.leading, step.stride, swizzle_word(step.swizzle), step.bits));
}

json to_json(const std::vector<TileDescriptor>& steps) {
  json list = json::array();
  for (const TileDescriptor& step : steps)
    list.push_back({{"k", step.k},
                    {"start", step.start},
                    {"leading", step.leading},
                    {"stride", step.stride},
                    {"descriptor", fmt::format("0x{:016x}", step.bits)}});
  return list;
}

} // namespace

Picture picture_of(const SmemTile& tile, const SmemLayout& layout) {
  Picture picture;
  picture.title = title_of(tile);
  picture.palette = Palette::banks;
  picture.notes = {
      "a cell is a 16-byte chunk: its byte offset in the tile, which starts at a multiple of 1024 bytes; "
      "colour and b: its four banks",
      "same colours in one row or column of the drawing meet in the same banks"};
  Grid grid;
  const std::string lines = tile.k_major ? "rows" : "K", chunks = tile.k_major ? "K" : "rows";
  grid.title = fmt::format("down: {}; across: {}, {} elements a chunk", lines, chunks, layout.chunk_elems);
  for (uint32_t chunk = 0; chunk < layout.chunks; ++chunk)
    grid.column_heads.push_back(
        fmt::format("{}-{}", chunk * layout.chunk_elems, (chunk + 1) * layout.chunk_elems - 1));
  for (uint32_t line = 0; line < layout.lines; ++line) {
    grid.row_heads.push_back(fmt::format("{}", line));
    std::vector<Cell> cells;
    for (uint32_t chunk = 0; chunk < layout.chunks; ++chunk) {
      const uint32_t address = layout.address(line, chunk), group = bank_group(address);
      Cell cell;
      cell.color = static_cast<int>(group);
      cell.upper = fmt::format("0x{:04x}", address);
      cell.lower = fmt::format("b{}-{}", group * 4, group * 4 + 3);
      cell.text = fmt::format("{:04x}:b{}", address, group * 4);
      cell.title =
          fmt::format("{} {}, {} {} to {}: offset {} (0x{:x}), banks {} to {}", tile.k_major ? "row" : "k",
                      line, tile.k_major ? "k" : "rows", chunk * layout.chunk_elems,
                      (chunk + 1) * layout.chunk_elems - 1, address, address, group * 4, group * 4 + 3);
      cells.push_back(std::move(cell));
    }
    grid.cells.push_back(std::move(cells));
  }
  grid.rule_columns = static_cast<int>(layout.chunks_per_line);
  picture.grids.push_back(std::move(grid));
  for (uint32_t group = 0; group < kBankGroups; ++group)
    picture.legend.emplace_back(static_cast<int>(group),
                                fmt::format("banks {}-{}", group * 4, group * 4 + 3));

  picture.remarks.emplace_back("bank conflicts, in turns of shared memory");
  for (const BankConflicts& c : layout.conflicts)
    if (c.phases > 0)
      picture.remarks.push_back(fmt::format("  {:<46} {:>5} phases, {:>5} turns: {}", c.access, c.phases,
                                            c.turns,
                                            c.worst == 1 ? "none" : fmt::format("up to {} ways", c.worst)));
  add_descriptors(
      layout.descriptors, "wgmma",
      "wgmma reads K-major tiles, and MN-major ones of 16-bit types, of no padded types and with no "
      "atoms of 32 bytes: no matrix descriptor",
      picture.remarks);
  add_descriptors(layout.tensor_descriptors, "tcgen05.mma",
                  "tcgen05.mma reads MN-major tf32 with swizzle 128B_ATOM_32B, and nothing else with it: no "
                  "matrix descriptor",
                  picture.remarks);
  return picture;
}

json facts_of(const SmemTile& tile, const SmemLayout& layout) {
  json chunks = json::array(), conflicts = json::array();
  for (uint32_t line = 0; line < layout.lines; ++line)
    for (uint32_t chunk = 0; chunk < layout.chunks; ++chunk) {
      const uint32_t first = chunk * layout.chunk_elems, address = layout.address(line, chunk);
      chunks.push_back({{"row", tile.k_major ? line : first},
                        {"k", tile.k_major ? first : line},
                        {"address", address},
                        {"bank", bank_group(address) * 4}});
    }
  for (const BankConflicts& c : layout.conflicts)
    conflicts.push_back({{"access", c.access}, {"phases", c.phases}, {"turns", c.turns}, {"worst", c.worst}});
  return {{"type", tile.type},
          {"swizzle", swizzle_words(tile)},
          {"major", tile.k_major ? "k" : "mn"},
          {"rows", tile.rows},
          {"cols", tile.cols},
          {"chunk_elements", layout.chunk_elems},
          {"bytes", tile.rows * tile.cols * layout.element_bytes},
          {"chunks", std::move(chunks)},
          {"conflicts", std::move(conflicts)},
          {"descriptors", to_json(layout.descriptors)},
          {"tcgen05_descriptors", to_json(layout.tensor_descriptors)}};
}

} // namespace lemma::cli
