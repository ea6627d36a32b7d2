// Engines by name, of options and of the environment.
#include "lemma/engine.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace lemma {
namespace {

TEST(Engine, HasOneNameOfItsOwn) {
  for (const Engine engine : {Engine::automatic, Engine::interpreter, Engine::compiled})
    EXPECT_EQ(engine_named(to_string(engine)), engine);
  EXPECT_EQ(to_string(Engine::automatic), "auto");
  EXPECT_EQ(engine_named("compiled"), Engine::compiled);
  for (const char* none : {"", "automatic", "Auto", "jit", "compiled "})
    EXPECT_EQ(engine_named(none), std::nullopt) << none;
}

TEST(Engine, IsTheEnvironments) {
  unsetenv("LEMMA_ENGINE");
  EXPECT_EQ(engine_of_environment().value(), Engine::automatic);
  setenv("LEMMA_ENGINE", "", 1);
  EXPECT_EQ(engine_of_environment().value(), Engine::automatic);
  setenv("LEMMA_ENGINE", "interpreter", 1);
  EXPECT_EQ(engine_of_environment().value(), Engine::interpreter);
  setenv("LEMMA_ENGINE", "jit", 1);
  const Result<Engine, Error> none = engine_of_environment();
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind, ErrorKind::invalid_argument);
  EXPECT_EQ(none.error().text, "LEMMA_ENGINE is 'jit': legal are auto, interpreter, compiled");
  unsetenv("LEMMA_ENGINE");
}

} // namespace
} // namespace lemma
