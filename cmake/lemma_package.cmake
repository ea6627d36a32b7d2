# lemma::lemma and lemma::shared, the targets that users of the library link (and lemma::cuda and lemma::cudart, of src/driver and
# src/cudart), and what `cmake --install` leaves behind:
# the public headers, the archives, liblemma.so, and lemmaConfig.cmake for find_package(lemma). tests/package builds a consumer against it.
add_library(lemma INTERFACE)
add_library(lemma::lemma ALIAS lemma)
target_include_directories(lemma INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                                           $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_compile_features(lemma INTERFACE cxx_std_20)
target_link_libraries(lemma INTERFACE lemma::runtime lemma::timing lemma::image lemma::inspect)

# lemma::shared, the C API as one shared library that needs nothing but glibc (and the libraries that MLIR needs, where
# it is inside): its objects, and of the archives what they use. It exports the functions of include/lemma/c.h and no
# more. Before 1.0 a minor version may change the API, so that its name in programs has both numbers; from 1.0 on the
# first alone.
if(PROJECT_VERSION_MAJOR EQUAL 0)
  set(lemma_soversion ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
else()
  set(lemma_soversion ${PROJECT_VERSION_MAJOR})
endif()
set(lemma_exports ${PROJECT_SOURCE_DIR}/src/capi/exports.map)
add_library(lemma_shared SHARED $<TARGET_OBJECTS:lemma_capi>)
add_library(lemma::shared ALIAS lemma_shared)
target_include_directories(lemma_shared INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                                                  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_link_libraries(lemma_shared PRIVATE lemma_flags lemma::nvgpu lemma::image lemma::inspect lemma::runtime)
target_link_options(lemma_shared PRIVATE LINKER:--version-script=${lemma_exports} LINKER:--gc-sections)
if(NOT LEMMA_SANITIZE) # whose functions come from the program, and use the C++ library
  target_link_options(lemma_shared PRIVATE LINKER:--no-undefined -static-libgcc -static-libstdc++)
endif()
if(LEMMA_PORTABLE)
  target_sources(lemma_shared PRIVATE ${PROJECT_SOURCE_DIR}/tools/lemma/portable.cc)
endif()
set_target_properties(lemma_shared PROPERTIES OUTPUT_NAME lemma VERSION ${PROJECT_VERSION} SOVERSION ${lemma_soversion}
                                              EXPORT_NAME shared LINK_DEPENDS ${lemma_exports}
                                              LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
if(LEMMA_NVGPU_FOUND)
  lemma_start_without_mlir(lemma_shared)
endif()

get_property(lemma_libraries GLOBAL PROPERTY LEMMA_LIBRARIES)
list(REMOVE_ITEM lemma_libraries lemma_driver lemma_cudart lemma_nvml lemma_cublas lemma_cublas_lt) # shared libraries alone: lemma::cuda and lemma::cudart
set(lemma_cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake/lemma)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/lemma DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(TARGETS lemma lemma_shared ${lemma_libraries} EXPORT lemmaTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT lemmaTargets NAMESPACE lemma:: DESTINATION ${lemma_cmake_dir})
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/lemmaConfig.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/lemmaConfig.cmake
                              INSTALL_DESTINATION ${lemma_cmake_dir})
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/lemmaConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/lemmaConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/lemmaConfigVersion.cmake
        DESTINATION ${lemma_cmake_dir})
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

# For pkg-config: lemma is liblemma.so, lemma-static the archives of lemma::lemma, whose order does not matter so, lemma-cuda
# the driver, libcuda.so.1.
file(RELATIVE_PATH lemma_prefix_from_pc /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
set(lemma_archives ${lemma_libraries})
list(REMOVE_ITEM lemma_archives lemma_mgpu lemma_nvgpu lemma_capi)
list(TRANSFORM lemma_archives PREPEND -l)
list(JOIN lemma_archives " " lemma_archives)
set(lemma_asmjit ${LEMMA_ASMJIT_INSTALLED})
list(TRANSFORM lemma_asmjit PREPEND " -l")
list(JOIN lemma_asmjit "" lemma_asmjit)
set(lemma_packages lemma lemma-static)
if(LEMMA_DRIVER)
  list(APPEND lemma_packages lemma-cuda)
endif()
foreach(name ${lemma_packages})
  configure_file(${CMAKE_CURRENT_LIST_DIR}/${name}.pc.in ${CMAKE_CURRENT_BINARY_DIR}/${name}.pc @ONLY)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()
