// Why an entry point could not do what it was asked: an error of the call, or the report of a kernel that
// faulted.
#pragma once

#include "lemma/message.h"
#include "lemma/report.h"
#include "lemma/result.h"

#include <optional>
#include <string>

namespace lemma::mgpu {

struct Failure {
  std::optional<Error> error;
  std::optional<Report> report; // one of the two is there
  std::string kernel = {};
};

template <class T>
using OrFailure = Result<T, Failure>;

inline Unexpected<Failure> failed(Error error, std::string kernel = {}) {
  return {{.error = std::move(error), .report = {}, .kernel = std::move(kernel)}};
}

inline Unexpected<Failure> wrong(std::string text, ErrorKind kind = ErrorKind::invalid_argument) {
  return failed({.kind = kind, .text = std::move(text), .messages = {}});
}

} // namespace lemma::mgpu
