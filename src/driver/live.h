// Objects that a program knows by handles, which are their addresses: a handle that is none, or no more, is
// told.
#pragma once

#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

namespace lemma::driver {

template <class Object>
class Live {
public:
  // The handle of the object.
  Object* add(std::shared_ptr<Object> object) {
    const std::scoped_lock lock(mutex_);
    Object* handle = object.get();
    objects_.emplace(handle, std::move(object));
    return handle;
  }
  // Null if it is the handle of none.
  std::shared_ptr<Object> find(const void* handle) const {
    const std::scoped_lock lock(mutex_);
    const auto found = objects_.find(handle);
    return found == objects_.end() ? nullptr : found->second;
  }
  // The same, and the handle is none from now on.
  std::shared_ptr<Object> take(const void* handle) {
    const std::scoped_lock lock(mutex_);
    const auto found = objects_.find(handle);
    if (found == objects_.end())
      return nullptr;
    std::shared_ptr<Object> object = std::move(found->second);
    objects_.erase(found);
    return object;
  }
  std::vector<std::shared_ptr<Object>> all() const {
    const std::scoped_lock lock(mutex_);
    std::vector<std::shared_ptr<Object>> all;
    for (const auto& [handle, object] : objects_)
      all.push_back(object);
    return all;
  }
  // All for which `wanted` says yes.
  template <class Wanted>
  std::vector<std::shared_ptr<Object>> take_if(Wanted&& wanted) {
    const std::scoped_lock lock(mutex_);
    std::vector<std::shared_ptr<Object>> taken;
    for (auto at = objects_.begin(); at != objects_.end();)
      if (wanted(*at->second)) {
        taken.push_back(std::move(at->second));
        at = objects_.erase(at);
      } else {
        ++at;
      }
    return taken;
  }

private:
  mutable std::mutex mutex_;
  std::unordered_map<const void*, std::shared_ptr<Object>> objects_;
};

} // namespace lemma::driver
