/* SPDX-License-Identifier: Apache-2.0
 *
 * The page through which the scripted libcuda tells the scripted NVML what the boards truly draw. Test-only.
 * A file named by ECO_FAKE_PAGE, mapped shared, zero-filled by whoever comes first; if the variable is unset, a private
 * page of the process. Physical device i has UUID "GPU-fa4e0000-0000-0000-0000-00000000000i" and PCI 0000:0i:00.0.
 */
#ifndef ECO_FAKE_PAGE_H
#define ECO_FAKE_PAGE_H

#include <stdint.h>

enum { FAKE_DEVICES = 2, FAKE_EVENTS = 1 << 16 };

/* True power from t_ns on, until the next event. Before the first: the script's idle_bare_w. */
struct fake_event {
    int64_t t_ns; /* CLOCK_MONOTONIC */
    double power_w;
};

struct fake_device {
    _Atomic uint32_t n_events; /* written with release order after the event itself; one writer */
    _Atomic int32_t lost;      /* nonzero: both libraries answer "lost" */
    struct fake_event events[FAKE_EVENTS];
};

struct fake_page {
    struct fake_device devices[FAKE_DEVICES];
};

struct fake_page *
fake_page_map(void); /* never NULL: aborts the test process with a message instead */

/* Scripts: the file named by ECO_FAKE_SCRIPT, lines `key value`, `#` comments. Missing key: the default given. */
double fake_script_number(const char *key, double otherwise);
const char *fake_script_text(const char *key, const char *otherwise);
/* Keys with a suffix: `step_us.nf4`, `power_w.fp16`, … are looked up by the caller as one string. */

#endif
