// Who watches a launch, if anybody does. Events are told through here, so that what happens asks nowhere
// whether somebody watches.
//
// Tests: tests/unit/vgpu/observer_test.cc.
#pragma once

#include <concepts>
#include <type_traits>
#include <utility>

namespace lemma::vgpu {

class Observer; // observer.h

class Watch {
public:
  Watch(Observer* observer = nullptr) : observer_(observer) {}

  // For what is done otherwise where somebody watches.
  bool is_on() const { return observer_ != nullptr; }

  // The event and what it is told with.
  template <class... Parameters>
  [[gnu::always_inline]] void tell(void (Observer::*event)(Parameters...),
                                   std::type_identity_t<Parameters>... arguments) const {
    if (observer_) [[unlikely]]
      (observer_->*event)(std::forward<Parameters>(arguments)...);
  }
  // What has to be found out first: calls f(observer).
  template <std::invocable<Observer&> F>
  [[gnu::always_inline]] void tell(F&& f) const {
    if (observer_) [[unlikely]]
      f(*observer_);
  }

private:
  Observer* observer_;
};

} // namespace lemma::vgpu
