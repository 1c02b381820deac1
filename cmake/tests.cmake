# SPDX-License-Identifier: Apache-2.0
#
# Every test a file: tests/unit and tests/kernels test_*.c are cmocka programs, tests/{cli,lab,kernels,schema,wasm,device}/*.sh
# are scripts that drive the real program (a name beginning with lib is a helper, not a test), tests/bench, tests/tools and
# tests/device/*.c programs without cmocka. Exit 77 is a skip.
find_path(CMOCKA_INCLUDE_DIR cmocka.h)
find_library(CMOCKA_LIBRARY cmocka)
if(NOT CMOCKA_INCLUDE_DIR OR NOT CMOCKA_LIBRARY)
    message(FATAL_ERROR "cmocka was not found (Debian: libcmocka-dev); -DECO_TESTS=OFF builds without the tests")
endif()

# Sanitizers slow a program down several times; a timeout is there to end what hangs, not to judge speed.
if(ECO_SANITIZE)
    set(eco_slowness 5)
else()
    set(eco_slowness 1)
endif()

set(ECO_FAKES_DIR ${PROJECT_BINARY_DIR}/fakes)

# ---- scripted driver libraries ----
foreach(fake cuda nvml)
    if(EXISTS ${PROJECT_SOURCE_DIR}/tests/fakes/fake_${fake}.c)
        file(GLOB eco_fake_common CONFIGURE_DEPENDS tests/fakes/fake_script.c tests/fakes/fake_page.c
            tests/fakes/fake_${fake}_*.c)
        add_library(fake_${fake} SHARED tests/fakes/fake_${fake}.c ${eco_fake_common})
        target_include_directories(fake_${fake} PRIVATE tests/fakes include src)
        target_link_libraries(fake_${fake} PRIVATE ecoi_options Threads::Threads m)
        set_target_properties(fake_${fake} PROPERTIES
            SUFFIX .so.1 LIBRARY_OUTPUT_DIRECTORY ${ECO_FAKES_DIR} C_VISIBILITY_PRESET default)
    endif()
endforeach()
if(TARGET fake_cuda)
    set_target_properties(fake_cuda PROPERTIES OUTPUT_NAME cuda)
endif()
if(TARGET fake_nvml)
    set_target_properties(fake_nvml PROPERTIES OUTPUT_NAME nvidia-ml)
endif()

# Preloaded by tests: full disk, wall clock set back, death at a chosen write.
add_library(fake_io SHARED tests/fakes/fake_io.c)
target_link_libraries(fake_io PRIVATE ecoi_options ${CMAKE_DL_LIBS})
set_target_properties(fake_io PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${ECO_FAKES_DIR} C_VISIBILITY_PRESET default)

# The fault sweep's library stands before the C library, where only AddressSanitizer bears it.
if(ECO_SANITIZE STREQUAL "" OR ECO_SANITIZE STREQUAL "address")
    add_library(fault_preload SHARED tests/fakes/fault_preload.c)
    target_compile_options(fault_preload PRIVATE -fno-sanitize=all)
    target_link_libraries(fault_preload PRIVATE ecoi_options ${CMAKE_DL_LIBS})
    target_link_options(fault_preload PRIVATE -fno-sanitize=all)
    set_target_properties(fault_preload PROPERTIES
        PREFIX "" SUFFIX .so LIBRARY_OUTPUT_DIRECTORY ${ECO_FAKES_DIR} C_VISIBILITY_PRESET default)
endif()

set(eco_test_environment "FAKES=${ECO_FAKES_DIR}" "ECO_SOURCE_DIR=${PROJECT_SOURCE_DIR}"
    "ECO_BUILD_DIR=${PROJECT_BINARY_DIR}" "ECO_TEST_BUILD=${ECO_BUILD_TYPE}"
    "ECO_LAB_RESULTS=${PROJECT_BINARY_DIR}/lab-results"
    "ASAN_OPTIONS=detect_leaks=1" "TSAN_OPTIONS=halt_on_error=1")
if(TARGET ecocompute)
    list(APPEND eco_test_environment "ECOCOMPUTE=$<TARGET_FILE:ecocompute>")
endif()

