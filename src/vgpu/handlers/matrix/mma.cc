// mma.sync, wmma.mma.
//
// Everything about an instruction comes from its row of the catalogue: at decoding a row becomes tables that
// move fragments between registers and dense tiles (layout::TileMap) and a numeric::DotPlan by the machine's
// model; executing is gather, dot() on whole tiles, scatter. Several that stand together may become one
// product: mma_runs.h.
#include "vgpu/handlers/matrix/mma.h"

#include "isa/catalogue.h"
#include "isa/form.h"
#include "isa/machine.h"
#include "isa/matrix_model.h"
#include "numeric/convert.h"
#include "vgpu/code/decoder.h"
#include "vgpu/handlers/matrix/matrix_operands.h"

#include <algorithm>
#include <cstring>

namespace lemma::vgpu {

using isa::MatrixRow;
using isa::Opcode;
using isa::Qual;
using isa::Type;
using layout::MajorOrder;
using layout::Matrix;
using layout::TileMap;
using numeric::FloatFormat;
using ptx::Instruction;
using ptx::Operand;

namespace {

constexpr size_t kMaxScales = 16 * 4; // of A
constexpr size_t kMaxSparseIndices = 16 * 64;

void narrow_to_f16(const Tile& from, Tile& to, int count) {
  for (int i = 0; i < count; ++i) {
    uint32_t wide;
    std::memcpy(&wide, from.bytes + i * 4, 4);
    const auto narrow =
        static_cast<uint16_t>(numeric::convert_float(FloatFormat::f16, FloatFormat::f32, wide));
    std::memcpy(to.bytes + i * 2, &narrow, 2);
  }
}

// Elements of four bits, `bytes` of them in pairs, to one a byte; the low one first.
void spread_nibbles(std::byte* tile, int bytes) {
  for (int i = bytes - 1; i >= 0; --i) {
    const std::byte pair = tile[i];
    tile[2 * i] = pair & std::byte{0xf};
    tile[2 * i + 1] = pair >> 4;
  }
}

// The bits around an element are padding.
void take_from_containers(std::byte* tile, int bytes, Container container) {
  if (container.bits == 8)
    return;
  const auto mask = static_cast<std::byte>((1 << container.bits) - 1);
  for (int i = 0; i < bytes; ++i)
    tile[i] = tile[i] >> container.shift & mask;
}

} // namespace

Step run_mma(Exec& x, const DecodedInst& in) {
  return multiply(x, in, x.plan<MmaPlan>(in));
}

Step multiply(Exec& x, const DecodedInst& in, const MmaPlan& plan) {
  Step step;
  if (!whole_warp(x, in, step))
    return step;
  const std::byte* sources[kMaxFragmentRegisters];
  Tile a, b, c, d, narrow;
  int first = 0;
  const auto gather = [&](const TileMap& map, Tile& tile) {
    source_lanes(x, in, first, map.distinct_registers(), sources);
    map.gather(sources, tile.bytes);
    first += map.registers();
  };
  gather(plan.a, a);
  gather(plan.b, b);
  gather(plan.c, c);
  if (plan.nibbles) {
    spread_nibbles(a.bytes, plan.a.tile_bytes());
    spread_nibbles(b.bytes, plan.b.tile_bytes());
  }
  take_from_containers(a.bytes, plan.a.tile_bytes(), plan.container_a);
  take_from_containers(b.bytes, plan.b.tile_bytes(), plan.container_b);

  numeric::DotTile tile;
  uint8_t a_index[kMaxSparseIndices];
  if (plan.sparse) {
    const auto* metadata = x.src<uint32_t>(in, first);
    if (in.checks_init)
      x.check_written(in, first, plan.sparse->lanes());
    if (!plan.sparse->check(x, in, metadata))
      return Step::stopped;
    plan.sparse->decode(metadata, a_index);
    tile.a_index = a_index;
    ++first;
  }
  uint8_t scale_a[kMaxScales], scale_b[kMaxScales];
  if (plan.scales.any()) {
    if (!plan.scales.read(x, in, first, scale_a, scale_b))
      return Step::stopped;
    tile.scale_a = scale_a;
    tile.scale_b = scale_b;
  }
  for (int i = 0; i < plan.matrices; ++i) {
    const auto part = [&](const TileMap& map, std::byte* bytes) {
      return bytes + map.tile_bytes() / plan.matrices * i;
    };
    tile.a = part(plan.a, a.bytes);
    tile.b = part(plan.b, b.bytes);
    tile.c = part(plan.c, c.bytes);
    tile.d = part(plan.d, d.bytes);
    x.stats.matrix_outputs += numeric::dot(plan.product, tile, x.dot_scratch);
  }
  if (plan.narrow_result)
    narrow_to_f16(d, narrow, plan.shape.m * plan.shape.n); // never of several matrices

  std::byte* destinations[kMaxFragmentRegisters];
  destination_lanes(x, in, plan.d.registers(), destinations);
  plan.d.scatter(plan.narrow_result ? narrow.bytes : d.bytes, destinations);
  x.stats.matrix_flops += plan.flops;
  return Step::next;
}

namespace {

Container container_of(const MatrixRow& row, Matrix matrix, Type type) {
  if (isa::container_bits(row, matrix, type) != 8)
    return {};
  if (type == Type::e2m1)
    return {.shift = isa::kContainerShift, .bits = 4};
  return {.shift = 0, .bits = type == Type::e3m2 || type == Type::e2m3 ? 6 : 8};
}

// What all instructions of a binding do; of sparse ones, those with this selector. Nothing: the machine has
// no such arithmetic.
std::optional<MmaPlan> mma_plan(const isa::Binding& binding, int machine, int selector) {
  const MatrixRow& row = *binding.form->matrix;
  const auto arithmetic = isa::arithmetic_of(machine);
  const auto model =
      arithmetic ? isa::matrix_model(row, binding.quals, binding.types, *arithmetic) : std::nullopt;
  if (!model)
    return std::nullopt;
  MmaPlan plan;
  plan.narrow_result = model->narrow_result;
  plan.shape = row.shape;
  plan.matrices = row.fragments == isa::FragmentRule::mma_m8n8k4 ? 4 : 1;
  plan.flops = isa::flops_of(row);
  const auto type = [&](Matrix matrix) { return isa::type_of(row, matrix, binding.types); };
  const auto fragment = [&](Matrix matrix) {
    return isa::fragment_of(row, matrix, type(matrix), isa::order_of(binding, matrix));
  };
  const auto lay_out = [&](Matrix matrix, MajorOrder order) {
    plan.register_types[static_cast<size_t>(matrix)] = isa::registers_of(row, matrix, type(matrix)).type;
    return TileMap(fragment(matrix), order);
  };
  // dot() wants K contiguous in both multiplicands.
  plan.d = lay_out(Matrix::d, MajorOrder::row);
  plan.a = lay_out(Matrix::a, MajorOrder::row);
  plan.b = lay_out(Matrix::b, MajorOrder::col);
  plan.c = lay_out(Matrix::c, MajorOrder::row);
  const int bits = isa::container_bits(row, Matrix::a, type(Matrix::a));
  if (row.sparse != Qual::none)
    plan.sparse = SparseIndex(row.shape.k, bits, selector, row.sparse == Qual::sp_ordered_metadata);
  plan.product = numeric::DotPlan(model->dot, {.m = row.shape.m,
                                               .n = row.shape.n,
                                               .k = plan.sparse ? plan.sparse->stored() : row.shape.k,
                                               .k_b = row.shape.k});
  plan.nibbles = bits == 4;
  plan.container_a = container_of(row, Matrix::a, type(Matrix::a));
  plan.container_b = container_of(row, Matrix::b, type(Matrix::b));
  if (row.scale_vec != Qual::none)
    plan.scales = ScaleOperands(row.shape, isa::scales_of(row));
  if (!plan.sparse && !plan.scales.any() && plan.matrices == 1 && !plan.narrow_result && !plan.nibbles &&
      plan.container_a.bits == 8 && plan.container_b.bits == 8 && type(Matrix::c) == type(Matrix::d))
    plan.blocks = layout::register_blocks(fragment(Matrix::a), fragment(Matrix::b), fragment(Matrix::d));
  return plan;
}

bool select_mma(Decoder& decoder, const Instruction& instruction, DecodedInst& in) {
  const auto& operands = instruction.operands;
  const isa::Binding& binding = *instruction.binding;
  const MatrixRow& row = *binding.form->matrix;
  const bool sparse = row.sparse != Qual::none;
  const size_t scale_operands =
      sparse ? 6 : 4; // the first of them; metadata and the sparsity selector before
  if (operands.size() != scale_operands + (row.scale_vec == Qual::none ? 0 : 4))
    return false;
  const int selector = sparse ? static_cast<int>(operands[5].bits) : 0;
  const MmaPlan* plan = decoder.shared_plan<MmaPlan>(in, binding, static_cast<uint64_t>(selector), [&] {
    return mma_plan(binding, decoder.program().arch().sm, selector);
  });
  if (!plan)
    return false;

  std::vector<Slot> dsts, srcs;
  // Operands come as D A B C.
  const auto place = [&](size_t index, Matrix matrix, const TileMap& map) {
    const Type type = plan->register_types[static_cast<size_t>(matrix)];
    if (matrix == Matrix::d)
      decoder.add_dsts(dsts, index, type);
    else
      decoder.add_srcs(srcs, index, type);
    return decoder.count(index) == static_cast<size_t>(map.registers()) &&
           static_cast<size_t>(map.tile_bytes()) <= kMaxTileBytes;
  };
  if (!place(0, Matrix::d, plan->d) || !place(1, Matrix::a, plan->a) || !place(2, Matrix::b, plan->b) ||
      !place(3, Matrix::c, plan->c))
    return false;
  if (sparse) {
    in.asks_itself = static_cast<uint8_t>(srcs.size()); // not every lane has metadata
    srcs.push_back(decoder.src(4, Type::b32));
  }
  if (plan->scales.any() && !plan->scales.place(decoder, instruction, scale_operands, srcs))
    return false;
  in.handler = run_mma;
  decoder.set_operands(in, dsts, srcs);
  return true;
}

} // namespace

void add_mma_selectors(SelectorTable& table) {
  table.add({Opcode::mma, Opcode::wmma_mma}, select_mma);
}

} // namespace lemma::vgpu
