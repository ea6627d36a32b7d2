// A line of answers.txt is the hash of a question - its options and the text - and what was said: `ok`, `bad`
// with the lines that are wrong, or `code` with the digest of what was made. That of another ptxas than the
// one in the file's first line counts too: what is legal is what that one says.
#include "ptxas/ptxas.h"

#include "numeric/hash.h"
#include "support/ptxas_paths.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <unistd.h>
#include <utility>

namespace lemma::ptxas {
namespace {

namespace fs = std::filesystem;

// --- What was recorded, and what is now ------------------------------------------------------------------

const std::map<std::string, std::string, std::less<>>& recorded() {
  static const auto answers = [] {
    std::map<std::string, std::string, std::less<>> read;
    std::ifstream file(LEMMA_PTXAS_ANSWERS);
    for (std::string line; std::getline(file, line);)
      if (const size_t space = line.find(' '); !line.starts_with('#') && space != std::string::npos)
        read[line.substr(0, space)] = line.substr(space + 1);
    return read;
  }();
  return answers;
}

struct Mode {
  bool ask_all = false;
  std::string path{}; // of the ptxas to ask; empty: the one that is found
  std::string write_to{};
};

const Mode& mode() {
  static const Mode chosen = [] {
    const char* const given = std::getenv("LEMMA_PTXAS");
    const std::string_view word = given ? given : LEMMA_PTXAS_DEFAULT;
    constexpr std::string_view kWrite = "write:";
    if (word.starts_with(kWrite))
      return Mode{.ask_all = true, .write_to = std::string(word.substr(kWrite.size()))};
    if (word.find('/') != word.npos && fs::exists(word))
      return Mode{.ask_all = true, .path = std::string(word)};
    if (word != "ask" && !word.empty()) {
      fmt::print(stderr, "LEMMA_PTXAS is {}: legal are ask, the path of a ptxas, and write:FILE\n", word);
      std::exit(2);
    }
    return Mode{.ask_all = word == "ask"};
  }();
  return chosen;
}

// In one piece: several processes append to the file.
void append(const std::string& path, const std::string& line) {
  const int file = open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT, 0666);
  if (file < 0 || write(file, line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
    fmt::print(stderr, "{}: cannot write: {}\n", path, std::strerror(errno));
    std::exit(2);
  }
  close(file);
}

// Without the folders in `.file 1 "/folder/name"`, which are others on each machine and matter to nobody.
std::string without_folders(std::string_view module) {
  constexpr std::string_view kFile = ".file";
  std::string text;
  size_t done = 0;
  for (size_t at = module.find(kFile); at != module.npos; at = module.find(kFile, at + 1)) {
    const size_t line_end = std::min(module.find('\n', at), module.size());
    const size_t quote = module.substr(0, line_end).find("\"/", at),
                 last = module.substr(0, line_end).rfind('/');
    if (quote == module.npos)
      continue;
    text += module.substr(done, quote + 1 - done);
    done = last + 1;
  }
  return text.append(module.substr(done));
}

// A ptxas older than the text's version has no answer.
bool knows_version(const std::string& printed) {
  constexpr char kRefusal[] = "Unsupported .version ";
  const size_t at = printed.find(kRefusal);
  int major = 0, minor = 0, newest_major = 0, newest_minor = 0;
  return at == printed.npos ||
         std::sscanf(printed.c_str() + at + std::strlen(kRefusal), "%d.%d; current version is '%d.%d'",
                     &major, &minor, &newest_major, &newest_minor) != 4 ||
         std::pair(major, minor) <= std::pair(newest_major, newest_minor);
}

// What is known of the question, or what `find_out` does, unless that is nothing; none where nobody answers.
template <class Find>
std::optional<std::string> look_up(std::string_view kind, std::string_view module, const std::string& options,
                                   Find find_out) {
  const std::string question = fmt::format("{}\n{}\n{}", kind, options, without_folders(module));
  const std::string hash = fmt::format("{:016x}", numeric::hash128(question.data(), question.size()).low);
  const auto known = recorded().find(hash);
  const bool is_known = known != recorded().end();
  if (is_known && !mode().ask_all)
    return known->second;
  if (find().empty())
    return is_known ? std::optional(known->second) : std::nullopt;
  const std::string said = find_out();
  if (said.empty())
    return is_known ? std::optional(known->second) : std::nullopt;
  if (!mode().write_to.empty())
    append(mode().write_to, hash + " " + said + "\n");
  else if (!is_known)
    // The test's output says that it took longer than it need.
    fmt::print(stderr, "ptxas: asked about what answers.txt has not: scripts/record_ptxas.sh\n");
  else if (known->second != said) {
    fmt::print(stderr, "ptxas says {}, and answers.txt {}, of ({})\n{}\n", said, known->second, options,
               module);
    std::exit(1);
  }
  return said;
}

// --- Asking ----------------------------------------------------------------------------------------------

std::string read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return std::move(text).str();
}

struct Run {
  bool succeeded = false;
  std::string printed, made;
};

Run run(std::string_view module, const std::string& options, bool keep) {
  static std::atomic<int> number = 0;
  const fs::path file = fs::temp_directory_path() / fmt::format("lemma-ptxas-{}-{}.ptx", getpid(), number++);
  const fs::path output = keep ? fs::path(file.string() + ".cubin") : fs::path("/dev/null");
  std::ofstream(file) << module;
  Run done;
  const std::string command =
      fmt::format("'{}' {} '{}' -o '{}' 2>&1", find(), options, file.string(), output.string());
  if (FILE* pipe =
          popen(command.c_str(), "r")) { // NOLINT(bugprone-command-processor): a test's own file names
    char buffer[4096];
    while (const size_t bytes = fread(buffer, 1, sizeof buffer, pipe))
      done.printed.append(buffer, bytes);
    done.succeeded = pclose(pipe) == 0;
  }
  fs::remove(file);
  if (keep) {
    done.made = read_file(output);
    fs::remove(output);
  }
  return done;
}

// The lines that ptxas calls wrong, counted from 1; `stopped_at`: the one that it goes no further than.
std::set<size_t> wrong_lines(const std::string& printed, size_t* stopped_at = nullptr) {
  std::set<size_t> lines;
  constexpr std::string_view mark = ", line ";
  for (size_t at = printed.find(mark); at != std::string::npos; at = printed.find(mark, at + 1)) {
    size_t end = 0;
    if (printed.find_first_of("0123456789", at) != at + mark.size())
      continue; // what it quotes of the text
    const size_t line = std::stoul(printed.substr(at + mark.size()), &end);
    const bool is_fatal = printed.compare(at + mark.size() + end, 3, "; f") == 0;
    if (is_fatal || printed.compare(at + mark.size() + end, 3, "; e") == 0)
      lines.insert(line);
    if (is_fatal && stopped_at)
      *stopped_at = line;
  }
  return lines;
}

template <class T>
T field(const std::string& bytes, size_t offset) {
  T value{};
  if (offset + sizeof(T) <= bytes.size())
    std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

// The code and initialized data of a 64-bit ELF file, each section with its name.
std::string code_sections(const std::string& elf) {
  constexpr uint32_t kNoBits = 8;
  const auto table = field<uint64_t>(elf, 40);
  const auto count = field<uint16_t>(elf, 60);
  const auto header = [&](size_t i) { return table + 64 * i; };
  const auto names = field<uint64_t>(elf, header(field<uint16_t>(elf, 62)) + 24);
  std::map<std::string, std::string> sections;
  for (size_t i = 0; i < count; ++i) {
    const std::string name = elf.c_str() + names + field<uint32_t>(elf, header(i));
    const bool wanted =
        name.starts_with(".text") || name.starts_with(".nv.global") || name.starts_with(".nv.constant");
    if (wanted && field<uint32_t>(elf, header(i) + 4) != kNoBits)
      sections[name] = elf.substr(field<uint64_t>(elf, header(i) + 24), field<uint64_t>(elf, header(i) + 32));
  }
  std::string all;
  for (const auto& [name, bytes] : sections)
    all += fmt::format("{} {}\n{}\n", name, bytes.size(), bytes);
  return all;
}

} // namespace

bool asks_all() {
  return mode().ask_all;
}

std::string find() {
  static const std::string path = [] {
    if (!mode().path.empty())
      return mode().path;
    const std::vector<std::string> all = ptxas_paths();
    return all.empty() ? std::string() : all.front();
  }();
  return path;
}

std::optional<Answer> ask(std::string_view module, const std::string& options) {
  Answer answer;
  const auto said = look_up("legal", module, options, [&] {
    Run done = run(module, options, false);
    answer.text = std::move(done.printed);
    return done.succeeded                ? std::string("ok")
           : !knows_version(answer.text) ? std::string()
                                         : fmt::format("bad {}", fmt::join(wrong_lines(answer.text), ","));
  });
  if (!said)
    return std::nullopt;
  answer.accepts = *said == "ok";
  if (!answer.accepts) {
    std::istringstream lines(said->substr(std::strlen("bad")));
    for (std::string line; std::getline(lines >> std::ws, line, ',');)
      answer.wrong_lines.insert(std::stoul(line));
  }
  return answer;
}

Reading read(std::string_view module, const std::string& options) {
  Reading reading;
  Run done = run(module, options, false);
  reading.succeeded = done.succeeded;
  reading.text = std::move(done.printed);
  reading.wrong_lines = wrong_lines(reading.text, &reading.stopped_at);
  return reading;
}

std::optional<uint64_t> code_of(std::string_view module, const std::string& options) {
  const auto said = look_up("code", module, options, [&] {
    const Run done = run(module, options, true);
    if (!knows_version(done.printed))
      return std::string();
    const std::string code = done.succeeded ? code_sections(done.made) : "";
    return fmt::format("code {:x}", code.empty() ? 0 : numeric::hash128(code.data(), code.size()).low);
  });
  return said ? std::optional(std::stoull(said->substr(std::strlen("code ")), nullptr, 16)) : std::nullopt;
}

} // namespace lemma::ptxas
