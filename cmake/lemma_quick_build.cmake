# What makes a build from nothing short: the headers of the C++ library, fmt, GoogleTest, CLI11 and nlohmann-json are
# precompiled, files that include MLIR are compiled together, tools are optimized less than the library and tests not at all, since
# that is what their compile time goes into, and LLVM's linker is used where it is. Of this repository's headers those are
# precompiled that nearly every file of a target includes anyway, so that a change of one compiles what it did before.
#
# Off by default with clang, clang-tidy and sanitizers, and in the preset `strict`: these builds show which file has
# forgotten an include, and g++'s warnings about macros of GoogleTest, which it does not give where they are precompiled.
set(quick OFF)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND NOT CMAKE_CXX_CLANG_TIDY AND NOT LEMMA_SANITIZE)
  set(quick ON)
endif()
option(LEMMA_QUICK_BUILD "Take less time to build from nothing: precompiled headers, files compiled together" ${quick})

if(LEMMA_QUICK_BUILD)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # g++ 12 warns falsely about std::string (as in bug 105651), which it keeps to itself unless the header is precompiled.
    target_compile_options(lemma_flags INTERFACE -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread)
    # g++ looks for garbage whenever its heap has grown by a third, the precompiled header included, which is a fifth of the
    # time that a small file takes. Most files end before the heap has so many KB.
    target_compile_options(lemma_flags INTERFACE --param=ggc-min-heapsize=300000)
  endif()
  # g++ takes a precompiled header only for the -fpic or -fpie that it was made with: programs are compiled as libraries are.
  set(CMAKE_CXX_COMPILE_OPTIONS_PIE ${CMAKE_CXX_COMPILE_OPTIONS_PIC})
  if(LEMMA_CCACHE) # keeps what used precompiled headers only if it is told that macros set before them do not matter
    set(CMAKE_CXX_COMPILER_LAUNCHER env CCACHE_SLOPPINESS=pch_defines,time_macros ${LEMMA_CCACHE})
  endif()
endif()

# What has MLIR inside takes GNU ld five times as long to link as it takes LLVM's.
if(LEMMA_QUICK_BUILD)
  find_program(LEMMA_LLD ld.lld PATHS /usr/lib/llvm-22/bin NO_DEFAULT_PATH)
  if(LEMMA_LLD)
    get_filename_component(folder ${LEMMA_LLD} DIRECTORY)
    add_link_options(-B${folder} -fuse-ld=lld)
  endif()
endif()

# Of tools, but for what is hot in them. Of tests, which take longer to compile than to run.
set(LEMMA_LESS_OPTIMIZED $<$<BOOL:${LEMMA_QUICK_BUILD}>:-O1>)
set(LEMMA_NOT_OPTIMIZED $<$<BOOL:${LEMMA_QUICK_BUILD}>:-O0>)

# lemma_hot(<source>...): files of such targets that are optimized all the same, and so cannot use what they have precompiled.
function(lemma_hot)
  set_property(SOURCE ${ARGN} APPEND PROPERTY COMPILE_OPTIONS $<$<BOOL:${LEMMA_QUICK_BUILD}>:-O3>)
  lemma_not_precompiled(${ARGN})
endfunction()

set(LEMMA_STD_HEADERS
    <algorithm> <array> <atomic> <bit> <cassert> <charconv> <cmath> <cstddef> <cstdint> <cstdio> <cstdlib> <cstring>
    <deque> <functional> <initializer_list> <iterator> <limits> <map> <memory> <mutex> <numeric> <optional> <set> <span>
    <string> <string_view> <tuple> <type_traits> <unordered_map> <utility> <variant> <vector> <fmt/format.h>)

# A set of headers is compiled once for each set of options, which lemma_precompile() names; targets that have the same
# options take it by lemma_use_precompiled().
#
# lemma_precompile(<name> HEADERS <header>... [LINK <target>...] [OPTIONS <option>...])
function(lemma_precompile name)
  if(NOT LEMMA_QUICK_BUILD OR TARGET lemma_pch_${name})
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "HEADERS;LINK;OPTIONS" ${ARGN})
  set(source ${CMAKE_BINARY_DIR}/precompiled/${name}.cc)
  file(CONFIGURE OUTPUT ${source} CONTENT "// Nothing: the headers before it are what is compiled.\n")
  add_library(lemma_pch_${name} OBJECT EXCLUDE_FROM_ALL ${source})
  target_link_libraries(lemma_pch_${name} PRIVATE lemma_flags lemma_fmt ${ARG_LINK})
  target_compile_options(lemma_pch_${name} PRIVATE ${ARG_OPTIONS})
  target_precompile_headers(lemma_pch_${name} PRIVATE ${ARG_HEADERS})
endfunction()

# lemma_use_precompiled(<target> <name>)
function(lemma_use_precompiled target name)
  if(LEMMA_QUICK_BUILD AND NOT name STREQUAL none)
    target_precompile_headers(${target} REUSE_FROM lemma_pch_${name})
  endif()
endfunction()

# lemma_together(<target> <source>...): these sources of the target are compiled as one file.
function(lemma_together target)
  if(LEMMA_QUICK_BUILD)
    list(GET ARGN 0 first)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
    set_source_files_properties(${ARGN} PROPERTIES UNITY_GROUP ${first})
  endif()
endfunction()

# lemma_all_together(<target>): all its sources are compiled as a few files, but for those of lemma_alone() and those that
# have options of their own. They may not define a name twice.
function(lemma_all_together target)
  if(LEMMA_QUICK_BUILD)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE BATCH UNITY_BUILD_BATCH_SIZE 8)
  endif()
endfunction()

function(lemma_alone)
  set_property(SOURCE ${ARGN} PROPERTY SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

# Files with options of their own.
function(lemma_not_precompiled)
  set_property(SOURCE ${ARGN} PROPERTY SKIP_PRECOMPILE_HEADERS ON)
endfunction()

lemma_precompile(core HEADERS ${LEMMA_STD_HEADERS})
lemma_precompile(cold HEADERS ${LEMMA_STD_HEADERS} OPTIONS ${LEMMA_LESS_OPTIMIZED})
