// What self-checking programs are made of: each check says where it went wrong and goes on, so that one run
// says all that is wrong. The last statement of main is `return result();`, which is 1 then.
//
// CHECK(condition) and EQUAL(wanted, got) want what they say; expect_status is for those who check statuses,
// whose name_of(status) says what one is called.
#pragma once

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

inline int failures = 0;

template <class Status>
void expect_status(Status wanted, Status got, const char* call, const char* file, int line) {
  if (wanted == got)
    return;
  std::fprintf(stderr, "%s:%d: %s: %s, and not %s\n", file, line, call, name_of(got), name_of(wanted));
  ++failures;
}

inline void expect(bool condition, const char* text, const char* file, int line) {
  if (condition)
    return;
  std::fprintf(stderr, "%s:%d: not so: %s\n", file, line, text);
  ++failures;
}

template <class A, class B>
void expect_equal(const A& wanted, const B& got, const char* text, const char* file, int line) {
  if (wanted == static_cast<A>(got))
    return;
  std::ostringstream values;
  values << got << ", and not " << wanted;
  std::fprintf(stderr, "%s:%d: %s: %s\n", file, line, text, values.str().c_str());
  ++failures;
}

#define CHECK(...) expect((__VA_ARGS__), #__VA_ARGS__, __FILE__, __LINE__)
#define EQUAL(wanted, ...) expect_equal(wanted, (__VA_ARGS__), #__VA_ARGS__, __FILE__, __LINE__)

inline int result() {
  if (failures)
    std::fprintf(stderr, "%d failures\n", failures);
  return failures ? 1 : 0;
}

// What a function writes to standard error.
template <class F>
std::string stderr_of(F f) {
  char name[] = "/tmp/lemma_stderr_XXXXXX";
  const int file = mkstemp(name), kept = dup(2);
  dup2(file, 2);
  f();
  std::fflush(stderr);
  dup2(kept, 2);
  close(kept);
  std::string text(static_cast<size_t>(lseek(file, 0, SEEK_END)), '\0');
  CHECK(pread(file, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()));
  close(file);
  unlink(name);
  return text;
}

inline std::string text_of_file(const char* name) {
  std::ifstream file(name);
  std::ostringstream text;
  text << file.rdbuf();
  CHECK(!text.str().empty());
  return text.str();
}
