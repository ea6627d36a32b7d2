// Whether two functions are called alike, for tests that compare declarations of Lemma's with a toolkit's:
// enums are passed as their bytes, pointers as pointers, structs by their bytes.
#pragma once

#include <array>
#include <type_traits>

template <class T>
struct Passed {
  using type = std::conditional_t<std::is_pointer_v<T>, void*, T>;
};
template <class T>
  requires std::is_enum_v<T> || std::is_class_v<T>
struct Passed<T> {
  using type = std::array<char, sizeof(T)>;
};
template <class A, class B>
struct SameCall : std::false_type {};
template <class R, class... A, class S, class... B>
struct SameCall<R (*)(A...), S (*)(B...)> {
  static constexpr bool same() {
    if constexpr (sizeof...(A) != sizeof...(B))
      return false;
    else
      return std::is_same_v<typename Passed<R>::type, typename Passed<S>::type> &&
             (std::is_same_v<typename Passed<A>::type, typename Passed<B>::type> && ...);
  }
  static constexpr bool value = same();
};
