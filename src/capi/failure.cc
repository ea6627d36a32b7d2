// Errors of the C API.
#include "capi/failure.h"

#include "capi/arena.h"
#include "capi/messages.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <new>

namespace lemma::capi {
namespace {

// What needs no memory.
constexpr lemma_error kNoMemory = {.kind = LEMMA_ERROR_OUT_OF_MEMORY,
                                   .text = "the host has no memory left",
                                   .message_count = 0,
                                   .messages = nullptr,
                                   .rendered = "the host has no memory left\n",
                                   .operand = ""};

const lemma_error* rethrown() {
  try {
    throw;
  } catch (const Failure& failure) {
    return error_of(failure.error, failure.operand);
  } catch (const ForeignFailure& failure) {
    return failure.error;
  } catch (const std::bad_alloc&) {
    return &kNoMemory;
  } catch (const std::exception& problem) {
    return error_of({.kind = ErrorKind::internal, .text = problem.what(), .messages = {}});
  }
}

} // namespace

const lemma_error* error_of(const Error& error, std::string_view operand) {
  auto tree = std::make_unique<Tree<lemma_error>>();
  tree->kind = to_c(error.kind);
  tree->text = tree->arena.text(error.text);
  tree->operand = tree->arena.text(operand);
  list(tree->arena, error.messages, tree->message_count, tree->messages);
  std::string rendered;
  for (const Message& message : error.messages)
    rendered += message.rendered;
  tree->rendered = tree->arena.text(rendered.empty() ? error.text + "\n" : rendered);
  return tree.release();
}

void invalid(std::string text) {
  throw Failure{{.kind = ErrorKind::invalid_argument, .text = std::move(text), .messages = {}}};
}

const lemma_error* caught() noexcept {
  try {
    return rethrown();
  } catch (...) {
    return &kNoMemory;
  }
}

std::string_view text_of(const char* text, size_t bytes) {
  if (!text && bytes > 0)
    invalid("the text is null");
  return {text ? text : "", bytes};
}

void take(void* known, size_t known_bytes, const void* from, size_t given_bytes, const char* name) {
  if (given_bytes < sizeof(size_t))
    invalid(fmt::format("{}: its size is {}; set it to sizeof (LEMMA_SIZED)", name, given_bytes));
  const auto* bytes = static_cast<const char*>(from);
  if (given_bytes > known_bytes &&
      std::any_of(bytes + known_bytes, bytes + given_bytes, [](char byte) { return byte != 0; }))
    invalid(fmt::format("{}: it has {} bytes, this library knows {}, and some beyond are not zero", name,
                        given_bytes, known_bytes));
  std::memcpy(known, from, std::min(known_bytes, given_bytes));
}

} // namespace lemma::capi

using lemma::capi::guarded;

void lemma_error_release(const lemma_error* error) {
  if (error != &lemma::capi::kNoMemory)
    lemma::capi::release(error);
}

const lemma_error* lemma_error_create(lemma_error_kind kind, const char* text) {
  return guarded([&] {
    throw lemma::capi::Failure{
        {.kind = lemma::capi::to_cpp(kind), .text = lemma::capi::text_or(text, ""), .messages = {}}};
  });
}
