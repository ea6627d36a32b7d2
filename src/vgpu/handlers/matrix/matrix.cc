// wmma.load, wmma.store, ldmatrix, stmatrix, movmatrix: fragments between registers and memory.
//
// Everything about an instruction comes from its row of the catalogue: at decoding a row becomes tables that
// move fragments between registers and dense tiles (layout::TileMap). What the ISA leaves undefined is a
// fault here: a warp that is not complete, lanes that disagree about wmma's address or stride, ldmatrix
// outside shared memory.
//
// Alignment is the hardware's, which is less than the ISA asks for (the size of the whole fragment, which
// common padded tiles break): 16 bytes where sm_90's code loads rows with LDSM, else what each lane loads at
// once.
//
// PTX ISA: "Warp Level Matrix Multiply-Accumulate Instructions".
// Tests: tests/unit/vgpu/matrix_test.cc.
#include "isa/catalogue.h"
#include "isa/form.h"
#include "layout/tile_map.h"
#include "vgpu/code/decoder.h"
#include "vgpu/engine/matrix_moves.h"
#include "vgpu/engine/observer.h"
#include "vgpu/handlers/matrix/ldmatrix.h"
#include "vgpu/handlers/matrix/matrix_operands.h"
#include "vgpu/handlers/matrix/wmma_moves.h"
#include "vgpu/handlers/memory/lane_memory.h"
#include "vgpu/handlers/memory/lane_places.h"
#include "vgpu/handlers/memory/store_order.h"
#include "vgpu/memory/find_access.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace lemma::vgpu {

bool whole_warp(Exec& x, const DecodedInst& in, Step& step) {
  if (!x.converge_all(in)) {
    step = Step::reschedule;
    return false;
  }
  if (x.active == kAllLanes)
    return true;
  step =
      x.misuse(in, "warp.aligned",
               fmt::format("{} needs all 32 threads of the warp, but only those of mask {:#010x} execute it "
                           "(undefined behaviour)",
                           isa::to_string(x.ptx_instruction(in).opcode), x.active));
  return false;
}

