# SPDX-License-Identifier: Apache-2.0
#
# eco_build.h in the build folder: ECO_VERSION, ECO_COMMIT, ECO_BUILD_TYPE. It is looked at in each build and written
# only when it changes, so that a commit made after configuring is named and nothing is rebuilt for nothing.
set(ECO_COMMIT "unknown" CACHE STRING "Commit of a source tree that has no .git; ignored where git can tell")

set(ECO_GENERATED_DIR ${PROJECT_BINARY_DIR}/generated)
set(eco_build_header_command ${CMAKE_COMMAND}
    -DSOURCE_DIR=${PROJECT_SOURCE_DIR} -DOUTPUT=${ECO_GENERATED_DIR}/eco_build.h
    -DVERSION=${PROJECT_VERSION} -DBUILD_TYPE=${ECO_BUILD_TYPE}
    -DCOMMIT_GIVEN=${ECO_COMMIT}
    -P ${PROJECT_SOURCE_DIR}/cmake/write_build_header.cmake)
add_custom_target(eco_build_header
    COMMAND ${eco_build_header_command}
    BYPRODUCTS ${ECO_GENERATED_DIR}/eco_build.h
    COMMENT "Looking at the version and commit" VERBATIM)

add_library(ecoi_build_info INTERFACE)
add_dependencies(ecoi_build_info eco_build_header)
target_include_directories(ecoi_build_info INTERFACE ${ECO_GENERATED_DIR})
