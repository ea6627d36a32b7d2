// What the files of dot() share: the ways, one a family of schemes, and the code that takes what they leave.
// Not for other folders.
//
// Tests: tests/unit/numeric/dot_test.cc.
#pragma once

#include "numeric/dot.h"
#include "numeric/dot_levels.h"

#include <cstring>
#include <memory>

namespace lemma::numeric {

struct ArrangedB::Content {
  // Whose form it is.
  enum class Form : uint8_t { none, floats, integers, tiles };

  Form form = Form::none;
  internal::DotLevel level = internal::DotLevel::scalar; // that it is arranged for
  internal::Lines lines;

  template <class T>
  T* make(Form of_form, internal::DotLevel of_level, size_t count) {
    form = of_form;
    level = of_level;
    return lines.make<T>(count);
  }
};

} // namespace lemma::numeric

namespace lemma::numeric::internal {

// What `tile` brings of that form for the level; null: nothing.
template <class T>
const T* arranged(const DotTile& tile, ArrangedB::Content::Form form, DotLevel level) {
  const ArrangedB::Content* content = tile.arranged_b ? &tile.arranged_b->content() : nullptr;
  return content && content->form == form && content->level == level ? content->lines.as<T>() : nullptr;
}

// How products of a plan are computed: the loops of a family of schemes at a level of the host, and what they
// need to know of all of the plan's products. A function of each family's header makes it (float_way() of
// dot_floats.h), or says that there is none by null: of the scheme, but for another format, size, layout or
// level. The plan of run() and arrange() is the one that the way was made for.
class DotWay {
public:
  virtual ~DotWay() = default;
  // Writes the whole tile and adds its outputs to `paths`; or returns false, having written nothing, where
  // the numbers of the tile ask for the scalar code.
  virtual bool run(const DotPlan& plan, const DotTile& tile, DotScratch& scratch,
                   MatrixOutputs& paths) const = 0;
  // `out` becomes the B of `tile`, in rows, as run() takes it, if that has a form of its own.
  virtual void arrange(const DotPlan&, const DotTile&, ArrangedB::Content&) const {}
};

// Rows [i, i + m) and columns [j, j + n) of a product's outputs; of blocks whole ones.
struct DotArea {
  int i, m, j, n;
};

// What a way leaves, or all of a product that has none, by the code that takes every number.
MatrixOutputs run_rest(const DotPlan& plan, const DotTile& tile, DotScratch& scratch, const DotArea& area);

// A product that lies in rows, or a part of one, as the code that takes every number has it.
struct DotRows {
  int m, n, k, k_b; // k_b: columns of b
  const std::byte *a, *b, *c;
  std::byte* d;
  const uint8_t *scale_a, *scale_b, *a_index; // null: none, as c
  size_t stride;                              // elements from a row of c and d to the next

  // The column of b that meets element k of row i of a.
  size_t column(size_t i, size_t k) const {
    return a_index != nullptr ? a_index[i * static_cast<size_t>(this->k) + k] : k;
  }
};

// That part of the tile, whose A and B lie in rows. Without c and d where those lie in blocks.
DotRows rows_of(const DotPlan& plan, const DotTile& tile, const DotArea& area);
DotRows rows_of(const DotModel& model, const DotRows& rows, const DotArea& area);

// All of it, whatever it holds (dot_scalar.cc).
MatrixOutputs dot_rows(const DotModel& model, const DotRows& rows, DotScratch& scratch);
// DotScheme::fused and split_quad (dot_fused.cc).
void dot_fused(const DotModel& model, const DotRows& rows, DotScratch& scratch);
// DotScheme::block_sums (dot_fused.cc).
void dot_block_sums(const DotModel& model, const DotRows& rows);

// The A of a sparse product in rows of k_b, its zeros included, which are never the largest term and add
// nothing to an exact sum. Null where two stored elements meet the same column, or one is not among the four
// columns, or two, that are its own: the steps of the fused rule would fall elsewhere. For plans that
// may_be_dense(), of elements of up to 4 bytes.
const std::byte* dense_a(const DotPlan& plan, const DotTile& tile, DotScratch& scratch);
bool may_be_dense(const DotPlan& plan);

// Bytes of a row of A or B, whose format that is, and of an element of C or D.
size_t bytes_of_row(const DotModel& model, FloatFormat format, int k);
int bytes_of_result(const DotModel& model, FloatFormat format);

// A or B in blocks (DotBlocks); `at` null: in rows.
struct OperandBlocks {
  const std::byte* const* at = nullptr;
  bool even_first = false; // of every eight rows
};

// Where A and B of the tile lie, if in blocks.
inline OperandBlocks blocks_of_a(const DotPlan& plan, const DotTile& tile) {
  return {plan.layout().blocks == DotBlocks::all ? tile.a.blocks() : nullptr, false};
}
inline OperandBlocks blocks_of_b(const DotPlan& plan, const DotTile& tile) {
  return {plan.layout().blocks == DotBlocks::all ? tile.b.blocks() : nullptr,
          plan.layout().even_columns_first};
}

// Where C and D of the tile lie, in whatever a family has for its loops.
template <class Lanes>
void place_outputs(const DotPlan& plan, const DotTile& tile, Lanes& lanes) {
  if (plan.layout().blocks == DotBlocks::none) {
    lanes.c = tile.c.rows();
    lanes.d = tile.d.rows();
  } else {
    lanes.c_blocks = tile.c.blocks();
    lanes.blocks = tile.d.blocks();
  }
}

// Can the loops of a level take operands as they lie in this plan?
inline bool takes_operands(DotLevel level, const DotPlan& plan) {
  return plan.layout().blocks != DotBlocks::all || (without_integers(level) == DotLevel::avx512 &&
                                                    plan.shape().m % 16 == 0 && plan.shape().n % 16 == 0);
}

// C of f16 is converted before an instruction with accumulators of f32, so that its subnormals are normalized
// terms: measured on an H200 (wmma).
constexpr bool widens_c(const DotModel& model) {
  return model.c == FloatFormat::f16 && model.d == FloatFormat::f32;
}

constexpr int element_bytes(FloatFormat format) {
  const int bits = traits(format).storage_bits;
  return bits <= 8 ? 1 : bits / 8;
}

// By cases, because a memcpy of unknown size is a call.
inline uint64_t load_element(const void* array, size_t index, int bytes) {
  const auto load = [&]<class T>(T value) -> uint64_t {
    std::memcpy(&value, static_cast<const uint8_t*>(array) + index * sizeof(T), sizeof(T));
    return value;
  };
  switch (bytes) {
  case 1:
    return load(uint8_t{});
  case 2:
    return load(uint16_t{});
  case 4:
    return load(uint32_t{});
  default:
    return load(uint64_t{});
  }
}

inline void store_element(void* array, size_t index, int bytes, uint64_t bits) {
  const auto store = [&]<class T>(T) {
    const T value = static_cast<T>(bits);
    std::memcpy(static_cast<uint8_t*>(array) + index * sizeof(T), &value, sizeof(T));
  };
  switch (bytes) {
  case 1:
    return store(uint8_t{});
  case 2:
    return store(uint16_t{});
  case 4:
    return store(uint32_t{});
  default:
    return store(uint64_t{});
  }
}

} // namespace lemma::numeric::internal
