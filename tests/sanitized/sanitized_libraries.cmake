# libcuda.so.1 and libcudart.so.13 under ThreadSanitizer, in a folder of their own, and every program of tests/driver and
# tests/cudart with them: sanitized.driver.NAME, sanitized.cudart.NAME. The programs are instrumented too: what they read after a
# wait must have been written before it.
set(folder ${CMAKE_CURRENT_BINARY_DIR}/lib)

# sanitized_library(<plain> <objects of>...): <plain>_sanitized, a shared library of the plain one's name, exports and
# objects, and those. The C++ library is the program's, since the sanitizer's functions are.
function(sanitized_library plain)
  add_library(${plain}_sanitized SHARED ${ARGN})
  foreach(property OUTPUT_NAME SOVERSION LINK_DEPENDS)
    get_target_property(value ${plain} ${property})
    set_target_properties(${plain}_sanitized PROPERTIES ${property} ${value})
  endforeach()
  set_target_properties(${plain}_sanitized PROPERTIES LINKER_LANGUAGE CXX LIBRARY_OUTPUT_DIRECTORY ${folder})
  target_link_options(${plain}_sanitized PRIVATE ${sanitizers} LINKER:--version-script=$<TARGET_PROPERTY:${plain},LINK_DEPENDS>
                                                 LINKER:-Bsymbolic LINKER:--gc-sections LINKER:-z,nodelete)
  target_link_libraries(${plain}_sanitized PRIVATE stdc++ Threads::Threads ${CMAKE_DL_LIBS})
endfunction()

# sanitized_sources(<library>): all of the library, instrumented.
function(sanitized_sources library)
  get_target_property(sources ${library} SOURCES)
  get_target_property(root ${library} SOURCE_DIR)
  list(TRANSFORM sources PREPEND ${root}/)
  sanitized_objects(${library} ${sources})
endfunction()

sanitized_sources(lemma_driver)
sanitized_library(lemma_cuda ${objects} $<TARGET_OBJECTS:lemma_driver_sanitized>)
target_link_libraries(lemma_cuda_sanitized PRIVATE lemma::runtime lemma::image)
sanitized_sources(lemma_cudart)
sanitized_library(lemma_cudart_so $<TARGET_OBJECTS:lemma_cudart_sanitized>)
add_dependencies(lemma_cudart_so_sanitized lemma_cuda_sanitized)

# sanitized_program(<plain> <source> <name of the test> <library>): the program, instrumented, with the instrumented library.
# Whatever it does with its standard error, a finding is in its exit status.
function(sanitized_program plain source name library)
  get_target_property(definitions ${plain} COMPILE_DEFINITIONS)
  list(TRANSFORM definitions REPLACE "^DRIVER=.*" "DRIVER=\"$<TARGET_FILE:lemma_cuda_sanitized>\"")
  add_executable(${plain}_sanitized ${source})
  target_compile_definitions(${plain}_sanitized PRIVATE ${definitions})
  target_include_directories(${plain}_sanitized PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_compile_options(${plain}_sanitized PRIVATE -O1 -g1 -w ${flags})
  target_link_libraries(${plain}_sanitized PRIVATE lemma_flags ${library} Threads::Threads ${CMAKE_DL_LIBS})
  target_link_options(${plain}_sanitized PRIVATE ${sanitizers})
  add_dependencies(sanitized ${plain}_sanitized lemma_cuda_sanitized)
  sanitized_test(${name} "TSAN_OPTIONS=die_after_fork=0" ${plain}_sanitized)
  set_tests_properties(sanitized.${name} PROPERTIES FAIL_REGULAR_EXPRESSION "WARNING: ThreadSanitizer")
endfunction()

foreach(part driver cudart)
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/${part}/*.cc)
  foreach(source ${sources})
    get_filename_component(name ${source} NAME_WE)
    set(library lemma_cuda_sanitized)
    if(part STREQUAL cudart)
      set(library lemma_cudart_so_sanitized)
    elseif(name STREQUAL unload) # it opens the library itself
      set(library "")
    endif()
    sanitized_program(${part}_${name} ${source} ${part}.${name} "${library}")
  endforeach()
endforeach()
