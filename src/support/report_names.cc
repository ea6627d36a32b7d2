// What the enumerations of public errors and reports are called.
#include "lemma/message.h"
#include "lemma/report.h"

namespace lemma {

std::string_view to_string(ErrorKind kind) {
  switch (kind) {
  case ErrorKind::invalid_argument:
    return "invalid argument";
  case ErrorKind::rejected:
    return "rejected";
  case ErrorKind::unsupported:
    return "unsupported";
  case ErrorKind::unavailable:
    return "unavailable";
  case ErrorKind::out_of_memory:
    return "out of memory";
  case ErrorKind::device_lost:
    return "device lost";
  case ErrorKind::internal:
    return "internal";
  case ErrorKind::kernel_failed:
    return "kernel failed";
  }
  return "internal";
}

std::string_view to_string(Fidelity fidelity) {
  switch (fidelity) {
  case Fidelity::exact:
    return "exact";
  case Fidelity::recorded:
    return "recorded";
  case Fidelity::published:
    return "published";
  case Fidelity::assumed:
    return "assumed";
  case Fidelity::approximate:
    return "approximate";
  }
  return "approximate";
}

std::string_view to_string(Outcome outcome) {
  switch (outcome) {
  case Outcome::finished:
    return "finished";
  case Outcome::fault:
    return "fault";
  case Outcome::unsupported:
    return "unsupported";
  case Outcome::internal:
    return "internal";
  case Outcome::stopped:
    return "stopped";
  }
  return "internal";
}

std::string_view to_string(FindingRepair::Where where) {
  switch (where) {
  case FindingRepair::Where::before:
    return "before";
  case FindingRepair::Where::behind:
    return "behind";
  case FindingRepair::Where::instead:
    return "instead";
  }
  return "";
}

std::string_view to_string(FaultKind kind) {
  switch (kind) {
  case FaultKind::out_of_bounds:
    return "out of bounds";
  case FaultKind::misaligned:
    return "misaligned address";
  case FaultKind::read_only:
    return "write to read-only memory";
  case FaultKind::wrong_space:
    return "address of another state space";
  case FaultKind::trap:
    return "trap";
  case FaultKind::breakpoint:
    return "breakpoint";
  case FaultKind::assertion:
    return "assertion failed";
  case FaultKind::call_too_deep:
    return "call too deep";
  case FaultKind::bad_call:
    return "bad call target";
  case FaultKind::too_many_instructions:
    return "too many instructions";
  case FaultKind::out_of_memory:
    return "out of memory";
  case FaultKind::deadlock:
    return "deadlock";
  case FaultKind::illegal_instruction:
    return "illegal instruction";
  case FaultKind::timeout:
    return "launch timeout";
  case FaultKind::launch_failed:
    return "launch failed";
  case FaultKind::stopped:
    return "stopped";
  case FaultKind::unsupported:
    return "unsupported";
  case FaultKind::internal:
    return "internal error";
  }
  return "internal error";
}

} // namespace lemma
