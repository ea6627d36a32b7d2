// include/lemma/c/image.h.
#include "lemma/image.h"

#include "capi/messages.h"

namespace lemma::capi {
namespace {

void fill(Arena& arena, const ImagePtx& from, lemma_image_ptx& to) {
  to.text = to_c(arena, from.text);
  to.name = arena.text(from.name);
  list(arena, from.messages, to.message_count, to.messages);
}

ImageOptions options_of(const lemma_image_options* options, const char* name) {
  const lemma_image_options wanted = taken(options, name);
  return {.arch = text_or(wanted.arch, ""), .name = text_or(wanted.name, "<image>")};
}

} // namespace

static const lemma_image_ptx* to_c(Arena& arena, const ImagePtx& from) {
  auto* made = arena.make<lemma_image_ptx>();
  fill(arena, from, *made);
  return made;
}

} // namespace lemma::capi

using namespace lemma::capi;

void lemma_image_ptx_release(const lemma_image_ptx* ptx) {
  release(ptx);
}

void lemma_image_modules_release(const lemma_image_modules* modules) {
  release(modules);
}

bool lemma_is_image(const void* bytes, size_t size_bytes) {
  return bytes && lemma::is_image({static_cast<const std::byte*>(bytes), size_bytes});
}

const lemma_error* lemma_ptx_of_image(const void* bytes, size_t size_bytes,
                                      const lemma_image_options* options,
                                      const lemma_image_modules** modules) {
  return guarded([&] {
    const lemma_image_modules*& made = given(modules, "lemma_ptx_of_image: modules");
    const auto found = unwrap(lemma::ptx_of_image(bytes_of(bytes, size_bytes, "lemma_ptx_of_image: bytes"),
                                                  options_of(options, "lemma_ptx_of_image: options")));
    auto tree = std::make_unique<Tree<lemma_image_modules>>();
    list(tree->arena, found, tree->count, tree->items);
    made = tree.release();
  });
}

const lemma_error* lemma_ptx_of_module_data(const void* image, const lemma_image_options* options,
                                            const lemma_image_ptx** ptx) {
  return guarded([&] {
    const lemma_image_ptx*& made = given(ptx, "lemma_ptx_of_module_data: ptx");
    const lemma::ImagePtx found =
        unwrap(lemma::ptx_of_module_data(image, options_of(options, "lemma_ptx_of_module_data: options")));
    auto tree = std::make_unique<Tree<lemma_image_ptx>>();
    fill(tree->arena, found, *tree);
    made = tree.release();
  });
}
