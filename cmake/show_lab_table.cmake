# SPDX-License-Identifier: Apache-2.0
#
# Run by CTest after its summary, by way of CTestCustom.cmake: prints the lab's table if this run made one. Not where CI
# is set: there the last lines are CTest's own.
if(EXISTS ${FOLDER}/table.new AND NOT DEFINED ENV{CI})
    execute_process(COMMAND ${CMAKE_COMMAND} -E cat ${FOLDER}/table.new)
endif()
if(EXISTS ${FOLDER}/table.new)
    file(RENAME ${FOLDER}/table.new ${FOLDER}/table.md)
endif()
