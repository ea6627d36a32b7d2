// Records as perf reads them: jit_dump.h.
#include "vgpu/compiled/jit_dump.h"

#include <fmt/format.h>

#include <cstdlib>
#include <ctime>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace lemma::vgpu {
namespace {

constexpr uint32_t kMagic = 0x4A695444, kVersion = 1, kMachineX86 = 62, kCodeLoad = 0;

struct Header {
  uint32_t magic = kMagic, version = kVersion, size = sizeof(Header), machine = kMachineX86, unused = 0;
  uint32_t process = 0;
  uint64_t time = 0;
  uint64_t flags = 0;
};

struct CodeLoad { // the name, its NUL and the code follow
  uint32_t id = kCodeLoad, size = 0;
  uint64_t time = 0;
  uint32_t process = 0, thread = 0;
  uint64_t address = 0, same_address = 0, code_bytes = 0, index = 0;
};

uint64_t now() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
}

size_t page_bytes() {
  return static_cast<size_t>(::sysconf(_SC_PAGESIZE));
}

} // namespace

JitDump* JitDump::wanted() {
  static const std::unique_ptr<JitDump> dump = [] {
    const char* const folder = std::getenv("LEMMA_JITDUMP");
    return folder && *folder ? std::make_unique<JitDump>(folder) : nullptr;
  }();
  return dump.get();
}

bool JitDump::open() {
  if (process_ == ::getpid())
    return file_ != nullptr;
  close();
  process_ = ::getpid();
  file_ = std::fopen(fmt::format("{}/jit-{}.dump", folder_, process_).c_str(), "w+");
  if (!file_)
    return false;
  const Header header{.process = static_cast<uint32_t>(process_), .time = now()};
  std::fwrite(&header, sizeof header, 1, file_);
  std::fflush(file_);
  void* const page = ::mmap(nullptr, page_bytes(), PROT_READ | PROT_EXEC, MAP_PRIVATE, ::fileno(file_), 0);
  marker_ = page == MAP_FAILED ? nullptr : page;
  return true;
}

void JitDump::close() {
  if (marker_)
    ::munmap(marker_, page_bytes());
  if (file_)
    std::fclose(file_);
  marker_ = nullptr;
  file_ = nullptr;
}

void JitDump::add(std::span<const std::byte> code, std::string_view name) {
  const std::lock_guard lock(mutex_);
  if (!open())
    return;
  const auto address = reinterpret_cast<uint64_t>(code.data());
  const CodeLoad load{.size = static_cast<uint32_t>(sizeof(CodeLoad) + name.size() + 1 + code.size()),
                      .time = now(),
                      .process = static_cast<uint32_t>(process_),
                      .thread = static_cast<uint32_t>(::syscall(SYS_gettid)),
                      .address = address,
                      .same_address = address,
                      .code_bytes = code.size(),
                      .index = count_++};
  std::fwrite(&load, sizeof load, 1, file_);
  std::fwrite(name.data(), 1, name.size(), file_);
  std::fputc('\0', file_);
  std::fwrite(code.data(), 1, code.size(), file_);
  std::fflush(file_);
}

} // namespace lemma::vgpu
