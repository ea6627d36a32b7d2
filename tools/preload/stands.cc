// See stands.h: the table of functions, and dlsym().
//
// dlsym() must leave by a jump: for RTLD_NEXT and RTLD_DEFAULT the real one looks at who called it.
#include "stands.h"

#include "functions.h"

#include <dlfcn.h>
#include <link.h>

#include <cstring>

namespace lemma::preload {
namespace {

using FindSymbol = void* (*)(void*, const char*);
FindSymbol real_dlsym = nullptr;

struct Wanted {
  const char* library; // the file's name begins so
  const char* symbol;
  void* mine;
  void* found;
};

int is_library_of(dl_phdr_info* info, size_t, void* data) {
  auto* wanted = static_cast<Wanted*>(data);
  const char* slash = info->dlpi_name ? std::strrchr(info->dlpi_name, '/') : nullptr;
  const char* base = slash ? slash + 1 : info->dlpi_name;
  if (!base || std::strncmp(base, wanted->library, std::strlen(wanted->library)) != 0)
    return 0;
  void* library = dlopen(info->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
  if (!library)
    return 0;
  wanted->found = real_dlsym(library, wanted->symbol);
  dlclose(library); // the program's own reference keeps it
  return wanted->found && wanted->found != wanted->mine;
}

// The library's own function, for a program that is linked with it: among the global symbols, or in a
// library that was opened for itself.
void* find_in_libraries(const char* library, const char* symbol, void* mine) {
  dlsym(RTLD_DEFAULT, "dlsym"); // real_dlsym is there from then on
  void* found = real_dlsym(RTLD_NEXT, symbol);
  if (found && found != mine)
    return found;
  Wanted wanted{library, symbol, mine, nullptr};
  dl_iterate_phdr(is_library_of, &wanted);
  return wanted.found == mine ? nullptr : wanted.found;
}

Stand stands[] = {{"libnvrtc.so", "nvrtcCompileProgram", reinterpret_cast<void*>(nvrtcCompileProgram)},
#define ROW(name, symbol) {"libnvJitLink.so", #symbol, reinterpret_cast<void*>(symbol)},
                  EACH_LINK_NAME(ROW)
#undef ROW
};

bool begins_with(const char* text, const char* with) {
  return std::strncmp(text, with, std::strlen(with)) == 0;
}

} // namespace

void* Stand::found() {
  if (!theirs)
    theirs = find_in_libraries(library, symbol, mine);
  return theirs;
}

void* Stand::instead_of(void* looked_up) {
  if (!looked_up || looked_up == mine)
    return looked_up;
  if (!theirs)
    theirs = looked_up;
  return theirs == looked_up ? mine : looked_up;
}

Stand& stand_of(void* mine) {
  for (Stand& stand : stands)
    if (stand.mine == mine)
      return stand;
  __builtin_unreachable();
}

Stand* stand_named(const char* symbol) {
  if (!begins_with(symbol, "nv") && !begins_with(symbol, "__nv")) // nearly all others
    return nullptr;
  for (Stand& stand : stands)
    if (std::strcmp(stand.symbol, symbol) == 0)
      return &stand;
  return nullptr;
}

} // namespace lemma::preload

using namespace lemma::preload;

EXPORTED void* dlsym(void* handle, const char* symbol) {
  if (!real_dlsym) {
    // The C library's; since 2.34 it is in libc.so.6 with a version of its own.
    auto* real = reinterpret_cast<FindSymbol>(dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34"));
    if (!real)
      real = reinterpret_cast<FindSymbol>(dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5"));
    if (!real)
      real = reinterpret_cast<FindSymbol>(dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.17")); // AArch64
    real_dlsym = real;
  }
  if (Stand* stand = stand_named(symbol))
    return stand->instead_of(real_dlsym(handle, symbol));
  return real_dlsym(handle, symbol); // by a jump
}