# ---- cmocka programs ----
function(eco_add_program label file timeout_s)
    math(EXPR timeout_s "${timeout_s} * ${eco_slowness}")
    get_filename_component(name ${file} NAME_WE)
    add_executable(${name} ${file})
    target_include_directories(${name} PRIVATE include src tests/unit tests/fakes)
    target_include_directories(${name} SYSTEM PRIVATE ${CMOCKA_INCLUDE_DIR})
    target_compile_options(${name} PRIVATE -UNDEBUG)
    target_link_libraries(${name} PRIVATE ecocompute_lib ecoi_options ecoi_build_info ${CMOCKA_LIBRARY})
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
    add_test(NAME ${name} COMMAND ${name})
    set_tests_properties(${name} PROPERTIES LABELS ${label} TIMEOUT ${timeout_s} SKIP_RETURN_CODE 77
        ENVIRONMENT "${eco_test_environment}")
    if(name MATCHES "sampler") # holds deadlines in real time, so nothing runs beside it
        set_tests_properties(${name} PROPERTIES RUN_SERIAL ON)
    endif()
endfunction()

if(TARGET ecocompute_lib)
    file(GLOB eco_unit_tests CONFIGURE_DEPENDS tests/unit/test_*.c)
    foreach(file IN LISTS eco_unit_tests)
        eco_add_program(unit ${file} 120)
    endforeach()
    file(GLOB eco_kernel_tests CONFIGURE_DEPENDS tests/kernels/test_*.c)
    foreach(file IN LISTS eco_kernel_tests)
        eco_add_program(kernels ${file} 300)
    endforeach()
endif()

