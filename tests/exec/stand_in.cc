// Stands in for libnvrtc.so and libnvJitLink.so: says which options it gets. With REFUSES_LINES the linker's
// function takes no -lineinfo. Without LIBRARY it is a program that finds them as its words say.
#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <cstring>

#ifdef LIBRARY
namespace {
void say(const char* function, long count, const char* const* options) {
  std::printf("%s", function);
  for (long i = 0; i < count; ++i)
    std::printf(" %s", options[i]);
  std::printf("\n");
}
} // namespace

extern "C" int nvrtcCompileProgram(void*, int count, const char* const* options) {
  say("nvrtc", count, options);
  return 0;
}
extern "C" int __nvJitLinkCreate_13_0(void**, uint32_t count, const char** options) {
  for (uint32_t i = 0; i < count; ++i)
    if (std::strcmp(options[i], "-arch=none") == 0 && count > 1)
      return 4;
  say("link", count, options);
  return 0;
}
extern "C" int unrelated() {
  return 42;
}
#else
extern "C" int nvrtcCompileProgram(void*, int, const char* const*);
extern "C" int __nvJitLinkCreate_13_0(void**, uint32_t, const char**);

int main(int argc, char** argv) {
  const char* options[] = {"-arch=sm_90", argc > 3 ? argv[3] : "-O3"};
  auto* compile = nvrtcCompileProgram;
  auto* link = __nvJitLinkCreate_13_0;
  if (std::strcmp(argv[1], "opened") == 0) {
    void* library = dlopen(argv[2], RTLD_NOW | RTLD_LOCAL);
    if (!library)
      return 1;
    compile = reinterpret_cast<decltype(compile)>(dlsym(library, "nvrtcCompileProgram"));
    link = reinterpret_cast<decltype(link)>(dlsym(library, "__nvJitLinkCreate_13_0"));
    auto* unrelated = reinterpret_cast<int (*)()>(dlsym(library, "unrelated"));
    if (!unrelated || unrelated() != 42 || dlsym(library, "no_such_function") ||
        dlsym(RTLD_NEXT, "main_of_nobody") || !dlsym(RTLD_DEFAULT, "printf") || !dlsym(RTLD_NEXT, "puts"))
      return 2;
    if (dlsym(RTLD_NEXT, "main")) // behind the program there is none: it was asked from here
      return 3;
  }
  const char* alone[] = {"-arch=none"};
  const int refused = link(nullptr, 1, alone);
  return compile(nullptr, 2, options) + link(nullptr, 2, options) + refused;
}
#endif
