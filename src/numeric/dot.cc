// What a plan chooses: a way of its family, and where that takes no blocks, or only those of C and D, the
// same way after what lies in them was brought to rows. Here too: blocks to rows, a sparse A to a dense one,
// and what a way leaves.
//
// Tests: tests/unit/numeric/dot_test.cc, dot_levels_test.cc, dot_chain_test.cc.
#include "numeric/dot.h"

#include "numeric/dot_block_sums.h"
#include "numeric/dot_f64.h"
#include "numeric/dot_floats.h"
#include "numeric/dot_integers.h"
#include "numeric/dot_internal.h"

#include <algorithm>
#include <bitset>
#include <cstring>
#include <vector>

namespace lemma::numeric {
namespace internal {

size_t bytes_of_row(const DotModel& model, FloatFormat format, int k) {
  switch (model.scheme) {
  case DotScheme::integer:
    return static_cast<size_t>(k);
  case DotScheme::xor_popc:
  case DotScheme::and_popc:
    return static_cast<size_t>(k) / 8;
  default:
    return static_cast<size_t>(k * element_bytes(format));
  }
}

int bytes_of_result(const DotModel& model, FloatFormat format) {
  switch (model.scheme) {
  case DotScheme::integer:
  case DotScheme::xor_popc:
  case DotScheme::and_popc:
    return 4;
  default:
    return element_bytes(format);
  }
}

DotRows rows_of(const DotModel& model, const DotRows& rows, const DotArea& area) {
  if (area.m == rows.m && area.n == rows.n)
    return rows;
  const auto from = [](auto* array, size_t bytes) { return array ? array + bytes : nullptr; };
  const auto row = static_cast<size_t>(area.i), column = static_cast<size_t>(area.j);
  const size_t output = row * rows.stride + column;
  const size_t scales = model.scale_block != 0 ? static_cast<size_t>(rows.k / model.scale_block) : 0;
  DotRows part = rows;
  part.m = area.m;
  part.n = area.n;
  part.a = from(rows.a, row * bytes_of_row(model, model.a, rows.k));
  part.b = from(rows.b, column * bytes_of_row(model, model.b, rows.k_b));
  part.c = from(rows.c, output * static_cast<size_t>(bytes_of_result(model, model.c)));
  part.d = from(rows.d, output * static_cast<size_t>(bytes_of_result(model, model.d)));
  part.scale_a = from(rows.scale_a, row * scales);
  part.scale_b = from(rows.scale_b, column * scales);
  part.a_index = from(rows.a_index, row * static_cast<size_t>(rows.k));
  return part;
}

DotRows rows_of(const DotPlan& plan, const DotTile& tile, const DotArea& area) {
  const DotShape& shape = plan.shape();
  const bool has_outputs = plan.layout().blocks == DotBlocks::none;
  const DotRows whole{.m = shape.m,
                      .n = shape.n,
                      .k = shape.k,
                      .k_b = shape.columns_of_b(),
                      .a = tile.a.rows(),
                      .b = tile.b.rows(),
                      .c = has_outputs ? tile.c.rows() : nullptr,
                      .d = has_outputs ? tile.d.rows() : nullptr,
                      .scale_a = tile.scale_a,
                      .scale_b = tile.scale_b,
                      .a_index = shape.is_sparse() ? tile.a_index : nullptr,
                      .stride = plan.row_stride()};
  return rows_of(plan.model(), whole, area);
}

namespace {

DotArea all_of(const DotShape& shape) {
  return {0, shape.m, 0, shape.n};
}

// --- from blocks to rows

constexpr size_t kBlockRows = 8;

// Are the rows of the model's blocks 32 bytes in place of 16?
bool has_wide_blocks(const DotModel& model) {
  return bytes_of_result(model, model.d) == 8;
}

// Rows that lie in blocks, `pitch` bytes apart there (DotPlace::pitch), one after the other.
template <size_t kBytes>
void copy_rows(const DotPlace<const std::byte>& place, size_t rows, size_t row_bytes, bool even_first,
               std::byte* to) {
  const std::byte* const* blocks = place.blocks();
  const size_t in_row = row_bytes / kBytes, apart = place.pitch() != 0 ? place.pitch() : kBytes;
  for (size_t row = 0; row < rows; ++row) {
    const size_t in_block = row % kBlockRows;
    const size_t from = even_first ? in_block % 4 * 2 + in_block / 4 : in_block;
    for (size_t block = 0; block < in_row; ++block, to += kBytes)
      std::memcpy(to, blocks[row / kBlockRows * in_row + block] + from * apart, kBytes);
  }
}

// The same tile with A and B in rows, where the plan has all in blocks.
DotTile bring_operands(const DotPlan& plan, const DotTile& tile, DotScratch& scratch) {
  const DotShape& shape = plan.shape();
  const auto m = static_cast<size_t>(shape.m), n = static_cast<size_t>(shape.n);
  const DotModel& model = plan.model();
  const size_t a_bytes = bytes_of_row(model, model.a, shape.k),
               b_bytes = bytes_of_row(model, model.b, shape.k);
  auto* const a = scratch.make<std::byte>(DotScratch::Use::operands, m * a_bytes + n * b_bytes);
  std::byte* const b = a + m * a_bytes;
  const auto copy = has_wide_blocks(model) ? copy_rows<32> : copy_rows<16>;
  copy(tile.a, m, a_bytes, false, a);
  copy(tile.b, n, b_bytes, plan.layout().even_columns_first, b);
  DotTile in_rows = tile;
  in_rows.a = a;
  in_rows.b = b;
  return in_rows;
}

// C and D of an area in rows of its own, where they lie in blocks.
class OutputsInRows {
public:
  OutputsInRows(const DotPlan& plan, const DotTile& tile, DotScratch& scratch, const DotArea& area)
      : plan_(plan), tile_(tile), area_(area), d_bytes_(bytes_of_result(plan.model(), plan.model().d)),
        d_(scratch.make<std::byte>(DotScratch::Use::outputs,
                                   static_cast<size_t>(area.m) * static_cast<size_t>(area.n * d_bytes_))) {
    if (tile.c)
      visit(tile.c.blocks(),
            [](const std::byte* block, std::byte* row, size_t bytes) { std::memcpy(row, block, bytes); });
  }

