// mutate_image [--inputs N] [--seed N] FILE_OR_FOLDER...
// Mutates fatbins, cubins and ELF files, mostly their numbers, and checks what reads them (mutations.h).
#include "image.h"
#include "mutations.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace {

class Mutator {
public:
  Mutator(const std::vector<std::string>& seeds, std::mt19937_64& random) : seeds_(seeds), random_(random) {}

  std::string next() {
    std::string bytes = seeds_[below(seeds_.size())];
    for (size_t steps = 1 + below(3); steps > 0; --steps)
      step(bytes);
    return bytes;
  }

private:
  size_t below(size_t n) { return n == 0 ? 0 : random_() % n; }

  // Near nothing, near what there is, near what the type holds; or any.
  uint64_t number(size_t size) {
    constexpr uint64_t kEnds[] = {0,
                                  1,
                                  2,
                                  8,
                                  15,
                                  16,
                                  63,
                                  64,
                                  65,
                                  uint64_t{1} << 16,
                                  uint64_t{1} << 31,
                                  uint64_t{1} << 32,
                                  uint64_t{1} << 63};
    switch (below(4)) {
    case 0:
      return kEnds[below(std::size(kEnds))];
    case 1:
      return ~kEnds[below(std::size(kEnds))];
    case 2:
      return size - 64 + below(128);
    default:
      return random_() >> below(64);
    }
  }

  void step(std::string& bytes) {
    // Half of what is changed lies where the headers of a fatbin are, or of an ELF file.
    const size_t at = below(below(2) == 0 ? std::min<size_t>(bytes.size(), 160) : bytes.size() + 1);
    switch (below(8)) {
    case 0:
      if (at < bytes.size())
        bytes[at] = static_cast<char>(random_());
      break;
    case 1:
      bytes.resize(at);
      break;
    case 2:
      bytes.erase(at, size_t{1} << below(8));
      break;
    case 3: { // a part of another
      const std::string& other = seeds_[below(seeds_.size())];
      bytes.insert(at, other.substr(below(other.size()), size_t{1} << below(10)));
      break;
    }
    default: { // a number
      const size_t size = size_t{1} << below(4), aligned = at / size * size;
      const uint64_t value = number(bytes.size());
      if (aligned + size <= bytes.size())
        std::memcpy(bytes.data() + aligned, &value, size);
      break;
    }
    }
  }

  const std::vector<std::string>& seeds_;
  std::mt19937_64& random_;
};

} // namespace

int main(int argc, char** argv) {
  return lemma::fuzz::run_mutations(argc, argv, lemma::fuzz::check_image,
                                    [](const std::vector<std::string>& seeds, std::mt19937_64& random) {
                                      return Mutator(seeds, random).next();
                                    });
}