namespace {

using isa::MatrixRow;
using isa::Opcode;
using isa::Qual;
using isa::StateSpace;
using isa::Type;
using layout::MajorOrder;
using layout::Matrix;
using layout::TileMap;
using ptx::Instruction;
using ptx::Operand;

// --- wmma.load, wmma.store ---

// How much of a line sm_90's code moves at once, and so what its start must be a multiple of.
uint32_t line_alignment(const layout::Fragment& fragment, MajorOrder order, StateSpace space, bool load) {
  const bool multiplicand = fragment.element_bits <= 16 && load;
  // How many neighbours along the line a lane holds.
  int run = 1;
  const auto coord = [&](int reg, int elem) {
    const layout::Coord at = fragment.at({0, reg, elem});
    return order == MajorOrder::row ? at : layout::Coord{at.col, at.row};
  };
  const layout::Coord next{coord(0, 0).row, coord(0, 0).col + 1};
  if (fragment.elems_per_register() > 1)
    run = coord(0, 1) == next ? fragment.elems_per_register() : 1;
  else if (fragment.registers() > 1)
    run = coord(1, 0) == next ? 2 : 1;
  // MOVM transposes pairs of b16, so that they move as words in either order.
  if (fragment.element_bits == 16)
    run = 2;
  const bool by_ldsm = multiplicand && space == StateSpace::shared && run > 1;
  return by_ldsm ? 16 : static_cast<uint32_t>(run * fragment.element_bits / 8);
}

// The lines of the tile in memory.
struct Lines {
  uint64_t address = 0; // of the first
  uint64_t pitch = 0;   // bytes from one to the next
};

// By the address and stride that all lanes have; false after a fault.
bool find_lines(Exec& x, const DecodedInst& in, const WmmaMovePlan& plan, Lines& lines) {
  uint64_t at[kWarpSize];
  const uint32_t* stride = x.src<uint32_t>(in, 1);
  if (plan.lanes.are_uniform(x, in, 0, 1)) {
    const uint64_t base = x.src_lane(in, 0, 0) + static_cast<uint64_t>(in.imm);
    at[0] = x.src_slot(in, 0).bytes == 4 ? static_cast<uint32_t>(base) : base;
  } else {
    lane_addresses(x, in, at);
    for (int lane = 1; lane < kWarpSize; ++lane)
      if (at[lane] != at[0] || stride[lane] != stride[0]) {
        x.fault_at(in, FaultKind::illegal_instruction,
                   fmt::format("lanes 0 and {} give {} different {} (undefined behaviour)", lane,
                               isa::to_string(x.ptx_instruction(in).opcode),
                               at[lane] != at[0] ? "addresses" : "strides"),
                   lane, at[lane]);
        return false;
      }
  }
  lines = {at[0], uint64_t{stride[0]} * plan.element_bits / 8};
  return true;
}

// One check for all lines: where the first lies. None where each line needs one of its own.
[[gnu::always_inline]] inline Access lines_at_once(Exec& x, const DecodedInst& in, const WmmaMovePlan& plan,
                                                   const Lines& lines, AccessKind kind) {
  if (!x.is_quick() || ((lines.address | lines.pitch) & (plan.align - 1)) != 0)
    return {};
  const Access range =
      x.find_access(in, plan.space, lines.address, (plan.lines - 1) * lines.pitch + plan.line_bytes, kind);
  if (!range || range.lane_stride != 0)
    return {};
  if (kind == AccessKind::read) {
    bool all_written = true;
    for (uint32_t line = 0; line < plan.lines; ++line)
      all_written &= range.was_written(line * lines.pitch, plan.line_bytes);
    return all_written ? range : Access{};
  }
  for (uint32_t line = 0; line < plan.lines; ++line)
    range.mark_written(line * lines.pitch, plan.line_bytes);
  x.effect();
  return range;
}

// Elements that other CTAs may access at the same time.
void copy_relaxed(std::byte* to, const std::byte* from, uint32_t bytes, uint32_t align, bool store) {
  const auto copy = [&]<class T>(T) {
    for (uint32_t i = 0; i < bytes; i += sizeof(T)) {
      T value;
      if (store) {
        std::memcpy(&value, from + i, sizeof(T));
        store_relaxed<T>(to + i, value);
      } else {
        value = load_relaxed<T>(from + i);
        std::memcpy(to + i, &value, sizeof(T));
      }
    }
  };
  if (align % 8 == 0 && bytes % 8 == 0)
    copy(uint64_t{});
  else if (align % 4 == 0 && bytes % 4 == 0)
    copy(uint32_t{});
  else if (align % 2 == 0 && bytes % 2 == 0)
    copy(uint16_t{});
  else
    copy(uint8_t{});
}

// Moves the tile from or to memory line by line.
template <AccessKind kind>
bool move_lines(Exec& x, const DecodedInst& in, const WmmaMovePlan& plan, const Lines& lines, Tile& tile) {
  const auto move = [&](uint32_t line, std::byte* host) {
    std::byte* in_tile = tile.bytes + line * plan.line_bytes;
    if constexpr (kind == AccessKind::read)
      copy_relaxed(in_tile, host, plan.line_bytes, plan.align, false);
    else
      copy_relaxed(host, in_tile, plan.line_bytes, plan.align, true);
  };
  if (const Access range = lines_at_once(x, in, plan, lines, kind)) {
    for (uint32_t line = 0; line < plan.lines; ++line)
      move(line, range.host + line * lines.pitch);
    return true;
  }
  PieceAccesses accesses(x, false);
  std::byte* hosts[kWarpSize];
  for (uint32_t line = 0; line < plan.lines; ++line) {
    const Access access =
        x.access(in, plan.space, lines.address + line * lines.pitch, plan.line_bytes, plan.align, kind, 0);
    if (!access)
      return false;
    accesses.add(static_cast<int>(line), access);
    hosts[line] = access.host;
  }
  accesses.tell();
  for (uint32_t line = 0; line < plan.lines; ++line)
    move(line, hosts[line]);
  return true;
}

} // namespace

