// include/lemma/c/mma.h.
#include "lemma/mma.h"

#include "capi/messages.h"

#include <fmt/format.h>

#include <algorithm>

namespace lemma::capi {
namespace {

struct HeldForm : Tree<lemma_mma_form> {
  MmaForm form;
};

const lemma_mma_operand* operand(Arena& arena, const MmaOperand& from) {
  return arena.make<lemma_mma_operand>({.type = arena.text(from.type), .rows = from.rows, .cols = from.cols});
}

// Of the integer that holds an element.
uint32_t element_bytes(std::string_view type) {
  const int bits = bits_of_type(type);
  return bits <= 8 ? 1 : bits <= 16 ? 2 : bits <= 32 ? 4 : 8;
}

BitMatrix matrix_of(const lemma_matrix& given, const char* name) {
  const uint64_t bytes = given.element_bytes;
  if (bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8)
    invalid(fmt::format("lemma_mma: {} has elements of {} bytes: legal are 1, 2, 4 and 8", name, bytes));
  constexpr uint64_t kMostExtent = 1 << 16; // far more than any instruction has
  if (given.rows > kMostExtent || given.cols > kMostExtent)
    invalid(fmt::format("lemma_mma: {} is {} x {}", name, given.rows, given.cols));
  BitMatrix matrix{
      .rows = given.rows, .cols = given.cols, .bits = std::vector<uint64_t>(given.rows * given.cols)};
  const auto* from = static_cast<const char*>(given.data);
  for (uint64_t& element : matrix.bits) {
    std::memcpy(&element, from, bytes); // the host is little-endian
    from += bytes;
  }
  return matrix;
}

std::optional<BitMatrix> optional_matrix(const lemma_matrix& given, const char* name) {
  return given.data ? std::optional(matrix_of(given, name)) : std::nullopt;
}

} // namespace
} // namespace lemma::capi

using namespace lemma::capi;

void lemma_mma_form_release(const lemma_mma_form* form) {
  delete static_cast<const HeldForm*>(form);
}

const lemma_error* lemma_mma_form_of(const char* name, const char* arch, const lemma_mma_form** form) {
  return guarded([&] {
    const lemma_mma_form*& out = given(form, "lemma_mma_form_of: form");
    auto held = std::make_unique<HeldForm>();
    held->form = unwrap(lemma::mma_form(&given(name, "lemma_mma_form_of: name"), text_or(arch, "")));
    const lemma::MmaForm& from = held->form;
    Arena& arena = held->arena;
    held->spelling = arena.text(from.spelling);
    held->arch = arena.text(from.arch);
    held->rule = arena.text(from.rule);
    held->evidence = arena.text(from.evidence);
    held->a = operand(arena, from.a);
    held->b = operand(arena, from.b);
    held->c = operand(arena, from.c);
    held->d = operand(arena, from.d);
    if (from.sparse) {
      held->stored_a = operand(arena, from.stored_a);
      held->metadata = operand(arena, from.metadata);
    }
    if (from.scaled) {
      held->scale_a = operand(arena, from.scale_a);
      held->scale_b = operand(arena, from.scale_b);
    }
    held->d_element_bytes = element_bytes(from.d.type);
    out = held.release();
  });
}

const lemma_error* lemma_mma(const lemma_mma_form* form, const lemma_mma_operands* operands, void* d,
                             size_t d_bytes) {
  return guarded([&] {
    const lemma::MmaForm& wanted = static_cast<const HeldForm&>(given(form, "lemma_mma: form")).form;
    given(operands, "lemma_mma: operands");
    const lemma_mma_operands from = taken(operands, "lemma_mma: operands");
    given(static_cast<char*>(d), "lemma_mma: d");
    given(static_cast<const char*>(from.a.data), "lemma_mma: a");
    given(static_cast<const char*>(from.b.data), "lemma_mma: b");
    const uint64_t bytes = form->d_element_bytes;
    if (d_bytes != wanted.d.rows * wanted.d.cols * bytes)
      invalid(fmt::format("lemma_mma: d has {} bytes: legal are {}, for {} x {} elements of {}", d_bytes,
                          wanted.d.rows * wanted.d.cols * bytes, wanted.d.rows, wanted.d.cols, bytes));
    const auto product = lemma::mma(wanted, {.a = matrix_of(from.a, "a"),
                                             .b = matrix_of(from.b, "b"),
                                             .c = optional_matrix(from.c, "c"),
                                             .metadata = optional_matrix(from.metadata, "metadata"),
                                             .scale_a = optional_matrix(from.scale_a, "scale_a"),
                                             .scale_b = optional_matrix(from.scale_b, "scale_b")});
    if (!product)
      throw Failure{product.error().error, product.error().operand};
    auto* to = static_cast<char*>(d);
    for (const uint64_t element : product->bits) {
      std::memcpy(to, &element, bytes);
      to += bytes;
    }
  });
}

int32_t lemma_type_bits(const char* type) {
  try {
    return lemma::bits_of_type(text_or(type, ""));
  } catch (...) {
    return 0;
  }
}

const lemma_text* lemma_element_text(uint64_t bits, const char* type) {
  return or_null([&] { return text_tree(lemma::element_text(bits, text_or(type, ""))); });
}

const lemma_error* lemma_bits_of(const void* data, size_t data_bytes, const char* dtype, uint64_t elements,
                                 const char* type, uint64_t* bits) {
  return guarded([&] {
    given(static_cast<const char*>(data), "lemma_bits_of: data");
    given(bits, "lemma_bits_of: bits");
    const auto* bytes = static_cast<const std::byte*>(data);
    lemma::npy::Array array{.dtype = &given(dtype, "lemma_bits_of: dtype"),
                            .shape = {1, elements},
                            .data = {bytes, bytes + data_bytes}};
    const uint64_t each = lemma::npy::element_bytes(array.dtype);
    if (each == 0 || elements > data_bytes / each || elements * each != data_bytes)
      invalid(fmt::format("lemma_bits_of: {} elements of {} are not {} bytes", elements, array.dtype,
                          data_bytes));
    const lemma::BitMatrix matrix = unwrap(lemma::bits_of(array, &given(type, "lemma_bits_of: type")));
    std::copy(matrix.bits.begin(), matrix.bits.end(), bits);
  });
}
