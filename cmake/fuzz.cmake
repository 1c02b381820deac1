# SPDX-License-Identifier: Apache-2.0
#
# tests/fuzz/fuzz_<name>.c: one target a reader of outside text. The preset `fuzz` links them with libFuzzer (clang,
# everything under AddressSanitizer and UndefinedBehaviorSanitizer; target `fuzzers`, programs in BUILD/fuzz, run by
# tools/fuzz.sh); every other build links them with fuzz_replay.c and runs their corpus as a test.
set(ECO_FUZZ_DIR ${PROJECT_BINARY_DIR}/fuzz)
file(GLOB eco_fuzz_targets CONFIGURE_DEPENDS tests/fuzz/fuzz_*.c)
list(FILTER eco_fuzz_targets EXCLUDE REGEX "fuzz_replay.c$")

add_custom_target(fuzzers)
foreach(file IN LISTS eco_fuzz_targets)
    get_filename_component(name ${file} NAME_WE)
    string(REGEX REPLACE "^fuzz_" "" corpus ${name})
    set(corpus ${PROJECT_SOURCE_DIR}/tests/fuzz/corpus/${corpus})
    if(ECO_SANITIZE STREQUAL "fuzzer")
        add_executable(${name} ${file})
        target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    else()
        add_executable(${name} ${file} tests/fuzz/fuzz_replay.c)
        add_test(NAME ${name} COMMAND ${name} ${corpus})
        math(EXPR eco_fuzz_timeout_s "60 * ${eco_slowness}")
        set_tests_properties(${name} PROPERTIES LABELS fuzz TIMEOUT ${eco_fuzz_timeout_s}
            ENVIRONMENT "${eco_test_environment}")
    endif()
    target_include_directories(${name} PRIVATE include src tests/fuzz)
    target_link_libraries(${name} PRIVATE ecocompute_lib ecoi_options)
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${ECO_FUZZ_DIR})
    add_dependencies(fuzzers ${name})
endforeach()
