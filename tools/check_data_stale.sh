#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# check_data_stale.sh WORK_DIR: the committed tables in C are byte for byte what tools/gen_data.sh makes of data/.
set -euo pipefail

work_dir=${1:?usage: check_data_stale.sh WORK_DIR}
root=$(cd "$(dirname "$0")/.." && pwd)
rm -rf "$work_dir"
"$root/tools/gen_data.sh" "$work_dir"
bad=0
for file in arch/cards.inc model/anchors.inc model/curves.inc; do
    if ! cmp "$root/src/$file" "$work_dir/$file"; then
        echo "stale: src/$file is not what tools/gen_data.sh makes of data/; run tools/gen_data.sh src" >&2
        bad=1
    fi
done
if [ "$bad" -eq 0 ]; then
    echo "3 data tables are fresh"
fi
exit "$bad"
