/* SPDX-License-Identifier: Apache-2.0
 *
 * A fitted table inside, and the grouping of rows that fit_table.c and fit_holdout.c share.
 */
#ifndef ECOI_FIT_TABLE_H
#define ECOI_FIT_TABLE_H

#include "core/arena.h"
#include "ecocompute/fit.h"

struct eco_fit {
    ecoi_arena arena;
    eco_curve_set set;
    eco_fit_result results[ECO_FIT_CURVES_MAX]; /* of set.curves[i], as the band */
    eco_fit_band bands[ECO_FIT_CURVES_MAX];
    eco_fit_summary summary;
    eco_rules rules;
    uint64_t seed;
};

/* Rows of one class and precision, in the order of the table. */
typedef struct ecoi_fit_group {
    const char *arch, *precision;
    const eco_anchor **rows;
    size_t n;
} ecoi_fit_group;

typedef struct ecoi_fit_groups {
    ecoi_fit_group groups[ECO_FIT_CURVES_MAX]; /* sorted by arch, then precision */
    size_t n, n_rows;
} ecoi_fit_groups;

bool ecoi_fit_wanted(const eco_anchor *row, const eco_fit_options *options);
bool ecoi_fit_trains(const eco_anchor *row); /* both energies, and one sequence at a time */
/* Groups the wanted rows that train, but for those that `skip` (of the same length; NULL: none) marks. */
ECO_NODISCARD eco_status ecoi_fit_group_rows(const eco_anchor_table *table,
                                             const eco_fit_options *options, const bool *skip,
                                             ecoi_arena *arena, ecoi_fit_groups *out,
                                             eco_error *err);
/* Points of a group; n <= ECO_FIT_POINTS_MAX. */
void ecoi_fit_points_of(const ecoi_fit_group *group, eco_fit_point points[ECO_FIT_POINTS_MAX]);
/* The band of a group; false when out of memory. */
bool ecoi_fit_band_of(const ecoi_fit_group *group, const eco_fit_options *options, double s_cap_pct,
                      ecoi_arena *arena, eco_fit_band *out);

#endif
