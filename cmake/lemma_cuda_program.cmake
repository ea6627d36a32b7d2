# Programs that nvcc makes, of which tests/cuda/built holds what it made: tests/cuda/built.py. Wants LEMMA_PYTHON.
set(LEMMA_CUTLASS "" CACHE PATH "Folder of CUTLASS 4 (with include and tools/util/include) for tests; empty: they are skipped")
find_program(LEMMA_NVCC nvcc HINTS ENV CUDA_HOME ENV CUDA_PATH PATHS /usr/local/cuda PATH_SUFFIXES bin)
set(LEMMA_NVCC_13_5 "" CACHE FILEPATH "nvcc of CUDA 13.5 for tests, as in PyPI's nvidia-cuda-nvcc; empty: what is recorded of its programs")

# Sets `usable` to nvcc, or to nothing where its release is another.
function(lemma_nvcc_of release nvcc usable)
  set(${usable} "" PARENT_SCOPE)
  if(nvcc)
    execute_process(COMMAND ${nvcc} --version OUTPUT_VARIABLE version ERROR_QUIET)
    if(version MATCHES "release ${release}")
      set(${usable} ${nvcc} PARENT_SCOPE)
    endif()
  endif()
endfunction()
lemma_nvcc_of("13\\." "${LEMMA_NVCC}" LEMMA_USABLE_NVCC)
lemma_nvcc_of("13\\.5" "${LEMMA_NVCC_13_5}" LEMMA_USABLE_NVCC_13_5)
if(NOT TARGET lemma_cuda_programs)
  add_custom_target(lemma_cuda_programs ALL)
endif()

# lemma_cuda_program(<name> <output> FILES <file>... WORDS <word>...)
# Makes the output, of the files that it depends on, by nvcc's words (without -o); both name files from tests/cuda, where nvcc
# runs. Sets <name>_MADE: OFF where it is not recorded as it is, and there is no nvcc of CUDA 13, or 13.5 for cuda_13_5/NAME.
function(lemma_cuda_program name output)
  cmake_parse_arguments(ARG "" "" "FILES;WORDS" ${ARGN})
  set(folder ${PROJECT_SOURCE_DIR}/tests/cuda)
  set(how --files ${ARG_FILES} -- ${ARG_WORDS})
  set(nvcc ${LEMMA_USABLE_NVCC})
  if(name MATCHES "^cuda_13_5/")
    set(nvcc ${LEMMA_USABLE_NVCC_13_5})
  endif()
  set(${name}_MADE ON PARENT_SCOPE)
  if(NOT nvcc)
    execute_process(COMMAND ${LEMMA_PYTHON} ${folder}/built.py is-recorded ${name} ${how} RESULT_VARIABLE missing)
    if(missing)
      set(${name}_MADE OFF PARENT_SCOPE)
      return()
    endif()
  endif()
  list(TRANSFORM ARG_FILES PREPEND ${folder}/ OUTPUT_VARIABLE files)
  add_custom_command(OUTPUT ${output}
    COMMAND ${LEMMA_PYTHON} ${folder}/built.py make ${name} ${output} "--nvcc=${nvcc}" ${how}
    DEPENDS ${files} ${folder}/built.py COMMENT "Making ${name}" VERBATIM)
  string(MAKE_C_IDENTIFIER ${name} target)
  add_custom_target(lemma_cuda_program_${target} DEPENDS ${output})
  add_dependencies(lemma_cuda_programs lemma_cuda_program_${target})
endfunction()

# lemma_cuda_skip(<test>): a test that is skipped, so that what does not run is named.
function(lemma_cuda_skip test)
  add_test(NAME ${test} COMMAND ${CMAKE_COMMAND} -E echo "SKIPPED: changed since nvcc made it, and no nvcc of CUDA 13 (LEMMA_NVCC)")
  set_tests_properties(${test} PROPERTIES SKIP_REGULAR_EXPRESSION SKIPPED)
endfunction()