Step run_wmma_load(Exec& x, const DecodedInst& in) {
  Step step;
  if (!whole_warp(x, in, step))
    return step;
  const auto& plan = x.plan<WmmaMovePlan>(in);
  Lines lines;
  if (!find_lines(x, in, plan, lines))
    return Step::stopped;
  std::byte* destinations[kMaxFragmentRegisters];
  destination_lanes(x, in, plan.map.registers(), destinations);
  Tile tile;
  if (!move_lines<AccessKind::read>(x, in, plan, lines, tile))
    return Step::stopped;
  plan.map.scatter(tile.bytes, destinations);
  return Step::next;
}

namespace {

Step run_wmma_store(Exec& x, const DecodedInst& in) {
  Step step;
  if (!whole_warp(x, in, step))
    return step;
  const auto& plan = x.plan<WmmaMovePlan>(in);
  Lines lines;
  if (!find_lines(x, in, plan, lines))
    return Step::stopped;
  const std::byte* sources[kMaxFragmentRegisters];
  source_lanes(x, in, 2, plan.map.distinct_registers(), sources);
  Tile tile;
  plan.map.gather(sources, tile.bytes);
  return move_lines<AccessKind::write>(x, in, plan, lines, tile) ? Step::next : Step::stopped;
}

// Places the address as the first source: a register, or the constant 0 where the offset is all of it.
Slot place_address(Decoder& decoder, size_t operand, DecodedInst& in, StateSpace& space) {
  const PlacedAddress address = decoder.address(operand);
  space = address.space;
  in.imm = address.offset;
  return address.base;
}

bool select_wmma_move(Decoder& decoder, const Instruction& instruction, DecodedInst& in) {
  const MatrixRow& row = *instruction.form()->matrix;
  const auto& operands = instruction.operands;
  if (operands.size() < 2)
    return false;
  const bool load = row.opcode == Opcode::wmma_load;
  const MajorOrder order = instruction.has(Qual::row) ? MajorOrder::row : MajorOrder::col;
  const Type type = isa::type_of(row, row.matrix, instruction.types());
  const layout::Fragment fragment = isa::fragment_of(row, row.matrix, type);
  const size_t registers = load ? 0 : 1;
  if (decoder.count(registers) != static_cast<size_t>(fragment.registers()))
    return false;

  auto& plan = decoder.make_plan<WmmaMovePlan>(in);
  plan.lanes = lane_places();
  const Slot address = place_address(decoder, load ? 1 : 0, in, plan.space);
  const int line_elems = order == MajorOrder::row ? fragment.cols : fragment.rows;
  plan.map = TileMap(fragment, order);
  if (plan.map.is_in_eights())
    std::copy_n(plan.map.eights(), fragment.registers(), plan.eights.begin());
  plan.lines = static_cast<uint32_t>(order == MajorOrder::row ? fragment.rows : fragment.cols);
  plan.element_bits = static_cast<uint32_t>(fragment.element_bits);
  plan.line_bytes = static_cast<uint32_t>(line_elems) * plan.element_bits / 8;
  plan.align = line_alignment(fragment, order, plan.space, load && row.matrix != Matrix::c);
  const Slot stride = operands.size() > 2 ? decoder.src(2, Type::u32)
                                          : decoder.constant(static_cast<uint64_t>(line_elems), Type::u32);

  const Type register_type = isa::registers_of(row, row.matrix, type).type;
  std::vector<Slot> dsts, srcs{address, stride};
  if (load)
    decoder.add_dsts(dsts, registers, register_type);
  else
    decoder.add_srcs(srcs, registers, register_type);
  in.handler = load ? run_wmma_load : run_wmma_store;
  in.flags = decoder.notes().has(lowered::Note::uniform_lines) ? kUniformLines : 0;
  decoder.set_operands(in, dsts, srcs);
  if (const Handler handler = load ? vector_wmma_load(plan, dsts.front().bytes) : nullptr) {
    in.handler = handler;
    plan.seen = decoder.temporary(Type::b64).offset;
  }
  return true;
}

// --- ldmatrix, stmatrix, movmatrix ---

constexpr uint32_t kRowBytes = 16; // of every matrix, and what rows are aligned to

} // namespace

