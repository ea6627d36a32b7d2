// include/lemma/c/verify.h.
#include "lemma/verify.h"

#include "capi/messages.h"

#include <fmt/format.h>

#include <optional>

using namespace lemma::capi;

struct lemma_verify_source {
  std::optional<lemma::PtxText> text;
};

namespace lemma::capi {
namespace {

void fill(Tree<lemma_verification>& to, const Verification& found) {
  to.accepted = found.accepted;
  to.undecided = found.undecided;
  list(to.arena, found.messages, to.message_count, to.messages);
  list(to.arena, found.fusions, to.fusion_count, to.fusions);
  list(to.arena, found.lint, to.lint_count, to.lint);
}

// The caller's functions as verify_each() wants them. An error of read() goes on to take() as it is.
class Each {
public:
  explicit Each(const lemma_verify_each_options& options) : options_(options), failed_(options.count) {}
  ~Each() {
    for (const lemma_error* error : failed_)
      lemma_error_release(error);
  }
  Each(const Each&) = delete;

  Result<PtxText, Error> read(size_t i) {
    lemma_verify_source source;
    failed_[i] = options_.read(options_.user, i, &source);
    if (!failed_[i] && source.text)
      return *std::move(source.text);
    if (!failed_[i])
      failed_[i] = error_of({.kind = ErrorKind::invalid_argument,
                             .text = fmt::format("lemma_verify_each: read() has set no text {}", i),
                             .messages = {}});
    return fail(Error{});
  }

  void take(size_t i, const Result<Verification, Error>& found) {
    if (!found) {
      options_.take(options_.user, i, nullptr, failed_[i]);
      lemma_error_release(std::exchange(failed_[i], nullptr));
      return;
    }
    Tree<lemma_verification> tree;
    fill(tree, *found);
    options_.take(options_.user, i, &tree, nullptr);
  }

private:
  const lemma_verify_each_options& options_;
  std::vector<const lemma_error*> failed_; // by index: each is one thread's at a time
};

} // namespace
} // namespace lemma::capi

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
    fill(*tree, lemma::verify_ptx(std::move(given_text), name, wanted.lint));
    made = tree.release();
  });
}

const lemma_error* lemma_verify_source_set(lemma_verify_source* source, const char* text, size_t text_bytes,
                                           const char* name, bool lint) {
  return guarded([&] {
    given(source, "lemma_verify_source_set: source").text = {
        .text = std::string(text_of(text, text_bytes)), .name = text_or(name, "<ptx>"), .lint = lint};
  });
}

const lemma_error* lemma_verify_each(const lemma_verify_each_options* options) {
  return guarded([&] {
    const lemma_verify_each_options wanted = taken(options, "lemma_verify_each: options");
    given(wanted.read, "lemma_verify_each: options->read");
    given(wanted.take, "lemma_verify_each: options->take");
    Each each(wanted);
    lemma::verify_each(
        wanted.count, [&](size_t i) { return each.read(i); },
        [&](size_t i, const lemma::Result<lemma::Verification, lemma::Error>& found) { each.take(i, found); },
        wanted.threads);
  });
}
