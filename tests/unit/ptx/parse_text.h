// Helpers of the parser's tests: text in, module or messages out.
#pragma once

#include "ptx/parser.h"

#include <string>
#include <string_view>

namespace lemma::ptx {

// The text behind ".version 9.0 / .target sm_90a / .address_size 64", which are lines 1 to 3.
std::string with_header(std::string_view text);
// A kernel `k` whose body, lines 5 and on, is `body`. It has predicates %p<8>, .b16 %h<8>, .b32 %r<8>, .b64
// %rd<8>, .b128 %q<2>, .f32 %f<8>, .f64 %fd<8>, .shared .b32 sh[16] and the parameter .u64 p.
std::string kernel(std::string_view body);

ParseOutcome parse_text(std::string text);
// Parses and requires that there is not one message, that print() says the same again, and gives the module.
std::unique_ptr<Module> parse_well(std::string text);

// "line:column id: message" of each message, one a line.
std::string messages(const std::string& text);

} // namespace lemma::ptx
