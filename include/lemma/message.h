// What Lemma says to people: messages about a PTX text, and errors of the API's own functions.
//
// Tests: tests/unit/runtime/api_test.cc.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lemma {

// Three kinds are never mixed: `error` (the PTX ISA forbids it), `unsupported` (legal, not modelled yet) and
// `internal` (a bug of Lemma).
enum class Severity : uint8_t { error, warning, unsupported, internal };

// "error", "warning", "unsupported" or "internal".
std::string_view to_string(Severity severity);

// A further line of a message: {"legal", ".m64nNk16 with N = 8..256"}.
struct Note {
  std::string label;
  std::string text;
};

// What mends a part of a text: `text` for the `length` bytes from there on.
struct Repair {
  uint32_t line = 0;   // 1-based
  uint32_t column = 0; // 1-based, in bytes
  uint32_t length = 0; // 0: `text` is inserted
  std::string text;
};

// One message about a place in a PTX text.
struct Message {
  Severity severity = Severity::error;
  std::string id;      // stable, one word or dashed words: "shape"
  std::string text;    // one line, no full stop
  std::string file;    // the name given when the text was loaded
  uint32_t line = 0;   // 1-based
  uint32_t column = 0; // 1-based, in bytes
  uint32_t length = 0; // bytes that the caret marks
  std::vector<Note> notes;
  std::string rendered; // the whole message for a terminal, with source line and caret; ends with a newline
  // Where the repair is mechanical: all places that the message is about, of which it shows the first. Empty:
  // somebody has to think.
  std::vector<Repair> repairs = {};
};

enum class ErrorKind : uint8_t {
  invalid_argument, // the call is wrong: no such kernel, a parameter of another size, a range outside a
                    // buffer
  rejected,         // the PTX text is not legal; `messages` say where
  unsupported,      // legal, but this device does not do it
  unavailable,      // no such device, no driver, or the device refused the text or the call
  out_of_memory,
  device_lost,   // a fault of an earlier launch took the device's context, and this object with it
  internal,      // a bug of Lemma
  kernel_failed, // of a stream: a kernel of its has faulted
};

// "invalid argument", "rejected", ...
std::string_view to_string(ErrorKind kind);

// Why a function of the API has no result.
struct Error {
  ErrorKind kind = ErrorKind::internal;
  std::string text; // what happened; may have several lines; no newline at its end
  std::vector<Message> messages;
};

} // namespace lemma
