// The lowered program as text, of a kernel's text.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

namespace lemma::lowered {

// What the test gives beside a body.
struct Around {
  std::string before = {};     // the kernel: variables and functions
  std::string parameters = {}; // .param declarations
};

// print() of a kernel k of that body, lowered, without its first line; with `pass` what that alone makes of
// it (passes.def) after the passes `before`. The test fails if the text is not legal. Registers: %p, %h
// (.b16), %r, %rd, %f, %d with numbers from 0 to 8, %v (.v2 .b32), %q (.b128); %acc and %more, accumulators
// of 0 to 7, are .f32.
std::string lowered(const std::string& body, const Around& around = {}, std::string_view pass = {},
                    std::initializer_list<std::string_view> before = {});

} // namespace lemma::lowered
