// Engines by name, as options and the environment's LEMMA_ENGINE have them. What each one is: lemma/launch.h.
//
// The C++ API asks the environment nothing: LaunchConfig::engine is what holds. Lemma's command line, CUDA
// driver, MLIR runtime, C API and Python package set it so where they are not told otherwise.
//
// Tests: tests/unit/support/engine_test.cc.
#pragma once

#include "lemma/launch.h"
#include "lemma/message.h"
#include "lemma/result.h"

#include <array>
#include <optional>
#include <string_view>

namespace lemma {

// By Engine.
inline constexpr std::array<std::string_view, 3> kEngineNames = {"auto", "interpreter", "compiled"};
std::string_view to_string(Engine engine);

// None: no engine has that name.
std::optional<Engine> engine_named(std::string_view name);

// What LEMMA_ENGINE names; Engine::automatic where it is not set, or empty. Error: invalid_argument, it names
// none.
Result<Engine, Error> engine_of_environment();

} // namespace lemma
