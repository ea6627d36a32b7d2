// What is recorded of tensor maps: parameters for the driver's encoders, and edits by tensormap.replace.
//
// Everything follows from a seed, and the recordings name a case by its number alone: what these functions
// return never changes. A case is legal, or breaks a rule, or stands at the edge of one; which it is, the
// driver says. Read by record.cc, which asks a driver, and by tests/unit/layout/recorded_maps_test.cc.
#pragma once

#include "lemma/tensor_map.h"

#include <array>
#include <cstddef>
#include <string>
#include <vector>

namespace lemma::tensor_maps {

using Bytes = std::array<std::byte, 128>;

// Parameters of cuTensorMapEncodeTiled, or of cuTensorMapEncodeIm2col. Numbers of enumerations may be none.
std::vector<TensorMap> encode_cases();

// tensormap.replace of one field.
struct Replacement {
  const char* field;
  int ordinal = -1; // none
  bool is_wide = false;
  bool is_immediate = false; // the value is in the instruction, the least of these
  int values = 0;            // immediate: how many there are
};
inline constexpr Replacement kReplacements[] = {
    {"global_address", -1, true, false, 0},    {"rank", -1, false, false, 0},
    {"box_dim", 0, false, false, 0},           {"box_dim", 1, false, false, 0},
    {"box_dim", 2, false, false, 0},           {"box_dim", 3, false, false, 0},
    {"box_dim", 4, false, false, 0},           {"global_dim", 0, false, false, 0},
    {"global_dim", 1, false, false, 0},        {"global_dim", 2, false, false, 0},
    {"global_dim", 3, false, false, 0},        {"global_dim", 4, false, false, 0},
    {"global_stride", 0, true, false, 0},      {"global_stride", 1, true, false, 0},
    {"global_stride", 2, true, false, 0},      {"global_stride", 3, true, false, 0},
    {"element_stride", 0, false, false, 0},    {"element_stride", 1, false, false, 0},
    {"element_stride", 2, false, false, 0},    {"element_stride", 3, false, false, 0},
    {"element_stride", 4, false, false, 0},    {"elemtype", -1, false, true, 13},
    {"interleave_layout", -1, false, true, 3}, {"swizzle_mode", -1, false, true, 4},
    {"fill_mode", -1, false, true, 2}};
// The instruction, of the map at %map: "tensormap.replace.tile.rank.global.b1024.b32 [%map], %value32;"
std::string text_of(const Replacement& replacement, int value, bool shared);

struct Edit {
  enum class Base : uint8_t {
    zeros,
    previous, // what the edit before made
    encoded,  // `from`: the number of an encode case, zeros where the driver refused that
    random    // words of splitmix64, `from` its first state
  };
  Base base = Base::zeros;
  uint64_t from = 0;
  size_t replacement = 0; // of kReplacements
  uint64_t value = 0;
  bool shared = false; // the map lies in shared memory; else in global memory
};
std::vector<Edit> edits();
Bytes random_map(uint64_t state);

// The map that is edited. `encoded`: by number of an encode case, what has `bytes`.
template <class Encoded>
Bytes base_of(const Edit& edit, const Bytes& previous, const std::vector<Encoded>& encoded) {
  switch (edit.base) {
  case Edit::Base::zeros:
    break;
  case Edit::Base::previous:
    return previous;
  case Edit::Base::encoded:
    return encoded.at(edit.from).bytes;
  case Edit::Base::random:
    return random_map(edit.from);
  }
  return {};
}

// A right map and a load that uses it; changed maps are used in its place.
struct Load {
  const char* name; // of the kernel
  TensorMap map;    // but for the address
  std::vector<int32_t> at;
};
inline constexpr size_t kLoadMemoryBytes = 1 << 20, kLoadTensorAt = 1 << 18; // the tensor is inside of it
inline constexpr uint32_t kLoadSharedBytes = 160 << 10;
std::vector<Load> loads();
// What is in memory.
std::vector<uint32_t> load_memory();
// A kernel of 256 threads and kLoadSharedBytes of dynamic shared memory: the addresses of a map and of as
// many bytes, to which all of shared memory goes behind the load. The module's head and the declaration of
// `box` come before it.
std::string text_of(const Load& load);
inline constexpr const char* kLoadHead =
    ".version 8.3\n.target sm_90a\n.address_size 64\n.extern .shared .align 1024 .b8 box[];\n";

} // namespace lemma::tensor_maps
