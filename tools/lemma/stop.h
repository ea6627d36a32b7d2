// Why a command ends before its end: what it exits with, and what went wrong.
//
// Tests: tests/cli/.
#pragma once

#include "command.h"

#include "lemma/message.h"
#include "lemma/result.h"

#include <string>
#include <utility>

namespace lemma::cli {

struct Stop {
  ExitStatus status = kUsage;
  Error error;
};

// A wrong command line.
inline Unexpected<Stop> usage(std::string text) {
  return fail(Stop{kUsage, {.kind = ErrorKind::invalid_argument, .text = std::move(text), .messages = {}}});
}

// What the library refused.
inline Unexpected<Stop> stop(Error error) {
  ExitStatus status = kFailed;
  if (error.kind == ErrorKind::invalid_argument)
    status = kUsage;
  if (error.kind == ErrorKind::unsupported || error.kind == ErrorKind::unavailable)
    status = kUnsupported;
  return fail(Stop{status, std::move(error)});
}

} // namespace lemma::cli
