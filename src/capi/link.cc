// include/lemma/c/link.h.
#include "lemma/link.h"

#include "capi/messages.h"

using namespace lemma::capi;

void lemma_linked_ptx_release(const lemma_linked_ptx* linked) {
  release(linked);
}

const lemma_error* lemma_link_ptx(const lemma_ptx_text* texts, size_t text_count,
                                  const lemma_linked_ptx** linked) {
  return guarded([&] {
    const lemma_linked_ptx*& made = given(linked, "lemma_link_ptx: linked");
    std::vector<lemma::PtxText> taken_texts;
    for_each_taken(texts, text_count, "lemma_link_ptx: a text", [&](const lemma_ptx_text& each) {
      taken_texts.push_back(
          {.text = std::string(text_of(each.text, each.text_bytes)), .name = text_or(each.name, "<ptx>")});
    });
    const lemma::LinkedPtx found = unwrap(lemma::link_ptx(taken_texts));
    auto tree = std::make_unique<Tree<lemma_linked_ptx>>();
    tree->text = to_c(tree->arena, found.text);
    list(tree->arena, found.messages, tree->message_count, tree->messages);
    made = tree.release();
  });
}
