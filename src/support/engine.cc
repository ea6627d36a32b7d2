// Engines by name: include/lemma/engine.h.
#include "lemma/engine.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>

namespace lemma {

std::string_view to_string(Engine engine) {
  return kEngineNames[static_cast<size_t>(engine)];
}

std::optional<Engine> engine_named(std::string_view name) {
  const auto* const found = std::ranges::find(kEngineNames, name);
  if (found == kEngineNames.end())
    return std::nullopt;
  return static_cast<Engine>(found - kEngineNames.begin());
}

Result<Engine, Error> engine_of_environment() {
  const char* const value = std::getenv("LEMMA_ENGINE");
  if (!value || !*value)
    return Engine::automatic;
  if (const std::optional<Engine> engine = engine_named(value))
    return *engine;
  return fail(
      Error{.kind = ErrorKind::invalid_argument,
            .text = fmt::format("LEMMA_ENGINE is '{}': legal are {}", value, fmt::join(kEngineNames, ", ")),
            .messages = {}});
}

} // namespace lemma
