// include/lemma/c/npy.h.
#include "lemma/npy.h"

#include "capi/messages.h"

#include <fmt/format.h>

using namespace lemma::capi;

void lemma_npy_release(const lemma_npy* array) {
  release(array);
}

uint64_t lemma_npy_element_bytes(const char* dtype) {
  return dtype ? lemma::npy::element_bytes(dtype) : 0;
}

const lemma_error* lemma_npy_parse(const void* file, size_t file_bytes, const lemma_npy** array) {
  return guarded([&] {
    const lemma_npy*& out = given(array, "lemma_npy_parse: array");
    const std::string_view bytes = text_of(static_cast<const char*>(file), file_bytes);
    const lemma::npy::Array from = unwrap(lemma::npy::parse(std::as_bytes(std::span(bytes))));
    auto tree = std::make_unique<Tree<lemma_npy>>();
    tree->dtype = tree->arena.text(from.dtype);
    tree->rank = from.shape.size();
    tree->shape = tree->arena.copy(from.shape);
    tree->data = tree->arena.copy(from.data);
    tree->data_bytes = from.data.size();
    out = tree.release();
  });
}

const lemma_error* lemma_npy_serialize(const char* dtype, const uint64_t* shape, size_t rank,
                                       const void* data, size_t data_bytes, const lemma_text** file) {
  return guarded([&] {
    const lemma_text*& out = given(file, "lemma_npy_serialize: file");
    if (rank > 0)
      given(shape, "lemma_npy_serialize: shape");
    const auto bytes = std::as_bytes(std::span(text_of(static_cast<const char*>(data), data_bytes)));
    const lemma::npy::Array array{.dtype = &given(dtype, "lemma_npy_serialize: dtype"),
                                  .shape = {shape, shape + rank},
                                  .data = {bytes.begin(), bytes.end()}};
    const uint64_t each = lemma::npy::element_bytes(array.dtype);
    const uint64_t count = lemma::npy::element_count(array.shape);
    if (each == 0 || (count > 0 && data_bytes / count != each) || count * each != data_bytes)
      invalid(fmt::format("lemma_npy_serialize: {} bytes are not {} elements of {}", data_bytes, count,
                          array.dtype));
    const std::vector<std::byte> made = lemma::npy::serialize(array);
    out = text_tree({reinterpret_cast<const char*>(made.data()), made.size()});
  });
}
