// mutate_front_end [--inputs N] [--seed N] FILE_OR_FOLDER...
// Mutates texts and checks the front end on each (mutations.h).
#include "front_end.h"
#include "mutations.h"

#include <algorithm>
#include <string>
#include <vector>

namespace {

constexpr size_t kLongestInput = 1 << 14;

constexpr const char* kPieces[] = {"{",
                                   "}",
                                   "(",
                                   ")",
                                   "[",
                                   "]",
                                   ";",
                                   ",",
                                   "<",
                                   ">",
                                   "|",
                                   "!",
                                   "@",
                                   "_",
                                   ".",
                                   ":",
                                   "::",
                                   "\"",
                                   "//",
                                   "/*",
                                   "*/",
                                   "\n",
                                   "+",
                                   "-",
                                   "%r1",
                                   "%p1",
                                   "%rd1",
                                   "%f1",
                                   "sh",
                                   "f",
                                   ".b32",
                                   ".u64",
                                   ".f32",
                                   ".pred",
                                   ".v4",
                                   ".reg",
                                   ".global",
                                   ".shared",
                                   ".param",
                                   ".local",
                                   ".func",
                                   ".entry",
                                   ".align 8",
                                   ".loc 1 2 3",
                                   "bra L;",
                                   "L:",
                                   "mov.b32",
                                   "ret;",
                                   "call",
                                   "WARP_SZ",
                                   "0f3f800000",
                                   "1.0",
                                   "0xffffffffffffffff",
                                   "18446744073709551616",
                                   "-9223372036854775808",
                                   "4294967296",
                                   "%r<3>",
                                   "%r<1000000>",
                                   "[0x7fffffffffffffff]",
                                   ".branchtargets L",
                                   ".callprototype _ ()",
                                   "generic(g)",
                                   "0xFF00(g)",
                                   "%tid.x",
                                   "%tid",
                                   "= {1, 2}",
                                   "? 1 : 2",
                                   "(.u64)"};

class Mutator {
public:
  Mutator(const std::vector<std::string>& seeds, std::mt19937_64& random) : seeds_(seeds), random_(random) {}

  std::string next() {
    std::string text = seeds_[below(seeds_.size())];
    const size_t steps = 1 + below(3);
    for (size_t i = 0; i < steps; ++i)
      step(text);
    text.resize(std::min(text.size(), kLongestInput));
    return text;
  }

private:
  size_t below(size_t n) { return n == 0 ? 0 : random_() % n; }

  void step(std::string& text) {
    const size_t at = below(text.size() + 1);
    const size_t length = std::min(text.size() - at, size_t{1} << below(8));
    if (below(2) == 0)
      return mild_step(text, at);
    switch (below(9)) {
    case 0: // one byte
      if (at < text.size())
        text[at] = static_cast<char>(random_());
      break;
    case 1:
      text.erase(at, length);
      break;
    case 2:
      text.insert(at, text.substr(at, length));
      break;
    case 3:
    case 4:
      text.insert(at, kPieces[below(std::size(kPieces))]);
      break;
    case 5: // a piece in the place of a word
      text.replace(at, std::min<size_t>(length, 6), kPieces[below(std::size(kPieces))]);
      break;
    case 6: { // a part of another seed
      const std::string& other = seeds_[below(seeds_.size())];
      text.insert(at, other.substr(below(other.size()), size_t{1} << below(8)));
      break;
    }
    case 7: { // one piece, many times
      const std::string piece = kPieces[below(std::size(kPieces))];
      std::string many;
      for (size_t i = size_t{1} << below(11); i > 0; --i)
        many += piece;
      text.insert(at, many);
      break;
    }
    default: // cut
      text.resize(at);
      break;
    }
  }

  // Likely to leave the text well formed: a statement twice, elsewhere or gone, a word for another word of
  // the text.
  void mild_step(std::string& text, size_t at) {
    const auto statement = [&](size_t inside) {
      const size_t before = text.find_last_of(";{}", inside);
      const size_t begin = before == std::string::npos ? 0 : before + 1;
      const size_t end = text.find(';', begin);
      return std::pair(begin, end == std::string::npos ? text.size() - begin : end + 1 - begin);
    };
    const auto word = [&](size_t inside) {
      constexpr const char* letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789%$_.";
      const size_t begin = std::min(text.find_first_of(letters, inside), text.size());
      return std::pair(begin, std::min(text.find_first_not_of(letters, begin), text.size()) - begin);
    };
    const auto [from, length] = statement(at);
    const std::string moved = text.substr(from, length);
    switch (below(4)) {
    case 0:
      text.insert(statement(below(text.size() + 1)).first, moved);
      break;
    case 1:
      text.erase(from, length);
      break;
    case 2:
      text.insert(from, moved);
      break;
    default: {
      const auto [source, source_length] = word(below(text.size() + 1));
      const std::string other = text.substr(source, source_length);
      const auto [target, target_length] = word(at);
      text.replace(target, target_length, other);
      break;
    }
    }
  }

  const std::vector<std::string>& seeds_;
  std::mt19937_64& random_;
};

} // namespace

int main(int argc, char** argv) {
  return lemma::fuzz::run_mutations(argc, argv, lemma::fuzz::check_front_end,
                                    [](const std::vector<std::string>& seeds, std::mt19937_64& random) {
                                      return Mutator(seeds, random).next();
                                    });
}
