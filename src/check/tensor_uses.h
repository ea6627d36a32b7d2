// What is remembered of tensor memory: for every cell which operations of tcgen05 have used it that the next
// one may have to come after.
//
// Neighbouring columns are used alike nearly always. So the cells of a column's quarter have one history, and
// those that were used alike share it: what one use makes of a history, and what is said of it, is worked out
// once.
//
// Not here: which operations precede which (tensor_order.cc).
//
// Tests: tests/unit/check/tensor_order_test.cc.
#pragma once

#include "check/clock.h"
#include "check/statement.h"
#include "layout/tensor_memory.h"
#include "vgpu/memory/tensor_memory.h"

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace lemma::check {

enum class TensorDeed : uint8_t { load, store, product, copy, shift, release };

// An operation on tensor memory. Of a product, a copy, a shift: one thread's; of the others a warp's, in lane
// 0.
struct TensorOperation {
  TensorDeed deed = TensorDeed::load;
  Statement who;
  uint32_t issuer = 0; // agent of the warp, and its time when it was issued
  Epoch issued = 0;
  int lane = 0;
  uint32_t agent = 0; // that stands for it, and its epoch: when that is known, the operation is complete
  Epoch epoch = 0;
  // Of a product: where D is and which kind and size it has. Products that agree in it run in their order.
  std::array<uint32_t, 3> accumulator{};
  bool is_of_4x256b = false; // a copy

  bool is_by_warp() const { return is_move() || deed == TensorDeed::release; }
  bool is_move() const { return deed == TensorDeed::load || deed == TensorDeed::store; }
};

class TensorUses {
public:
  struct Use {
    std::shared_ptr<const TensorOperation> by;
    LaneMask lanes = 0; // of the quarter
    bool writes = false;
  };
  // Where a use meets an earlier one.
  struct Place {
    uint32_t cta_rank = 0, column = 0, quarter = 0;
    LaneMask lanes = 0; // of both
  };
  // A use meets an earlier one that has to precede it; told once for each history.
  using Meets = std::function<void(const Use& earlier, const Use& later, const Place& place)>;

  explicit TensorUses(size_t ctas) : cells_(ctas) {}

  // Lanes of a quarter of a column are used. `meets` is told of the earlier uses with which it conflicts, the
  // newest first, but for those that came before one of them.
  void use(uint32_t cta_rank, uint32_t column, uint32_t quarter, Use use, const Meets& meets);
  // The columns are nobody's any more.
  void forget(uint32_t cta_rank, uint32_t column, uint32_t columns);

private:
  using History = std::vector<Use>;            // in the order of issue
  using Cell = std::shared_ptr<const History>; // null: nobody has used it
  struct Columns {
    std::array<Cell, size_t{layout::kTensorColumns} * vgpu::TensorMemory::kQuarters> cells;
  };
  static History after(const History& before, const Use& use, const Place& place, const Meets& meets);

  std::vector<std::unique_ptr<Columns>> cells_; // by rank; null: none was used
  // The last use of each quarter, and what it has made of which history.
  struct Made {
    Use by;
    Cell before, after;
  };
  std::array<Made, vgpu::TensorMemory::kQuarters> last_;
};

} // namespace lemma::check