struct M8n8Plan {
  TileMap map;
  TileMap transposed; // movmatrix: of the destination
  StateSpace space = StateSpace::generic;
  int rows = 8;                   // of all the matrices together
  uint32_t row_bytes = kRowBytes; // that are read or written; a packed row is less, the rest is padding
  uint32_t packed_bits = 0;       // of an element in memory that becomes a byte; 0: elements move as they are
  bool is_signed = false;         // of packed elements: the byte gets their sign
  uint32_t row_align = kRowBytes;
  LanePlaces lanes;
  bool rows_are_quads = false; // row i is lanes 4 (i % 8) to 4 (i % 8) + 3 of register i / 8
};

namespace {

// One check for all rows: where they lie, beside the lowest address; none where each needs one of its own.
Access rows_at_once(Exec& x, const DecodedInst& in, const M8n8Plan& plan, const uint64_t* at,
                    const AddressRange& all, AccessKind kind) {
  const auto [lowest, highest, any_bits] = all;
  const bool in_shared = plan.space != StateSpace::generic || (lowest - kSharedWindow < kSharedWindowBytes &&
                                                               highest - kSharedWindow < kSharedWindowBytes);
  if (plan.row_bytes != kRowBytes || !in_shared || any_bits % kRowBytes != 0)
    return {};
  const uint64_t span = span_of(lowest, highest, kRowBytes);
  const Access range = x.find_access(in, plan.space, lowest, span, kind);
  if (!range || kind != AccessKind::read)
    return range;
  bool all_written = true;
  for (int row = 0; row < plan.rows; ++row)
    all_written &= range.was_written(at[row] - lowest, kRowBytes);
  return all_written ? range : Access{};
}

// Rows are stored as lanes store 16 bytes (store_order.h): where they meet, the same one's stay.
int row_of(int place, AccessKind kind) {
  return kind == AccessKind::write ? static_cast<int>(store_place(static_cast<uint32_t>(place), kRowBytes))
                                   : place;
}

// Lane i gives the address of row i, the matrices' rows counted through. Calls f(row's host bytes, row
// index); false after a fault.
template <class F>
bool for_rows(Exec& x, const DecodedInst& in, const M8n8Plan& plan, AccessKind kind, F&& f) {
  if (in.checks_init) // lanes of which no row is asked may leave the address unwritten
    x.check_written(in, 0, plan.rows == kWarpSize ? kAllLanes : (LaneMask{1} << plan.rows) - 1);
  alignas(64) uint64_t at[kWarpSize];
  AddressRange all = plan.lanes.place(x, in, 0, in.imm, at);
  if (plan.rows != kWarpSize)
    all = range_of(at, plan.rows);
  const uint64_t lowest = all.lowest;
  if (const Access range = rows_at_once(x, in, plan, at, all, kind)) {
    x.watch.tell([&](Observer& observer) { // looked up again: so the range above stays in registers
      observer.accesses(
          x, {.access = x.find(in, plan.space, lowest, span_of(lowest, all.highest, kRowBytes), kind),
              .pieces = static_cast<LaneMask>((uint64_t{1} << plan.rows) - 1),
              .piece_bytes = kRowBytes,
              .addresses = at,
              .lowest = lowest,
              .by_lane = false});
    });
    for (int place = 0; place < plan.rows; ++place) {
      const int row = row_of(place, kind);
      if (kind == AccessKind::write)
        range.mark_written(at[row] - lowest, kRowBytes);
      f(range.host + (at[row] - lowest), row);
    }
    if (kind == AccessKind::write)
      x.effect();
    return true;
  }
  PieceAccesses accesses(x, false);
  std::byte* rows[kWarpSize];
  for (int lane = 0; lane < plan.rows; ++lane) {
    if (plan.space == StateSpace::generic && at[lane] - kSharedWindow >= kSharedWindowBytes) {
      x.fault_at(in, FaultKind::wrong_space,
                 fmt::format(
                     "{} is given generic address {:#x}, which is not in shared memory (undefined behaviour)",
                     isa::to_string(x.ptx_instruction(in).opcode), at[lane]),
                 lane, at[lane]);
      return false;
    }
    const Access access = x.access(in, plan.space, at[lane], plan.row_bytes, plan.row_align, kind, lane);
    if (!access)
      return false;
    accesses.add(lane, access);
    rows[lane] = access.host;
  }
  accesses.tell();
  for (int place = 0; place < plan.rows; ++place)
    f(rows[row_of(place, kind)], row_of(place, kind));
  return true;
}

// Sixteen elements of `bits` bits, the first lowest, to one a byte: its low bits, above them zeros or the
// sign.
void unpack_row(const std::byte* from, uint32_t bits, bool is_signed, std::byte* to) {
  uint64_t words[2] = {};
  std::memcpy(words, from, kRowBytes * bits / 8);
  const auto row = static_cast<unsigned __int128>(words[1]) << 64 | words[0];
  const uint32_t sign = is_signed ? 1u << (bits - 1) : 0;
  for (uint32_t i = 0; i < kRowBytes; ++i) {
    const uint32_t element = static_cast<uint32_t>(row >> i * bits) & ((1u << bits) - 1);
    to[i] = static_cast<std::byte>((element ^ sign) - sign);
  }
}

} // namespace

