// include/lemma/c/base.h, but for errors; and names of enumerators.
#include "capi/messages.h"
#include "lemma/lemma.h"
#include "lemma/nearest.h"
#include "lemma/printable.h"

namespace lemma::capi {
namespace {

// The names are literals, so that a NUL follows.
template <class C>
const char* name_of(C value) noexcept {
  try {
    return to_string(to_cpp(value)).data();
  } catch (...) {
    return "";
  }
}

} // namespace
} // namespace lemma::capi

using namespace lemma::capi;

const char* lemma_version(void) {
  return lemma::version().data();
}

void lemma_text_release(const lemma_text* text) {
  release(text);
}

const char* lemma_severity_name(lemma_severity severity) {
  return name_of(severity);
}
const char* lemma_error_kind_name(lemma_error_kind kind) {
  return name_of(kind);
}
const char* lemma_outcome_name(lemma_outcome outcome) {
  return name_of(outcome);
}
const char* lemma_repair_where_name(lemma_repair_where where) {
  return name_of(where);
}
const char* lemma_fault_kind_name(lemma_fault_kind kind) {
  return name_of(kind);
}
const char* lemma_fidelity_name(lemma_fidelity fidelity) {
  return name_of(fidelity);
}

const char* lemma_sync_event_name(lemma_sync_event event) {
  return name_of(event);
}

const lemma_text* lemma_printable(const char* text, size_t text_bytes, bool lines) {
  return or_null([&] {
    const std::string_view given = text_of(text, text_bytes);
    return text_tree(lines ? lemma::printable_lines(given) : lemma::printable(given));
  });
}

const lemma_text* lemma_did_you_mean(const char* word, const char* const* candidates,
                                     size_t candidate_count) {
  return or_null([&] {
    std::vector<std::string_view> known;
    for (size_t i = 0; i < candidate_count; ++i)
      known.emplace_back(&given(given(candidates, "lemma_did_you_mean: candidates") ? candidates[i] : nullptr,
                                "lemma_did_you_mean: a candidate"));
    return text_tree(lemma::did_you_mean(&given(word, "lemma_did_you_mean: word"), known));
  });
}