# ---- programs of their own: benchmarks are built and not run, device programs skip where there is no device ----
if(TARGET ecocompute_lib)
    file(GLOB eco_own_programs CONFIGURE_DEPENDS tests/bench/*.c tests/device/*.c tests/tools/*.c)
    foreach(file IN LISTS eco_own_programs)
        get_filename_component(name ${file} NAME_WE)
        add_executable(${name} ${file})
        target_include_directories(${name} PRIVATE include src tests/unit)
        target_link_libraries(${name} PRIVATE ecocompute_lib ecoi_options ecoi_build_info)
        set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
        if(file MATCHES "/tests/device/")
            add_test(NAME ${name} COMMAND ${name})
            set_tests_properties(${name} PROPERTIES LABELS device TIMEOUT 600 SKIP_RETURN_CODE 77 RUN_SERIAL ON
                ENVIRONMENT "${eco_test_environment}")
        endif()
    endforeach()
endif()

# ---- coverage of the intervals, on a virtual clock ----
# The program brings a clock, a load and a sampler of its own, which stand before the library's. A thousand experiments a
# scenario are for a plain release build; others show that it runs.
if(TARGET ecocompute_lib)
    file(GLOB eco_coverage_sources CONFIGURE_DEPENDS tests/coverage/*.c)
    add_executable(coverage ${eco_coverage_sources})
    target_include_directories(coverage PRIVATE include src tests/coverage)
    target_link_libraries(coverage PRIVATE ecocompute_lib ecoi_options ecoi_build_info)
    set_target_properties(coverage PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
    if(ECO_BUILD_TYPE STREQUAL "release")
        add_test(NAME coverage COMMAND coverage)
    else()
        add_test(NAME coverage COMMAND coverage 20)
    endif()
    set_tests_properties(coverage PROPERTIES LABELS coverage TIMEOUT 600)
endif()

# ---- fuzz targets, here with their corpus ----
if(TARGET ecocompute_lib)
    include(cmake/fuzz.cmake)
endif()

# ---- scripts ----
function(eco_add_scripts label timeout_s serial)
    math(EXPR timeout_s "${timeout_s} * ${eco_slowness}")
    file(GLOB scripts CONFIGURE_DEPENDS tests/${label}/*.sh)
    foreach(file IN LISTS scripts)
        get_filename_component(name ${file} NAME_WE)
        if(NOT name MATCHES "^lib")
            add_test(NAME ${label}_${name} COMMAND bash ${file})
            set_tests_properties(${label}_${name} PROPERTIES LABELS ${label} TIMEOUT ${timeout_s}
                SKIP_RETURN_CODE 77 RUN_SERIAL ${serial} ENVIRONMENT "${eco_test_environment}")
        endif()
    endforeach()
endfunction()
eco_add_scripts(kernels 300 OFF)
eco_add_scripts(wasm 300 OFF)
eco_add_scripts(web 900 ON)
if(TARGET ecocompute)
    eco_add_scripts(cli 60 OFF)
    set_tests_properties(cli_test_hostile_reports PROPERTIES TIMEOUT 180) # hundreds of runs of the program
    eco_add_scripts(schema 120 OFF)
    set_tests_properties(cli_test_field_sensors cli_test_field_time PROPERTIES RUN_SERIAL ON) # they judge numbers
    # In real time against a clock: a neighbour on the same cores would be measured too.
    eco_add_scripts(lab 300 ON)
    # The table of what the others found comes last, whether they passed or not.
    get_property(eco_lab_others DIRECTORY PROPERTY TESTS)
    list(FILTER eco_lab_others INCLUDE REGEX "^lab_test_[a-y]_")
    set_tests_properties(lab_test_z_table PROPERTIES DEPENDS "${eco_lab_others}")
    # CTest shows no output of a test that passed; it runs this when it is done.
    file(WRITE ${PROJECT_BINARY_DIR}/CTestCustom.cmake
        "set(CTEST_CUSTOM_POST_TEST [[\"${CMAKE_COMMAND}\" \"-DFOLDER=${PROJECT_BINARY_DIR}/lab-results\" "
        "-P \"${PROJECT_SOURCE_DIR}/cmake/show_lab_table.cmake\"]])\n")
    eco_add_scripts(device 600 ON)
    eco_add_scripts(fault 300 ON)
    eco_add_scripts(valgrind 600 ON)
    # What quickstart.sh leaves to CI, to stay within its five minutes.
    foreach(name lab_test_f_signals lab_test_g_faults lab_test_j_faults lab_test_j_kill lab_test_j_resume
            lab_test_j_resume_published lab_test_j_resume_steady
            lab_test_p_energy_estimate lab_test_p_published lab_test_r_doctor lab_test_r_run_energy lab_test_r_run_overhead
            lab_test_r_run_vs lab_test_s_steady lab_test_k_clock_drift lab_test_k_counter_breaks lab_test_k_device_lost
            lab_test_k_driver_stuck lab_test_k_flags
            lab_test_k_gain_error lab_test_k_mig lab_test_k_offset_error lab_test_k_other_tenants
            lab_test_k_read_bursts lab_test_k_read_stalls lab_test_k_throttle lab_test_k_visible_devices
            lab_test_u_plan lab_test_u_probe lab_test_z_table
            cli_test_meter_list cli_test_meters_exec cli_test_meters_rapl cli_test_meters_replay kernels_check_ptxas kernels_check_adversarial
            fault_test_sweep_short fault_test_sweep_meters fault_test_sweep_run valgrind_test_memcheck coverage
            web_test_page)
        if(TEST ${name})
            get_property(eco_labels TEST ${name} PROPERTY LABELS)
            set_property(TEST ${name} PROPERTY LABELS ${eco_labels} long)
        endif()
    endforeach()
endif()

# ---- rules of the repository ----
function(eco_add_check name label)
    add_test(NAME ${name} COMMAND ${ARGN})
    set_tests_properties(${name} PROPERTIES LABELS ${label} TIMEOUT 120 SKIP_RETURN_CODE 77
        WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
endfunction()
set(eco_tools ${PROJECT_SOURCE_DIR}/tools)
eco_add_check(check_layers rules ${eco_tools}/check_layers.sh ${PROJECT_SOURCE_DIR})
eco_add_check(check_basis rules ${eco_tools}/check_basis.sh ${PROJECT_SOURCE_DIR})
eco_add_check(check_length rules ${eco_tools}/check_length.sh ${PROJECT_SOURCE_DIR})
eco_add_check(check_names rules ${eco_tools}/check_names.sh ${PROJECT_SOURCE_DIR})
eco_add_check(check_terminal rules ${eco_tools}/check_terminal.sh ${PROJECT_SOURCE_DIR})
eco_add_check(check_field rules ${eco_tools}/check_field.sh ${PROJECT_SOURCE_DIR})
eco_add_check(check_format rules ${eco_tools}/check_format.sh ${PROJECT_SOURCE_DIR})
eco_add_check(check_warnings rules ${eco_tools}/check_warnings.sh ${PROJECT_SOURCE_DIR})
eco_add_check(check_headers rules ${eco_tools}/check_headers.sh ${PROJECT_SOURCE_DIR})
eco_add_check(check_data_stale rules ${eco_tools}/check_data_stale.sh ${PROJECT_BINARY_DIR}/data-stale)
if(TARGET write_schema)
    eco_add_check(check_schema_stale rules ${eco_tools}/check_schema_stale.sh $<TARGET_FILE:write_schema>
        ${PROJECT_BINARY_DIR}/schema-stale)
endif()
eco_add_check(check_planted rules ${eco_tools}/check_planted.sh ${PROJECT_BINARY_DIR}/planted)
set(eco_stale_clang ${ECO_CLANG})
if(NOT eco_stale_clang)
    set(eco_stale_clang none) # an empty argument would be dropped on the way
endif()
eco_add_check(check_ptx_stale stale ${eco_tools}/check_ptx_stale.sh ${eco_stale_clang} ${PROJECT_BINARY_DIR}/ptx-stale)
