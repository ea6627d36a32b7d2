// Lines of maps: "7f0000000000-7f0000100000 r--p 00000000 00:00 0 NAME", by ascending address.
#include "support/host_pages.h"

#include <cstdio>
#include <memory>

namespace lemma {

Writable writable_part(const std::byte* memory, uint64_t bytes) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> maps(std::fopen("/proc/self/maps", "re"),
                                                             std::fclose);
  const auto wanted_begin = reinterpret_cast<uintptr_t>(memory);
  bool any = false, any_not = false;
  char line[512];
  bool begins_line = true; // of a long name there are several pieces
  while (maps && std::fgets(line, sizeof line, maps.get())) {
    unsigned long begin = 0, end = 0;
    char readable = 0, writable = 0;
    if (begins_line && std::sscanf(line, "%lx-%lx %c%c", &begin, &end, &readable, &writable) == 4) {
      if (begin >= wanted_begin + bytes)
        break;
      if (end > wanted_begin)
        (writable == 'w' ? any : any_not) = true;
    }
    begins_line = false;
    for (const char c : line) {
      begins_line |= c == '\n';
      if (c == '\0' || c == '\n')
        break;
    }
  }
  return !any_not ? Writable::all : any ? Writable::some : Writable::none;
}

} // namespace lemma
