// Of the C API (lemma/c.h): the version, errors and messages, texts. As lemma/message.h.
//
// Tests: tests/unit/capi/base_test.cc.
#ifndef LEMMA_C_BASE_H
#define LEMMA_C_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LEMMA_API __attribute__((visibility("default")))

// The type of enumerations: in C++ said, so that a value which is no enumerator may be looked at, and
// refused.
#ifdef __cplusplus
#define LEMMA_INT : int
#else
#define LEMMA_INT
#endif

// A struct of the caller's with all defaults: `lemma_launch_config config =
// LEMMA_SIZED(lemma_launch_config);`
#ifdef __cplusplus
#define LEMMA_SIZED(type)                                                                                    \
  ([] {                                                                                                      \
    type made = {};                                                                                          \
    made.size = sizeof made;                                                                                 \
    return made;                                                                                             \
  }())
extern "C" {
#else
#define LEMMA_SIZED(type) ((type){.size = sizeof(type)})
#endif

// "0.1.0"
LEMMA_API const char* lemma_version(void);

// Bytes of the caller's.
typedef struct lemma_bytes {
  const void* data;
  size_t size;
} lemma_bytes;

// A list of strings of the library's.
typedef struct lemma_strings {
  size_t count;
  const char* const* items;
} lemma_strings;

// A text, or bytes, that a function returns: the caller's. A NUL follows, which `size` does not count.
typedef struct lemma_text {
  const char* text;
  size_t size;
} lemma_text;
LEMMA_API void lemma_text_release(const lemma_text* text);

typedef enum lemma_severity LEMMA_INT {
  LEMMA_SEVERITY_ERROR = 0, // the PTX ISA forbids it
  LEMMA_SEVERITY_WARNING = 1,
  LEMMA_SEVERITY_UNSUPPORTED = 2, // legal, not modelled yet
  LEMMA_SEVERITY_INTERNAL = 3     // a bug of Lemma
} lemma_severity;
// "error", "warning", "unsupported", "internal"; here and in all functions like this one: empty if it is
// none.
LEMMA_API const char* lemma_severity_name(lemma_severity severity);

// A further line of a message: "legal", ".m64nNk16 with N = 8..256".
typedef struct lemma_note {
  const char* label;
  const char* text;
} lemma_note;

// What mends a part of a text: `text` for the `length` bytes from there on.
typedef struct lemma_repair {
  uint32_t line;   // 1-based
  uint32_t column; // 1-based, in bytes
  uint32_t length; // 0: `text` is inserted
  const char* text;
} lemma_repair;

// One message about a place in a PTX text, or an MLIR one.
typedef struct lemma_message {
  lemma_severity severity;
  const char* id;   // stable, one word or dashed words: "shape"
  const char* text; // one line, no full stop
  const char* file; // the name given when the text was loaded
  uint32_t line;    // 1-based
  uint32_t column;  // 1-based, in bytes
  uint32_t length;  // bytes that the caret marks
  size_t note_count;
  const lemma_note* const* notes;
  size_t repair_count; // 0: somebody has to think
  const lemma_repair* const* repairs;
  const char* rendered; // the whole message for a terminal, with source line and caret; ends with a newline
} lemma_message;

typedef enum lemma_error_kind LEMMA_INT {
  LEMMA_ERROR_INVALID_ARGUMENT = 0, // the call is wrong: no such kernel, a parameter of another size, null
  LEMMA_ERROR_REJECTED = 1,         // the text is not legal; `messages` say where
  LEMMA_ERROR_UNSUPPORTED = 2,      // legal, but this device does not do it
  LEMMA_ERROR_UNAVAILABLE = 3,      // no such device, no driver, or it refused; built without MLIR
  LEMMA_ERROR_OUT_OF_MEMORY = 4,
  LEMMA_ERROR_DEVICE_LOST = 5,  // a fault of an earlier launch took the device's context
  LEMMA_ERROR_INTERNAL = 6,     // a bug of Lemma
  LEMMA_ERROR_KERNEL_FAILED = 7 // of a stream: a kernel of its has faulted
} lemma_error_kind;
// "invalid argument", "rejected", ...
LEMMA_API const char* lemma_error_kind_name(lemma_error_kind kind);

// Why a function has no result.
typedef struct lemma_error {
  lemma_error_kind kind;
  const char* text; // what happened; may have several lines; no newline at its end
  size_t message_count;
  const lemma_message* const* messages;
  const char* rendered; // for a terminal: the messages if there are any, else the text; ends with a newline
  const char* operand;  // lemma_mma(): whose values are wrong, "a"; else empty
} lemma_error;
LEMMA_API void lemma_error_release(const lemma_error* error);
// An error of the caller's own, for callbacks that return one.
LEMMA_API const lemma_error* lemma_error_create(lemma_error_kind kind, const char* text);

// Text from outside as messages show it: nothing in it can move the cursor or turn the order of what a
// terminal shows. `lines`: newlines and tabs stay. As lemma/printable.h. Null if there is no memory.
LEMMA_API const lemma_text* lemma_printable(const char* text, size_t text_bytes, bool lines);
// " (did you mean sm_90?)": the candidate nearest to the word; empty if none is near. As lemma/nearest.h.
// Null if there is no memory, or a pointer is null.
LEMMA_API const lemma_text* lemma_did_you_mean(const char* word, const char* const* candidates,
                                               size_t candidate_count);

#ifdef __cplusplus
}
#endif

#endif