  const std::byte* c() const { return tile_.c ? d_ : nullptr; }
  std::byte* d() const { return d_; }
  void store() const {
    visit(tile_.d.blocks(),
          [](std::byte* block, const std::byte* row, size_t bytes) { std::memcpy(block, row, bytes); });
  }

private:
  // Calls visit(a row of a block, its place in the rows, its bytes).
  template <class Byte, class Visit>
  void visit(Byte* const* blocks, Visit visit) const {
    has_wide_blocks(plan_.model()) ? visit_blocks<32>(blocks, visit) : visit_blocks<16>(blocks, visit);
  }
  template <size_t kBytes, class Byte, class Visit>
  void visit_blocks(Byte* const* blocks, Visit visit) const {
    const auto in_row = [&](int columns) { return static_cast<size_t>(columns * d_bytes_) / kBytes; };
    const auto first = static_cast<size_t>(area_.i);
    std::byte* to = d_;
    for (size_t row = first; row < first + static_cast<size_t>(area_.m); ++row) {
      Byte* const* of_row = blocks + row / kBlockRows * in_row(plan_.shape().n) + in_row(area_.j);
      for (size_t block = 0; block < in_row(area_.n); ++block, to += kBytes)
        visit(of_row[block] + row % kBlockRows * kBytes, to, kBytes);
    }
  }

  const DotPlan& plan_;
  const DotTile& tile_;
  DotArea area_;
  int d_bytes_;
  std::byte* d_;
};

// The way of a plan that has in rows what is brought there first: A and B, or C and D.
class InRowsWay final : public DotWay {
public:
  explicit InRowsWay(DotPlan inner) : inner_(std::move(inner)) {}

