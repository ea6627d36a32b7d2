// ptxas in front of the real one, which `lemma exec` has clients find first: runs that with the same words,
// and attaches the PTX to the cubin that it made (image/attached.h), so that Lemma's driver has something to
// run whether or not the client asked for -lineinfo. The machine code in the cubin stays as it is.
//
// What the real one prints, and its exit status, are the client's; nothing is printed here but errors of this
// program's own.
//
// Tests: tests/exec/ptxas_test.py.
#include "image/attached.h"
#include "real.h"
#include "words.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>

namespace lemma::ptxas {
namespace {

constexpr int kFailed = 255; // ptxas' own status of an error

int fatal(const std::string& why) {
  std::fprintf(stderr, "ptxas fatal   : %s\n", why.c_str());
  return kFailed;
}

// Standard input again, for who reads it next: what was read.
bool give_input(const std::string& text) {
  const int file = ::memfd_create("input", MFD_CLOEXEC);
  if (file < 0)
    return false;
  for (size_t at = 0; at < text.size();) {
    const ssize_t bytes = ::write(file, text.data() + at, text.size() - at);
    if (bytes <= 0)
      return false;
    at += static_cast<size_t>(bytes);
  }
  return ::lseek(file, 0, SEEK_SET) == 0 && ::dup2(file, STDIN_FILENO) == STDIN_FILENO;
}

// Its exit status; a signal that ended it ends this process, too.
int run(const std::string& real, char** words) {
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGTERM); // it goes with this process
    if (::getppid() == parent)
      ::execv(real.c_str(), words);
    ::_exit(fatal(real + ": " + std::strerror(errno)));
  }
  int status = 0;
  while (child > 0 && ::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (child < 0)
    return fatal(std::string("fork: ") + std::strerror(errno));
  if (WIFSIGNALED(status)) {
    ::signal(WTERMSIG(status), SIG_DFL);
    ::raise(WTERMSIG(status));
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : kFailed;
}

// In place: the file may be one that the client has made, and holds open.
int attach(const std::string& path, const std::vector<std::string>& texts) {
  struct stat file{};
  if (::stat(path.c_str(), &file) != 0 || !S_ISREG(file.st_mode))
    return 0;
  std::ifstream in(path, std::ios::binary);
  const std::string cubin{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  const auto attached = image::attach_ptx(std::as_bytes(std::span(cubin)), texts);
  if (!attached) // no cubin, as of a later format: whoever loads it says what is missing
    return 0;
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out << *attached;
  if (out.flush())
    return 0;
  ::unlink(path.c_str());
  return fatal(path + ": cannot write the cubin with its PTX: " + std::strerror(errno));
}

int main_of(int count, char** words) {
  const std::string real = find_real();
  if (real.empty())
    return fatal("Lemma's ptxas has NVIDIA's compile, and finds none in PATH, CUDA_HOME, CUDA_PATH or "
                 "/usr/local/cuda: pip install nvidia-cuda-nvcc, or say where one is (LEMMA_PTXAS=FILE)");
  const Words read = read_words({words + std::min(count, 1), words + count});
  pass_on();
  if (read.reads_input && !give_input(read.texts.empty() ? "" : read.texts.back()))
    return fatal(std::string("cannot pass standard input on: ") + std::strerror(errno));
  if (read.texts.empty()) { // --version, --help, or a mistake
    ::execv(real.c_str(), words);
    return fatal(real + ": " + std::strerror(errno));
  }
  const int status = run(real, words);
  return status == 0 ? attach(read.output, read.texts) : status;
}

} // namespace
} // namespace lemma::ptxas

int main(int count, char** words) {
  return lemma::ptxas::main_of(count, words);
}
