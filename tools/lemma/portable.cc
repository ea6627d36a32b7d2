// arc4random, which libstdc++'s std::random_device calls, for the portable binary: glibc has it only
// since 2.36.
#include <sys/random.h>

#include <cstdint>
#include <cstdlib>

extern "C" uint32_t arc4random() noexcept {
  uint32_t value = 0;
  if (getrandom(&value, sizeof value, 0) != sizeof value)
    std::abort(); // four bytes come whole
  return value;
}
