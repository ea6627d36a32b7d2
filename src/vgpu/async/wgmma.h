// The wgmma operations of a warpgroup that are in flight.
//
// An operation is one of the whole warpgroup. Each warp numbers those it issues, and what the four warps
// issue under one number is one operation: it can execute once all four have. Shared memory is read when it
// executes. At every commit_group, an empty one too, the warps wait for each other, so that whoever has
// passed it knows that the operation is under way in all four; measured on an H200, where a warp that is late
// at the fence, the operation or the commit_group holds the others at their commit_group until it has come
// there.
//
// AsyncMode::eager: operations execute when the four warps meet, on the registers themselves; A from
// registers is taken when each warp issues its part. Several in a row on the same accumulators are one
// product, several times as deep: accumulators are read and written once. The warps meet at the commit_group,
// but a warp that could touch its accumulators before meets the others at the operation already
// (lowered/wgmma.h), and so no warp ever finds an operation of its own that has not executed, nor leaves the
// function whose registers one works on. An observer is told of each operation by itself, when the fourth
// warp issues it: it executes then.
//
// AsyncMode::late: an operation executes when the first warp waits for its group. Until a warp waits itself,
// its accumulators, and A in registers, are in flight: what the operation works on is a view, the registers
// as they were at the last wgmma.fence with the results of earlier operations in it, and the warp's own
// registers keep what they held. A program that does not fence what it wrote gets other bits; but a plain mov
// behind a fence, to a register that no operation since has had, counts as in front of it: compilers put the
// zeros of new accumulators there, and ptxas passes it without a word. A view is of
// one activation of a function; accumulators of one that has returned are a fault when their group is waited
// for. AsyncMode::random is the same, but that some operations execute, on the view, when they are issued.
//
// Registers in flight that other instructions touch: ptxas 13 sees them and makes code that waits, or makes
// the operations wait for each other, and on an H200 all these forms store what the program would with a wait
// before the instruction (measured: tests/golden/asked/flight.csv, accumulators of f32 and f16; mov, add, st,
// cvt, shfl, a branch, a guard, st.param of a call, in loops, before and after commit_group, behind
// wait_group 1, without any wait; registers of A that are written). So an instruction that reads an
// accumulator waits for it in every mode, and what one writes stays. Not so a loop that ptxas unrolls: of f16
// accumulators that Triton unpacks to halves in flight, and packs again, it leaves out whole products
// (tests/golden/asked/f16_loops.csv: ptxas 12.8 to 13.4, but for -O1), which no rule foresees; a run computes
// them, and warns. Nor what ptxas does not see, since a wgmma.fence stands between and no wait:
//
//   - an operation that has an accumulator in flight as A: the H200 reads what is there so far. Here, in
//     AsyncMode::late: what was there before.
//   - an accumulator in flight that is written, and the next operation on it: the H200 loses the write, or
//     what the first operation had added by then. Here: the write.
//
// PTX ISA: "Asynchronous Warpgroup Level Matrix Instructions": wgmma.fence, commit_group, wait_group.
// Tests: tests/unit/vgpu/wgmma_test.cc, wgmma_group_test.cc, wgmma_flight_test.cc.
#pragma once

#include "support/memory_budget.h"
#include "vgpu/code/inst_id.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

namespace lemma::vgpu {

struct AsyncOperation;
struct Code;
struct Frame;

inline constexpr uint32_t kWarpsInGroup = 4;

// Registers of a warp as wgmma sees them.
struct WgmmaView {
  const Frame* frame = nullptr; // whose: in this activation
  uint64_t activation = 0;
  std::vector<std::byte> registers; // as Frame::data
  MemoryShare taken;                // for them
};

struct WgmmaOperation {
  const Code* code = nullptr;
  InstId instruction = {};
  uint32_t first_warp = 0;   // to issue it; its index in the CTA
  uint32_t issued = 0;       // warps that have
  uint64_t a_descriptor = 0; // 0: A is in registers
  uint64_t b_descriptor = 0;
  bool accumulates = false;                     // scale-d
  std::shared_ptr<AsyncOperation> watched = {}; // the same for an observer; null without one

