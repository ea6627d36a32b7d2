// Values that were never written, and what a warp makes of them: by register and lane, from the instruction
// that found them. Moving one, through registers, shuffles or shared memory, is no use; what is computed of
// it is as undefined. A use is what can be seen from outside: an address, a branch, a store to global memory
// of something computed.
//
// Nothing is kept, and no instruction looked at, until a warp first finds such a value
// (Warp::follows_values). What matrices are made of is not followed: which results of an mma come from which
// rows is not known here.
//
// Tests: tests/unit/check/undefined_test.cc, tests/check/corpus.
#pragma once

#include "check/clock.h"
#include "lemma/report.h"
#include "vgpu/exec.h"
#include "vgpu/observer.h"

#include <array>
#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

namespace lemma::check {

// Where an undefined value was found.
struct UndefinedOrigin {
  Place place;
  Dim3 cta{};
  uint32_t warp = 0;
  int lane = -1;
  std::string what; // "shared memory at 0x410"
  const vgpu::DecodedInst* instruction = nullptr;
};

// What the warps of a cluster have together: where values were found, and which bytes of shared memory hold
// some, by CTA rank and offset.
struct UndefinedMemory {
  struct Byte {
    uint32_t origin = 0;
    bool computed = false;
  };
  static uint64_t key(const vgpu::MemoryPlace& place) {
    return uint64_t{place.cta->rank} << 32 | place.offset;
  }
  void erase(const vgpu::MemoryPlace& place, uint64_t count) {
    for (uint64_t byte = key(place); byte < key(place) + count; ++byte)
      bytes.erase(byte);
  }
  std::vector<UndefinedOrigin> origins;
  std::unordered_map<uint64_t, Byte> bytes;
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
  void access(const vgpu::Exec& x, const vgpu::WarpAccess& access, const Report& report);
  void end(const vgpu::Exec& x, const vgpu::DecodedInst& in);

private:
  struct Value {
    LaneMask lanes = 0;    // in which it is undefined
    LaneMask computed = 0; // ... and was computed of such a value
    uint32_t origin = 0;
  };
  // Of a register, by where it lies in the frame.
  using Key = std::pair<const std::byte*, uint32_t>;
  Value value_of(const vgpu::Exec& x, const vgpu::Slot& slot) const;
  Value sources_of(const vgpu::Exec& x, const vgpu::DecodedInst& in, int first, int last) const;
  static void add(Value& to, const Value& value, LaneMask lanes);

  UndefinedMemory* memory_;
  std::map<Key, Value> values_;
  // Of the instruction that is being executed:
  const vgpu::DecodedInst* now_ = nullptr;
  const std::byte* frame_ = nullptr;
  Value made_;                                // what its destinations will have
  Value given_;                               // of what it stores
  Value found_;                               // what it finds itself
  std::array<uint64_t, kWarpSize> updated_{}; // by lane: the shared memory that an atomic updates; 0: none
  uint32_t updated_bytes_ = 0;
};

} // namespace lemma::check
