// For the libraries that lie beside libcuda.so.1 and call it: src/cudart, src/nvml, src/cublas.
#pragma once

#include <dlfcn.h>

#include <string>

namespace lemma::driver {

// libcuda.so.1 of the folder from which this code was loaded, so that those of a build go together. Null:
// there is none.
inline void* open_beside(const void* code) {
  Dl_info self = {};
  if (!dladdr(code, &self) || !self.dli_fname)
    return nullptr;
  const std::string path = self.dli_fname;
  const size_t slash = path.rfind('/');
  if (slash == path.npos)
    return nullptr;
  return dlopen((path.substr(0, slash + 1) + "libcuda.so.1").c_str(), RTLD_NOW | RTLD_LOCAL);
}

// Functions of an open libcuda.so.1, looked up by their names.
class Functions {
public:
  explicit Functions(void* library) : library_(library) {}
  template <class F>
  void find(F*& function, const char* symbol) {
    function = reinterpret_cast<F*>(dlsym(library_, symbol));
    are_complete_ &= function != nullptr;
  }
  // It has all that was looked for.
  bool are_complete() const { return are_complete_; }

private:
  void* library_;
  bool are_complete_ = true;
};

} // namespace lemma::driver
