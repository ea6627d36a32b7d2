// Whether a word has PTX is asked of its beginning: .version and .target behind nothing but comments.
#include "words.h"

#include "image/cubin.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <sstream>
#include <string_view>

namespace lemma::ptxas {
namespace {

constexpr int kMostFilesOfOptions = 16; // one inside the other

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

std::string read_input() {
  std::string text;
  char some[1 << 16];
  for (ssize_t bytes; (bytes = ::read(STDIN_FILENO, some, sizeof some)) > 0;)
    text.append(some, static_cast<size_t>(bytes));
  return text;
}

std::vector<std::string> split(const std::string& list, char at) {
  std::vector<std::string> parts;
  std::istringstream in(list);
  for (std::string part; std::getline(in, part, at);)
    parts.push_back(part);
  return parts;
}

// A text up to a NUL that ends it, as a string in memory has one.
std::optional<std::string> as_ptx(std::string_view text) {
  text = text.substr(0, text.find('\0'));
  return image::target_of(text) ? std::optional(std::string(text)) : std::nullopt;
}

// The value of an option, which stands behind a '=' or is the next word; none: this word is another.
std::optional<std::string> value_of(std::initializer_list<std::string_view> names,
                                    const std::vector<std::string>& words, size_t& at) {
  const std::string_view word = words[at];
  for (const std::string_view name : names) {
    if (word == name)
      return at + 1 < words.size() ? words[++at] : "";
    if (word.starts_with(name) && word.substr(name.size()).starts_with('='))
      return std::string(word.substr(name.size() + 1));
  }
  return std::nullopt;
}

class Reader {
public:
  void read(const std::vector<std::string>& words, int depth) {
    for (size_t at = 0; at < words.size(); ++at)
      if (auto output = value_of({"-o", "--output-file"}, words, at))
        found.output = *std::move(output);
      else if (const auto files = value_of({"-optf", "--options-file"}, words, at)) {
        for (const std::string& file : split(*files, ','))
          if (depth < kMostFilesOfOptions)
            read(words_of(read_file(file)), depth + 1);
      } else
        read_input_word(words[at]);
  }

  Words found;

private:
  static std::vector<std::string> words_of(const std::string& text) {
    std::istringstream in(text);
    return {std::istream_iterator<std::string>(in), std::istream_iterator<std::string>()};
  }

  bool add(std::string_view text) {
    auto ptx = as_ptx(text);
    if (ptx)
      found.texts.push_back(*std::move(ptx));
    return ptx.has_value();
  }

  void read_input_word(const std::string& word) {
    if (word == "-" && !found.reads_input) {
      found.reads_input = true;
      found.texts.push_back(read_input());
    } else if (!word.starts_with('-') && !add(read_file(word)) && !add(word))
      for (const std::string& each : split(word, ','))
        add(read_file(each));
  }
};

} // namespace

Words read_words(const std::vector<std::string>& words) {
  Reader reader;
  reader.read(words, 0);
  return std::move(reader.found);
}

} // namespace lemma::ptxas
