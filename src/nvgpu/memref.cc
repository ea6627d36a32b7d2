// A memref as the words that a function takes for it.
//
// Tests: tests/mlir/run/, tests/unit/nvgpu/.
#include "lemma/mlir.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace lemma {

Result<std::vector<uint64_t>, Error> expand_memref(const MlirParameter& parameter, uint64_t address,
                                                   uint64_t size_bytes, std::span<const uint64_t> shape) {
  const auto wrong = [](std::string text) {
    return Unexpected<Error>{{.kind = ErrorKind::invalid_argument, .text = std::move(text), .messages = {}}};
  };
  const size_t rank = parameter.shape.size();
  if (parameter.strides.size() != rank || parameter.offset > 0)
    return wrong(fmt::format("{} has a layout that a plain array has not", parameter.type));
  std::vector<int64_t> extents = parameter.shape;
  for (size_t i = 0; i < rank; ++i) {
    if (extents[i] >= 0)
      continue;
    if (shape.size() != rank)
      return wrong(fmt::format(
          "{} leaves extents open: the argument must be a .npy file, or out=FILE:TYPE[M,N], of rank {}",
          parameter.type, rank));
    extents[i] = static_cast<int64_t>(std::min<uint64_t>(shape[i], INT64_MAX));
  }
  std::vector<int64_t> strides(rank);
  int64_t dense = 1;
  bool too_large = false;
  for (size_t i = rank; i-- > 0;) {
    strides[i] = parameter.strides[i] >= 0 ? parameter.strides[i] : dense;
    too_large |= __builtin_mul_overflow(strides[i], std::max<int64_t>(extents[i], 1), &dense);
  }
  // The last element's end.
  int64_t elements = 1, reach = 0, bytes = 0;
  for (size_t i = 0; i < rank; ++i)
    if (extents[i] > 0)
      too_large |= __builtin_mul_overflow(strides[i], extents[i] - 1, &reach) ||
                   __builtin_add_overflow(elements, reach, &elements);
  if (std::find(extents.begin(), extents.end(), 0) != extents.end())
    elements = 0;
  if (parameter.element_bits == 4) // two to a byte
    bytes = elements / 2 + elements % 2;
  else
    too_large |= __builtin_mul_overflow(elements, int64_t{(parameter.element_bits + 7) / 8}, &bytes);
  if (too_large || static_cast<uint64_t>(bytes) > size_bytes)
    return wrong(fmt::format("it has {} bytes, but {} of extents [{}] has {}", size_bytes, parameter.type,
                             fmt::join(extents, ", "),
                             too_large ? "more than there are addresses" : std::to_string(bytes)));
  std::vector<uint64_t> words{address, address, 0};
  words.insert(words.end(), extents.begin(), extents.end());
  words.insert(words.end(), strides.begin(), strides.end());
  return words;
}

} // namespace lemma