Step run_ldmatrix(Exec& x, const DecodedInst& in) {
  Step step;
  if (!whole_warp(x, in, step))
    return step;
  const auto& plan = x.plan<M8n8Plan>(in);
  std::byte* destinations[kMaxFragmentRegisters];
  destination_lanes(x, in, plan.map.registers(), destinations);
  if (plan.rows_are_quads) { // and the address is in no register that is written: it has been read
    return for_rows(x, in, plan, AccessKind::read,
                    [&](const std::byte* host, int row) {
                      std::memcpy(destinations[row / 8] + row % 8 * kRowBytes, host, kRowBytes);
                    })
               ? Step::next
               : Step::stopped;
  }
  Tile tile;
  const bool ok = for_rows(x, in, plan, AccessKind::read, [&](const std::byte* host, int row) {
    std::byte* const to = tile.bytes + static_cast<size_t>(row) * kRowBytes;
    if (plan.packed_bits != 0)
      unpack_row(host, plan.packed_bits, plan.is_signed, to);
    else
      std::memcpy(to, host, kRowBytes);
  });
  if (!ok)
    return Step::stopped;
  plan.map.scatter(tile.bytes, destinations);
  return Step::next;
}

namespace {

Step run_stmatrix(Exec& x, const DecodedInst& in) {
  Step step;
  if (!whole_warp(x, in, step))
    return step;
  const auto& plan = x.plan<M8n8Plan>(in);
  const std::byte* sources[kMaxFragmentRegisters];
  source_lanes(x, in, 1, plan.map.registers(), sources);
  Tile tile;
  plan.map.gather(sources, tile.bytes);
  const bool ok = for_rows(x, in, plan, AccessKind::write, [&](std::byte* host, int row) {
    std::memcpy(host, tile.bytes + static_cast<size_t>(row) * kRowBytes, kRowBytes);
  });
  return ok ? Step::next : Step::stopped;
}

Step run_movmatrix(Exec& x, const DecodedInst& in) {
  Step step;
  if (!whole_warp(x, in, step))
    return step;
  const auto& plan = x.plan<M8n8Plan>(in);
  const std::byte* source = x.src<std::byte>(in, 0);
  std::byte* destination = x.dst<std::byte>(in, 0);
  Tile tile;
  plan.map.gather(&source, tile.bytes);
  plan.transposed.scatter(tile.bytes, &destination);
  return Step::next;
}

// The matrices of ldmatrix and stmatrix, and how their rows lie in memory. ldmatrix of .s8.s4 is no row of
// the catalogue: its rows are 8 bytes, which a byte of the register for each element makes 16.
layout::Fragment place_rows(const Instruction& instruction, M8n8Plan& plan) {
  const int num = instruction.has(Qual::x4) ? 4 : instruction.has(Qual::x2) ? 2 : 1;
  const MatrixRow* row = instruction.form()->matrix;
  const layout::Fragment fragment =
      row ? isa::memory_fragment(*row, num, instruction.has(Qual::trans)) : layout::m8n16_b8(num);
  plan.map = TileMap(fragment, MajorOrder::row);
  plan.rows = fragment.rows;
  if (!row || row->packing != Qual::none) {
    plan.packed_bits = row && row->packing == Qual::b6x16_p32 ? 6 : 4;
    plan.row_bytes = kRowBytes * plan.packed_bits / 8;
  }
  if (!row) {
    plan.is_signed = true;
    plan.row_align = plan.row_bytes;
  }
  return fragment;
}

bool select_m8n8(Decoder& decoder, const Instruction& instruction, DecodedInst& in) {
  const auto& operands = instruction.operands;
  if (operands.size() != 2)
    return false;
  auto& plan = decoder.make_plan<M8n8Plan>(in);
  const bool trans = instruction.has(Qual::trans);
  if (instruction.opcode == Opcode::movmatrix) {
    const MatrixRow& row = *instruction.form()->matrix;
    plan.map = TileMap(isa::memory_fragment(row, 1, false), MajorOrder::row);
    plan.transposed = TileMap(isa::memory_fragment(row, 1, true), MajorOrder::row);
    in.handler = run_movmatrix;
    decoder.set_simple_operands(in, Type::b32, Type::b32);
    return true;
  }
  const layout::Fragment fragment = place_rows(instruction, plan);
  plan.lanes = lane_places();
  const bool is_packed = plan.packed_bits != 0;
  plan.rows_are_quads = !trans && !is_packed && plan.rows == 8 * plan.map.registers();
  const bool load = instruction.opcode == Opcode::ldmatrix;
  const size_t registers = load ? 0 : 1;
  if (decoder.count(registers) != static_cast<size_t>(plan.map.registers()))
    return false;
  std::vector<Slot> dsts, srcs{place_address(decoder, load ? 1 : 0, in, plan.space)};
  if (load)
    decoder.add_dsts(dsts, registers, Type::b32);
  else
    decoder.add_srcs(srcs, registers, Type::b32);
  in.handler = load ? run_ldmatrix : run_stmatrix;
  in.asks_itself = 0;
  in.width = kRowBytes;
  decoder.set_operands(in, dsts, srcs);
  if (load && plan.space == StateSpace::shared && !is_packed && fragment.element_bits == 16)
    if (const Handler handler = vector_ldmatrix(plan.rows / 8, trans))
      in.handler = handler;
  return true;
}

} // namespace

