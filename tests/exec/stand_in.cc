// Stands in for libnvrtc.so and libnvJitLink.so: says which options it gets. With REFUSES_LINES the linker's
// function takes no -lineinfo. What it links is the file CUBIN of the environment, whatever it was given.
// Without LIBRARY it is a program that finds them as its words say.
#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

#ifdef LIBRARY
namespace {
void say(const char* function, long count, const char* const* options) {
  std::printf("%s", function);
  for (long i = 0; i < count; ++i)
    std::printf(" %s", options[i]);
  std::printf("\n");
}
int links[2];
size_t next = 0;
std::string cubin() {
  std::ifstream in(std::getenv("CUBIN"), std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}
} // namespace

extern "C" int nvrtcCompileProgram(void*, int count, const char* const* options) {
  say("nvrtc", count, options);
  return 0;
}
extern "C" int __nvJitLinkCreate_13_0(void** handle, uint32_t count, const char** options) {
  for (uint32_t i = 0; i < count; ++i)
    if (std::strcmp(options[i], "-arch=none") == 0 && count > 1)
      return 4;
  say("link", count, options);
  if (handle)
    *handle = &links[next++ % 2];
  return 0;
}
extern "C" int __nvJitLinkAddData_13_0(void*, int, const void*, size_t, const char*) {
  return 0;
}
extern "C" int __nvJitLinkAddFile_13_0(void*, int, const char*) {
  return 0;
}
extern "C" int __nvJitLinkGetLinkedCubinSize_13_0(void*, size_t* bytes) {
  *bytes = cubin().size();
  return 0;
}
extern "C" int __nvJitLinkGetLinkedCubin_13_0(void*, void* bytes) {
  std::memcpy(bytes, cubin().data(), cubin().size());
  return 0;
}
extern "C" int __nvJitLinkDestroy_13_0(void** handle) {
  *handle = nullptr;
  return 0;
}
extern "C" int unrelated() {
  return 42;
}
#else
extern "C" int nvrtcCompileProgram(void*, int, const char* const*);
extern "C" int __nvJitLinkCreate_13_0(void**, uint32_t, const char**);

// Links the files, and writes the cubin: stand_in links LIBRARY CUBIN INPUT...; those that end with .a by
// name.
int link_files(int argc, char** argv) {
  void* library = dlopen(argv[2], RTLD_NOW | RTLD_LOCAL);
  const auto find = [&](const char* name) { return dlsym(library, name); };
  const auto create =
      reinterpret_cast<int (*)(void**, uint32_t, const char**)>(find("__nvJitLinkCreate_13_0"));
  const auto add = reinterpret_cast<int (*)(void*, int, const void*, size_t, const char*)>(
      find("__nvJitLinkAddData_13_0"));
  const auto add_file = reinterpret_cast<int (*)(void*, int, const char*)>(find("__nvJitLinkAddFile_13_0"));
  const auto size = reinterpret_cast<int (*)(void*, size_t*)>(find("__nvJitLinkGetLinkedCubinSize_13_0"));
  const auto get = reinterpret_cast<int (*)(void*, void*)>(find("__nvJitLinkGetLinkedCubin_13_0"));
  const auto destroy = reinterpret_cast<int (*)(void**)>(find("__nvJitLinkDestroy_13_0"));
  void *handle = nullptr, *other = nullptr;
  create(&handle, 0, nullptr);
  create(&other, 0, nullptr); // which gets nothing
  for (int i = 4; i < argc; ++i) {
    std::ifstream in(argv[i], std::ios::binary);
    std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    if (std::string(argv[i]).ends_with(".a"))
      add_file(handle, 6, argv[i]);
    else
      add(handle, 2, text.data(), text.size(), argv[i]);
    text.assign(text.size(), 'x'); // the caller's memory is the caller's again
  }
  size_t bytes = 0, others = 0;
  size(other, &others);
  size(handle, &bytes);
  std::string cubin(bytes, '\0');
  get(handle, cubin.data());
  std::ofstream(argv[3], std::ios::binary) << cubin;
  std::printf("%d\n", others < bytes);
  return destroy(&handle) + destroy(&other);
}

int main(int argc, char** argv) {
  if (std::strcmp(argv[1], "links") == 0)
    return link_files(argc, argv);
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
