// NumPy's .npy files: an element type, a shape and the elements in C order.
//
// Works on a file's bytes; opens no files. Reads format versions 1, 2 and 3, little-endian numbers and raw
// bytes (|V2 is what NumPy makes of bfloat16). Refuses Fortran order of two or more dimensions, big-endian
// numbers, structured and object types. Writes version 1 (2 if the header needs it). Format:
// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
//
// Tests: tests/unit/runtime/npy_test.cc.
#pragma once

#include "lemma/message.h"
#include "lemma/result.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lemma::npy {

struct Array {
  std::string dtype = "|u1";   // as in the file: "<f4", "<f2", "|V2"
  std::vector<uint64_t> shape; // empty: one element
  std::vector<std::byte> data; // C order, little-endian
};

// Bytes of one element; 0 if `dtype` is none that this reader takes.
uint64_t element_bytes(std::string_view dtype);
// Product of the shape; UINT64_MAX if it overflows.
uint64_t element_count(std::span<const uint64_t> shape);

// A whole file's bytes. Error: rejected, saying what is wrong with it.
Result<Array, Error> parse(std::span<const std::byte> file);
// `array.data` must have as many bytes as dtype and shape say.
std::vector<std::byte> serialize(const Array& array);

} // namespace lemma::npy
