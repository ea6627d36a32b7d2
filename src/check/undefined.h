// Values that were never written, and what a warp makes of them: by register, lane and byte, from the
// instruction that found them. Moving one, through registers, shuffles, matrices, shared and local memory and
// copies between them, is no use; what is computed of it is as undefined. A use is what can be seen from
// outside: an address, a branch, a store to global memory of something computed.
//
// Nothing is kept, and no instruction looked at, until a warp first finds such a value
// (Warp::follows_values). What matrices are multiplied of is not followed, nor what calls return.
//
// Tests: tests/unit/check/undefined_test.cc, tests/check/corpus.
#pragma once

#include "check/clock.h"
#include "check/statement.h"
#include "vgpu/async/async_operation.h"
#include "vgpu/engine/exec.h"
#include "vgpu/engine/matrix_moves.h"
#include "vgpu/engine/observer.h"

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace lemma::check {

// Where an undefined value was found.
struct UndefinedOrigin {
  Statement who;
  std::string what; // "shared memory at 0x410"
};

struct UndefinedByte {
  uint32_t origin = 0;
  bool computed = false;
};

// What the threads of a barrier's phase make together by bar.red.
struct UndefinedVote {
  bool is_unknown = false, is_decided = false;
  UndefinedByte of_unknown;
  // A thread's predicate, undefined or not.
  void add(const UndefinedByte* undefined, bool predicate, isa::Qual reduction);
};

// What the warps of a cluster have together: where values were found, and which bytes of shared memory hold
// some, by CTA rank and offset.
struct UndefinedMemory {
  using Bytes = std::unordered_map<uint64_t, UndefinedByte>;
  static uint64_t key(const vgpu::MemoryPlace& place) {
    return uint64_t{place.cta->rank} << 32 | place.offset;
  }
  void erase(const vgpu::MemoryPlace& place, uint64_t count) {
    for (uint64_t byte = key(place); byte < key(place) + count; ++byte)
      bytes.erase(byte);
  }
  std::vector<UndefinedOrigin> origins;
  Bytes bytes;
};

// The values of one warp. Calls come in the order of the events of the same names in vgpu::Observer.
class UndefinedValues {
public:
  // A use of the value that was found there.
  using Report = std::function<void(const UndefinedOrigin&, std::string_view use, int lane)>;

  explicit UndefinedValues(UndefinedMemory& memory) : memory_(&memory) {}
  void find(const vgpu::Exec& x, const vgpu::DecodedInst& in, int lane, const std::string& what);
  void begin(const vgpu::Exec& x, const Report& report);
  void shuffle(const int* sources);
  // The lanes arrive at a barrier whose reduction, when it completes, is what they all get.
  void vote(const vgpu::Exec& x, LaneMask lanes, std::shared_ptr<UndefinedVote> with);
  void access(const vgpu::Exec& x, const vgpu::WarpAccess& access, const Report& report);
  // After what it writes to shared memory was erased there.
  void issue(const vgpu::AsyncOperation& operation, const Report& report);
  void end(const vgpu::Exec& x, const vgpu::DecodedInst& in);

private:
  struct Value {
    LaneMask lanes = 0;    // in which some of it is undefined ...
    LaneMask computed = 0; // ... and was computed of such a value
    uint32_t origin = 0;
    std::array<uint16_t, kWarpSize> bytes{}; // by lane: which bytes are undefined; predicates have one
    // Of a ballot and what is left of one: which bits of these bytes; null: all of them.
    using Bits = std::array<uint32_t, kWarpSize>;
    std::shared_ptr<const Bits> bits;

    uint32_t bits_of(int lane) const;
    // Which bits: `undefined`, for these lanes.
    void set_bits(LaneMask of, const Bits& undefined, uint32_t from);
    void add(const Value& value, LaneMask of);
    void add(int lane, uint32_t undefined, const UndefinedByte& how);
    // What is computed of it.
    void compute();
  };
  // Of a register, by where it lies in the frame.
  using Key = std::pair<const std::byte*, uint32_t>;
  // A byte of a tile of a matrix.
  enum TileByte : uint8_t { kDefined = 0, kUndefined = 1, kComputed = 2 };

  Value value_of(const vgpu::Exec& x, const vgpu::Slot& slot) const;
  Value value_of_sources(const vgpu::Exec& x, const vgpu::DecodedInst& in, int first, int last) const;
  void move(const vgpu::Exec& x, const vgpu::DecodedInst& in);
  void convert(const vgpu::Exec& x, const vgpu::DecodedInst& in);
  void shift(const vgpu::Exec& x, const vgpu::DecodedInst& in, bool left);
  void mask(const vgpu::Exec& x, const vgpu::DecodedInst& in, bool with_ones);
  void collect(const vgpu::Exec& x, const vgpu::DecodedInst& in);
  void take_vote(const vgpu::Exec& x);
  void begin_matrix(const vgpu::Exec& x, const vgpu::DecodedInst& in, const Report& report);
  void scatter(const vgpu::Exec& x, const vgpu::DecodedInst& in, const layout::TileMap& map);
  void access_matrix(const vgpu::WarpAccess& access, const vgpu::MatrixMove& move, const Report& report);
  void reduce(const vgpu::AsyncOperation& operation, const Report& report);
  void access_lanes(const vgpu::Exec& x, const vgpu::WarpAccess& access, const Report& report);
  // What a byte of memory holds that is undefined: null if it is not. `place`: the owner's.
  const UndefinedByte* at(const vgpu::MemoryPlace& place, uint64_t offset, int lane);
  void set(const vgpu::MemoryPlace& place, uint64_t offset, int lane, const UndefinedByte* what);
  // Of memory whose values are followed; else null.
  UndefinedMemory::Bytes* bytes_in(const vgpu::MemoryPlace& place);

  UndefinedMemory* memory_;
  UndefinedMemory::Bytes local_; // by lane and offset
  std::map<Key, Value> values_;
  std::vector<std::pair<LaneMask, std::shared_ptr<UndefinedVote>>> votes_; // that lanes wait for
  // Of the instruction that is being executed:
  vgpu::InstId now_ = {};
  const std::byte* frame_ = nullptr;
  Value made_;               // what each of its destinations will have
  std::vector<Value> apart_; // ... and each for itself
  std::vector<Value> given_; // what it stores, by register
  bool shuffled_ = false;    // ... and who takes whose
  std::array<int, kWarpSize> sources_{};
  // It has found memory that was never written; a register, where `in_registers_` is that instruction.
  Value found_;
  UndefinedByte origin_;
  vgpu::InstId in_registers_ = {};
  bool by_byte_ = false; // what it found is known by byte: found_ says no more
  std::vector<uint8_t> tile_;
  uint32_t tile_origin_ = 0;
  int tile_lane_ = -1;
  std::array<uint64_t, kWarpSize> updated_{}; // by lane: the shared memory that an atomic updates; 0: none
  uint32_t updated_bytes_ = 0;
};

} // namespace lemma::check
