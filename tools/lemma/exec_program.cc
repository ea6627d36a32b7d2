// Of an ELF file only the dynamic section and the sections' names are read, and every offset is checked: a
// program may be anything. Signals: what a terminal sends goes to the program too, which decides; what is
// sent to this process alone is passed on.
#include "exec_program.h"

#include "files.h"

#include <fmt/format.h>

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <span>
#include <string_view>
#include <system_error>

namespace lemma::cli {
namespace {

namespace fs = std::filesystem;

// `count` things at a place of the file; none if they reach beyond its end.
template <class T>
std::span<const T> things_at(std::span<const std::byte> file, uint64_t at, uint64_t count) {
  if (at > file.size() || count > (file.size() - at) / sizeof(T) || at % alignof(T) != 0)
    return {};
  return {reinterpret_cast<const T*>(file.data() + at), count};
}

// A text that ends with a zero; empty if there is none.
std::string_view text_at(std::span<const std::byte> file, uint64_t at) {
  if (at >= file.size())
    return {};
  const std::string_view rest(reinterpret_cast<const char*>(file.data()) + at, file.size() - at);
  const size_t end = rest.find('\0');
  return end == rest.npos ? std::string_view{} : rest.substr(0, end);
}

// The runtime among what a dynamic section needs, if it is another than Lemma's; else empty.
std::string_view other_runtime_in(std::span<const std::byte> file, const Elf64_Shdr& section,
                                  uint64_t strings) {
  for (const Elf64_Dyn& entry :
       things_at<Elf64_Dyn>(file, section.sh_offset, section.sh_size / sizeof(Elf64_Dyn))) {
    if (entry.d_tag != DT_NEEDED)
      continue;
    const std::string_view name = text_at(file, strings + entry.d_un.d_val);
    if (name.starts_with("libcudart.so") && name != "libcudart.so.13")
      return name;
  }
  return {};
}

constexpr int kPassedOn[] = {SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};
volatile std::sig_atomic_t child = 0, asked_to_end = 0;

void note(int) {
  asked_to_end = 1;
}

void pass_on(int signal) {
  if (signal == SIGTERM || signal == SIGHUP)
    asked_to_end = 1;
  if (child > 0)
    ::kill(static_cast<pid_t>(child), signal);
}

// While the program runs: Ctrl-C, which it gets from the terminal too, is its affair.
class Signals {
public:
  Signals() {
    struct sigaction only_note{};
    only_note.sa_handler = note;
    ::sigaction(SIGINT, &only_note, &interrupt_);
    ::sigaction(SIGQUIT, &only_note, &quit_);
    struct sigaction pass{};
    pass.sa_handler = pass_on;
    for (size_t i = 0; i < std::size(kPassedOn); ++i)
      ::sigaction(kPassedOn[i], &pass, &passed_on_[i]);
  }
  // Afterwards it is said what ran. A signal to both may have ended the program first: the first that still
  // comes is only noted, a second one ends the process.
  ~Signals() {
    restore();
    struct sigaction first{};
    first.sa_handler = note;
    first.sa_flags = SA_RESETHAND;
    for (const int signal : {SIGINT, SIGQUIT, SIGTERM, SIGHUP}) {
      struct sigaction now{};
      if (::sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_DFL)
        ::sigaction(signal, &first, nullptr);
    }
  }
  // In the child, before it becomes the program.
  void restore() const {
    ::sigaction(SIGINT, &interrupt_, nullptr);
    ::sigaction(SIGQUIT, &quit_, nullptr);
    for (size_t i = 0; i < std::size(kPassedOn); ++i)
      ::sigaction(kPassedOn[i], &passed_on_[i], nullptr);
  }

private:
  struct sigaction interrupt_{}, quit_{}, passed_on_[std::size(kPassedOn)]{};
};

void set(const Variables& variables) {
  for (const auto& [name, value] : variables)
    ::setenv(name.c_str(), value.c_str(), 1);
}

std::vector<char*> pointers_to(const std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (const std::string& word : words)
    pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// A list of files or folders, apart by colons, with one more, which comes first, unless it is there.
std::string with_first(const std::string& first, const std::string& list) {
  if (list.empty())
    return first;
  for (size_t begin = 0; begin <= list.size();) {
    const size_t end = std::min(list.find(':', begin), list.size());
    if (std::string_view(list).substr(begin, end - begin) == first)
      return list;
    begin = end + 1;
  }
  return first + ":" + list;
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

std::string search_path() {
  const char* value = std::getenv("PATH");
  return value ? value : "/usr/bin:/bin";
}

} // namespace

Result<std::string, std::string> libraries_folder() {
  std::error_code error;
  const fs::path tool = fs::read_symlink("/proc/self/exe", error).parent_path();
  // Installed, with the folder's name as this build has it; and built.
  for (const char* beside : {LEMMA_LIBRARIES_BESIDE_TOOL, "../lib/lemma", "../../lib/lemma"}) {
    const fs::path folder = (tool / beside).lexically_normal();
    if (!error && fs::exists(folder / "libcuda.so.1", error))
      return folder.string();
    error.clear();
  }
  const bool is_of_python =
      fs::exists(tool.parent_path() / "_abi.py", error); // of the package that pip installs
  return fail(fmt::format(
      "there is no libcuda.so.1 of Lemma's beside {}: {}", tool.string(),
      is_of_python ? "this Python package was made without it, or has lost it (pip install "
                     "--force-reinstall lemma-gpu)"
                   : "this build has no driver (cmake -DLEMMA_DRIVER=ON), only a part of it was made "
                     "(cmake --build makes all), or it was moved"));
}

Result<std::string, std::string> find_program(const std::string& name, const Variables& variables) {
  const auto is_program = [](const std::string& path) {
    std::error_code error;
    return fs::is_regular_file(path, error) && ::access(path.c_str(), X_OK) == 0;
  };
  if (name.find('/') != name.npos) {
    if (is_program(name))
      return name;
    return fail(fmt::format("{}: {}", name, std::strerror(::access(name.c_str(), X_OK) ? errno : EACCES)));
  }
  const auto own = std::ranges::find(variables, "PATH", &Variables::value_type::first);
  const std::string all = own == variables.end() ? search_path() : own->second;
  for (size_t begin = 0; begin <= all.size();) {
    const size_t end = std::min(all.find(':', begin), all.size());
    const std::string folder = all.substr(begin, end - begin);
    if (std::string file = (folder.empty() ? "." : folder) + "/" + name; is_program(file))
      return file;
    begin = end + 1;
  }
  return fail(fmt::format("{}: there is no such program in PATH; one of this folder is ./{}", name, name));
}

std::string other_runtime_of(const std::string& path) {
  const auto read = read_file(path);
  if (!read)
    return {};
  const std::span<const std::byte> file = *read;
  const auto header = things_at<Elf64_Ehdr>(file, 0, 1);
  if (header.empty() || std::memcmp(header[0].e_ident, ELFMAG, SELFMAG) != 0 ||
      header[0].e_ident[EI_CLASS] != ELFCLASS64)
    return {};
  const auto sections = things_at<Elf64_Shdr>(file, header[0].e_shoff, header[0].e_shnum);
  for (const Elf64_Shdr& section : sections)
    if (section.sh_type == SHT_DYNAMIC && section.sh_link < sections.size())
      if (const auto name = other_runtime_in(file, section, sections[section.sh_link].sh_offset);
          !name.empty())
        return std::string(name);
  return {};
}

Variables library_variables(const std::string& folder) {
  // A library's DT_RPATH comes before LD_LIBRARY_PATH, and any library that a process opens later may have
  // one: what is there already comes before that.
  std::string preloaded = variable("LD_PRELOAD");
  for (const char* name : {"/libcublas.so.13", "/libcublasLt.so.13", "/libcudart.so.13", "/libcuda.so.1",
                           "/liblemma_preload.so"})
    if (std::error_code error; fs::exists(folder + name, error))
      preloaded = with_first(folder + name, preloaded);
  return {{"LD_LIBRARY_PATH", with_first(folder, variable("LD_LIBRARY_PATH"))},
          {"LD_PRELOAD", preloaded},
          {"PATH", with_first(folder + "/bin", search_path())},                   // its nvidia-smi
          {"PYTHONPATH", with_first(folder + "/python", variable("PYTHONPATH"))}, // its sitecustomize.py
          {"TRITON_LIBCUDA_PATH", folder}}; // which looks for the driver by itself
}

std::string become_program(const std::string& path, const std::vector<std::string>& words,
                           const Variables& variables) {
  set(variables);
  const std::vector<char*> pointers = pointers_to(words);
  ::execv(path.c_str(), pointers.data());
  return fmt::format("{}: {}", path, std::strerror(errno));
}

Result<int, std::string> run_program(const std::string& path, const std::vector<std::string>& words,
                                     const Variables& variables) {
  int failure[2]; // closed when the child has become the program, else it says why not
  if (::pipe2(failure, O_CLOEXEC) != 0)
    return fail(std::string(std::strerror(errno)));
  const Signals signals;
  const std::vector<char*> pointers = pointers_to(words);
  const pid_t started = ::fork();
  if (started == 0) {
    signals.restore();
    set(variables);
    ::execv(path.c_str(), pointers.data());
    const int why = errno;
    [[maybe_unused]] const ssize_t told = ::write(failure[1], &why, sizeof why);
    ::_exit(127);
  }
  child = started;
  ::close(failure[1]);
  int why = started < 0 ? errno : 0;
  const bool not_started = started < 0 || ::read(failure[0], &why, sizeof why) == sizeof why;
  ::close(failure[0]);
  int status = 0;
  while (started > 0 && ::waitpid(started, &status, 0) < 0 && errno == EINTR) {
  }
  child = 0;
  if (not_started)
    return fail(fmt::format("{}: {}", path, std::strerror(why)));
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

bool was_asked_to_end() {
  return asked_to_end != 0;
}

} // namespace lemma::cli