std::optional<MatrixMove> matrix_move_of(const Code& code, const DecodedInst& in) {
  const Opcode opcode = code.opcode_of(in);
  switch (opcode) {
  case Opcode::ldmatrix:
  case Opcode::stmatrix:
  case Opcode::movmatrix: {
    const auto& plan = code.plan<M8n8Plan>(in);
    const bool moves = opcode == Opcode::movmatrix;
    return MatrixMove{.map = &plan.map,
                      .transposed = moves ? &plan.transposed : nullptr,
                      .piece_bytes = kRowBytes,
                      .packed_bits = plan.packed_bits,
                      .first_source = moves ? 0 : 1,
                      .addressing = moves ? 0 : static_cast<LaneMask>((uint64_t{1} << plan.rows) - 1)};
  }
  case Opcode::wmma_load:
  case Opcode::wmma_store: {
    const auto& plan = code.plan<WmmaMovePlan>(in);
    return MatrixMove{
        .map = &plan.map, .piece_bytes = plan.line_bytes, .first_source = 2, .addressing = kAllLanes};
  }
  default:
    return {};
  }
}

void add_matrix_selectors(SelectorTable& table) {
  table.add({Opcode::wmma_load, Opcode::wmma_store}, select_wmma_move);
  table.add({Opcode::ldmatrix, Opcode::stmatrix, Opcode::movmatrix}, select_m8n8);
}

} // namespace lemma::vgpu
