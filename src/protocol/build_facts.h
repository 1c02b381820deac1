/* SPDX-License-Identifier: Apache-2.0
 *
 * What this binary is: version and commit from the build, compiler, and whether checks slow it down.
 */
#ifndef ECOCOMPUTE_PROTOCOL_BUILD_FACTS_H
#define ECOCOMPUTE_PROTOCOL_BUILD_FACTS_H

#include "eco_build.h"

#if defined(__clang__)
#define ECO_COMPILER "clang " __clang_version__
#elif defined(__GNUC__)
#define ECO_COMPILER "gcc " __VERSION__
#else
#define ECO_COMPILER "unknown compiler"
#endif

#if defined(ECO_DEBUG_BUILD) || defined(ECO_SANITIZED)
#define ECO_CHECKED_BUILD 1
#else
#define ECO_CHECKED_BUILD 0
#endif

#endif
