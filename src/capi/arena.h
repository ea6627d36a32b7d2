// The structs that the C API hands out are trees of plain data. An arena has all of a tree's parts and goes
// with it; Tree is the struct that the caller sees, with its arena.
//
// Tests: tests/unit/capi/.
#pragma once

#include "lemma/c.h"

#include <memory_resource>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace lemma::capi {

class Arena {
public:
  Arena() = default;
  Arena(const Arena&) = delete;

  // A copy with a NUL behind it.
  const char* text(std::string_view text);
  lemma_strings strings(const std::vector<std::string>& texts);
  template <class T>
  T* array(size_t count) {
    static_assert(std::is_trivially_destructible_v<T>);
    T* made = static_cast<T*>(memory_.allocate(count * sizeof(T), alignof(T)));
    std::uninitialized_value_construct_n(made, count);
    return made;
  }
  template <class T>
  T* make(const T& value = {}) {
    return std::construct_at(array<T>(1), value);
  }
  template <class T>
  const T* copy(const std::vector<T>& values) {
    T* made = array<T>(values.size());
    std::copy(values.begin(), values.end(), made);
    return made;
  }
  // Null for none.
  template <class T>
  const T* optional(const std::optional<T>& value) {
    return value ? make<T>(*value) : nullptr;
  }

private:
  std::byte first_[1024]; // most trees are small
  std::pmr::monotonic_buffer_resource memory_{first_, sizeof first_};
};

template <class T>
struct Tree : T {
  Tree() : T{} {}
  Arena arena;
};

template <class T>
void release(const T* tree) {
  delete static_cast<const Tree<T>*>(tree);
}

// What a list becomes: *items of to_c(arena, each), which a pointer comes from.
template <class From, class C>
void list(Arena& arena, const From& from, size_t& count, C const* const*& items) {
  C const** made = arena.array<C const*>(from.size());
  items = made;
  count = from.size();
  for (const auto& each : from)
    *made++ = to_c(arena, each);
}

} // namespace lemma::capi
