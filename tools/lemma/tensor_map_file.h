// The JSON of --arg tmap=@FILE.json: a tensor map, innermost dimension first, as the driver's encoders take
// it.
//
//   {"arg": 0,                          which --arg its tensor is: from 0, as faults count (expect is
//                                       none), or by its label or file, "a.npy"
//    "type": "bf16",                    u8 u16 u32 s32 u64 s64 f16 bf16 f32 f64 tf32 f32_ftz tf32_ftz, and
//                                       of sm_100 b4x16 b4x16_p64 b6x16_p32
//    "dims": [1024, 512], "strides_bytes": [2048], "box": [64, 128],
//    "element_strides": [1, 1],         may be left out, like all that follow
//    "interleave": "none",              none 16B 32B
//    "swizzle": "128B",                 none 32B 64B 128B, and of sm_100 128B_ATOM_32B
//                                       128B_ATOM_32B_FLIP_8B 128B_ATOM_64B
//    "oob_fill": "zeros",               zeros nan
//    "l2_promotion": "none"}            none 64B 128B 256B
//
// An im2col map has, in place of "box",
//
//    "im2col": {"lower": [..], "upper": [..], "channels_per_pixel": N, "pixels_per_column": N}
//
// Checks form and types; the rules of tensor maps are Device::encode's. Tests: tests/cli/.
#pragma once

#include "lemma/result.h"
#include "lemma/tensor_map.h"

#include <string>

namespace lemma::cli {

struct TensorMapFile {
  uint64_t argument = 0; // if it has no name
  std::string name;
  TensorMap map; // without its address
};

// The error is one line: the file, the key, what is legal.
Result<TensorMapFile, std::string> read_tensor_map(const std::string& path);

} // namespace lemma::cli
