# lemma::lemma, the one target that users of the library link, and what `cmake --install` leaves behind: the public
# headers, the archives, and lemmaConfig.cmake for find_package(lemma). tests/package builds a consumer against it.
add_library(lemma INTERFACE)
add_library(lemma::lemma ALIAS lemma)
target_include_directories(lemma INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                                           $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_compile_features(lemma INTERFACE cxx_std_20)
target_link_libraries(lemma INTERFACE lemma::runtime lemma::inspect)

get_property(lemma_libraries GLOBAL PROPERTY LEMMA_LIBRARIES)
set(lemma_cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake/lemma)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/lemma DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(TARGETS lemma ${lemma_libraries} EXPORT lemmaTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT lemmaTargets NAMESPACE lemma:: DESTINATION ${lemma_cmake_dir})
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/lemmaConfig.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/lemmaConfig.cmake
                              INSTALL_DESTINATION ${lemma_cmake_dir})
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/lemmaConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/lemmaConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/lemmaConfigVersion.cmake
        DESTINATION ${lemma_cmake_dir})
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
