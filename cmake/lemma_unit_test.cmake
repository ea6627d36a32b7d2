# `lemma_unit_test`, the one way a folder under tests/unit becomes a test binary and a ctest entry.
find_package(GTest REQUIRED)
include(GoogleTest)

lemma_precompile(test HEADERS ${LEMMA_STD_HEADERS} <fstream> <filesystem> <random> <sstream> <thread> <fmt/ranges.h>
                              <gtest/gtest.h>
                      LINK GTest::gtest OPTIONS ${LEMMA_NOT_OPTIMIZED})

# lemma_test_executable(<target> <file>...): GoogleTest sources, with their main().
function(lemma_test_executable target)
  add_executable(${target} ${ARGN})
  target_link_libraries(${target} PRIVATE lemma_flags lemma_fmt GTest::gtest_main)
  target_compile_options(${target} PRIVATE ${LEMMA_NOT_OPTIMIZED})
  lemma_use_precompiled(${target} test)
endfunction()

# lemma_unit_test(<name> SOURCES <file>... [DEPS <folder>...])
# Builds bin/<name>_test from GoogleTest sources against lemma::<folder> and registers each of its tests.
function(lemma_unit_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  set(target ${name}_test)
  lemma_test_executable(${target} ${ARG_SOURCES})
  foreach(dep ${ARG_DEPS})
    target_link_libraries(${target} PRIVATE lemma::${dep})
  endforeach()
  gtest_discover_tests(${target} TEST_PREFIX "${name}." DISCOVERY_MODE PRE_TEST PROPERTIES TIMEOUT 900)
endfunction()
