// One allocation a list: its length, then the operands.
#include "ptx/operand.h"

#include <algorithm>
#include <memory>
#include <new>
#include <utility>

namespace lemma::ptx {

static_assert(alignof(Operand) <= 8, "operands follow a header of 8 bytes");

void Operands::allocate(size_t count) {
  if (count == 0)
    return;
  auto* bytes = static_cast<std::byte*>(::operator new(kHeaderBytes + count * sizeof(Operand)));
  new (bytes) Header{static_cast<uint32_t>(count)};
  first_ = reinterpret_cast<Operand*>(bytes + kHeaderBytes);
}

void Operands::destroy() {
  std::destroy_n(first_, size());
  ::operator delete(reinterpret_cast<std::byte*>(first_) - kHeaderBytes);
  first_ = nullptr;
}

Operands::Operands(size_t count) {
  allocate(count);
  std::uninitialized_value_construct_n(first_, count);
}

Operands::Operands(std::span<const Operand> operands) : Operands(operands.size()) {
  std::copy(operands.begin(), operands.end(), first_);
}

Operands Operands::taken_from(std::span<Operand> operands) {
  Operands out;
  out.allocate(operands.size());
  std::uninitialized_move(operands.begin(), operands.end(), out.first_);
  return out;
}

Operands::Operands(const Operands& other) : Operands(std::span(other.begin(), other.end())) {}

Operands& Operands::operator=(const Operands& other) {
  Operands copy(other);
  std::swap(first_, copy.first_);
  return *this;
}

Operands& Operands::operator=(Operands&& other) noexcept {
  std::swap(first_, other.first_);
  return *this;
}

} // namespace lemma::ptx
