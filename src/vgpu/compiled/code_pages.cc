// Pages by mmap() and mprotect(): code_pages.h.
#include "vgpu/compiled/code_pages.h"

#include <sys/mman.h>
#include <unistd.h>

namespace lemma::vgpu {

std::unique_ptr<CodePages> CodePages::allocate(size_t bytes) {
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  const size_t whole = (bytes + page - 1) / page * page;
  void* const data = ::mmap(nullptr, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED)
    return nullptr;
  return std::unique_ptr<CodePages>(new CodePages(static_cast<std::byte*>(data), whole));
}

CodePages::~CodePages() {
  ::munmap(data_, bytes_);
}

bool CodePages::make_executable() {
  return ::mprotect(data_, bytes_, PROT_READ | PROT_EXEC) == 0;
}

} // namespace lemma::vgpu
