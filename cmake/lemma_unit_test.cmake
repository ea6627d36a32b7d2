# `lemma_unit_test`, the one way a folder under tests/unit becomes a test binary and a ctest entry.
find_package(GTest REQUIRED)
include(GoogleTest)

set(LEMMA_TEST_HEADERS ${LEMMA_STD_HEADERS} <fstream> <filesystem> <random> <sstream> <thread> <fmt/ranges.h> <gtest/gtest.h>)
lemma_precompile(test HEADERS ${LEMMA_TEST_HEADERS} LINK GTest::gtest OPTIONS ${LEMMA_NOT_OPTIMIZED})

# lemma_test_executable(<target> [PRECOMPILED <headers>] <file>...): GoogleTest sources, with their main().
function(lemma_test_executable target)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "PRECOMPILED" "")
  if(NOT ARG_PRECOMPILED)
    set(ARG_PRECOMPILED test)
  endif()
  add_executable(${target} ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${target} PRIVATE lemma_flags lemma_fmt GTest::gtest_main)
  target_compile_options(${target} PRIVATE ${LEMMA_NOT_OPTIMIZED})
  lemma_use_precompiled(${target} ${ARG_PRECOMPILED})
endfunction()

# lemma_unit_test(<name> SOURCES <file>... [DEPS <folder>...] [PRECOMPILED <headers>])
# Builds bin/<name>_test from GoogleTest sources against lemma::<folder> and registers each of its tests.
function(lemma_unit_test name)
  cmake_parse_arguments(ARG "" "PRECOMPILED" "SOURCES;DEPS" ${ARGN})
  set(target ${name}_test)
  lemma_test_executable(${target} PRECOMPILED "${ARG_PRECOMPILED}" ${ARG_SOURCES})
  foreach(dep ${ARG_DEPS})
    target_link_libraries(${target} PRIVATE lemma::${dep})
  endforeach()
  gtest_discover_tests(${target} TEST_PREFIX "${name}." DISCOVERY_MODE PRE_TEST PROPERTIES TIMEOUT 900)
endfunction()
