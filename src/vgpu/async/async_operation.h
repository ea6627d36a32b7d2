// An asynchronous operation as data: what it is, who issued it, which bytes it reads and which it writes,
// what it signals, how far it has come. What it does follows from that alone: read_source() takes the source
// along, complete() changes the destination and signals. Everything was checked when it was issued, so that
// neither can fail but by what others have done to an mbarrier since. Not AsyncMode::eager, they read a
// tensor map in global memory again: one that was changed meanwhile is used, if it is right and its box has
// the same shape.
//
// Not here: when operations run (async.h), what is checked when they are issued (handlers/).
//
// PTX ISA: "Asynchronous Operations", "Async proxy", "cp.async", "cp.async.bulk", "cp.async.bulk.tensor",
// "st.async", "red.async", "wgmma.mma_async", "clusterlaunchcontrol.try_cancel". Tests:
// tests/unit/vgpu/async_copy_test.cc, tensor_copy_test.cc, observer_test.cc.
#pragma once

#include "layout/tensor_box.h"
#include "support/memory_budget.h"
#include "vgpu/handlers/memory/reduction.h"
#include "vgpu/memory/access.h"

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace lemma::vgpu {

struct Launch;
struct TensorCp;
struct TensorMma;
struct TensorShift;
struct TensorSt;
struct Warp;

enum class AsyncKind : uint8_t {
  cp_async,
  cp_async_arrive, // cp.async.mbarrier.arrive: waits for the thread's cp.async, then arrives
  bulk_copy,
  bulk_reduce,
  tensor_load,
  tensor_store,
  tensor_reduce,
  st_async,
  red_async,
  wgmma,         // reads shared memory; computed in handlers/matrix/wgmma.cc
  tensor_mma,    // tcgen05.mma
  tensor_cp,     // tcgen05.cp
  tensor_shift,  // tcgen05.shift
  tensor_commit, // tcgen05.commit: arrives when the thread's operations of tcgen05 before it are complete
  tensor_st,     // tcgen05.st
  try_cancel,    // clusterlaunchcontrol: its source is the grid's clusters that have not started
};
inline constexpr int kAsyncKinds = 16;
// "cp.async", "tensor load".
const char* to_string(AsyncKind kind);

// By what the issuing thread waits. `none`: an mbarrier, which the operation signals itself.
// `tensor_st`: of lane 0, for its warp, and never committed.
enum class AsyncGroup : uint8_t { none, cp_async, bulk, wgmma, tensor_st };

enum class AsyncState : uint8_t { issued, source_read, done };

// Whose operation it is; of wgmma, of the warp that issued the first part of it.
struct AsyncIssuer {
  Launch* launch = nullptr;
  Cta* cta = nullptr;
  Warp* warp = nullptr;
  const Code* code = nullptr;
  InstId instruction = {};
  int lane = 0;
};

// Where an operation puts its data in shared memory and the mbarrier that it tells, in one CTA.
struct AsyncTarget {
  SharedPlace data = {}, mbarrier = {};
};

// The same as a place of any memory; no host where a descriptor leads outside of the CTA's.
MemoryPlace place_of(const SharedPlace& at);

// The bytes of a tensor that a box covers.
struct TensorBox {
  struct Run {
    Allocation* allocation = nullptr;
    std::byte* host = nullptr; // null: outside of the tensor
  };
  layout::TensorMapFields map;
  MemoryPlace map_at;               // in global memory; else no allocation
  layout::TensorMapBytes map_bytes; // what stood there when the operation was issued
  layout::BoxRequest request;
  std::vector<layout::BoxRun> runs; // of the box, dense
  std::vector<Run> places;          // by run: of the tensor's bytes
};

// A matrix in shared memory, as wgmma reads it.
struct SharedMatrix {
  uint64_t descriptor = 0;
  bool mn_major = false;
  uint32_t rows = 0; // 0: there is none
  uint32_t row_chunks = 0;
};

struct AsyncOperation {
  AsyncKind kind = AsyncKind::bulk_copy;
  AsyncGroup group = AsyncGroup::none;
  AsyncState state = AsyncState::issued;
  Proxy proxy = Proxy::async; // of its reads and writes
  AsyncIssuer issuer;
  uint64_t number = 0; // of the cluster's operations, in the order of issue

  // What it reads: `source_bytes` at `source`, or the box of a tensor_load, or matrices. st.async and
  // red.async have their data from the beginning.
  MemoryPlace source;
  uint32_t source_bytes = 0; // cp.async: may be fewer than `bytes`; what follows is zeros
  std::array<SharedMatrix, 2> matrices;
  // What it writes, or combines with what is there: `bytes` at `destination`, or at each target, or the box
  // of a tensor_store or tensor_reduce.
  MemoryPlace destination;
  std::vector<AsyncTarget> targets; // shared memory; what only arrives has the mbarrier alone
  uint32_t bytes = 0;
  // A bulk copy: which bytes of each 16 it moves, and how many at either end of `bytes` it leaves undefined
  // in shared memory, without a source.
  uint16_t byte_mask = 0xffff;
  uint32_t ignored_left = 0, ignored_right = 0;
  std::unique_ptr<TensorBox> box;
  std::shared_ptr<const TensorCp> cp;       // of tensor_cp, for what it reads and writes
  std::shared_ptr<const TensorMma> mma;     // of tensor_mma, for what it reads and writes
  std::shared_ptr<const TensorShift> shift; // of tensor_shift
  std::shared_ptr<const TensorSt> st;       // of tensor_st
  Reduce reduce = nullptr;                  // null: a copy
  uint32_t element_bytes = 1;

  // Does it run after what its thread has issued of these before, in that order?
  bool is_in_order() const { return kind >= AsyncKind::tensor_mma && kind <= AsyncKind::tensor_commit; }

  uint64_t due = 0;                 // AsyncMode::random: when its next step runs
  std::vector<std::byte> data = {}; // taken from the source
  MemoryShare taken = {};           // for all that, while it is in flight
  uint32_t parts = 1;               // wgmma: warps that have issued theirs

  // Calls visit(place, bytes) for the ranges that it reads, or writes. Those of tensors and matrices are
  // found while this goes on; none comes twice but in matrices that overlap.
  using Visit = std::function<void(const MemoryPlace&, uint64_t)>;
  void each_source(const Visit& visit) const;
  void each_destination(const Visit& visit) const;
  // Sums of their bytes.
  uint64_t bytes_read() const;
  uint64_t bytes_written() const;
};

// What a warp's part of a wgmma.mma_async reads of shared memory: all of B, and of A the 16 rows that its
// part of the result has. `warp`: its index in the CTA. The PTX ISA does not say that no warp reads the
// others' rows; FlashAttention-3 rests on it: each warp writes its own rows of A, and synchronizes with
// nobody else. Tests: the kernels of async.unwaited in docs/checks.md (tests/check/docs_test.py).
void each_source_of_warp(const AsyncOperation& wgmma, uint32_t warp, const AsyncOperation::Visit& visit);

void read_source(AsyncOperation& operation);
void complete(AsyncOperation& operation);

// What an operation in flight holds besides itself.
uint64_t buffer_bytes(const AsyncOperation& operation);

// All that a cp.async does: `taken` bytes from global memory, then zeros. Bytes that were never written are
// not by being copied.
void copy_cp_async(const MemoryPlace& to, const MemoryPlace& from, uint32_t bytes, uint32_t taken);

} // namespace lemma::vgpu
