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

# lemma_python_tests(<prefix> <script> <argument>...)
# One test for each name that `script --list` prints, <prefix>.<name>: `script <argument>... <name>`.
# Without LEMMA_PYTHON, one test that is skipped by name.
function(lemma_python_tests prefix script)
  if(NOT LEMMA_PYTHON)
    lemma_python_skip(${prefix})
    return()
  endif()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${script})
  execute_process(COMMAND ${LEMMA_PYTHON} ${script} --list OUTPUT_VARIABLE names OUTPUT_STRIP_TRAILING_WHITESPACE
                          COMMAND_ERROR_IS_FATAL ANY)
  string(REPLACE "\n" ";" names "${names}")
  foreach(name ${names})
    add_test(NAME ${prefix}.${name} COMMAND ${LEMMA_PYTHON} ${script} ${ARGN} ${name})
    set_tests_properties(${prefix}.${name} PROPERTIES TIMEOUT 120 SKIP_RETURN_CODE 77)
  endforeach()
endfunction()