  // What each warp gives, as the frame of its function: the frame itself, or a view of it.
  struct Part {
    std::byte* frame = nullptr;
    std::shared_ptr<WgmmaView> view;
    std::byte* registers() const { return view ? view->registers.data() : frame; }
  };
  std::array<Part, kWarpsInGroup> parts;
  // What was taken from registers: A in rows, and the columns that a sparse one meets. By warp. Metadata is
  // taken when it is issued; A too in AsyncMode::eager, else when it executes, from the view, but where it is
  // taken already.
  std::array<bool, kWarpsInGroup> took_a{};
  std::vector<std::byte> a;
  std::vector<uint8_t> a_index;
};

// Where the warps of a group wait for each other.
struct WgmmaMeeting {
  const Code* code = nullptr; // of the first warp to come
  InstId instruction = {};
  uint32_t first_warp = 0;
  uint32_t arrived = 0; // warps; 0: there is none
  uint64_t issued = 0;  // operations, by each warp
};

// setmaxnreg: all four warps execute one before any executes the next, says the PTX ISA. An H200 lets a warp
// go on that executes the same again before the others have come: Triton's warp-specialized kernels do, at
// the end of a partition and at the begin of the loop behind it.
struct RegisterRequest {
  const Code* code = nullptr; // of the first warp to come
  InstId instruction = {};
  uint32_t first_warp = 0;
  uint32_t warps = 0; // bit i: warp i of the group has executed it; 0: there is none
};

struct Warpgroup {
  std::deque<WgmmaOperation> operations;
  uint64_t first = 0;    // number of the first of `operations`
  uint64_t executed = 0; // operations of lower numbers have
  WgmmaMeeting meeting;
  std::array<RegisterRequest, 2> register_requests; // that not all have executed, the older one first
  uint32_t registers = 0; // a thread, by setmaxnreg; of no use where nothing limits them

  // As it was made; a new one would ask the host for memory.
  void reset(uint32_t launch_registers) {
    registers = launch_registers;
    operations.clear();
    first = executed = 0;
    meeting = {};
    register_requests = {};
  }

  WgmmaOperation& operation(uint64_t number) { return operations[number - first]; }
};

// What a warp has in flight. Numbers are those of its warpgroup's operations.
struct WgmmaState {
  uint64_t issued = 0; // operations
  // AsyncMode::late and random:
  uint64_t complete = 0;                         // operations whose results are in the registers
  std::vector<uint64_t> groups;                  // where each ends, oldest first
  std::vector<std::shared_ptr<WgmmaView>> views; // one of a frame
  uint64_t fenced = 0;                           // operations that it had issued at its last wgmma.fence
  // Accumulators in flight that another instruction has written since that fence: results do not take the
  // place of that.
  struct Overwritten {
    const Frame* frame = nullptr;
    uint32_t offset = 0;
    uint32_t lanes = 0;
    uint64_t issued = 0; // operations, by then
  };
  std::vector<Overwritten> overwritten;
  // Operations issued since that fence, and in which frame: each instruction once.
  struct Issued {
    const Frame* frame = nullptr;
    InstId instruction = {};
    friend bool operator==(const Issued&, const Issued&) = default;
  };
  std::vector<Issued> since_fence;
  // Registers that a plain mov has written since that fence, which no operation since has had: the next one
  // that has them takes them.
  struct Moved {
    const Frame* frame = nullptr;
    uint64_t activation = 0;
    uint32_t offset = 0;
    uint32_t lanes = 0;
  };
  std::vector<Moved> moved;

  void reset() {
    issued = complete = fenced = 0;
    overwritten.clear();
    since_fence.clear();
    moved.clear();
    groups.clear();
    views.clear();
  }
};

// Matrices that were found to lie in written shared memory, so that loops check each once and the warpgroups
// of a CTA share what they find: memory keeps its size, and what is written stays written.
class WgmmaChecks {
public:
  struct Matrix {
    uint64_t descriptor = 0;
    uint64_t rows = 0; // which of it; 0: nothing yet
    friend bool operator==(const Matrix&, const Matrix&) = default;
  };
  bool contains(const Matrix& matrix) const {
    const size_t first = set_of(matrix);
    return std::find(&found_[first], &found_[first] + kWays, matrix) != &found_[first] + kWays;
  }
  void insert(const Matrix& matrix) {
    found_[set_of(matrix) + next_] = matrix;
    is_empty_ = false;
    next_ = (next_ + 1) % kWays;
  }
  void clear() {
    if (!is_empty_)
      *this = {};
  }

private:
  // Several ways, so that the stages of a pipeline, two matrices of a few steps each, do not push each other
  // out.
  static constexpr size_t kSets = 64, kWays = 4;
  static size_t set_of(const Matrix& matrix) { // the top 6 bits of a Fibonacci hash
    return ((matrix.descriptor ^ matrix.rows << 7) * 0x9e3779b97f4a7c15 >> 58) * kWays;
  }
  std::array<Matrix, kSets * kWays> found_{};
  size_t next_ = 0; // way to give up
  bool is_empty_ = true;
};

} // namespace lemma::vgpu
