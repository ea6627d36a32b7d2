// Numbers in bytes that nobody has checked.
#pragma once

#include <cstddef>
#include <cstring>
#include <optional>
#include <span>
#include <type_traits>

namespace lemma::image {

using Bytes = std::span<const std::byte>;

// A plain struct that lies there, aligned or not; none unless all of it does.
template <class T>
std::optional<T> read_at(Bytes bytes, size_t offset) {
  static_assert(std::is_trivially_copyable_v<T>);
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T))
    return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

// One that a pointer of the caller's says lies there.
template <class T>
T trusted_at(const void* pointer) {
  static_assert(std::is_trivially_copyable_v<T>);
  T value;
  std::memcpy(&value, pointer, sizeof value);
  return value;
}

// `size` bytes from there on; none unless all are there.
inline std::optional<Bytes> part_of(Bytes bytes, size_t offset, size_t size) {
  if (offset > bytes.size() || bytes.size() - offset < size)
    return std::nullopt;
  return bytes.subspan(offset, size);
}

// Whether they begin so: no byte is read behind one that differs.
inline bool begins_with(const std::byte* bytes, std::span<const unsigned char> magic) {
  for (size_t i = 0; i < magic.size(); ++i)
    if (std::to_integer<unsigned char>(bytes[i]) != magic[i])
      return false;
  return true;
}

} // namespace lemma::image
