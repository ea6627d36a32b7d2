// A memref as the words that a function takes for it.
//
// Tests: tests/mlir/run/, tests/unit/nvgpu/.
#include "lemma/mlir.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

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
    extents[i] = static_cast<int64_t>(shape[i]);
  }
  std::vector<int64_t> strides(rank);
  int64_t dense = 1;
  for (size_t i = rank; i-- > 0;) {
    strides[i] = parameter.strides[i] >= 0 ? parameter.strides[i] : dense;
    dense = strides[i] * extents[i];
  }
  // The last element's end.
  int64_t elements = 1;
  for (size_t i = 0; i < rank; ++i)
    elements = extents[i] == 0 ? 0 : elements + (elements ? strides[i] * (extents[i] - 1) : 0);
  const uint64_t bytes = static_cast<uint64_t>(elements) * ((parameter.element_bits + 7) / 8);
  if (bytes > size_bytes)
    return wrong(fmt::format("it has {} bytes, but {} of extents [{}] has {}", size_bytes, parameter.type,
                             fmt::join(extents, ", "), bytes));
  std::vector<uint64_t> words{address, address, 0};
  words.insert(words.end(), extents.begin(), extents.end());
  words.insert(words.end(), strides.begin(), strides.end());
  return words;
}

} // namespace lemma
