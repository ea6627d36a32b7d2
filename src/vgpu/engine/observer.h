// What a launch tells those who watch it: instructions, accesses, synchronization, asynchronous operations
// from issue to completion, exits. A checker of the memory model, a counter, a program of the user's own
// (lemma/observer.h) are observers; the interpreter knows none of them.
//
// Events of one warp come in its program order, those of one cluster one after the other: a cluster runs on
// one host thread at a time. Clusters run side by side, so calls for different clusters come at the same time
// from different threads; Exec::worker tells the threads of a launch apart. An observer must not change what
// it is shown. An instruction that faults may have told some of its accesses before.
//
// Whose event it is: `x` has the CTA, the warp, the code and the instruction (Exec::pc), and
// x.ptx_instruction() says it in PTX's words.
//
// Without an observer the price is a test of a null pointer for a warp instruction that accesses memory or
// synchronizes; of one that does not ask for every instruction, the loop that tells them is another.
//
// Not events: what the registers of a warp hold and exchange (shfl apart, as a convergence, and those that
// wgmma has), kernel parameters that are passed in registers, copies of the host.
//
// Tests: tests/unit/vgpu/observer_test.cc.
#pragma once

#include "vgpu/async/mbarrier.h"
#include "vgpu/engine/exec.h"

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace lemma::vgpu {

// What one execution of an instruction accesses in one owner's memory - an allocation, a CTA's shared memory,
// the lanes' own. One that reaches several owners is told as several.
//
// The access comes in pieces of the same size, at most 32. Where `by_lane`, piece i is lane i's access; else
// (ldmatrix, stmatrix, wmma.load and store, tensor maps of a warp) the lanes access all of them together.
struct WarpAccess {
  const Access& access; // of the lowest byte; `lanes`, kind, order and proxy of all
  LaneMask pieces = 0;
  uint32_t piece_bytes = 0;
  const uint64_t* addresses = nullptr; // by piece
  uint64_t lowest = 0;                 // address of access.offset
  bool by_lane = true;
  LanesLie lie = LanesLie::anyhow;

  // Of the piece, in the owner's memory; of local memory, in that lane's.
  uint64_t offset(int piece) const { return access.offset + (addresses[piece] - lowest); }
  // Calls f(piece, offset).
  template <class F>
  void each(F&& f) const {
    for_lanes(pieces, [&](int piece) { f(piece, offset(piece)); });
  }
  uint64_t bytes() const { return uint64_t{piece_bytes} * static_cast<uint64_t>(std::popcount(pieces)); }
};

enum class SyncKind : uint8_t {
  fence,          // fence, membar, fence.mbarrier_init: Synchronization::order
  proxy_fence,    // fence.proxy: the instruction says between which
  warp_barrier,   // bar.warp.sync, lanes with one membermask
  convergence,    // shfl.sync, vote.sync, ...: they order no memory
  barrier_arrive, // bar.arrive, and the first half of bar.sync and bar.red; of barrier `id`
  cluster_arrive, // barrier.cluster
  cluster_wait,   // by then the phase is complete, or these lanes wait until it is
  wgmma_fence,
  grid_wait, // griddepcontrol.wait
};

struct Synchronization {
  SyncKind kind = SyncKind::fence;
  LaneMask lanes = 0;
  MemoryOrder order = {};
  uint32_t id = 0;       // barrier_arrive
  bool waits = false;    // barrier_arrive: the lanes go on when the phase completes
  uint32_t expected = 0; // barrier_arrive: threads that the phase waits for; 0: all of the CTA
  LaneMask members = 0;  // warp_barrier, convergence: the membermask
  // proxy_fence that acquires a tensor map: its generic address, by lane; else null.
  const uint64_t* addresses = nullptr;
};

// An mbarrier's pending count or bytes change: lanes arrive, or expect bytes, or an operation completes.
struct MbarrierArrival {
  SharedPlace at = {};
  MbarrierChange change = {};   // all lanes together
  bool parity = false;          // of the phase that it belongs to
  bool completes_phase = false; // it is the last of it
  // By an operation's completion, else by lanes of a warp.
  const AsyncOperation* operation = nullptr;
  const Exec* x = nullptr;
  LaneMask lanes = 0;
  MemoryOrder order = {};
};

// Lanes have found that a phase is complete.
struct MbarrierWait {
  SharedPlace at = {};
  bool parity = false; // of that phase
  LaneMask lanes = 0;
  MemoryOrder order = {};
};

// Lanes have waited for their groups; what that completes has been told before.
struct GroupWait {
  AsyncGroup group = AsyncGroup::none;
  uint64_t pending = 0;     // groups that need not be complete
  bool read_only = false;   // their sources have been read; the destinations may not be written
  bool uncommitted = false; // cp.async.wait_all: what was not committed, too
  LaneMask lanes = 0;
};

// What a tcgen05.ld or st accesses: lanes of the warp's quarter of its CTA's tensor memory, by column from
// `column` on.
struct TensorMove {
  bool writes = false;
  uint32_t column = 0;
  std::span<const LaneMask> lanes;
};

enum class TensorOrder : uint8_t { before_thread_sync, after_thread_sync, wait_ld, wait_st };

class Observer {
public:
  virtual ~Observer() = default;

  // Before the first and after the last of the other events. Launch::workers: so many threads at most.
  virtual void launch_begins(const Launch&) {}
  virtual void launch_ends(const Launch&) {}
  // CTAs and warps are used again when their cluster has ended.
  virtual void cluster_begins(const Cluster&) {}
  virtual void cluster_ends(const Cluster&) {}
  virtual void exits(const Exec&, LaneMask) {}
  // Asked now and then: whether it is told of every instruction.
  virtual bool watches_instructions() const { return false; }
  // An instruction of the text begins, in the lanes Exec::active, perhaps none. One that waits for others (a
  // warp-wide one, try_wait, a barrier's reduction) may begin again when it goes on. So Stats counts them
  // too.
  virtual void executes(const Exec&, const DecodedInst&) {}
  // Before launch_ends, of every cluster that has not ended: nothing in it can move any more. An observer
  // that knows better may change whom the fault names, and its id.
  virtual void is_stuck(const Cluster&, Fault&) {}
  // An instruction finds a value that was never written: a register of its, or memory. From then on, if the
  // observer sets Warp::follows_values, it is told of each instruction of the warp, before and after; and of
  // shfl, by lane, whose value it has got. One that waits for lanes begins again.
  virtual void finds_undefined(const Exec&, const DecodedInst&, int /*lane*/, const std::string& /*what*/) {}
  virtual void begins(const Exec&) {}
  virtual void ends(const Exec&, const DecodedInst&) {}
  virtual void shuffles(const Exec&, const int* /*sources*/) {}
  // shfl has given these lanes the values of others that take no part.
  virtual void reads_absent(const Exec&, LaneMask /*readers*/, LaneMask /*absent*/) {}

  virtual void accesses(const Exec&, const WarpAccess&) {}
  // The lane's read of shared memory ends so many bytes past what the CTA asked for, in a unit that a GPU
  // gives out as a whole. What of it is the CTA's, if anything, is told as an access, too.
  virtual void reads_past_shared(const Exec&, const Access&, int /*lane*/, uint32_t /*past_bytes*/) {}
  // An ld or atomic that is not weak has taken its values. Its accesses have been told before it did: a write
  // that is told between them may or may not be seen.
  virtual void has_read(const Exec&) {}
  // clusterlaunchcontrol.query_cancel.get_first_ctaid in these lanes, of a request that has failed.
  virtual void asks_for_no_cluster(const Exec&, LaneMask) {}

  virtual void synchronizes(const Exec&, const Synchronization&) {}
  // Every arrival of the phase has been told, and the lanes that wait go on.
  virtual void barrier_completes(const Cta&, uint32_t /*id*/) {}
  virtual void cluster_barrier_completes(const Cluster&) {}

  // One call an operation; of wgmma one for each of the four warps, `parts` counting up. Its accesses are the
  // operation's, and not told otherwise.
  virtual void issues(const Exec&, const AsyncOperation&) {}
  virtual void commits(const Exec&, AsyncGroup, LaneMask) {}
  virtual void reads_source(const AsyncOperation&) {}
  // The destination is written and the mbarriers are told.
  virtual void completes(const AsyncOperation&) {}
  virtual void waits(const Exec&, const GroupWait&) {}
  // Before an instruction other than wgmma.mma_async that reads or writes, in lanes that are active,
  // registers which a wgmma.mma_async of its function has (Code::wgmma_numbers). One that waits for lanes is
  // told again.
  virtual void touches_wgmma_registers(const Exec&) {}

  // tcgen05.ld and st; its fences and waits; dealloc, of columns that the CTA has until then.
  virtual void moves_tensor(const Exec&, const TensorMove&) {}
  virtual void orders_tensor(const Exec&, TensorOrder) {}
  virtual void frees_tensor(const Exec&, uint32_t /*column*/, uint32_t /*columns*/) {}

  virtual void arrives(const MbarrierArrival&) {}
  virtual void finds_complete(const Exec&, const MbarrierWait&) {}
};

// Several observers of one launch: each is told everything, in their order.
class Observers : public Observer {
public:
  explicit Observers(std::vector<Observer*> observers) : observers_(std::move(observers)) {}

  void launch_begins(const Launch& launch) override;
  void launch_ends(const Launch& launch) override;
  void cluster_begins(const Cluster& cluster) override;
  void cluster_ends(const Cluster& cluster) override;
  void exits(const Exec& x, LaneMask lanes) override;
  bool watches_instructions() const override;
  void executes(const Exec& x, const DecodedInst& in) override;
  void is_stuck(const Cluster& cluster, Fault& fault) override;
  void finds_undefined(const Exec& x, const DecodedInst& in, int lane, const std::string& what) override;
  void begins(const Exec& x) override;
  void ends(const Exec& x, const DecodedInst& in) override;
  void shuffles(const Exec& x, const int* sources) override;
  void reads_absent(const Exec& x, LaneMask readers, LaneMask absent) override;
  void accesses(const Exec& x, const WarpAccess& access) override;
  void reads_past_shared(const Exec& x, const Access& access, int lane, uint32_t past_bytes) override;
  void has_read(const Exec& x) override;
  void asks_for_no_cluster(const Exec& x, LaneMask lanes) override;
  void synchronizes(const Exec& x, const Synchronization& sync) override;
  void barrier_completes(const Cta& cta, uint32_t id) override;
  void cluster_barrier_completes(const Cluster& cluster) override;
  void issues(const Exec& x, const AsyncOperation& operation) override;
  void commits(const Exec& x, AsyncGroup group, LaneMask lanes) override;
  void reads_source(const AsyncOperation& operation) override;
  void completes(const AsyncOperation& operation) override;
  void waits(const Exec& x, const GroupWait& wait) override;
  void touches_wgmma_registers(const Exec& x) override;
  void moves_tensor(const Exec& x, const TensorMove& move) override;
  void orders_tensor(const Exec& x, TensorOrder order) override;
  void frees_tensor(const Exec& x, uint32_t column, uint32_t columns) override;
  void arrives(const MbarrierArrival& arrival) override;
  void finds_complete(const Exec& x, const MbarrierWait& wait) override;

private:
  template <class... Parameters, class... Arguments>
  void tell(void (Observer::*event)(Parameters...), Arguments&&... arguments) {
    for (Observer* observer : observers_)
      (observer->*event)(arguments...);
  }
  std::vector<Observer*> observers_;
};

// Tells an observer, if there is one, what an instruction accesses, where that was found piece by piece.
class PieceAccesses {
public:
  explicit PieceAccesses(const Exec& x, bool by_lane = true) : x_(x), by_lane_(by_lane) {}
  void add(int piece, const Access& access) {
    if (x_.watch.is_on()) [[unlikely]]
      keep(piece, access);
  }
  // Once a piece has been added for all.
  void tell() const {
    if (!pieces_.empty()) [[unlikely]]
      tell_all();
  }

private:
  struct Piece {
    int index;
    Access access;
  };
  void keep(int piece, const Access& access) { pieces_.push_back({piece, access}); }
  void tell_all() const;

  const Exec& x_;
  bool by_lane_;
  std::vector<Piece> pieces_;
};

// What launches, one after the other, access, by state space and kind, and the asynchronous operations that
// they issue.
class AccessCounter : public Observer {
public:
  struct Count {
    uint64_t warp_accesses = 0; // to an owner's memory, see WarpAccess
    uint64_t lane_accesses = 0; // pieces
    uint64_t bytes = 0;
    Count& operator+=(const Count& other);
  };
  enum Space : uint8_t { kGlobal, kConst, kShared, kLocal, kParam, kSpaces };
  enum Kind : uint8_t { kRead, kWrite, kAtomic, kKinds };
  struct Counts {
    std::array<std::array<Count, kKinds>, kSpaces> memory{};
    struct Async {
      uint64_t operations = 0;
      uint64_t bytes = 0; // written, to every destination; of wgmma: read
    };
    std::array<Async, kAsyncKinds> async{};
  };

  void launch_begins(const Launch& launch) override;
  void launch_ends(const Launch& launch) override;
  void accesses(const Exec& x, const WarpAccess& access) override;
  void issues(const Exec& x, const AsyncOperation& operation) override;

  // Of all launches that have ended.
  const Counts& counts() const { return total_; }
  // What of that is not zero.
  void report(Stats& stats) const;

private:
  struct alignas(64) PerWorker : Counts {};
  std::vector<PerWorker> workers_;
  Counts total_;
};
const char* to_string(AccessCounter::Space space);
const char* to_string(AccessCounter::Kind kind);

} // namespace lemma::vgpu
