// Result<T, E>: a value, or the error that says why there is none. Errors are returned, never thrown across a
// public boundary. Result<void, E> is success or an error.
//
// Tests: tests/unit/runtime/result_test.cc.
#pragma once

#include <cassert>
#include <utility>
#include <variant>

namespace lemma {

template <class E>
struct Unexpected {
  E error;
};

// `return fail(SomeError{...});` from a function that returns Result<T, SomeError>.
template <class E>
Unexpected<E> fail(E error) {
  return {std::move(error)};
}

namespace detail {
template <class T>
T& present(T* value) {
  assert(value != nullptr);
  return *value;
}
} // namespace detail

template <class T, class E>
class [[nodiscard]] Result {
public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Unexpected<E> error) : state_(std::in_place_index<1>, std::move(error.error)) {}

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  // Only if ok().
  T& value() & { return detail::present(std::get_if<0>(&state_)); }
  const T& value() const& { return detail::present(std::get_if<0>(&state_)); }
  // By value, so that `for (const X& x : *f())` has something that lives as long as the loop.
  T value() && { return std::move(detail::present(std::get_if<0>(&state_))); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  // Only if !ok().
  E& error() & { return detail::present(std::get_if<1>(&state_)); }
  const E& error() const& { return detail::present(std::get_if<1>(&state_)); }
  E&& error() && { return std::move(detail::present(std::get_if<1>(&state_))); }

private:
  std::variant<T, E> state_;
};

template <class E>
class [[nodiscard]] Result<void, E> {
public:
  Result() = default;
  Result(Unexpected<E> error) : state_(std::in_place_index<1>, std::move(error.error)) {}

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  E& error() & { return detail::present(std::get_if<1>(&state_)); }
  const E& error() const& { return detail::present(std::get_if<1>(&state_)); }
  E&& error() && { return std::move(detail::present(std::get_if<1>(&state_))); }

private:
  std::variant<std::monostate, E> state_;
};

} // namespace lemma
