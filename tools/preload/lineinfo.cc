// Preloaded into what `lemma exec` runs: NVRTC's nvrtcCompileProgram and nvJitLink's nvJitLinkCreate get
// -lineinfo as one option more.
//
// A program comes to these functions in two ways. Linked with the library, it finds the ones here first.
// Looking them up by dlsym(), as the Python bindings do, in a library that was opened RTLD_LOCAL, it gets the
// ones here from the dlsym() below, which remembers the library's. nvJitLink.h calls a versioned name,
// __nvJitLinkCreate_13_0; so does each toolkit. Not seen: a library that is linked statically, or that looks
// symbols up by dlvsym().
//
// dlsym() must leave by a jump: for RTLD_NEXT and RTLD_DEFAULT the real one looks at who called it.
//
// Interfaces: nvrtc.h, nvJitLink.h (CUDA 13.0). Tests: tests/exec/preload_test.py.
#include <dlfcn.h>
#include <link.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>

namespace {

using FindSymbol = void* (*)(void*, const char*);
using CompileProgram = int (*)(void* program, int count, const char* const* options);
using CreateLink = int (*)(void** handle, uint32_t count, const char** options);

constexpr const char* kLineInfo = "-lineinfo";
constexpr size_t kMostOptions = 4096;
constexpr int kInvalidInput = 3; // NVRTC_ERROR_INVALID_INPUT; nvJitLink has no name of its own for it

FindSymbol real_dlsym = nullptr;

// Whether lines are asked for already, or more than them.
bool has_lines(size_t count, const char* const* options) {
  for (size_t i = 0; i < count; ++i)
    for (const char* each : {"-lineinfo", "--lineinfo", "--generate-line-info", "-G", "--device-debug", "-g"})
      if (options[i] && std::strcmp(options[i], each) == 0)
        return true;
  return false;
}

// Calls f(count, options) with one option more; if that is refused, as it was.
template <class F>
int with_lines(size_t count, const char* const* options, F f) {
  if (count >= kMostOptions || (count > 0 && !options) || has_lines(count, options))
    return f(count, options);
  const char* more[kMostOptions];
  for (size_t i = 0; i < count; ++i)
    more[i] = options[i];
  more[count] = kLineInfo;
  return f(count + 1, static_cast<const char* const*>(more));
}

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

// One name: what stands for it here, and the library's function once it is known.
struct Stand {
  const char* library;
  const char* symbol;
  void* mine;
  void* theirs = nullptr;

  void* found() {
    if (!theirs)
      theirs = find_in_libraries(library, symbol, mine);
    return theirs;
  }
};

int create_link(Stand& stand, void** handle, uint32_t count, const char** options);

} // namespace

#define EXPORTED extern "C" __attribute__((visibility("default")))

EXPORTED int nvrtcCompileProgram(void* program, int count, const char* const* options);

// The versions that toolkits' headers have called so far: each needs a function of its own, which knows whom
// to call.
#define EACH_LINK(M)                                                                                         \
  M(nvJitLinkCreate)                                                                                         \
  M(__nvJitLinkCreate_12_0)                                                                                  \
  M(__nvJitLinkCreate_12_1)                                                                                  \
  M(__nvJitLinkCreate_12_2)                                                                                  \
  M(__nvJitLinkCreate_12_3)                                                                                  \
  M(__nvJitLinkCreate_12_4)                                                                                  \
  M(__nvJitLinkCreate_12_5)                                                                                  \
  M(__nvJitLinkCreate_12_6)                                                                                  \
  M(__nvJitLinkCreate_12_7)                                                                                  \
  M(__nvJitLinkCreate_12_8)                                                                                  \
  M(__nvJitLinkCreate_12_9)                                                                                  \
  M(__nvJitLinkCreate_13_0)                                                                                  \
  M(__nvJitLinkCreate_13_1)                                                                                  \
  M(__nvJitLinkCreate_13_2)                                                                                  \
  M(__nvJitLinkCreate_13_3)                                                                                  \
  M(__nvJitLinkCreate_13_4)                                                                                  \
  M(__nvJitLinkCreate_13_5)
#define DECLARE(name) EXPORTED int name(void** handle, uint32_t count, const char** options);
EACH_LINK(DECLARE)

namespace {

Stand stands[] = {{"libnvrtc.so", "nvrtcCompileProgram", reinterpret_cast<void*>(nvrtcCompileProgram)},
#define ROW(name) {"libnvJitLink.so", #name, reinterpret_cast<void*>(name)},
                  EACH_LINK(ROW)
#undef ROW
};

Stand& stand_of(void* mine) {
  for (Stand& stand : stands)
    if (stand.mine == mine)
      return stand;
  __builtin_unreachable();
}

Stand* stand_named(const char* symbol) {
  if (symbol[0] != 'n' && symbol[0] != '_') // nearly all others
    return nullptr;
  for (Stand& stand : stands)
    if (std::strcmp(stand.symbol, symbol) == 0)
      return &stand;
  return nullptr;
}

// What a lookup found is remembered. Two libraries of one name (of two toolkits): the second is left alone.
void* stand_for(Stand& stand, void* found) {
  if (!found || found == stand.mine)
    return found;
  if (!stand.theirs)
    stand.theirs = found;
  return stand.theirs == found ? stand.mine : found;
}

int create_link(Stand& stand, void** handle, uint32_t count, const char** options) {
  const auto theirs = reinterpret_cast<CreateLink>(stand.found());
  if (!theirs)
    return kInvalidInput;
  const int status = with_lines(count, options, [&](size_t n, const char* const* all) {
    return theirs(handle, static_cast<uint32_t>(n), const_cast<const char**>(all));
  });
  return status == 0 ? status : theirs(handle, count, options);
}

} // namespace

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
    return stand_for(*stand, real_dlsym(handle, symbol));
  return real_dlsym(handle, symbol); // by a jump
}

EXPORTED int nvrtcCompileProgram(void* program, int count, const char* const* options) {
  const auto theirs =
      reinterpret_cast<CompileProgram>(stand_of(reinterpret_cast<void*>(nvrtcCompileProgram)).found());
  if (!theirs || count < 0)
    return kInvalidInput;
  return with_lines(static_cast<size_t>(count), options, [&](size_t n, const char* const* all) {
    return theirs(program, static_cast<int>(n), all);
  });
}

#define DEFINE(name)                                                                                         \
  EXPORTED int name(void** handle, uint32_t count, const char** options) {                                   \
    return create_link(stand_of(reinterpret_cast<void*>(name)), handle, count, options);                     \
  }
EACH_LINK(DEFINE)