  bool run(const DotPlan& plan, const DotTile& tile, DotScratch& scratch,
           MatrixOutputs& paths) const override {
    if (plan.layout().blocks == DotBlocks::all) {
      paths += dot(inner_, bring_operands(plan, tile, scratch), scratch);
      return true;
    }
    const OutputsInRows outputs(plan, tile, scratch, all_of(plan.shape()));
    DotTile in_rows = tile;
    in_rows.c = outputs.c();
    in_rows.d = outputs.d();
    paths += dot(inner_, in_rows, scratch);
    outputs.store();
    return true;
  }

  void arrange(const DotPlan&, const DotTile& tile, ArrangedB::Content& out) const override {
    inner_.way()->arrange(inner_, tile, out);
  }

private:
  DotPlan inner_; // which has a way
};

// For matrices that lie as the plan says.
std::shared_ptr<const DotWay> way_for_layout(const DotPlan& plan, DotLevel level) {
  switch (plan.model().scheme) {
  case DotScheme::fused:
  case DotScheme::split_quad:
    return float_way(plan, level);
  case DotScheme::block_sums:
    return block_sums_way(plan, level);
  case DotScheme::fma_chain:
    return f64_way(plan, level);
  case DotScheme::scalar_k4:
    return nullptr;
  case DotScheme::integer:
    return integer_way(plan, level);
  case DotScheme::xor_popc:
  case DotScheme::and_popc:
    return bit_way(plan, level);
  }
  return nullptr;
}

std::shared_ptr<const DotWay> way_of(const DotPlan& plan) {
  const DotBlocks blocks = plan.layout().blocks;
  auto way = way_for_layout(plan, dot_level());
  if (way || blocks == DotBlocks::none)
    return way;
  const DotPlan inner(plan.model(), plan.shape(),
                      {.blocks = blocks == DotBlocks::all ? DotBlocks::outputs : DotBlocks::none});
  return inner.way() ? std::make_shared<InRowsWay>(inner) : nullptr;
}

} // namespace

MatrixOutputs run_rest(const DotPlan& plan, const DotTile& tile, DotScratch& scratch, const DotArea& area) {
  const DotBlocks blocks = plan.layout().blocks;
  DotRows rows = blocks == DotBlocks::all ? rows_of(plan, bring_operands(plan, tile, scratch), area)
                                          : rows_of(plan, tile, area);
  if (blocks == DotBlocks::none)
    return dot_rows(plan.model(), rows, scratch);
  const OutputsInRows outputs(plan, tile, scratch, area);
  rows.c = outputs.c();
  rows.d = outputs.d();
  rows.stride = static_cast<size_t>(area.n);
  const MatrixOutputs paths = dot_rows(plan.model(), rows, scratch);
  outputs.store();
  return paths;
}

namespace {

// --- from a sparse A to a dense one

constexpr size_t kMaxColumns = 128; // of B where A is sparse

// Do all stored elements of a row meet different columns?
bool are_distinct(const uint8_t* columns, size_t count) {
  std::bitset<kMaxColumns> taken;
  for (size_t s = 0; s < count; ++s) {
    if (taken[columns[s]])
      return false;
    taken[columns[s]] = true;
  }
  return true;
}

// A row of a sparse A to where its elements belong in a dense one; false where there is no such row.
// `in_fours`: elements have to stay among the four columns, or two, that are their own.
template <size_t kBytes>
bool spread_row(const std::byte* stored, const uint8_t* columns, size_t count, bool in_fours,
                std::byte* row) {
  std::memset(row, 0, 2 * count * kBytes);
  size_t astray = 0;
  for (size_t s = 0; s < count; s += 2) {
    const size_t first = columns[s], second = columns[s + 1];
    astray |= (first / 4 ^ s / 2) | (second / 4 ^ s / 2) | size_t{first == second};
    std::memcpy(row + first * kBytes, stored + s * kBytes, kBytes);
    std::memcpy(row + second * kBytes, stored + (s + 1) * kBytes, kBytes);
  }
  return astray == 0 || (!in_fours && are_distinct(columns, count));
}

} // namespace

bool may_be_dense(const DotPlan& plan) {
  const DotShape& shape = plan.shape();
  return shape.k_b == 2 * shape.k && static_cast<size_t>(shape.k_b) <= kMaxColumns && shape.k % 2 == 0;
}

const std::byte* dense_a(const DotPlan& plan, const DotTile& tile, DotScratch& scratch) {
  const auto m = static_cast<size_t>(plan.shape().m), k = static_cast<size_t>(plan.shape().k);
  const size_t row_bytes = bytes_of_row(plan.model(), plan.model().a, plan.shape().k), bytes = row_bytes / k;
  auto* const dense = scratch.make<std::byte>(DotScratch::Use::dense_a, m * 2 * row_bytes);
  const auto spread = bytes == 1 ? spread_row<1> : bytes == 2 ? spread_row<2> : spread_row<4>;
  const bool in_fours = plan.model().scheme != DotScheme::integer;
  for (size_t i = 0; i < m; ++i)
    if (!spread(tile.a.rows() + i * row_bytes, tile.a_index + i * k, k, in_fours, dense + i * 2 * row_bytes))
      return nullptr;
  return dense;
}

} // namespace internal

DotPlan::DotPlan(const DotModel& model, const DotShape& shape, const DotLayout& layout)
    : model_(model), shape_(shape), layout_(layout), way_(internal::way_of(*this)) {}

ArrangedB::ArrangedB() : content_(std::make_unique<Content>()) {}
ArrangedB::~ArrangedB() = default;
ArrangedB::ArrangedB(ArrangedB&&) noexcept = default;
ArrangedB& ArrangedB::operator=(ArrangedB&&) noexcept = default;

void ArrangedB::arrange(const DotPlan& plan, const DotTile& tile) {
  content_->form = Content::Form::none;
  if (plan.way())
    plan.way()->arrange(plan, tile, *content_);
}

DotModel chainable(const DotModel& model, int k) {
  DotModel out = model;
  if (model.scheme == DotScheme::fused && model.scale_block == 0 && model.c == model.d &&
      model.max_fused_k == 0)
    out.max_fused_k = k;
  if (model.scheme == DotScheme::integer && model.satfinite)
    out.max_fused_k = k;
  return out;
}

int longest_chain(const DotModel& model, int k) {
  if (model.scheme == DotScheme::integer)
    return model.satfinite && model.max_fused_k != k ? 1 : std::max(1, internal::kMaxIntegerK / k);
  if (model.scheme == DotScheme::fma_chain && model.c == model.d)
    return std::max(1, internal::kMaxF64K / k);
  const bool is_chain = model.scheme == DotScheme::fused && model.scale_block == 0 && model.c == model.d &&
                        model.max_fused_k != 0 && k % model.max_fused_k == 0;
  return is_chain ? std::max(1, internal::kMaxFloatK / k) : 1;
}

std::vector<DotPlan> make_chain(const DotModel& model, const DotShape& shape, const DotLayout& layout) {
  if (shape.is_sparse())
    return {DotPlan(model, shape, layout)};
  const DotModel chain = chainable(model, shape.k);
  const int longest = std::min(kMostInChain, longest_chain(chain, shape.k));
  std::vector<DotPlan> plans;
  for (int steps = 1; steps <= longest; ++steps)
    plans.emplace_back(chain, DotShape{.m = shape.m, .n = shape.n, .k = steps * shape.k}, layout);
  return plans;
}

MatrixOutputs dot(const DotPlan& plan, const DotTile& tile, DotScratch& scratch) {
  MatrixOutputs paths;
  if (plan.way() && plan.way()->run(plan, tile, scratch, paths))
    return paths;
  return internal::run_rest(plan, tile, scratch, internal::all_of(plan.shape()));
}

} // namespace lemma::numeric
