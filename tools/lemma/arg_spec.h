// --arg SPEC: one kernel argument, or what an output is compared with.
//
//   u32=42  s64=-1  f32=0.5  f64=1e-9   a value; i64 is s64; integers decimal or 0x hex, floats as C writes
//   them
//                                       (0x1.8p3 too), or bits as PTX writes them: 0f3F800000,
//                                       0d3FF0000000000000
//   bytes=@FILE                         the file's bytes, by value
//   LABEL:in=FILE                       a name for what follows, of the same kinds; tensor maps may say it
//   tmap=@FILE.json                     a tensor map of another argument's memory, by value; as
//                                       tensor_map_file.h has it
//   buf=BYTES                           scratch memory, poisoned
//   in=FILE                             memory that holds the file
//   out=FILE:BYTES                      zeroed memory, written to FILE afterwards
//   out=FILE:f32[M,N]                   the same, with size, element type and shape (of FILE.npy) as named
//   inout=FILE:OUTFILE                  memory that holds FILE, written to OUTFILE afterwards
//   expect=FILE[:TOLERANCE]             no argument: what the out, inout or get before it must hold
//   set=NAME=FILE                       no argument: the module's variable NAME holds the file before the
//   launch get=NAME=FILE[:BYTES]               no argument: the variable is written to FILE afterwards, whole
//   or so much get=NAME=FILE:f32[M,N]              of it
//
// Does not open files. Tests: tests/cli/.
#pragma once

#include "lemma/result.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lemma::cli {

enum class SpecKind : uint8_t { scalar, bytes, tmap, buf, in, out, inout, expect, set, get };

struct Spec {
  SpecKind kind = SpecKind::scalar;
  std::string text;                // as given
  std::string label;               // before the kind; may be empty
  std::string type;                // scalar: "f32"
  std::vector<std::byte> value;    // scalar: little-endian
  std::string variable;            // set, get: of the module
  std::string path;                // bytes, tmap, in, inout, expect, set: the file to read
  std::string out_path;            // out, inout, get: the file to write
  uint64_t size_bytes = 0;         // buf, out, get (0: all of it)
  std::string dtype;               // out, get, if named: as .npy has it, "<f4"
  std::vector<uint64_t> shape;     // with dtype
  std::optional<double> tolerance; // expect: largest |got - want|; none: the bits must be equal
};

// The error is one line that says what is wrong and what would be right.
Result<Spec, std::string> parse_spec(const std::string& text);

// "4096" or "0x1000"; none if it is no number or does not fit.
std::optional<uint64_t> parse_unsigned(std::string_view text);

} // namespace lemma::cli
