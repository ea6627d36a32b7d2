// include/lemma/c/verify.h.
#include "lemma/verify.h"

#include "capi/messages.h"

using namespace lemma::capi;

void lemma_verification_release(const lemma_verification* verification) {
  release(verification);
}

const lemma_error* lemma_verify(const char* text, size_t text_bytes, const lemma_verify_options* options,
                                const lemma_verification** verification) {
  return guarded([&] {
    const lemma_verify_options wanted = taken(options, "lemma_verify: options");
    const lemma_verification*& made = given(verification, "lemma_verify: verification");
    const std::string name = text_or(wanted.name, "<ptx>");
    std::string given_text(text_of(text, text_bytes));
    auto tree = std::make_unique<Tree<lemma_verification>>();
    if (wanted.repair) {
      lemma::RepairedPtx repaired = lemma::repair_ptx(std::move(given_text), name);
      tree->repaired = to_c(tree->arena, repaired.text);
      tree->repairs = repaired.repairs;
      given_text = std::move(repaired.text);
    }
    const lemma::Verification found = lemma::verify_ptx(std::move(given_text), name, wanted.lint);
    tree->accepted = found.accepted;
    list(tree->arena, found.messages, tree->message_count, tree->messages);
    list(tree->arena, found.fusions, tree->fusion_count, tree->fusions);
    list(tree->arena, found.lint, tree->lint_count, tree->lint);
    made = tree.release();
  });
}
