# `lemma_unit_test`, the one way a folder under tests/unit becomes a test binary and a ctest entry.
find_package(GTest REQUIRED)
include(GoogleTest)

# lemma_unit_test(<name> SOURCES <file>... [DEPS <folder>...])
# Builds bin/<name>_test from GoogleTest sources against lemma::<folder> and registers each of its tests.
function(lemma_unit_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  set(target ${name}_test)
  add_executable(${target} ${ARG_SOURCES})
  target_link_libraries(${target} PRIVATE lemma_flags lemma_fmt GTest::gtest_main)
  foreach(dep ${ARG_DEPS})
    target_link_libraries(${target} PRIVATE lemma::${dep})
  endforeach()
  gtest_discover_tests(${target} TEST_PREFIX "${name}." DISCOVERY_MODE PRE_TEST PROPERTIES TIMEOUT 300)
endfunction()
