// Layouts as public data: a fragment's elements and formulas in a MatrixOperand, and the formula of any
// coordinate that an index moves in regular steps.
//
// Tests: tests/unit/inspect/layout_test.cc, tensor_test.cc.
#pragma once

#include "layout/fragment.h"
#include "lemma/layout.h"

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace lemma::inspect {

// "8 * (lane / 4 % 2)" for each mode that moves the coordinate, behind what `text` has.
void add_terms(const layout::Modes& modes, std::string_view index, int layout::Coord::* axis,
               std::string& text);

// The modes by which an index below `count` moves from at(0), where at() is made of such; none where it is
// not. Together they have `count` places, or more where it `ends_anywhere`.
std::optional<layout::Modes> modes_of(int count, const std::function<layout::Coord(int)>& at,
                                      bool ends_anywhere = false);

// All that a MatrixOperand says of who holds what.
void add_fragment(const layout::Fragment& fragment, MatrixOperand& out);

} // namespace lemma::inspect
