# LEMMA_PYTHON: a Python 3 that has numpy; empty if there is none. `python3` in PATH may be one without, so Debian's is
# looked at too, and the environment variable LEMMA_PYTHON before both.
set(LEMMA_PYTHON "")
foreach(candidate $ENV{LEMMA_PYTHON} python3 /usr/bin/python3)
  execute_process(COMMAND ${candidate} -c "import numpy, sys; print(sys.executable)" OUTPUT_VARIABLE found
                  OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE status ERROR_QUIET)
  if(status EQUAL 0)
    set(LEMMA_PYTHON ${found})
    break()
  endif()
endforeach()

# lemma_python_skip(<prefix>): one test that is skipped, so that what does not run is named.
function(lemma_python_skip prefix)
  message(WARNING "no python3 with numpy: the tests ${prefix}.* are not run")
  add_test(NAME ${prefix}.skipped COMMAND ${CMAKE_COMMAND} -E echo "SKIPPED: no python3 with numpy")
  set_tests_properties(${prefix}.skipped PROPERTIES SKIP_REGULAR_EXPRESSION SKIPPED)
endfunction()

# lemma_python_tests(<prefix> <script> [SHARDS <n>] <argument>...)
# One test, <prefix>.<script's name>, whose cases are the names that `script --list` prints: `script <argument>... <name>` is
# <prefix>.<name>, and they are counted one by one (tests/group.py). SHARDS: so many tests side by side, for a long script.
# Without LEMMA_PYTHON, one test that is skipped by name.
function(lemma_python_tests prefix script)
  cmake_parse_arguments(ARG "" "SHARDS" "" ${ARGN})
  if(NOT LEMMA_PYTHON)
    lemma_python_skip(${prefix})
    return()
  endif()
  if(NOT ARG_SHARDS)
    set(ARG_SHARDS 1)
  endif()
  get_filename_component(name ${script} NAME_WE)
  foreach(shard RANGE 1 ${ARG_SHARDS})
    set(test ${prefix}.${name})
    if(ARG_SHARDS GREATER 1)
      string(APPEND test .${shard})
    endif()
    add_test(NAME ${test} COMMAND ${LEMMA_PYTHON} ${PROJECT_SOURCE_DIR}/tests/group.py --cases ${LEMMA_TEST_CASES}/${test}
                                  --prefix ${prefix} --shard ${shard}/${ARG_SHARDS} ${script} ${ARG_UNPARSED_ARGUMENTS})
    # Long ones first: what is short fills the processors at the end.
    set_tests_properties(${test} PROPERTIES TIMEOUT 1500 SKIP_RETURN_CODE 77 COST 60)
  endforeach()
endfunction()

# Where tests that have cases say what became of each: a file of the test's name, which scripts/test.py reads.
set(LEMMA_TEST_CASES ${CMAKE_BINARY_DIR}/Testing/cases)
